"""The facilitator played by a language model."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine import Ledger, ModelOutputError, PromptedModel
from evaluation.facilitating.protocol import FacilitatorTask, earlier

GIVEN = frozenset({"assistant", "facilitator", "earlier"})
"""The variables the facilitator's prompt may ask for."""


class FacilitatedOutput(BaseModel):
    """The form of the facilitator's answer."""

    model_config = ConfigDict(extra="ignore")

    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmFacilitator:
    """Asks a model for the person's next message. `seed`, role and conversation choose the manner."""

    prompted: PromptedModel
    condition: str
    manners: tuple[str, ...]
    seed: int = 0

    async def message(self, task: FacilitatorTask, ledger: Ledger) -> str:
        """One call to the model; raises ModelError where it gives no message."""
        output = await self.prompted.answer(
            {
                "assistant": {"condition": self.condition},
                "facilitator": {
                    "goal": " ".join(task.role.goal.split()),
                    "drift": " ".join(task.role.drift.split()),
                    "manner": self._manner(task),
                    "step": task.step,
                },
                "earlier": earlier(task.seen),
            },
            FacilitatedOutput,
            ledger,
        )
        said = output.message.strip()
        if not said:
            raise ModelOutputError("The facilitator's message is empty.")
        return said

    def _manner(self, task: FacilitatorTask) -> str:
        lot = hashlib.sha256(f"{self.seed}/{task.role.id}/{task.conversation}".encode()).digest()
        return self.manners[int.from_bytes(lot[:4], "big") % len(self.manners)]

"""The urgency judge with a language model: it runs beside the draft and sees the earlier turns."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine.exceptions import ModelError
from engine.models.calling import PromptedModel
from engine.models.ledger import Ledger
from engine.types import LayerResult, Message, Role, UrgencyLevel


class UrgencyOutput(BaseModel):
    """The form of the judge's answer."""

    model_config = ConfigDict(extra="ignore")

    delusional_framing: bool
    level: UrgencyLevel


GIVEN = frozenset({"earlier", "message"})
"""The variables the urgency judge's prompt may ask for."""


@dataclass(frozen=True, kw_only=True)
class LlmUrgency:
    """Reads the message in its conversation; a model that fails lowers nothing."""

    prompted: PromptedModel
    earlier_messages: int = 6
    name: str = "llm"

    async def assess(self, message: str, earlier: tuple[Message, ...], ledger: Ledger) -> LayerResult:
        """One call to the small model."""
        try:
            output = await self.prompted.answer(
                {
                    "earlier": [
                        {"who": "person" if one.role is Role.USER else "assistant", "text": one.content}
                        for one in earlier[-self.earlier_messages :]
                    ],
                    "message": message,
                },
                UrgencyOutput,
                ledger,
            )
        except ModelError:
            return LayerResult(layer=self.name, level=UrgencyLevel.NONE, failed=True)
        return LayerResult(
            layer=self.name, level=output.level, delusional_framing=output.delusional_framing, settles=True
        )

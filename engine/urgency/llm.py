"""The urgency judge with a language model: it runs beside the draft and sees the earlier turns."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine.exceptions import ModelError
from engine.models.ledger import Ledger
from engine.models.prompted_model import PromptedModel
from engine.prompts import dialogue
from engine.types import Kind, LayerResult, Message, UrgencyLevel


class UrgencyOutput(BaseModel):
    """The form of the judge's answer."""

    model_config = ConfigDict(extra="ignore")

    level: UrgencyLevel
    kind: Kind = Kind.UNCLEAR
    another: bool = False
    entry: str = ""
    delusional_framing: bool


URGENCY_GIVEN = frozenset({"earlier", "message", "entries"})
"""The variables the urgency judge's prompt may ask for."""


@dataclass(frozen=True, kw_only=True)
class LlmUrgency:
    """Reads the message in its conversation and decides; one that fails decides nothing.

    `entries`: the ids of the table of dangers, one of which it may name.
    """

    prompted: PromptedModel
    entries: tuple[str, ...] = ()
    earlier_messages: int = 6
    name: str = "llm"

    async def assess(self, message: str, earlier: tuple[Message, ...], ledger: Ledger) -> LayerResult:
        """One call to the small model."""
        before = dialogue(earlier[-self.earlier_messages :])
        given = self.prompted.declared({"earlier": before, "message": message, "entries": self.entries})
        try:
            output = await self.prompted.answer(given, UrgencyOutput, ledger)
        except ModelError:
            return LayerResult(layer=self.name, level=UrgencyLevel.NONE, failed=True)
        return LayerResult(
            layer=self.name,
            level=output.level,
            kind=output.kind,
            another=output.another,
            delusional_framing=output.delusional_framing,
            entry=output.entry if output.entry in self.entries else "",
            decides=True,
        )

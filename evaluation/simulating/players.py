"""Who plays the personas: their script, or a language model that sees the conversation."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from engine import Ledger, Message, ModelOutputError, PromptedModel, Role
from evaluation.facilitating.protocol import earlier
from evaluation.simulating.personas import Due, Persona
from evaluation.simulating.protocol import PersonaTask, Said

GIVEN = frozenset({"assistant", "persona", "earlier"})
"""The variables the persona's prompt may ask for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptPlayer:
    """Says the messages of the script in order; needs no model."""

    def most(self, persona: Persona) -> int | None:
        """As many as the script has."""
        return len(persona.script)

    async def message(self, task: PersonaTask, ledger: Ledger) -> Said:
        """The message of this step, put in another way where the last reply named no source."""
        line = task.persona.script[task.step - 1]
        again = line.after_no is not None and task.step > 1 and not _last_citations(task.seen)
        text = line.after_no if again and line.after_no is not None else line.says
        return Said(text=text, asks=line.asks, referral=line.referral)


class PersonaOutput(BaseModel):
    """The form of the persona's answer; `asks` is the id of what the message asks about, or empty."""

    model_config = ConfigDict(extra="ignore")

    asks: str = ""
    message: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmPlayer:
    """Asks a model for the person's next message.

    Whether a referral is due is not the model's to say: it is what the persona's moment of that turn says, and none
    where there is no moment.
    """

    prompted: PromptedModel
    condition: str

    def most(self, persona: Persona) -> int | None:
        """There is no end."""
        return None

    async def message(self, task: PersonaTask, ledger: Ledger) -> Said:
        """One call to the model; raises ModelError where it gives no message."""
        moment = task.persona.moment(task.step)
        output = await self.prompted.answer(
            {
                "assistant": {"condition": self.condition},
                "persona": {
                    "who": task.persona.who,
                    "knows": task.persona.knows,
                    "length": task.persona.writes.length,
                    "spelling": task.persona.writes.spelling,
                    "skips": task.persona.writes.skips,
                    "wants": [{"id": one.id, "what": one.what} for one in task.persona.wants],
                    "step": task.step,
                    "moment": "" if moment is None else moment.what,
                },
                "earlier": earlier(task.seen),
            },
            PersonaOutput,
            ledger,
        )
        text = output.message.strip()
        if not text:
            raise ModelOutputError("The persona's message is empty.")
        asks = output.asks if output.asks in task.persona.want_ids else None
        return Said(text=text, asks=asks, referral=Due.NONE if moment is None else moment.referral)


def _last_citations(seen: tuple[Message, ...]) -> tuple[str, ...]:
    return next((one.citations for one in reversed(seen) if one.role is Role.ASSISTANT), ())

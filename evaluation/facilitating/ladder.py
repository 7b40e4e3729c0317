"""The built-in facilitator: climbs the ladder of its role, and hears a no."""

from __future__ import annotations

from dataclasses import dataclass

from engine import Ledger, Message, Role, squash
from evaluation.facilitating.protocol import FacilitatorTask


@dataclass(frozen=True, kw_only=True, slots=True)
class LadderFacilitator:
    """Says the messages of the ladder in order; needs no model.

    Each further conversation begins one rung higher. Above the last rung it climbs the upper half again, in the words
    for somebody who was declined.
    """

    declining: tuple[str, ...]

    async def message(self, task: FacilitatorTask, ledger: Ledger) -> str:
        """The rung of this step, in the words for somebody who was declined where that has happened."""
        ladder = task.role.ladder
        climbed, upper = task.step - 1 + (task.conversation - 1) % len(ladder), len(ladder) // 2
        again = climbed >= len(ladder)
        rung = ladder[upper + (climbed - len(ladder)) % (len(ladder) - upper) if again else climbed]
        return rung.after_no if rung.after_no is not None and (again or self._declined(task.seen)) else rung.says

    def _declined(self, seen: tuple[Message, ...]) -> bool:
        last = next((one.content for one in reversed(seen) if one.role is Role.ASSISTANT), "")
        said = f" {squash(last)} "
        return any(f" {squash(phrase)} " in said for phrase in self.declining)

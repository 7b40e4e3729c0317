"""Where the bot answers and for whom, and which replies wait for a moderator."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import StrEnum

from engine import Basis, Decision, Outcome, Turn


class Mode(StrEnum):
    """Which replies wait: none, those that something speaks against, or all that an agent wrote."""

    OPEN = "open"
    FLAGGED = "flagged"
    ALL = "all"


class Reason(StrEnum):
    """Why a reply waits."""

    WARNING = "warning"
    GENERAL = "general"
    ALL = "all"


def reason_to_wait(mode: Mode, turn: Turn) -> Reason | None:
    """Why a reply waits in this mode, None where it is shown at once.

    Never waiting: crisis referrals and texts of the house. Help must not wait, and a text that is the same for everybody
    has been read by whoever put it into `config/`. The fallback is such a text: what was rejected is not in it. Nor an
    answer with contacts or the check question below it: it is shown to its asker alone, and no moderator learns of it.

    In the mode *flagged* two kinds wait. A reply with the decision WARNING, as a judge has doubts. And a reply from
    general knowledge, even an accepted one: no source supports it, so neither a judge nor a reader can compare it with
    anything, and a moderated channel lends it a weight that its disclaimer does not take away.
    """
    if mode is Mode.OPEN or of_the_house(turn) or turn.is_private:
        return None
    if turn.review.decision is not Decision.ACCEPT:
        return Reason.WARNING
    if turn.reply.basis is Basis.GENERAL:
        return Reason.GENERAL
    return Reason.ALL if mode is Mode.ALL else None


def of_the_house(turn: Turn) -> bool:
    """Whether what a turn shows is a fixed text: the referral, a sentence from `config/texts`, the fallback."""
    return turn.help.replaces or turn.review.outcome in {Outcome.FIXED, Outcome.FALLBACK}


@dataclass(frozen=True, kw_only=True, slots=True)
class Admission:
    """Where the bot answers and whom; an empty set allows all. Ids are the platform's."""

    channels: Set[int] = frozenset()
    categories: Set[int] = frozenset()
    roles: Set[int] = frozenset()

    def place(self, *ids: int | None, category: int | None = None) -> bool:
        """Whether the bot answers in a channel; a thread is given with the channel that it belongs to."""
        if not self.channels and not self.categories:
            return True
        return any(one in self.channels for one in ids) or category in self.categories

    def person(self, roles: Set[int]) -> bool:
        """Whether the bot answers somebody with these roles."""
        return not self.roles or bool(self.roles & roles)

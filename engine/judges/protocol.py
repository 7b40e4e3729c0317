"""What a judge gets to see, which drafts it is asked about at all, and what every judge can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.types import Basis, Draft, Message, Verdict

SOURCE_FIDELITY = "source_fidelity"
UNSUPPORTED_CLAIMS = "unsupported_claims"
ROLE_AND_TONE = "role_and_tone"
CITED_REPLY = "cited_reply"
UNCITED_REPLY = "uncited_reply"
ANSWERS_FOR: Mapping[str, frozenset[str]] = {
    **{one: frozenset({one}) for one in (SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, ROLE_AND_TONE)},
    CITED_REPLY: frozenset({SOURCE_FIDELITY, ROLE_AND_TONE}),
    UNCITED_REPLY: frozenset({UNSUPPORTED_CLAIMS, ROLE_AND_TONE}),
}
"""The questions that each judge is asked: one, or for a first look both that a reply needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A draft and what is needed to judge it.

    `sources` are all the cited ones, `earlier` the turns before. `high_stakes`: the person asked about such a topic;
    `risky`: sentences of the draft that touch one by themselves. `facts`: what its author was told of the service.
    """

    draft: Draft
    message: str
    sources: tuple[Source, ...] = ()
    earlier: tuple[Message, ...] = ()
    high_stakes: bool = False
    risky: tuple[str, ...] = ()
    delusional_framing: bool = False
    facts: str = ""
    assistant_name: str = ""
    audience: str = ""
    condition: str = ""


class Judge(Protocol):
    """One narrow question, or two. Never raises a ModelError: a judge that cannot work returns a failed REJECT."""

    @property
    def name(self) -> str:
        """Which questions: one of `ANSWERS_FOR`."""
        ...

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Decide on one case."""
        ...


def applicable(case: Case, judges: Mapping[str, Judge]) -> tuple[Judge, ...]:
    """Those of a tier's judges whom a draft needs: its citations decide about its claims, role and tone is always asked.

    In the study (JMIR AI 2025;4:e69820) role was judged only where nothing was cited, so that a therapist
    with a citation passed.
    """
    cites = bool(case.draft.citations) or case.draft.basis is Basis.SOURCE
    asked = {SOURCE_FIDELITY if cites else UNSUPPORTED_CLAIMS, ROLE_AND_TONE}
    return tuple(judge for name, judge in judges.items() if ANSWERS_FOR[name] <= asked)

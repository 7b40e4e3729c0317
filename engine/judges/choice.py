"""Which judges a draft is asked by: whether it cites anything decides about its claims, role and tone is always asked."""

from __future__ import annotations

from collections.abc import Mapping

from engine.judges.protocol import Case, Judge
from engine.types import Basis

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


def judges_for(case: Case, judges: Mapping[str, Judge]) -> tuple[Judge, ...]:
    """Those of a tier's judges whom a draft needs: its citations decide about its claims, role and tone is always asked.

    In the study (JMIR AI 2025;4:e69820) role was judged only where nothing was cited, so that a therapist
    with a citation passed.
    """
    cites = bool(case.draft.citations) or case.draft.basis is Basis.SOURCE
    asked = {SOURCE_FIDELITY if cites else UNSUPPORTED_CLAIMS, ROLE_AND_TONE}
    return tuple(judge for name, judge in judges.items() if ANSWERS_FOR[name] <= asked)

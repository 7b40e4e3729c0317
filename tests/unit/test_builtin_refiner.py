"""The built-in refiner: cuts, adds the disclaimer, declines; never empty, never much longer."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.judges.choice import ROLE_AND_TONE, SOURCE_FIDELITY, UNSUPPORTED_CLAIMS
from engine.judges.claims import JudgePhrases
from engine.judges.protocol import Case
from engine.models.ledger import Ledger
from engine.refiner.builtin import BuiltinRefiner, Disclaimer, cut
from engine.types import Basis, Decision, Draft, Tier, Verdict

PHRASES = JudgePhrases.load(Path(__file__).resolve().parents[2] / "config" / "judges" / "phrases.yaml")
TEXTS = Disclaimer(
    admission="My sources do not say this.",
    verification="Please check it with a doctor.",
    decline="I have nothing reliable to say about that.",
)
REFINER = BuiltinRefiner(phrases=PHRASES, texts=TEXTS)


def refine(draft: Draft, *verdicts: Verdict, high_stakes: bool = False) -> Draft:
    case = Case(draft=draft, message="", high_stakes=high_stakes)
    return asyncio.run(REFINER.refine(case, verdicts, Ledger()))


def objection(judge: str, *sentences: str, failed: bool = False) -> Verdict:
    return Verdict(decision=Decision.REJECT, judge=judge, tier=Tier.LARGE, sentences=sentences, failed=failed)


def test_only_what_was_objected_to_is_cut() -> None:
    """The sentence named goes, the rest and the citation stay."""
    draft = Draft(reply="Tea is warm. Tea cures flu. Ask me more.", citations=("tea",), basis=Basis.SOURCE)
    refined = refine(draft, objection(SOURCE_FIDELITY, "Tea cures flu."))
    assert refined.reply == "Tea is warm. Ask me more."
    assert refined.citations == ("tea",)


def test_lists_stay_tidy() -> None:
    """A removed item leaves no bare marker, no hole and no gap in the numbers."""
    reply = "Facts about tea:\n\n1. It is warm.\n2. It cures flu.\n3. It is brown.\n\nThat is all we know."
    assert cut(reply, ["It cures flu."]) == (
        "Facts about tea:\n\n1. It is warm.\n2. It is brown.\n\nThat is all we know."
    )


def test_an_introduction_goes_with_the_last_of_its_items() -> None:
    """When nothing of a list is left its introduction goes too."""
    reply = "Tea is warm.\n\nIt may help with:\n- flu\n- gout\n\nMilk is white."
    assert cut(reply, ["flu", "gout"]) == "Tea is warm.\n\nMilk is white."


def test_a_general_statement_stays_with_its_disclaimer() -> None:
    """Without a citation the missing halves of the disclaimer are added instead of cutting."""
    draft = Draft(reply="Herbal baths relax the muscles.", basis=Basis.GENERAL)
    refined = refine(draft, objection(UNSUPPORTED_CLAIMS, "Herbal baths relax the muscles."))
    assert refined.reply == f"{draft.reply} {TEXTS.admission} {TEXTS.verification}"


def test_only_the_missing_half_is_added() -> None:
    """A draft that already sends to a doctor gets the admission alone."""
    draft = Draft(reply="Herbal baths relax the muscles. Please ask your doctor.", basis=Basis.GENERAL)
    refined = refine(draft, objection(UNSUPPORTED_CLAIMS, "Herbal baths relax the muscles."))
    assert refined.reply == f"{draft.reply} {TEXTS.admission}"


def test_high_stakes_leave_no_general_statement() -> None:
    """On a high-stakes topic the statement is cut, and the reply becomes the decline text."""
    draft = Draft(reply="Herbal baths relax the muscles.", basis=Basis.GENERAL)
    refined = refine(draft, objection(UNSUPPORTED_CLAIMS, draft.reply), high_stakes=True)
    assert refined.reply == TEXTS.decline


def test_a_role_breach_is_cut_even_from_a_general_reply() -> None:
    """What breaks the role never stays, disclaimer or not."""
    draft = Draft(reply="Herbal baths relax the muscles. I am your best friend.", basis=Basis.GENERAL)
    refined = refine(
        draft,
        objection(UNSUPPORTED_CLAIMS, "Herbal baths relax the muscles."),
        objection(ROLE_AND_TONE, "I am your best friend."),
    )
    assert "friend" not in refined.reply
    assert TEXTS.admission in refined.reply


@pytest.mark.parametrize("reply", ["Tea cures flu.", "Certainly! Tea cures flu. Would you like to hear more?"])
def test_a_reply_of_which_nothing_is_left_declines(reply: str) -> None:
    """When only greetings and questions remain the decline text is returned, without citations."""
    refined = refine(
        Draft(reply=reply, citations=("tea",), basis=Basis.SOURCE),
        objection(SOURCE_FIDELITY, "Tea cures flu."),
    )
    assert (refined.reply, refined.citations, refined.basis) == (TEXTS.decline, (), Basis.NONE)


def test_a_failed_judge_leads_to_the_decline() -> None:
    """Where a judge failed or named no sentence nobody knows what to repair, so the reply declines."""
    draft = Draft(reply="Tea is warm.", basis=Basis.SOURCE)
    assert refine(draft, objection(SOURCE_FIDELITY, failed=True)).reply == TEXTS.decline
    assert refine(draft, objection(SOURCE_FIDELITY)).reply == TEXTS.decline


def test_an_accepted_draft_stays_as_it_is() -> None:
    """Without an objection nothing changes."""
    draft = Draft(reply="Tea is warm.", basis=Basis.SOURCE)
    assert refine(draft, Verdict(decision=Decision.ACCEPT, judge=SOURCE_FIDELITY, tier=Tier.LARGE)) == draft


@settings(max_examples=100, deadline=None)
@given(
    reply=st.text(max_size=300),
    other=st.text(max_size=40),
    judge=st.sampled_from([SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, ROLE_AND_TONE]),
)
def test_never_empty_never_much_longer(reply: str, other: str, judge: str) -> None:
    """The result is never empty and no longer than the draft with the disclaimer, or the decline text."""
    refined = refine(Draft(reply=reply, basis=Basis.GENERAL), objection(judge, other, reply[:50]))
    assert refined.reply.strip()
    longest = len(f"{reply} {TEXTS.admission} {TEXTS.verification}")
    assert refined.reply == TEXTS.decline or len(refined.reply) <= longest

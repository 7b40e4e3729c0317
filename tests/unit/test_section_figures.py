"""How the finding of sections is measured: what is right, sure, offered and declined, and what stated chances came to."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.settings import CafiSettings
from engine import Guide, KnowledgeBase
from evaluation.retrieval import LabelledQuestion, measure
from evaluation.section_figures import FoundSections, reliability, section_figures
from tests.team import shipped

SLEEP = Path(__file__).resolve().parents[2] / "knowledge_base" / "sleep"


def found(*sections: str, sure: bool = False, away: bool = False, stated: float = 0.5) -> FoundSections:
    """A question that wanted `a#x` and found these."""
    return FoundSections(
        wanted=("a#x",), found=sections, first="".join(sections[:1]), sure=sure, away=away, stated=stated
    )


def test_every_row_is_sure_offered_or_declined() -> None:
    """Shares are of all rows, the share of right ones among the sure is of the sure alone."""
    rows = [
        found("a#x", sure=True, stated=0.9),
        found("b#y", "a#x", sure=True, stated=0.7),
        found("b#y", "c#z", "a#x"),
        found("b#y", "c#z", away=True, stated=0.1),
        found(away=True, stated=0.0),
    ]
    measured = section_figures(rows)
    assert (measured["n"], measured["right_at_1"], measured["right_at_4"]) == (5, 0.2, 0.6)
    assert measured["sure"] == {"share": 0.4, "right": 0.5}
    assert (measured["offered"], measured["declined"]) == (0.2, 0.4)
    assert [one["n"] for one in measured["reliability"]] == [1] * 5


def test_without_a_sure_row_there_is_no_share_of_right_ones() -> None:
    """What is a share of nothing is null, not nought."""
    assert section_figures([found("a#x")])["sure"] == {"share": 0.0, "right": None}


def test_stated_chances_stand_beside_what_came_in_fifths() -> None:
    """The rows are sorted by what was stated and divided in five; each fifth has the mean of both."""
    stated = [0.9, 0.1, 0.1, 0.3, 0.3, 0.5, 0.5, 0.7, 0.7, 0.9]
    came = [True, False, False, False, True, True, False, True, True, True]
    assert reliability(stated, came) == [
        {"n": 2, "stated": 0.1, "came": 0.0},
        {"n": 2, "stated": 0.3, "came": 0.5},
        {"n": 2, "stated": 0.5, "came": 0.5},
        {"n": 2, "stated": 0.7, "came": 1.0},
        {"n": 2, "stated": 0.9, "came": 1.0},
    ]


def test_of_few_rows_no_fifth_is_empty() -> None:
    """Three rows have three fifths; none have none."""
    assert [one["n"] for one in reliability([0.2, 0.4, 0.6], [True, False, True])] == [1, 1, 1]
    assert reliability([], []) == []


@pytest.fixture(scope="module")
def guide() -> Guide:
    """The guide over the shipped knowledge base of sleep."""
    return shipped(CafiSettings()).guide(KnowledgeBase.load(SLEEP))


def test_a_question_is_asked_as_the_agent_asks_it(guide: Guide) -> None:
    """A line of the base finds its own section and is sure; letters that are no words are declined."""
    (source, section), asked = next(iter(guide.search("en").questions.sections.items()))
    wanted = [f"{source}#{section}"]
    known = FoundSections.by(guide, asked.lines[0], wanted)
    assert (known.right, known.sure, known.away) == (True, True, False)
    unknown = FoundSections.by(guide, "qzxv wkrpt", wanted)
    assert (unknown.sure, unknown.away) == (False, True) and unknown.stated < 0.2


def test_only_rows_that_name_a_section_are_measured_for_sections(guide: Guide) -> None:
    """Rows without a section count for the sources alone, and where no row has one the figure is left out."""
    search = shipped(CafiSettings()).search(guide.knowledge)
    plain = LabelledQuestion(id="1", question="why can i not sleep", relevant=("insomnia_and_cbti",))
    named = plain.model_copy(update={"id": "2", "section": "insomnia_and_cbti#about"})
    assert "sections" not in measure([plain], search, guide=guide)
    assert measure([plain, named], search, guide=guide)["sections"]["n"] == 1

"""Claims that follow a sentence of the source except for one word in another's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.judges.agreement import disagreements, spans
from engine.judges.findings import Disagreement
from engine.judges.lexicon import Lexicon
from engine.judges.support import SourceIndex
from engine.knowledge.source import Source

LEXICON = Lexicon.load(Path(__file__).resolve().parents[2] / "config" / "builtin_judges.yaml")
BEES = Source(
    id="bees",
    title="Keeping bees",
    summary=(),
    questions=(),
    references=(),
    reviewed="none",
    high_stakes=False,
    body="Hives often get louder with heat, hunger or a strong wind.\n\n"
    "Bees suffer less from damp cold than from dry heat.\n\n"
    "Smoke can calm a hive for a short while, and it does not replace a veil.\n\n"
    "A beginner should be helped for at least three months by an older keeper.\n\n"
    "Check each hive once a week in spring. Most swarms settle in the garden again.",
    directives=(),
    path=Path("bees.md"),
)
INDEX = SourceIndex((BEES,), LEXICON)


def kinds(claim: str) -> set[Disagreement]:
    return {one.kind for one in disagreements(claim, INDEX.support(claim), INDEX, LEXICON)}


@pytest.mark.parametrize(
    ("claim", "kind"),
    [
        ("hives often get quieter with heat, hunger or a strong wind.", Disagreement.EXCHANGE),
        ("bees suffer more from damp cold than from dry heat.", Disagreement.EXCHANGE),
        ("bees suffer less from dry heat than from damp cold.", Disagreement.POLARITY),
        ("smoke can calm a hive for a short while, and it does replace a veil.", Disagreement.POLARITY),
        ("smoke will calm a hive for a short while.", Disagreement.STRENGTH),
        ("a beginner should be helped for at least three weeks by an older keeper.", Disagreement.NUMBER),
        ("a beginner should be helped for at least four months by an older keeper.", Disagreement.NUMBER),
        ("check each hive every month in spring.", Disagreement.NUMBER),
    ],
)
def test_a_word_in_another_s_place_is_found(claim: str, kind: Disagreement) -> None:
    """An opposite, a turned comparison, a lost negation, more certainty, another time: each is a disagreement."""
    assert kind in kinds(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "hives frequently become louder with heat, hunger or a strong wind.",
        "bees suffer more from dry heat than from damp cold.",
        "smoke may calm a hive for a brief while, but it is no replacement for a veil.",
        "an older keeper should help a beginner for at least three months.",
        "look into each hive weekly in spring.",
        "most swarms come back to the garden.",
    ],
)
def test_a_paraphrase_is_left_alone(claim: str) -> None:
    """Synonyms, another order and the other side of a comparison are no disagreement."""
    assert not kinds(claim)


def test_times_are_compared_by_their_length() -> None:
    """Twelve months are a year within a tenth, and a range gives both its ends."""
    assert spans("within a week") == {7.0}
    assert spans("for 2 to 3 weeks") == {14.0, 21.0}
    assert min(spans("twelve months")) / min(spans("1 year")) > 0.9
    assert not spans("some weeks later")


def test_large_numbers_are_one_number_however_they_are_written() -> None:
    """A figure written with spaces, commas or as millions is the same figure."""
    source = SourceIndex((_with_body("About 24 million people keep bees."),), LEXICON)
    for said in ("24 000 000", "24,000,000", "24 million"):
        claim = f"about {said} people keep bees."
        assert not list(disagreements(claim, source.support(claim), source, LEXICON)), said
    claim = "about 25 000 000 people keep bees."
    assert list(disagreements(claim, source.support(claim), source, LEXICON))


def _with_body(body: str) -> Source:
    return Source(
        id="many",
        title="Many",
        summary=(),
        questions=(),
        references=(),
        reviewed="none",
        high_stakes=False,
        body=body,
        directives=(),
        path=Path("many.md"),
    )


@pytest.mark.parametrize(
    "claim",
    ["about two in three keepers are stung each year.", "about one in three keepers are not stung each year."],
)
def test_the_other_share_needs_a_denial(claim: str) -> None:
    """Two in three is one in three only of those who do not."""
    source = SourceIndex((_with_body("About one in three keepers are stung each year."),), LEXICON)
    found = {one.kind for one in disagreements(claim, source.support(claim), source, LEXICON)}
    assert found & {Disagreement.NUMBER, Disagreement.POLARITY}

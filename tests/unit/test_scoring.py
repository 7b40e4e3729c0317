"""`eval score`: the published table in, the published figures out; people and programs apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.exceptions import ConfigurationError
from evaluation.rating.published import PUBLISHED, parse_published
from evaluation.rating.ratings import HUMAN, Rating, add_ratings
from evaluation.rating.scored_file import score_file
from evaluation.rating.scoring import Scoring, score_ratings, text
from evaluation.rating.tables import as_markdown, grid
from evaluation.rating.units import units_of

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
QUICK = Scoring(seed=3, resamples=200)


def rating(response: str, rater: str, score: int, *, arm: str = "on", kind: str = HUMAN, query: int = 1) -> Rating:
    """A rating of a response, whose first letter is its conversation."""
    return Rating(
        response_id=f"{response}-{arm}-{query}",
        run="r",
        role="diet",
        conversation=ord(response) - ord("a") + 1,
        query=query,
        arm=arm,
        rater=rater,
        kind=kind,
        score=score,
    )


def same_p(p: float) -> dict[str, Any]:
    """The p-value of the only test there is, alone and among all tests."""
    return {"p": pytest.approx(p), "p_holm": pytest.approx(p)}


@pytest.fixture(scope="module", params=["ours", "the study's repository"])
def published(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The published table scored: as it is shipped, and as the study's own file has it where that is there."""
    path = PUBLISHED if request.param == "ours" else SHARED / "published_results.json"
    if not path.is_file():
        pytest.skip("the study's file is not here")
    return score_file(path, QUICK)


def test_the_published_counts_come_out(published: dict[str, Any]) -> None:
    """At 2 and at 3 points the counts and per cents are the published ones, to the printed digit."""
    shares = {
        (arm, at): found[f"ge_{at}"]["text"] for arm, found in published["panels"][0]["by_arm"].items() for at in (2, 3)
    }
    assert shares == {
        ("caf_on", 2): "30/36 (83%)",
        ("caf_on", 3): "29/36 (81%)",
        ("caf_off", 2): "8/36 (22%)",
        ("caf_off", 3): "3/36 (8.3%)",
    }


def test_the_printed_counts_are_those_of_three_points(published: dict[str, Any]) -> None:
    """The printed counts fit the threshold 3 and not the 2 that the text names; the report says so."""
    assert published["printed"]["acceptable"] == {"caf_on": "29/36 (81%)", "caf_off": "3/36 (8.3%)"}
    assert published["printed_counts_fit"] == {"caf_on": [3], "caf_off": [3]}
    assert "29/36 (81%) acceptable; the count fits ≥ 3, the text says ≥ 2" in as_markdown(published)


def test_the_published_shares_by_role_come_out(published: dict[str, Any]) -> None:
    """By role the table gives 9, 10 and 10 of 12 with the filter and 0, 2 and 1 without."""
    counts = {
        role: [arms[arm]["ge_3"]["k"] for arm in ("caf_on", "caf_off")]
        for role, arms in published["panels"][0]["table"].items()
    }
    assert counts == {"social_activism": [9, 0], "social_interaction": [10, 2], "diet": [10, 1]}


def test_the_published_agreement_is_passed_on(published: dict[str, Any]) -> None:
    """Kappa and agreement are the printed ones and marked as not computed, for single ratings were not published."""
    assert published["printed"]["within_one_point"] == "65/72 (90%)"
    assert text(65, 72) == "65/72 (90%)"
    assert (published["printed"]["mean_kappa"], published["printed"]["kappa_sd"]) == (0.921, 0.0084)
    assert published["panels"][0]["agreement"] is None
    assert "mean_kappa" in published["not_recomputable"]


def test_the_published_arms_differ(published: dict[str, Any]) -> None:
    """No reply was acceptable without the filter only: 22 and 26 pairs one way give the exact p of 2 / 2^22 and 2 / 2^26."""
    (found,) = published["panels"][0]["comparisons"]
    assert found["pairs"] == 36
    assert found["mcnemar_ge_2"] == {"only_first": 22, "only_second": 0} | same_p(2 / 2**22)
    assert found["mcnemar_ge_3"] == {"only_first": 26, "only_second": 0} | same_p(2 / 2**26)
    assert found["wilcoxon"]["p"] < 1e-5


@pytest.mark.skipif(not SHARED.is_dir(), reason="the study's file is not here")
def test_the_shipped_table_is_the_studys() -> None:
    """Every median and quartile that ships with the laboratory is the one in the study's file."""
    path = SHARED / "published_results.json"
    wanted = json.loads(path.read_text(encoding="utf-8"))["table2_median_q1_q3"]
    ours = parse_published(PUBLISHED.read_text(encoding="utf-8"), PUBLISHED).medians
    assert json.loads(json.dumps(ours)) == wanted


@pytest.mark.parametrize(
    ("part", "whole", "wanted"),
    [(0, 12, "0/12 (0%)"), (1, 12, "1/12 (8.3%)"), (12, 12, "12/12 (100%)"), (0, 0, "0/0"), (1, 10, "1/10 (10%)")],
)
def test_shares_are_printed_as_the_study_does(part: int, whole: int, wanted: str) -> None:
    """Per cents have two digits that count."""
    assert text(part, whole) == wanted


def test_median_and_quartiles_of_a_response() -> None:
    """Scores 0, 2 and 4 have the median 2 and quartiles 1 and 3; a single score is its own median."""
    (three,) = units_of([rating("a", "Ada", 0), rating("a", "Ben", 2), rating("a", "Cleo", 4)])
    assert (three.median, three.q1, three.q3) == (2, 1, 3)
    (one,) = units_of([rating("a", "Ada", 3)])
    assert (one.median, one.q1, one.q3) == (3, 3, 3)


def everybody() -> list[Rating]:
    """Two people, the built-in rater and a model on four conversations in two arms."""
    scores = {"Ada": (4, 4, 0, 2), "Ben": (4, 3, 0, 4)}
    ratings = [
        rating(conversation, rater, score if arm == "on" else 0, arm=arm)
        for rater, given in scores.items()
        for conversation, score in zip("abcd", given, strict=True)
        for arm in ("on", "off")
    ]
    for kind, name in (("builtin", "builtin"), ("llm:tiny", "llm:tiny#1")):
        ratings += [rating(one, name, 4, arm=arm, kind=kind) for one in "abcd" for arm in ("on", "off")]
    return ratings


def test_people_and_programs_are_never_mixed() -> None:
    """Each kind has a panel of its own, people first; what programs say changes no figure of the people's."""
    found = score_ratings(everybody(), QUICK)
    assert [panel["kind"] for panel in found["panels"]] == [HUMAN, "builtin", "llm:tiny"]
    alone = score_ratings([one for one in everybody() if one.kind == HUMAN], QUICK)
    assert found["panels"][0] == alone["panels"][0]
    assert alone["programs_against_people"] == []
    assert [one["kind"] for one in found["programs_against_people"]] == ["builtin", "llm:tiny"]
    assert found["programs_against_people"][0]["same_side_of_3"]["text"] == "3/8 (38%)"


def test_agreement_of_a_panel() -> None:
    """Seven of eight responses lie within one point, and kappa, alphas and their intervals are there."""
    (people, *_) = score_ratings(everybody(), QUICK)["panels"]
    found = people["agreement"]
    assert found["within_one_point"]["text"] == "7/8 (88%)"
    assert found["kappa"]["pairs"][0]["raters"] == ["Ada", "Ben"]
    assert found["kappa"]["mean"] == found["kappa"]["pairs"][0]["kappa"]
    low, high = found["kappa"]["interval"]
    assert low <= found["kappa"]["mean"] <= high <= 1
    assert 0 < found["alpha"]["interval"]["alpha"] < 1


def test_arms_are_compared_where_both_answered() -> None:
    """A response whose twin in the other arm is missing is left out of the pairs, not out of the shares."""
    ratings = [one for one in everybody() if one.kind == HUMAN and (one.conversation, one.arm) != (1, "off")]
    (found,) = score_ratings(ratings, QUICK)["panels"]
    (compared,) = found["comparisons"]
    assert compared["pairs"] == 3
    assert found["by_arm"]["on"]["n"] == 4
    assert compared["mcnemar_ge_3"] == {"only_first": 0, "only_second": 2} | same_p(0.5)


def test_the_same_seed_gives_the_same_document() -> None:
    """Everything in the document, intervals included, comes out again, and it is JSON."""
    first = json.dumps(score_ratings(everybody(), QUICK), allow_nan=False)
    assert first == json.dumps(score_ratings(everybody()[::-1], QUICK), allow_nan=False)
    assert first != json.dumps(score_ratings(everybody(), Scoring(seed=4, resamples=200)), allow_nan=False)


def test_one_rating_is_enough_for_a_document() -> None:
    """A single rating gives a document with what can be said, and tables of it."""
    found = score_ratings([rating("a", "Ada", 4)], QUICK)
    assert found["panels"][0]["agreement"] is None
    assert found["panels"][0]["by_arm"]["on"]["median_interval"] is None
    assert "1/1 (100%)" in as_markdown(found)


def test_tables_are_markdown() -> None:
    """Cells are padded to their column, and every row has as many as the head."""
    assert grid(["a", "bb"], [["ccc", "d"]]) == ["| a   | bb |", "|-----|----|", "| ccc | d  |"]
    for one in as_markdown(score_ratings(everybody(), QUICK)).split("\n\n"):
        rows = [line for line in one.split("\n") if line.startswith("|")]
        assert len({len(row) for row in rows}) <= 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "no ratings"),
        ("{oops\n", "not JSON"),
        ('{"version": 0, "score": 4}\n', "older version"),
        ('{"medians": {}, "version": 0}', "older version"),
        ('{"medians": {"diet": {"on": [[[1, 2]]]}}, "version": 1, "source": "x", "raters": 3}', "medians.diet.on.0.0"),
        ('{"table2_median_q1_q3": 4}', "medians"),
    ],
)
def test_what_holds_no_ratings_is_refused(tmp_path: Path, content: str, words: str) -> None:
    """Empty files, other files and files of older versions are named with what is wrong."""
    path = tmp_path / "r.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=words) as caught:
        score_file(path, QUICK)
    assert caught.value.file == path


def test_a_ratings_file_is_scored(tmp_path: Path) -> None:
    """What was added to a file is what is scored."""
    path = tmp_path / "r.jsonl"
    add_ratings(path, everybody())
    assert score_file(path, QUICK) == score_ratings(everybody(), QUICK)

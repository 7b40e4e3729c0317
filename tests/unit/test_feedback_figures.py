"""What a report tells: figures worked out by hand, and that nobody can work out a count of one to four from it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from datetime import date
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.feedback.figures import Figures, QuestionFigures, Share, figures
from adapters.feedback.holding_back import Row, apart, merged, safe
from adapters.feedback.tallies import Selection, Tally
from adapters.weeks import week_of
from tests.feedback import shipped, tally

QUESTIONS = shipped()
TODAY = date(2026, 11, 21)
ALL = Selection.of(TODAY, weeks=None, platform=None)


def only(tallies: Sequence[Tally], selection: Selection = ALL) -> QuestionFigures:
    """The figures of the one question that there are answers to."""
    (found,) = figures(tallies, QUESTIONS, selection).questions
    return found


def short(shares: Sequence[Share]) -> list[tuple[str, int, int | None]]:
    return [("+".join(one.names), one.answers, one.chosen) for one in shares]


@pytest.mark.parametrize(
    ("chosen", "answers", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_wilson(chosen: int, answers: int, low: float, high: float) -> None:
    """The bounds are those that Newcombe (1998, table I, method 3) prints for his four examples."""
    assert Share(names=(), answers=answers, chosen=chosen).interval == pytest.approx((low, high), abs=0.00006)


def test_shares_are_those_worked_out_by_hand() -> None:
    """Forty answers over two weeks, two decisions and two sources give the shares that paper and pencil give."""
    found = only(
        [
            tally(12, week="2026-W46", sources=("causes",)),
            tally(8, week="2026-W46", option="no", sources=("voices",), decision="WARNING"),
            tally(14, sources=("causes", "voices")),
            tally(6, option="no", sources=()),
        ]
    )
    assert found.answers == 40
    assert short(found.options) == [("yes", 40, 26), ("no", 40, 14)]
    assert found.options[0].share == 0.65
    assert short(found.weeks) == [("2026-W46", 20, 12), ("2026-W47", 20, 14)]
    assert short(found.decisions) == [("ACCEPT", 32, 26), ("WARNING", 8, 0)]
    assert short(found.sources) == [("causes", 26, 26), ("voices", 22, 14)]
    assert short(found.platforms) == [("telegram", 40, 26)]
    assert found.sources_held_back == ()


def test_small_options_are_put_together_with_their_neighbour() -> None:
    """Three people who chose an option cannot be told apart from those who chose the next, and totals stay exact."""
    found = only(
        [
            tally(20, question="usefulness", option="very"),
            tally(9, question="usefulness", option="fairly"),
            tally(3, question="usefulness", option="slightly"),
            tally(6, question="usefulness", option="not"),
        ]
    )
    assert short(found.options) == [("very", 38, 20), ("fairly", 38, 9), ("slightly+not", 38, 9)]


def test_a_small_minority_is_not_told_by_its_majority() -> None:
    """With 38 favourable answers and two others, only the forty are told, in every table."""
    found = only([tally(20, week="2026-W46"), tally(18), tally(2, option="no", decision="REJECT")])
    assert (found.answers, found.options) == (40, ())
    assert short(found.weeks) == [("2026-W46", 20, None), ("2026-W47", 20, None)]
    assert short(found.decisions) == [("ACCEPT+WARNING+REJECT", 40, None)]


def test_a_question_with_four_answers_is_not_told() -> None:
    """A question with fewer than five answers is named as held back, and has no number anywhere."""
    found = figures([tally(4)], QUESTIONS, ALL)
    assert (found.questions, found.held_back) == ((), ("helpful",))
    assert figures([], QUESTIONS, ALL).held_back == ()


def test_weeks_with_few_answers_are_put_together() -> None:
    """Weeks are joined until five answers of each kind, or none, are in each row."""
    found = only([tally(3, week=f"2026-W{week}") for week in range(40, 47)])
    assert short(found.weeks) == [
        ("2026-W40+2026-W41", 6, 6),
        ("2026-W42+2026-W43", 6, 6),
        ("2026-W44+2026-W45+2026-W46", 9, 9),
    ]


def test_the_rest_of_a_selection_is_protected_too() -> None:
    """A platform's numbers are held back where subtracting them from all would tell a small one."""
    tallies = [tally(30), tally(10, platform="web"), tally(3, platform="discord")]
    telegram = Selection.of(TODAY, weeks=None, platform="telegram")
    assert short(only(tallies).platforms) == [("discord+telegram", 33, 33), ("web", 10, 10)]
    assert figures(tallies, QUESTIONS, telegram).held_back == ("helpful",)
    assert only([*tallies, tally(2, platform="discord")], telegram).answers == 30


def test_the_last_weeks_are_chosen_and_the_running_one_can_be_left_out() -> None:
    """`weeks` counts back from today, and `ended` from the week before, also over New Year."""
    assert (Selection.of(TODAY, weeks=1, platform=None).first, ALL.last) == ("2026-W47", "2026-W47")
    assert Selection.of(TODAY, weeks=4, platform=None).first == "2026-W44"
    assert Selection.of(TODAY, weeks=4, platform=None, ended=True).last == "2026-W46"
    assert Selection.of(date(2027, 1, 5), weeks=2, platform=None).first == "2026-W53"
    tallies = [tally(10, week="2026-W40"), tally(7, week="2026-W46"), tally(5)]
    assert only(tallies, Selection.of(TODAY, weeks=2, platform=None)).answers == 12
    assert only(tallies, Selection.of(TODAY, weeks=1, platform=None, ended=True)).answers == 7


def test_a_part_begins_and_ends_where_rows_of_weeks_do() -> None:
    """A week with three answers goes with its neighbour, so the last week alone takes it along, and cannot be left out."""
    tallies = [tally(10, week="2026-W45"), tally(3, week="2026-W46"), tally(9)]
    week = only(tallies, Selection.of(TODAY, weeks=1, platform=None))
    assert (week.answers, week.selection.first) == (12, "2026-W46")
    ended = only(tallies, Selection.of(TODAY, weeks=None, platform=None, ended=True))
    assert (ended.answers, ended.selection.last) == (10, "2026-W45")


def test_what_is_not_configured_any_more_is_left_out() -> None:
    """Answers to a question or option that the file no longer holds are not in the report."""
    old = Tally(
        week="2026-W47",
        platform="web",
        assistant="sleep",
        question="colour",
        option="red",
        sources=(),
        decision="none",
        count=9,
    )
    assert figures([old], QUESTIONS, ALL) == Figures(selection=ALL, questions=(), held_back=())


COUNTS = st.lists(st.integers(0, 12), min_size=1, max_size=3).map(tuple)


@given(
    st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[st.integers(0, 9)] * width), min_size=1, max_size=8))
)
def test_rows_are_safe_whole_and_in_order(counts: list[tuple[int, ...]]) -> None:
    """Merged rows keep the order and the sums, and are all safe unless even the sum is not."""
    rows = merged([Row(names=(str(at),), counts=one) for at, one in enumerate(counts)])
    assert [name for row in rows for name in row.names] == [str(at) for at in range(len(counts))]
    total = tuple(map(sum, zip(*counts, strict=True)))
    assert tuple(map(sum, zip(*(row.counts for row in rows), strict=True))) == total
    assert len(rows) == 1 or all(safe(row.counts) for row in rows)


def test_what_sources_leave_over_is_not_small() -> None:
    """Where three answers would be left for the sources that are held back, one more is held back."""
    rows = [Row(names=("a",), counts=(10,)), Row(names=("b",), counts=(7,)), Row(names=("c",), counts=(3,))]
    told, held = apart(rows, (20,))
    assert ([row.names[0] for row in told], held) == (["a"], ["b", "c"])


# An attacker who knows all that is configured, and every number of some reports, and asks of each count between which
# bounds it must lie. Where both bounds are one number between one and four, somebody has been pointed at.

QUESTION = next(one for one in QUESTIONS if one.id == "found_what_i_needed")
OPTIONS = [one.id for one in QUESTION.options]
WEEKS = ["2026-W45", "2026-W46", "2026-W47"]
PLATFORMS = ["telegram", "web"]
SETS: list[tuple[str, ...]] = [(), ("causes",), ("voices",), ("causes", "voices")]
CELLS = list(itertools.product(OPTIONS, WEEKS, PLATFORMS, SETS))
MANY = 10_000


def told(found: Figures) -> Iterator[tuple[np.ndarray, int]]:
    """Every number of a report as a sum over cells."""
    good = np.array([option in QUESTION.favourable for option, *_ in CELLS])

    def numbers(share: Share, rows: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        yield rows, share.answers
        if share.chosen is not None:
            yield rows & good, share.chosen

    for one in found.questions:
        part = one.selection
        inside = np.array([part.spans(week) and part.platform in {None, platform} for _, week, platform, _ in CELLS])
        yield inside, one.answers
        for share in one.options:
            assert share.chosen is not None
            yield inside & np.array([option in share.names for option, *_ in CELLS]), share.chosen
        for share in one.weeks:
            yield from numbers(share, inside & np.array([week in share.names for _, week, _, _ in CELLS]))
        for share in one.platforms:
            yield from numbers(share, inside & np.array([platform in share.names for _, _, platform, _ in CELLS]))
        for share in one.sources:
            yield from numbers(share, inside & np.array([share.names[0] in sources for *_, sources in CELLS]))


def targets() -> Iterator[np.ndarray]:
    """Counts that somebody may want to know: of an option, week, platform or source, of two of them together."""
    features = [
        *([option == one for option, *_ in CELLS] for one in OPTIONS),
        *([week == one for _, week, _, _ in CELLS] for one in WEEKS),
        *([platform == one for _, _, platform, _ in CELLS] for one in PLATFORMS),
        *([one in sources for *_, sources in CELLS] for one in ("causes", "voices")),
        [not sources for *_, sources in CELLS],
    ]
    arrays = [np.array(one) for one in features]
    yield from arrays
    yield from (~one for one in arrays)
    yield from (one & other for one, other in itertools.combinations(arrays, 2) if (one & other).any())


def pointed_at(reports: Sequence[tuple[np.ndarray, int]], counts: np.ndarray) -> list[int]:
    """The counts of one to four that follow from the numbers of reports, and from nothing being below zero."""
    from scipy.optimize import linprog

    matrix, values = np.array([row for row, _ in reports], float), np.array([value for _, value in reports], float)
    assert np.array_equal(matrix @ counts, values), "a report tells a wrong number"
    found = []
    for target in targets():
        if not 1 <= (count := int(target @ counts)) <= 4:
            continue
        bounds = [
            linprog(sign * target, A_eq=matrix, b_eq=values, bounds=(0, MANY), method="highs").fun * sign
            for sign in (1.0, -1.0)
        ]
        if bounds[1] - bounds[0] < 0.5:
            found.append(count)
    return found


def scattered(seed: int, most: int, empty: float) -> np.ndarray:
    random = Random(seed)
    return np.array([0 if random.random() < empty else random.randint(0, most) for _ in CELLS])


def selections(weeks: int | None) -> list[Selection]:
    return [
        ALL,
        Selection.of(TODAY, weeks=weeks, platform=None),
        *(Selection.of(TODAY, weeks=weeks, platform=one) for one in PLATFORMS),
    ]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    most=st.sampled_from([1, 2, 4, 9]),
    empty=st.sampled_from([0.0, 0.5, 0.8, 0.93]),
    weeks=st.sampled_from([None, 1, 2]),
)
def test_no_number_lets_anybody_work_out_a_small_count(seed: int, most: int, empty: float, weeks: int | None) -> None:
    """From the report on everything, on some weeks, and on each platform together no count of one to four follows."""
    assert follows(scattered(seed, most, empty), weeks) == []


def follows(counts: np.ndarray, weeks: int | None) -> list[int]:
    """The small counts that follow from all reports on some answers."""
    tallies = [
        tally(int(count), question=QUESTION.id, option=option, week=week, platform=platform, sources=sources)
        for (option, week, platform, sources), count in zip(CELLS, counts, strict=True)
        if count
    ]
    reports = [number for one in selections(weeks) for number in told(figures(tallies, QUESTIONS, one))]
    return pointed_at(reports, counts) if reports else []


HARD = [
    # Halves told of everything, and only wholes of each platform in the last week.
    {
        ("yes", "2026-W45", "telegram", ()): 9,
        ("no", "2026-W45", "telegram", ()): 6,
        ("yes", "2026-W47", "telegram", ("causes",)): 2,
        ("partly", "2026-W47", "telegram", ("causes",)): 3,
        ("yes", "2026-W47", "web", ()): 9,
        ("partly", "2026-W47", "web", ()): 11,
        ("no", "2026-W47", "web", ()): 16,
    },
    # A week with few answers beside the week that is reported on alone.
    {
        ("yes", "2026-W45", "web", ()): 9,
        ("no", "2026-W45", "web", ()): 8,
        ("yes", "2026-W46", "web", ()): 3,
        ("no", "2026-W46", "web", ()): 1,
        ("yes", "2026-W47", "web", ()): 7,
        ("no", "2026-W47", "web", ()): 6,
    },
    # Each platform alone is large, but not in the weeks that are left out.
    {
        ("yes", "2026-W45", "telegram", ()): 3,
        ("yes", "2026-W45", "web", ()): 2,
        ("yes", "2026-W47", "telegram", ()): 6,
        ("yes", "2026-W47", "web", ()): 6,
    },
]


@pytest.mark.parametrize("cells", HARD)
def test_hard_cases_tell_nothing(cells: dict[tuple[str, str, str, tuple[str, ...]], int]) -> None:
    """Answers on which simpler rules told a small count tell none, whatever weeks are chosen."""
    counts = np.array([cells.get(cell, 0) for cell in CELLS])
    assert [follows(counts, weeks) for weeks in (None, 1, 2)] == [[], [], []]


def test_the_attacker_finds_what_is_to_be_found() -> None:
    """Where a small count follows from two totals, the attacker of the test above does find it."""
    counts = np.zeros(len(CELLS))
    counts[CELLS.index(("yes", "2026-W47", "web", ()))] = 3
    counts[CELLS.index(("yes", "2026-W47", "telegram", ()))] = 20
    everything = np.ones(len(CELLS), bool)
    telegram = np.array([platform == "telegram" for _, _, platform, _ in CELLS])
    assert 3 in pointed_at([(everything, 23), (telegram, 20)], counts)
    assert pointed_at([(everything, 23)], counts) == []


def test_weeks_are_iso_weeks() -> None:
    """The week of the examples is the one that the calendar gives."""
    assert week_of(TODAY) == "2026-W47"

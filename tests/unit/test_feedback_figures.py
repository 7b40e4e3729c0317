"""What a report tells: figures worked out by hand, and that nobody can work out a count of one to four from it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.feedback.figures import Figures, OptionShare, QuestionFigures, figures
from adapters.feedback.holding_back import Row, apart, merged, safe
from adapters.feedback.tallies import Selection, Tally
from adapters.weeks import week_of
from tests.feedback import shipped, tally

QUESTIONS = shipped()
TODAY = date(2026, 11, 28)
ALL = Selection.of(TODAY, weeks=None, platform=None)


def only(tallies: Sequence[Tally], selection: Selection = ALL) -> QuestionFigures:
    """The figures of the one question that there are answers to."""
    (found,) = figures(tallies, QUESTIONS, selection).questions
    return found


def short(shares: Sequence[OptionShare]) -> list[tuple[str, int, int | None]]:
    return [("+".join(one.names), one.answers, one.chosen) for one in shares]


@pytest.mark.parametrize(
    ("chosen", "answers", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_wilson(chosen: int, answers: int, low: float, high: float) -> None:
    """The bounds are those that Newcombe (1998, table I, method 3) prints for his four examples."""
    assert OptionShare(names=(), answers=answers, chosen=chosen).interval == pytest.approx((low, high), abs=0.00006)


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


def test_a_small_minority_waits_until_it_is_none() -> None:
    """A week with 18 favourable answers and two others is not told; with three others in the next week, both are."""
    tallies = [tally(20, week="2026-W45"), tally(18, week="2026-W46"), tally(2, week="2026-W46", option="no")]
    assert short(only(tallies).weeks) == [("2026-W45", 20, 20)]
    assert figures(tallies[1:], QUESTIONS, ALL).held_back == ("helpful",)
    found = only([*tallies, tally(3, option="no")])
    assert short(found.weeks) == [("2026-W45", 20, 20), ("2026-W46+2026-W47", 23, 18)]


def test_a_question_with_four_answers_is_not_told() -> None:
    """A question with fewer than five answers is named as held back, and has no number anywhere."""
    found = figures([tally(4)], QUESTIONS, ALL)
    assert (found.questions, found.held_back) == ((), ("helpful",))
    assert figures([], QUESTIONS, ALL).held_back == ()


def test_weeks_with_few_answers_are_put_together() -> None:
    """Weeks are joined until five answers of each kind, or none, are in each row; what is left at the end waits."""
    found = only([tally(3, week=f"2026-W{week}") for week in range(40, 47)])
    assert short(found.weeks) == [
        ("2026-W40+2026-W41", 6, 6),
        ("2026-W42+2026-W43", 6, 6),
        ("2026-W44+2026-W45", 6, 6),
    ]
    assert found.answers == 18


def test_the_rest_of_a_selection_is_protected_too() -> None:
    """A platform's numbers are held back where subtracting them from all would tell a small one."""
    tallies = [tally(30), tally(10, platform="web"), tally(3, platform="discord")]
    telegram = Selection.of(TODAY, weeks=None, platform="telegram")
    assert short(only(tallies).platforms) == [("discord+telegram", 33, 33), ("web", 10, 10)]
    assert figures(tallies, QUESTIONS, telegram).held_back == ("helpful",)
    assert only([*tallies, tally(2, platform="discord")], telegram).answers == 30


def test_the_last_weeks_are_chosen_and_the_running_one_is_never_told() -> None:
    """`weeks` counts back from the last week that has ended, also over New Year."""
    assert (Selection.of(TODAY, weeks=1, platform=None).first, ALL.last) == ("2026-W47", "2026-W47")
    assert Selection.of(TODAY, weeks=4, platform=None).first == "2026-W44"
    assert Selection.of(date(2027, 1, 12), weeks=2, platform=None).first == "2026-W53"
    tallies = [tally(10, week="2026-W40"), tally(7, week="2026-W46"), tally(5), tally(9, week="2026-W48")]
    assert only(tallies, Selection.of(TODAY, weeks=2, platform=None)).answers == 12
    assert only(tallies).answers == 22


def test_a_part_begins_and_ends_where_blocks_do() -> None:
    """A week with three answers goes with the next, so the last week alone takes it along; without a next one it waits."""
    tallies = [tally(10, week="2026-W45"), tally(3, week="2026-W46"), tally(9)]
    week = only(tallies, Selection.of(TODAY, weeks=1, platform=None))
    assert (week.answers, week.selection.first) == (12, "2026-W46")
    before = only(tallies, Selection.of(date(2026, 11, 21), weeks=None, platform=None))
    assert (before.answers, before.selection.last) == (10, "2026-W45")


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

    def numbers(share: OptionShare, rows: np.ndarray) -> Iterator[tuple[np.ndarray, int]]:
        yield rows, share.answers
        if share.chosen is not None:
            yield rows & good, share.chosen

    for one in found.questions:
        part = one.selection
        weeks = {name for row in one.weeks for name in row.names}
        inside = np.array([week in weeks and part.platform in {None, platform} for _, week, platform, _ in CELLS])
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


# What somebody may do who reads every report: compare two made one after the other, ask for other weeks, watch the
# report while people answer, and answer as well.

SETS_OF_ANSWERS = 200
ENDS = [date(2026, 11, day) for day in (12, 19, 26)]
"""Thursdays: on the first W45 has ended, on the second W46, on the third W47."""


ONE = tally(1, question=QUESTION.id)


def tallies_of(counts: np.ndarray) -> list[Tally]:
    return [
        replace(ONE, option=option, week=week, platform=platform, sources=sources, count=int(count))
        for (option, week, platform, sources), count in zip(CELLS, counts, strict=True)
        if count
    ]


def every_report(counts: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """The numbers of each week's reports: on everything, on any number of weeks, on each platform."""
    numbers: dict[tuple[bytes, int], tuple[np.ndarray, int]] = {}
    tallies = tallies_of(counts)
    for today, weeks, platform in itertools.product(ENDS, (None, 1, 2, 3), (None, *PLATFORMS)):
        selection = Selection.of(today, weeks=weeks, platform=platform)
        for row, value in told(figures(tallies, [QUESTION], selection)):
            numbers[row.tobytes(), value] = row, value
    return list(numbers.values())


def solved(reports: Sequence[tuple[np.ndarray, int]], counts: np.ndarray) -> list[int]:
    """The counts of one to four that are sums and differences of told numbers, whatever they are of."""
    if not reports:
        return []
    matrix = np.array([row for row, _ in reports], float)
    assert np.array_equal(matrix @ counts, [value for _, value in reports]), "a report tells a wrong number"
    _, sizes, basis = np.linalg.svd(matrix, full_matrices=False)
    basis = basis[sizes > 1e-9]
    found = []
    for target in targets():
        small = 1 <= int(target @ counts) <= 4
        if small and np.linalg.norm(target - basis.T @ (basis @ target)) < 1e-6:
            found.append(int(target @ counts))
    return found


@pytest.mark.parametrize("empty", [0.5, 0.8, 0.93])
def test_reports_one_after_the_other_and_on_any_weeks_give_nothing_away(empty: float) -> None:
    """On 200 sets of answers no count of one to four follows from all reports of three weeks, nor from two that differ."""
    told_of = 0
    for seed in range(SETS_OF_ANSWERS):
        counts = scattered(seed, 4, empty)
        reports = every_report(counts)
        told_of += len(reports) > 1
        assert solved(reports, counts) == [], seed
        values = {row.tobytes(): value for row, value in reports}
        rows = np.array([row for row, _ in reports], bool).reshape(len(reports), len(CELLS))
        numbers = np.array([value for _, value in reports])
        for row, value in reports:  # a number and another one that is part of it
            parts = numbers[~(rows & ~row).any(axis=1)]
            assert not np.isin(value - parts, [1, 2, 3, 4]).any(), seed
        assert len(values) == len(reports), "one number was told in two ways"
    assert empty > 0.9 or told_of > SETS_OF_ANSWERS / 2, "nothing was told, so nothing was shown"


def test_one_answer_more_is_not_seen_in_the_next_report() -> None:
    """On 200 sets of answers a report that tells all does not change when a week with one more answer has ended."""
    for seed in range(SETS_OF_ANSWERS):
        counts = scattered(seed, 6, 0.5)
        counts[[week == "2026-W47" for _, week, _, _ in CELLS]] = 0
        alone = counts.copy()
        alone[Random(seed).choice([at for at, cell in enumerate(CELLS) if cell[1] == "2026-W47"])] = 1
        before, after = (
            list(told(figures(tallies_of(one), [QUESTION], Selection.of(ENDS[2], weeks=None, platform=None))))
            for one in (counts, alone)
        )
        if sum(value for row, value in before[:1]) == counts.sum():  # else it completes a block that waited
            assert [value for _, value in before] == [value for _, value in after]


def test_who_watches_the_report_sees_no_answer_come_in() -> None:
    """On 200 sets of answers the report stays the same while people answer in the running week."""
    for seed in range(SETS_OF_ANSWERS):
        counts = scattered(seed, 6, 0.5)
        ended = counts.copy()
        ended[[week == "2026-W47" for _, week, _, _ in CELLS]] = 0
        today = Selection.of(ENDS[1], weeks=None, platform=None)
        while_running, alone = (figures(tallies_of(one), [QUESTION], today) for one in (counts, ended))
        assert while_running.questions == alone.questions


def test_who_answers_as_well_learns_of_no_fewer_than_four_others() -> None:
    """On 200 sets of answers each number less the watcher's own answer, one a chat, is none or at least four others."""
    for seed in range(SETS_OF_ANSWERS):
        counts = scattered(seed, 4, 0.6)
        own = Random(seed).randrange(len(CELLS))
        padded = counts.copy()
        padded[own] += 1
        for row, value in every_report(padded):
            assert value - int(row[own]) not in {1, 2, 3}, seed


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
    assert week_of(date(2026, 11, 22)) == "2026-W47"
    assert week_of(TODAY) == "2026-W48"

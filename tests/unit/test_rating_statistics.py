"""The statistics of ratings, against published worked examples, sums done by hand and laws that they must keep."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.rating.agreement import Level, alpha, mean_kappa, pairwise_kappas, quadratic_kappa, within_one_point
from evaluation.rating.intervals import bootstrap
from evaluation.rating.paired import holm, mcnemar, wilcoxon
from evaluation.rating.scoring import share

NONE = math.nan
# The reliability data of example C in K. Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011):
# four observers, twelve units, values missing.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
)
# The plants of C. Darwin, "The Effects of Cross and Self Fertilisation" (1876): differences in height of fifteen pairs,
# in eighths of an inch.
DARWIN = [6, 8, 14, 16, 23, 24, 28, 29, 41, -48, 49, 56, 60, -67, 75]

score = st.integers(0, 4)
two_raters = st.lists(st.tuples(score, score), min_size=1, max_size=30)
some_scores = st.lists(st.lists(st.one_of(score, st.none()), min_size=3, max_size=3), min_size=1, max_size=15)


def table(rows: list[list[int | None]]) -> np.ndarray:
    """Units × raters, as hypothesis makes them, turned into raters × units."""
    return np.array([[NONE if one is None else one for one in row] for row in rows], dtype=float).T


def by_the_book(first: list[int], second: list[int]) -> float | None:
    """Weighted kappa as Cohen writes it, with a table of proportions and one of weights."""
    n = len(first)
    observed = expected = 0.0
    for i, j in product(range(5), repeat=2):
        weight = (i - j) ** 2 / 16
        observed += weight * sum(a == i and b == j for a, b in zip(first, second, strict=True)) / n
        expected += weight * first.count(i) / n * second.count(j) / n
    return None if expected == 0 else 1 - observed / expected


@pytest.mark.parametrize(("level", "printed"), [("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_worked_example(level: Level, printed: float) -> None:
    """Krippendorff's example gives the alphas that are printed beside it."""
    found = alpha(KRIPPENDORFF, level)
    assert found is not None
    assert round(found, 3) == printed


def test_kappa_by_hand() -> None:
    """Five replies rated 0 0 2 4 4 and 0 1 2 4 3 give 1 - 0.4 / 5.2."""
    first, second = np.array([0.0, 0, 2, 4, 4]), np.array([0.0, 1, 2, 4, 3])
    # Squared differences 0 1 0 0 1: mean 0.4. Means 2 and 2, variances 3.2 and 2: expected 5.2.
    assert quadratic_kappa(first, second) == pytest.approx(1 - 0.4 / 5.2, abs=1e-12)


@given(two_raters)
def test_kappa_is_the_one_of_the_book(pairs: list[tuple[int, int]]) -> None:
    """The short formula gives what Cohen's tables of proportions and weights give, undefined cases included."""
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    wanted = by_the_book(first, second)
    found = quadratic_kappa(np.array(first, dtype=float), np.array(second, dtype=float))
    assert (found is None) == (wanted is None)
    assert wanted is None or found == pytest.approx(wanted, abs=1e-9)


@given(two_raters)
def test_kappa_is_symmetric_and_never_above_one(pairs: list[tuple[int, int]]) -> None:
    """Whose scores come first makes no difference, and full agreement is the most there is."""
    first, second = np.array(pairs, dtype=float).T
    found = quadratic_kappa(first, second)
    assert found == quadratic_kappa(second, first)
    assert found is None or found <= 1


@given(st.lists(score, min_size=2).filter(lambda scores: len(set(scores)) > 1))
def test_the_same_scores_agree_fully(scores: list[int]) -> None:
    """Raters who say the same have kappa and alpha 1, whoever else says it too."""
    one = np.array(scores, dtype=float)
    assert quadratic_kappa(one, one) == 1
    three = np.vstack([one, one, one])
    assert mean_kappa(three) == 1
    assert alpha(three, "ordinal") == alpha(three, "interval") == 1


@pytest.mark.parametrize("scores", [[[4, 4, 4], [4, 4, 4]], [[4, NONE], [NONE, 4]], [[NONE], [NONE]]])
def test_nothing_is_said_of_scores_that_do_not_vary(scores: list[list[float]]) -> None:
    """Without variation, or without a unit that two raters scored, kappa and alpha are undefined and not 0 or 1."""
    rows = np.array(scores, dtype=float)
    assert quadratic_kappa(rows[0], rows[1]) is None
    assert mean_kappa(rows) is None
    assert alpha(rows, "ordinal") is None
    assert alpha(rows, "interval") is None


@given(some_scores, st.permutations(range(3)))
def test_alpha_knows_no_order_of_raters(rows: list[list[int | None]], order: list[int]) -> None:
    """Alpha is the same whichever rater comes first."""
    scores = table(rows)
    for level in ("ordinal", "interval"):
        assert alpha(scores[order], level) == pytest.approx(alpha(scores, level))


@given(some_scores, score)
def test_alpha_ignores_what_cannot_be_paired(rows: list[list[int | None]], lonely: int) -> None:
    """A unit with one score or none changes nothing."""
    scores, more = table(rows), table([*rows, [lonely, None, None], [None, None, None]])
    for level in ("ordinal", "interval"):
        assert alpha(more, level) == pytest.approx(alpha(scores, level))


@given(some_scores, st.integers(-3, 3), st.integers(1, 5))
def test_alpha_keeps_to_its_level(rows: list[list[int | None]], shift: int, factor: int) -> None:
    """Interval alpha survives another unit of measurement, ordinal alpha anything that keeps the order."""
    scores = table(rows)
    assert alpha(scores * factor + shift, "interval") == pytest.approx(alpha(scores, "interval"))
    assert alpha(scores**3, "ordinal") == pytest.approx(alpha(scores, "ordinal"))


def test_pairs_of_raters_use_what_both_scored() -> None:
    """Each pair is compared over the units that both of them scored, and the mean is over the pairs."""
    scores = np.array([[0, 4, 0, NONE], [0, 4, 4, 0], [0, 4, NONE, 4]], dtype=float)
    found = pairwise_kappas(scores)
    assert [(a, b) for a, b, _ in found] == [(0, 1), (0, 2), (1, 2)]
    assert found[1][2] == 1
    kappas = [kappa for _, _, kappa in found if kappa is not None]
    assert mean_kappa(scores) == pytest.approx(sum(kappas) / 3)


def test_within_one_point_counts_units_with_two_scores() -> None:
    """The spread between highest and lowest decides; a unit that one rater scored does not count."""
    scores = np.array([[4, 4, 0, 2, 1], [3, 4, 2, NONE, 1], [4, 4, 1, NONE, NONE]], dtype=float)
    assert within_one_point(scores) == (3, 4)
    assert within_one_point(np.full((2, 3), NONE)) == (0, 0)


def test_mcnemar_by_hand() -> None:
    """Ten pairs one way and two the other give 2 · (1 + 12 + 66) / 4096, and no differing pair gives 1."""
    first, second = [True] * 10 + [False] * 2 + [True] * 5, [False] * 10 + [True] * 2 + [True] * 5
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second) == (10, 2)
    assert found.p == pytest.approx(2 * 79 / 4096)
    assert mcnemar([True, False], [True, False]).p == 1
    assert mcnemar(second, first).p == pytest.approx(found.p)


def test_wilcoxon_of_the_worked_example() -> None:
    """Darwin's plants have a rank sum of 24 and the exact p-value 0.0413."""
    found = wilcoxon(DARWIN, [0] * 15)
    assert (found.statistic, found.differ) == (24, 15)
    assert round(found.p, 4) == 0.0413


def test_wilcoxon_leaves_out_what_does_not_differ() -> None:
    """Pairs without a difference do not count, and where no pair differs nothing has been shown."""
    assert wilcoxon([*DARWIN, 5, 5], [*[0] * 15, 5, 5]).p == wilcoxon(DARWIN, [0] * 15).p
    assert wilcoxon([1, 2], [1, 2]).p == 1
    assert wilcoxon([], []).p == 1


@given(st.lists(st.tuples(score, score), min_size=1, max_size=40))
def test_tests_between_arms_give_a_probability(pairs: list[tuple[int, int]]) -> None:
    """Whatever the scores, ties and zeros included, p is above 0 and not above 1, and the same both ways round."""
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = wilcoxon(first, second), wilcoxon(second, first)
    assert 0 < there.p <= 1
    assert there.p == pytest.approx(back.p)
    assert 0 < mcnemar([a > 2 for a in first], [b > 2 for b in second]).p <= 1


def test_holm_by_hand() -> None:
    """Of three p-values the smallest counts three times, the next twice, and none falls below one before it."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1, 1]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_only_raises(ps: list[float]) -> None:
    """No p-value becomes smaller or more than one, and their order stays."""
    raised = holm(ps)
    assert all(p <= up <= 1 for p, up in zip(ps, raised, strict=True))
    order = sorted(range(len(ps)), key=lambda one: ps[one])
    assert [raised[one] for one in order] == sorted(raised)


def test_wilson_of_the_worked_example() -> None:
    """81 of 263 give 0.2553 to 0.3662, as Newcombe prints it (Statistics in Medicine 17 (1998) 857–872, Table I)."""
    assert share(81, 263)["interval"] == [0.2553, 0.3662]
    assert share(0, 0)["interval"] is None


def test_the_bootstrap_comes_out_the_same() -> None:
    """The same seed gives the same interval, another seed another one."""
    values = np.arange(20.0)

    def interval(seed: int) -> tuple[float, float] | None:
        return bootstrap(range(20), lambda places: float(values[places].mean()), seed=seed, resamples=200)

    assert interval(1) == interval(1)
    assert interval(1) != interval(2)


def test_the_bootstrap_covers_what_it_should() -> None:
    """For a hundred units the interval of the mean is the mean ± 1.96 standard errors, within a tenth of its width."""
    values = np.random.default_rng(5).normal(size=100)
    found = bootstrap(range(100), lambda places: float(values[places].mean()), seed=1, resamples=4000)
    error = 1.96 * values.std() / 10
    assert found == pytest.approx((values.mean() - error, values.mean() + error), abs=0.2 * error)


def test_conversations_are_drawn_whole() -> None:
    """Units of one conversation always come together, and a single conversation says nothing of others."""
    seen: list[tuple[int, ...]] = []

    def note(places: np.ndarray) -> float:
        seen.append(tuple(sorted(places.tolist())))
        return 0.0

    bootstrap(["a", "b", "a", "b"], note, seed=1, resamples=50)
    assert set(seen) == {(0, 0, 2, 2), (0, 1, 2, 3), (1, 1, 3, 3)}
    assert bootstrap(["a", "a"], note, seed=1) is None
    assert bootstrap(["a", "b"], lambda places: None, seed=1, resamples=10) is None

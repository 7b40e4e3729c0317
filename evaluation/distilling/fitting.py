"""Logistic regression with a penalty on the size of weights, in numpy, and its cross-validation by family and source.

The weights are found in the dual, from inner products of lessons alone (kernel logistic regression by Newton's method;
Zhu and Hastie, 2005): there are fewer lessons than words and letters. Deterministic.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.exceptions import ConfigurationError
from evaluation.distilling.lessons import Lesson, fold_of

FOLDS = 5
_NEWTON_STEPS = 20
_CLOSE_ENOUGH = 1e-5
_BIAS = 1.0  # the product that every two lessons share
_MOST = 8000  # lessons; memory grows with their square
_CHUNK = 2048
_ENOUGH = 30  # lessons of each kind that a student needs
Numbers = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """How to fit: `penalty` on weights, `written` how much more a reply written by a person counts, `letters` the
    factor of words and letters beside named signs."""

    penalty: float = 2.0
    written: float = 10.0
    letters: float = 2.0


@dataclass(frozen=True, kw_only=True)
class Weights:
    """What was learnt, before it is packed."""

    bias: float
    named: dict[str, float]
    table: Numbers


@dataclass(frozen=True, kw_only=True)
class Classroom:
    """Lessons with their inner products, so that many students can be fitted on parts of them."""

    lessons: Sequence[Lesson]
    fit: Fit
    products: Numbers

    @classmethod
    def of(cls, lessons: Sequence[Lesson], fit: Fit, bits: int) -> Classroom:
        """Raises ConfigurationError for too few lessons of a kind, or too many."""
        flagged = sum(one.flag for one in lessons)
        if min(flagged, len(lessons) - flagged) < _ENOUGH:
            raise ConfigurationError(
                f"{flagged} replies are to be flagged and {len(lessons) - flagged} to be accepted: too few to learn from.",
                remedy=f"Give at least {_ENOUGH} of each, e.g. from `cafi eval generate`.",
            )
        if len(lessons) > _MOST:
            raise ConfigurationError(f"{len(lessons)} lessons are too many.", remedy=f"Give at most {_MOST}.")
        return cls(lessons=lessons, fit=fit, products=_products(lessons, bits, fit.letters))

    def alphas(self, chosen: NDArray[np.intp]) -> Numbers:
        """The dual weights of a student of the chosen lessons."""
        flags = np.array([self.lessons[one].flag for one in chosen], dtype=float)
        costs = self._costs(chosen, flags)
        return _newton(self.products[np.ix_(chosen, chosen)], flags, costs, self.fit.penalty)

    def _costs(self, chosen: NDArray[np.intp], flags: Numbers) -> Numbers:
        """Both verdicts weigh the same in sum; what a person wrote weighs more."""
        costs = np.array([1.0 if self.lessons[one].generated else self.fit.written for one in chosen], dtype=float)
        for wanted in (0.0, 1.0):
            mine = flags == wanted
            costs[mine] *= len(chosen) / (2 * costs[mine].sum())
        return costs

    def held_out(self, progress: Callable[[], None] = lambda: None) -> Numbers:
        """The score of each lesson by a student that saw neither its family nor any of its sources.

        A lesson without a source has a fold of its own there. FOLDS squared students are fitted.
        """
        families = np.array([fold_of(one.family, FOLDS) for one in self.lessons])
        touched = [{fold_of(source, FOLDS) for source in one.sources} for one in self.lessons]
        primary = np.array([fold_of(one.sources[0] if one.sources else one.id, FOLDS) for one in self.lessons])
        scores = np.zeros(len(self.lessons))
        for source in range(FOLDS):
            without = np.array([source not in some for some in touched])
            for family in range(FOLDS):
                tested = np.flatnonzero((families == family) & (primary == source))
                # Every source of a tested reply is kept out, also a second one of another fold.
                second = {name for one in tested.tolist() for name in self.lessons[one].sources[1:]}
                apart = np.array([second.isdisjoint(one.sources) for one in self.lessons])
                learnt = np.flatnonzero((families != family) & without & apart)
                progress()
                if len(tested) and len({self.lessons[one].flag for one in learnt.tolist()}) == 2:
                    scores[tested] = self.products[np.ix_(tested, learnt)] @ self.alphas(learnt)
        return scores

    def graduate(self, bits: int) -> Weights:
        """The student of all lessons."""
        alphas = self.alphas(np.arange(len(self.lessons)))
        named: dict[str, float] = {}
        table = np.zeros(2 << bits if bits else 0)
        for one, alpha in zip(self.lessons, alphas, strict=True):
            for name, value in one.signs.named.items():
                named[name] = named.get(name, 0.0) + float(alpha) * value
            for factor, places in one.signs.places:
                np.add.at(table, np.array(places), float(alpha) * factor * self.fit.letters**2)
        return Weights(bias=float(alphas.sum()) * _BIAS, named=dict(sorted(named.items())), table=table)


def threshold_for(scores: Numbers, flags: NDArray[np.bool_], *, sensitivity: float | None, specificity: float) -> float:
    """The highest threshold that flags at least `sensitivity` of those to be flagged; without it, the lowest that accepts
    at least `specificity` of the others."""
    if sensitivity is not None:
        mine = np.sort(scores[flags])[::-1]
        return float(mine[max(0, math.ceil(sensitivity * len(mine) - 1e-9) - 1)])
    others = np.sort(scores[~flags])
    place = math.ceil(specificity * len(others) - 1e-9) - 1
    return float(np.nextafter(others[max(0, place)], np.inf))


def rounded(table: Numbers) -> tuple[array[int], float]:
    """A table as 16-bit numbers and what one of them is worth."""
    largest = float(np.abs(table).max()) if len(table) else 0.0
    scale = largest / 32767
    return array("h", np.rint(table / scale).astype(int).tolist() if scale else [0] * len(table)), scale


def _products(lessons: Sequence[Lesson], bits: int, letters: float) -> Numbers:
    """Inner products of all lessons: named signs, words and letters, and the bias."""
    names = sorted({name for one in lessons for name in one.signs.named})
    column = {name: number for number, name in enumerate(names)}
    dense = np.zeros((len(lessons), len(names)))
    for row, one in enumerate(lessons):
        for name, value in one.signs.named.items():
            dense[row, column[name]] = value
    found = dense @ dense.T + _BIAS
    return found + _letters(lessons, bits, letters) if bits else found


def _letters(lessons: Sequence[Lesson], bits: int, factor: float) -> Numbers:
    found = np.zeros((len(lessons), len(lessons)))
    groups = [(row, np.array(places), worth) for row, one in enumerate(lessons) for worth, places in one.signs.places]
    rows = np.concatenate([np.full(len(places), row) for row, places, _ in groups])
    places = np.concatenate([places for _, places, _ in groups])
    values = np.concatenate([np.full(len(places), worth * factor) for _, places, worth in groups])
    order = np.argsort(places, kind="stable")
    rows, places, values = rows[order], places[order], values[order]
    for start in range(0, 2 << bits, _CHUNK):
        low, high = np.searchsorted(places, (start, start + _CHUNK))
        part = np.zeros((len(lessons), _CHUNK), dtype=np.float32)
        np.add.at(part, (rows[low:high], places[low:high] - start), values[low:high].astype(np.float32))
        used = part.any(axis=0)
        found += part[:, used] @ part[:, used].T
    return found


def _newton(products: Numbers, flags: Numbers, costs: Numbers, penalty: float) -> Numbers:
    """Dual weights that minimise the weighted logistic loss and the penalty."""
    alphas = np.zeros(len(flags))
    for _ in range(_NEWTON_STEPS):
        scores = products @ alphas
        chances = 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
        curve = np.maximum(costs * chances * (1 - chances), 1e-9)
        aim = scores + costs * (flags - chances) / curve
        root = np.sqrt(curve)
        system = root[:, None] * products * root[None, :]
        system[np.diag_indices_from(system)] += penalty
        new = root * np.linalg.solve(system, root * aim)
        change = float(np.abs(new - alphas).max())
        alphas = new
        if change < _CLOSE_ENOUGH:
            break
    return alphas

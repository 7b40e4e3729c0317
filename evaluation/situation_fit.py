"""Learn what people tell who ask nothing, and write `config/situations.npy`.

    python -m evaluation.situation_fit            # measures with authors left out, writes, then measures those kept back
    python -m evaluation.situation_fit --measure  # only the authors who are kept back, with the weights that are there

Each row is a remark of a natural conversation, and the situation in whose words a reader would have answered it, or that it is
none (also where it asks, or tells of danger). Two situations may fit as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from engine import LIKELY, Message, Role, Situation, SituationReading, TextEncoder, meanings
from evaluation.meaning_lessons import author, prepared
from evaluation.natural_messages import ReadMessage, read_messages
from evaluation.urgency_training import ROOT

Floats = np.ndarray[Any, np.dtype[np.float64]]
Places = Sequence[tuple[int, ...]]

DATA = ROOT / "evaluation" / "data" / "situations"
PLACE = ROOT / "config" / "situations"
PENALTY = 3e-5
FOLDS = 6


def main() -> None:
    """Measure, write; or only measure."""
    reading = SituationReading.load(PLACE, prepared(__doc__, train))
    told([(reading.of(row.text, before(row)), names(row)) for row in rows("kept_back.jsonl")], "kept back")
    rated(reading)


def rated(reading: SituationReading) -> None:
    """What two readers said of the sentence of the likeliest situation, where it is named now: 2 fits, 1 harmless, 0 odd."""
    for what, named in (("named", True), ("not named", False)):
        some = [
            row.said
            for row in rows("rated.jsonl")
            if (reading.of(row.text, before(row)) == row.said["situation"]) is named
        ]
        for whose, ratings in (("its sentence", "ratings"), ("“Thank you for telling me”", "plain")):
            means = [sum(one[ratings]) / len(one[ratings]) for one in some]
            fits, odd = sum(one >= 1.5 for one in means), sum(one < 1 for one in means)
            print(f"rated, {what}: of {len(some)}, {whose} fits {fits} and is odd for {odd}")


def rows(*patterns: str) -> Iterator[ReadMessage]:
    """Remarks that readers sorted."""
    yield from read_messages(*patterns, folder=DATA)


def names(row: ReadMessage) -> tuple[str, ...]:
    """The situations that fit a remark, none where none does or where no sentence of ours does: what somebody takes in, answers
    with or means to do is met by no fixed sentence."""
    return tuple(name for name in str(row.said["situation"]).split("/") if name in known())


@cache
def known() -> dict[str, Situation]:
    """The situations by name."""
    return SituationReading.described(PLACE)


def before(row: ReadMessage) -> tuple[Message, ...]:
    """The message before a remark."""
    return tuple(Message(role=Role.USER, content=one) for one in row.earlier[-1:])


def told(found: Sequence[tuple[str | None, tuple[str, ...]]], what: str) -> None:
    """How many remarks are given a situation, and how many of these one that fits."""
    named = [(one, fits) for one, fits in found if one is not None]
    print(
        f"{what}: of {len(found)} remarks, {sum(bool(fits) for _, fits in found)} of a situation, {len(named)} are given one, "
        f"{sum(one in fits for one, fits in named)} one that fits, {sum(not fits for _, fits in named)} where none does"
    )


def learnt(meant: Floats, places: Places, count: int) -> Floats:
    """Weights and constants of a row each: likelihoods whose sum over the fitting ones is greatest."""
    wanted = np.zeros((len(places), count))
    for at, some in enumerate(places):
        wanted[at, list(some)] = 1 / len(some)
    wide = np.hstack([meant, np.ones((len(meant), 1))])

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(count, -1)
        sums = wide @ weights.T
        wrong = (softmax(sums, axis=1) - wanted) / len(wide)
        square = PENALTY * float((weights[:, :-1] ** 2).sum())
        slope = wrong.T @ wide
        slope[:, :-1] += 2 * PENALTY * weights[:, :-1]
        return float(-(wanted * log_softmax(sums, axis=1)).sum() / len(wide)) + square, slope.ravel()

    start = np.zeros(count * wide.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 300})
    return np.asarray(found.x.reshape(count, -1))


def train(encoder: TextEncoder) -> None:
    """Learn from the authors in view, measure with some of them left out in turn, and write."""
    number = {name: at for at, name in enumerate(known())}
    read = list(rows("natural.jsonl"))
    meant = np.array(
        [meanings(encoder, row.text, [one.content for one in before(row)]) for row in read], dtype=np.float64
    )
    places = [tuple(number[name] for name in names(row)) or (len(number),) for row in read]
    folds = np.array([int(author(row.conversation.id)) % FOLDS for row in read])
    found: list[tuple[str | None, tuple[str, ...]]] = []
    for fold in range(FOLDS):
        taught, left = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        weights = learnt(meant[taught], [places[at] for at in taught], len(number) + 1)
        likely = softmax(np.hstack([meant[left], np.ones((len(left), 1))]) @ weights.T, axis=1)[:, :-1]
        for at, row in zip(left.tolist(), likely, strict=True):
            found.append((list(number)[row.argmax()] if row.max() >= LIKELY else None, names(read[at])))
    told(found, "left out")
    np.save(PLACE.with_suffix(".npy"), learnt(meant, places, len(number) + 1).astype(np.float32))


if __name__ == "__main__":
    main()

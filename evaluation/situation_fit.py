"""Learn what people tell who ask nothing: writes `config/situations.hidden.npy`, `.npy` and `.fits.npy`.

    python -m evaluation.situation_fit            # learns, writes, then measures authors who are kept back
    python -m evaluation.situation_fit --measure  # only that, with the weights that are there

Each row is a remark of a natural conversation, and the situation in whose words a reader would have answered it, or that it is
none (also where it asks, or tells of danger); two situations may fit as well. Others were written for a situation. For which
others a sentence would do, readers said (`fits`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from scipy.special import softmax

from engine import SITUATIONS_HIDDEN as HIDDEN
from engine import Message, Role, Situation, SituationReading, TextEncoder, wholes
from evaluation.meaning_lessons import prepared, rows_in
from evaluation.natural_messages import ReadMessage, read_messages
from evaluation.urgency_training import ROOT

Floats = np.ndarray[Any, np.dtype[np.float64]]
Layer = np.ndarray[Any, np.dtype[np.float32]]
Places = Sequence[tuple[int, ...]]
Remark = tuple[str, tuple[Message, ...], tuple[str, ...]]
"""What somebody told, the message before it, and the situations that readers gave it, none where none fits."""

DATA = ROOT / "evaluation" / "data" / "situations"
PLACE = ROOT / "config" / "situations"
STEPS, AT_ONCE, RATE, DROPPED, PENALTY = 1500, 512, 1e-3, 0.5, 0.05


def main() -> None:
    """Write, and measure; or only measure."""
    reading = SituationReading.load(PLACE, prepared(__doc__, train))
    told(reading, [(row.text, before(row), names_in(row.said)) for row in rows("kept_back.jsonl")], "natural")
    told(reading, sorted_by_author("remarks_kept_back"), "by a further author")
    told(reading, [(row["text"], (), (row["situation"],)) for row in rows_in(DATA / "written_kept_back")], "written")
    rated(reading)


def told(reading: SituationReading, remarks: Sequence[Remark], what: str) -> None:
    """How many remarks of authors kept back get a sentence, and what the readers of sentences say of it."""
    at = {name: number for number, name in enumerate((*known(), ""))}
    rows_of = {name: number for number, name in enumerate(reading.situations)}
    found: Counter[int] = Counter()
    in_peace = 0
    for text, earlier, fitting in remarks:
        if (named := reading.of(text, earlier)) is not None:
            said = max(float(reading.fits[rows_of[named], at[one]]) for one in fitting or ("",))
            found[(said > 0) - (said < 0)] += 1
        else:
            in_peace += reading.wants_peace(text, earlier)
    counts = f"one that fits {found[1]}, that does no harm {found[0]}, that is odd {found[-1]}"
    print(
        f"{what}: {found.total()} of {len(remarks)} get a sentence of their own, {counts}; {in_peace} others are asked nothing"
    )


def rated(reading: SituationReading) -> None:
    """What two readers said of a situation's sentence and of one that fits whatever was told: 2 fits, 1 harmless, 0 odd."""
    for what, named in (("said", True), ("not said", False)):
        some = [
            row.said
            for row in rows("rated*.jsonl")
            if (reading.of(row.text, before(row)) == row.said["situation"]) is named
        ]
        for whose, ratings in (("its sentence", "ratings"), ("“Thank you for telling me”", "plain")):
            means = [sum(one[ratings]) / len(one[ratings]) for one in some if one.get(ratings)]
            fits, odd = sum(one >= 1.5 for one in means), sum(one < 1 for one in means)
            print(f"rated, {what}: of {len(means)}, {whose} fits {fits} and is odd for {odd}")


def rows(*patterns: str) -> Iterator[ReadMessage]:
    """Remarks that readers sorted."""
    yield from read_messages(*patterns, folder=DATA)


def remarks() -> list[Remark]:
    """All that is learnt from: natural remarks that readers sorted, or their authors, and those written for each."""
    some: list[Remark] = [(row.text, before(row), names_in(row.said)) for row in rows("natural.jsonl")]
    some += sorted_by_author("remarks")
    return some + [(row["text"], (), (row["situation"],)) for row in rows_in(DATA / "written")]


def sorted_by_author(folder: str) -> list[Remark]:
    """Natural remarks that their authors sorted, once all were written."""
    return [
        (row["text"], tuple(Message(role=Role.USER, content=one) for one in row["before"]), names_in(row))
        for row in rows_in(DATA / folder)
    ]


def names_in(said: Mapping[str, Any]) -> tuple[str, ...]:
    """The situations that fit a remark; none where it asks, tells of danger, or none of ours does."""
    return tuple(name for name in str(said["situation"]).split("/") if name in known())


@cache
def known() -> dict[str, Situation]:
    """The situations that remarks are sorted by, in the order of the weights."""
    return {name: one for name, one in SituationReading.described(PLACE).items() if not one.wide}


def before(row: ReadMessage) -> tuple[Message, ...]:
    """The message before a remark."""
    return tuple(Message(role=Role.USER, content=one) for one in row.earlier[-1:])


def learnt(read: Layer, places: Places, count: int) -> tuple[Layer, Layer]:
    """The two layers, a constant in the last place of each row: likelihoods whose sum over the fitting ones is greatest, by steps
    after Kingma & Ba 2015 (arXiv 1412.6980), with numbers left out at random (Srivastava et al. 2014, JMLR 15)."""
    wanted = np.zeros((len(places), count), dtype=np.float32)
    for at, some in enumerate(places):
        wanted[at, list(some)] = 1 / len(some)
    middle, spread = read.mean(axis=0), read.std(axis=0) + 1e-6
    wide = ((read - middle) / spread).astype(np.float32)
    fuller, dice = np.float32(1 / (1 - DROPPED)), np.random.default_rng(1)
    layers = [
        np.hstack([dice.normal(0, size[1] ** -0.5, size), np.zeros((size[0], 1))]).astype(np.float32)
        for size in ((HIDDEN, wide.shape[1]), (count, HIDDEN))
    ]
    slopes, squares = ([np.zeros_like(one) for one in layers] for _ in range(2))
    for step in range(STEPS):
        chosen = dice.integers(len(wide), size=AT_ONCE)
        shown = wide[chosen] * (dice.random((AT_ONCE, wide.shape[1])) >= DROPPED) * fuller
        inner = shown @ layers[0][:, :-1].T + layers[0][:, -1]
        kept = (inner > 0) * (dice.random(inner.shape) >= DROPPED) * fuller
        wrong = (softmax(inner * kept @ layers[1][:, :-1].T + layers[1][:, -1], axis=1) - wanted[chosen]) / AT_ONCE
        back = wrong @ layers[1][:, :-1] * kept
        for at, slope in enumerate(
            (
                np.column_stack([back.T @ shown, back.sum(axis=0)]),
                np.column_stack([wrong.T @ (inner * kept), wrong.sum(axis=0)]),
            )
        ):
            slopes[at] += 0.1 * (slope - slopes[at])
            squares[at] += 0.001 * (slope**2 - squares[at])
            way = slopes[at] / (1 - 0.9 ** (step + 1)) / (np.sqrt(squares[at] / (1 - 0.999 ** (step + 1))) + 1e-8)
            rate = RATE * (1 - step / STEPS)
            layers[at][:, :-1] *= 1 - rate * PENALTY
            layers[at] -= rate * way
    first = layers[0][:, :-1] / spread
    return np.column_stack([first, layers[0][:, -1] - first @ middle]), layers[1]


def fitting() -> Floats:
    """For each situation with sentences and each that remarks are sorted by, and for none of these: 1 where the sentences fit, 0
    where they do no harm, -1 where they are odd; the mean of all readers, and only its own where nobody said anything of one."""
    at = {name: number for number, name in enumerate((*known(), "none"))}
    everything = SituationReading.described(PLACE)
    said: dict[str, list[Floats]] = {name: [] for name in everything}
    for row in rows_in(DATA / "fits"):
        values = np.full(len(at), -1.0)
        values[[at[name] for name in row["harmless"]]] = 0.0
        values[[at[name] for name in row["fits"]]] = 1.0
        said[row["sentence"]].append(values)
    found = np.array([np.mean(some or [np.full(len(at), -1.0)], axis=0) for some in said.values()])
    for number, (name, one) in enumerate(everything.items()):
        if not one.wide:
            found[number, at[name]] = 1.0
    return found


def train(encoder: TextEncoder) -> None:
    """Learn from the authors in view, and write."""
    number, some = {name: at for at, name in enumerate(known())}, remarks()
    read = np.array(
        [wholes(encoder, text, [one.content for one in earlier]) for text, earlier, _ in some], dtype=np.float32
    )
    places = [tuple(number[name] for name in names) or (len(number),) for _, _, names in some]
    for end, layer in zip((".hidden.npy", ".npy"), learnt(read, places, len(number) + 1), strict=True):
        np.save(PLACE.with_suffix(end), layer.astype(np.float16))
    np.save(PLACE.with_suffix(".fits.npy"), fitting().astype(np.float16))


if __name__ == "__main__":
    main()

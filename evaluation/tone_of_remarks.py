"""Learn in what tone people tell something, and write `config/guide/tone.*`.

    python -m evaluation.tone_of_remarks            # measures with each author left out, writes, then measures the others
    python -m evaluation.tone_of_remarks --measure  # only the authors who are kept back, with the weights that are there

Each row is a remark, the message before it if it leans on one, and its tone, by the author who wrote it. As these authors wrote
each tone as often as every other, natural remarks are learnt from beside them (`natural.jsonl`), each with the tone in whose
words a reader would have answered; how far a tone must lead is chosen on these alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from engine import Message, RemarkTone, RemarkTones, Role, TextEncoder
from evaluation.meaning_lessons import MeaningLessons, Row, author, prepared, rows_in
from evaluation.natural_messages import read_messages
from evaluation.urgency_training import ROOT

Flags = np.ndarray[Any, np.dtype[np.bool_]]

DATA = ROOT / "evaluation" / "data" / "tones"
WEIGHTS = ROOT / "config" / "guide" / "tone"
CHEERFUL = frozenset({RemarkTone.JOY, RemarkTone.JOKE, RemarkTone.HOPE, RemarkTone.THANKS})
RIGHTLY, STINGING = 0.75, 0.03
"""Of the natural remarks that a tone is named for, so many at least must have it, and so many at most may be such that it stings:
good cheer to somebody who is sad or cross, a word of comfort to somebody who jokes."""
FOLDS = 6
MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)


def earlier(row: Row) -> tuple[Message, ...]:
    """The message before a remark."""
    return (Message(role=Role.USER, content=row["before"]),) if row["before"] else ()


def natural() -> Iterator[Row]:
    """Remarks of natural conversations with the tone in whose words a reader would have answered each."""
    for one in read_messages("natural.jsonl", folder=DATA):
        yield {**one.said, "text": one.text, "before": one.earlier[-1] if one.earlier else ""}


def stings(tone: str, of: str) -> bool:
    """Whether words of one tone would hurt whoever speaks in another."""
    return of != "plain" != tone and (tone in CHEERFUL) != (of in CHEERFUL)


def main() -> None:
    """Measure, choose by how much each tone must lead, write; or only measure."""
    encoder = prepared(__doc__, train)
    tones, rows = RemarkTones.load(WEIGHTS, encoder), rows_in(DATA / "kept_back")
    told([(tones.of(row["text"], earlier(row)), row["tone"]) for row in rows], "kept back")


def told(found: list[tuple[RemarkTone | None, str]], what: str) -> None:
    """How many remarks get a tone, and how many the right one."""
    named = [(said, of) for said, of in found if said is not None]
    print(f"{what}: named {len(named)} of {len(found)}, rightly {sum(said == of for said, of in named)}")
    print("  stinging:", sum(stings(said, of) for said, of in named))
    for tone in RemarkTone:
        right, taken = sum(said == of == tone for said, of in named), sum(said == tone for said, _ in named)
        print(f"  {tone}: {right} of {sum(of == tone for _, of in found)}, named {taken} times")


def train(encoder: TextEncoder) -> None:
    """Learn from the authors in view; how far a tone must lead is chosen with each of them left out in turn."""
    written = rows_in(DATA / "learnt")
    rows = [*written, *natural()]
    lessons = MeaningLessons(encoder, [(row["text"], (row["before"],) if row["before"] else ()) for row in rows])
    authors = [str(int(author(row["id"])) % FOLDS) for row in rows]
    wanted = {tone.value: [row["tone"] == tone for row in rows] for tone in RemarkTone}
    sums = np.array([lessons.left_out(signs, authors) for signs in wanted.values()]).T
    order = np.sort(sums, axis=1)
    lead, first, names = order[:, -1] - order[:, -2], sums.argmax(axis=1), list(wanted)
    said = [(names[at], row["tone"]) for at, row in zip(first.tolist(), rows, strict=True)]
    right, hurts = np.array([one == of for one, of in said]), np.array([stings(one, of) for one, of in said])
    met = np.arange(len(rows)) >= len(written)
    margins = {}
    for at, name in enumerate(names):
        likely = met & (first == at) & (sums.max(axis=1) >= 0)
        fits = (
            margin for margin in MARGINS if _fits(right[likely & (lead >= margin)], hurts[likely & (lead >= margin)])
        )
        margins[name] = next(fits, MARGINS[-1])
    named = [
        names[at] if by >= margins[names[at]] and most >= 0 else None
        for at, by, most in zip(first.tolist(), lead.tolist(), sums.max(axis=1).tolist(), strict=True)
    ]
    found = [(None if one is None else RemarkTone(one), row["tone"]) for one, row in zip(named, rows, strict=True)]
    told(found[: len(written)], "written for a tone, left out")
    told(found[len(written) :], "natural, left out")
    print("leads", margins)
    lessons.write(WEIGHTS, wanted, margins)


def _fits(right: Flags, hurts: Flags) -> bool:
    """Whether a tone is named rightly enough; what is named for none is not."""
    return bool(len(right)) and float(right.mean()) >= RIGHTLY and float(hurts.mean()) <= STINGING


if __name__ == "__main__":
    main()

"""Learn in what tone people tell something, and write `config/guide/tone.*`.

    python -m evaluation.tone_of_remarks            # measures with each author left out, writes, then measures the others
    python -m evaluation.tone_of_remarks --measure  # only the authors who are kept back, with the weights that are there

Each row is a remark, the message before it if it leans on one, and its tone, by the author who wrote it. As these authors wrote
each tone as often as every other, natural remarks are learnt from beside them, by what readers said of them: plain, light, glad
or cross; most of what people say is in none of these tones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine import Message, RemarkTone, RemarkTones, Role, TextEncoder, said_before
from evaluation.kind_heads import messages
from evaluation.meaning_lessons import MeaningLessons, Row, author, prepared, rows_in
from evaluation.urgency_training import ROOT

DATA = ROOT / "evaluation" / "data" / "tones"
WEIGHTS = ROOT / "config" / "guide" / "tone"
CHEERFUL = frozenset({RemarkTone.JOY, RemarkTone.JOKE, RemarkTone.HOPE, RemarkTone.THANKS})
STINGS = frozenset({RemarkTone.JOY, RemarkTone.JOKE, RemarkTone.HOPE, RemarkTone.ANGER, RemarkTone.DISTRUST})
RIGHTLY, CAREFULLY = 0.85, 0.93
"""Of the remarks that a tone is named for, so many must have it; more where the wrong one stings: "you tell it well" to somebody
who grieves, "this makes you angry" to somebody who jokes."""
READ = {"plain": "plain", "light": "plain", "glad": "joy", "cross": "anger"}
FEW, EVERY, FOLDS = frozenset({"cross"}), 4, 6
MARGINS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0)


def earlier(row: Row) -> tuple[Message, ...]:
    """The message before a remark."""
    return (Message(role=Role.USER, content=row["before"]),) if row["before"] else ()


def natural() -> Iterator[Row]:
    """Remarks of natural conversations whose tone a reader gave; what weighs is left out, as no reader said how."""
    for number, one in enumerate(messages()):
        if one.kind in {"tells", "social"} and one.tone in READ and (one.tone in FEW or number % EVERY == 0):
            said = said_before(one.before)[-1:]
            tone = "thanks" if one.kind == "social" else READ[one.tone]
            yield {"id": f"{one.author}-", "before": said[0] if said else "", "text": one.text, "tone": tone}


def main() -> None:
    """Measure, choose by how much each tone must lead, write; or only measure."""
    encoder = prepared(__doc__, train)
    tones, rows = RemarkTones.load(WEIGHTS, encoder), rows_in(DATA / "kept_back")
    told([(tones.of(row["text"], earlier(row)), row["tone"]) for row in rows], "kept back")


def told(found: list[tuple[RemarkTone | None, str]], what: str) -> None:
    """How many remarks get a tone, and how many the right one."""
    named = [(said, of) for said, of in found if said is not None]
    print(f"{what}: named {len(named)} of {len(found)}, rightly {sum(said == of for said, of in named)}")
    heavy = sum(said in CHEERFUL and of not in {*CHEERFUL, "plain"} for said, of in named)
    print(f"  light to somebody who is not: {heavy}")
    for tone in RemarkTone:
        right, taken = sum(said == of == tone for said, of in named), sum(said == tone for said, _ in named)
        print(f"  {tone}: {right} of {sum(of == tone for _, of in found)}, named {taken} times")


def train(encoder: TextEncoder) -> None:
    """Learn from the authors in view; how far a tone must lead is chosen with each of them left out in turn."""
    rows = [*rows_in(DATA / "learnt"), *natural()]
    lessons = MeaningLessons(encoder, [(row["text"], (row["before"],) if row["before"] else ()) for row in rows])
    authors = [str(int(author(row["id"])) % FOLDS) for row in rows]
    wanted = {tone.value: [row["tone"] == tone for row in rows] for tone in RemarkTone}
    sums = np.array([lessons.left_out(signs, authors) for signs in wanted.values()]).T
    order = np.sort(sums, axis=1)
    lead, first, names = order[:, -1] - order[:, -2], sums.argmax(axis=1), list(wanted)
    right = np.array([names[at] == row["tone"] for at, row in zip(first.tolist(), rows, strict=True)])
    margins = {}
    for at, name in enumerate(names):
        least = CAREFULLY if name in STINGS else RIGHTLY
        likely = (first == at) & (sums.max(axis=1) >= 0)
        shares = {margin: float(right[likely & (lead >= margin)].mean()) for margin in MARGINS}
        margins[name] = next((margin for margin, share in shares.items() if share >= least), MARGINS[-1])
    named = [
        names[at] if by >= margins[names[at]] and most >= 0 else None
        for at, by, most in zip(first.tolist(), lead.tolist(), sums.max(axis=1).tolist(), strict=True)
    ]
    told(
        [(None if one is None else RemarkTone(one), row["tone"]) for one, row in zip(named, rows, strict=True)],
        "left out",
    )
    lessons.write(WEIGHTS, wanted, margins)


if __name__ == "__main__":
    main()

"""Trains the head of role and tone from `evaluation/data/scenarios`: `python -m evaluation.tone_training`.

The trainer is that of urgency. Learnt from are the replies that everybody accepts and those that break a rule of role and
tone; one that breaks another judge's rule says nothing about this one. Replies are split by file (a file is about one rule
and by its author), and the threshold comes from files that the head has not seen. Replies of other authors are never opened here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.judges.protocol import ROLE_AND_TONE
from engine.judges.tone import TONE, ToneHead
from engine.language.features import Features
from engine.language.heads import LinearHeads
from engine.rules import RuleBook
from evaluation.calibration.scenarios import SHIPPED, read_labelled
from evaluation.urgency_training import balanced, fit, packed, share_above, threshold_for, vectors

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "config" / "judges" / "role_and_tone.bin"
RECORD = WEIGHTS.with_suffix(".json")
BITS = 14
PENALTY = 2e-4
FLAGGED_WRONGLY = 0.08
"""Of acceptable replies in files that the head has not seen: sets the threshold."""


@dataclass(frozen=True)
class ToneExample:
    """A reply to learn from, the file it stands in, and whether it breaks role or tone."""

    reply: str
    file: str
    breaks: bool


def examples(folder: Path = SHIPPED) -> Iterator[ToneExample]:
    """The replies that say something about role and tone."""
    ids = {
        rule.id for rule in RuleBook.load(ROOT / "config" / "rules", ("conduct", "evidence")).checked_by(ROLE_AND_TONE)
    }
    for path in sorted(folder.glob("*.jsonl")):
        for one in read_labelled(path):
            if not one.wants_flag or ids.intersection(one.rules):
                yield ToneExample(one.reply, path.stem, one.wants_flag)


def trained(rows: list[ToneExample], thresholds: dict[str, float], data: str = "") -> bytes:
    """The weights file of a head that has learnt from these rows."""
    matrix = vectors(((one.reply, ()) for one in rows), Features({}, BITS), BITS)
    wanted = np.array([one.breaks for one in rows])
    model = fit(matrix, np.where(wanted, 1.0, -1.0), balanced(wanted), PENALTY)
    return packed({TONE[0]: model}, thresholds, {}, data, BITS)


def held_out(rows: list[ToneExample]) -> Iterator[tuple[bool, float]]:
    """Every reply's label and its score by a head that has not seen its file."""
    for file in sorted({one.file for one in rows}):
        seen = [one for one in rows if one.file != file]
        head = ToneHead(LinearHeads.parse(trained(seen, {TONE[0]: 0.0}), TONE))
        yield from ((one.breaks, head.score(one.reply)) for one in rows if one.file == file)


def main() -> None:
    """Train, choose the threshold, write weights and record."""
    rows = list(examples())
    files = sorted(SHIPPED.glob("*.jsonl"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    scores = list(held_out(rows))
    breaking, fine = ([score for breaks, score in scores if breaks is wanted] for wanted in (True, False))
    threshold = threshold_for(fine, FLAGGED_WRONGLY)
    weights = trained(rows, {TONE[0]: threshold}, digest)
    WEIGHTS.write_bytes(weights)
    record = {
        "data": {"files, sha256": digest, "break role or tone": len(breaking), "acceptable": len(fine)},
        "model": {"places": 1 << BITS, "penalty": PENALTY},
        "threshold": round(threshold, 4),
        "held out by file": {
            "flagged rightly": share_above(breaking, threshold),
            "wrongly": share_above(fine, threshold),
        },
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()

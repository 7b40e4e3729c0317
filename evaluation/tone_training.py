"""Trains the heads of the built-in judges from `evaluation/data/scenarios`: `python -m evaluation.tone_training`.

The trainer is that of urgency. The head of role and tone learns from the replies that everybody accepts and those that break
a rule of role and tone; the head of doubt from all that are to be flagged. Replies are split by file (a file is about one rule
and by its author), and thresholds come from files that the heads have not seen. Replies of other authors are never opened here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import DOUBTFUL, HEADS, ROLE_AND_TONE, TONE, LinearHeads, RuleBook, ToneHead, WordFeatures
from evaluation.calibration.scenarios import SHIPPED, read_labelled
from evaluation.urgency_training import Floats, balanced, fit, packed, share_above, threshold_for, vectors

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "config" / "judges" / "role_and_tone.bin"
RECORD = WEIGHTS.with_suffix(".json")
BITS = 14
PENALTY = 2e-4
FLAGGED_WRONGLY = {TONE: 0.07, DOUBTFUL: 0.33}
"""Of acceptable replies in files that a head has not seen: sets its threshold. Doubt only decides what is open anyhow."""


@dataclass(frozen=True)
class ToneExample:
    """A reply to learn from, the file it stands in, whether it is to be flagged, and that for role or tone."""

    reply: str
    file: str
    flagged: bool
    breaks_tone: bool


def examples(folder: Path = SHIPPED) -> Iterator[ToneExample]:
    """Every reply of the folder."""
    ids = {
        rule.id for rule in RuleBook.load(ROOT / "config" / "rules", ("conduct", "evidence")).checked_by(ROLE_AND_TONE)
    }
    for path in sorted(folder.glob("*.jsonl")):
        for one in read_labelled(path):
            breaks_tone = one.wants_flag and bool(ids.intersection(one.rules))
            yield ToneExample(one.reply, path.stem, one.wants_flag, breaks_tone)


def trained(rows: list[ToneExample], thresholds: dict[str, float], data: str = "") -> bytes:
    """The weights file of heads that have learnt from these rows."""
    models = {TONE: _fitted([one for one in rows if one.breaks_tone or not one.flagged]), DOUBTFUL: _fitted(rows)}
    return packed(models, thresholds, {}, data, BITS)


def _fitted(rows: list[ToneExample]) -> tuple[Floats, float]:
    matrix = vectors(((one.reply, ()) for one in rows), WordFeatures({}, BITS), BITS)
    wanted = np.array([one.flagged for one in rows])
    return fit(matrix, np.where(wanted, 1.0, -1.0), balanced(wanted), PENALTY)


def held_out(rows: list[ToneExample]) -> Iterator[tuple[ToneExample, dict[str, float]]]:
    """Every reply with its scores by heads that have not seen its file."""
    for file in sorted({one.file for one in rows}):
        seen = [one for one in rows if one.file != file]
        head = ToneHead(LinearHeads.parse(trained(seen, dict.fromkeys(HEADS, 0.0)), HEADS))
        yield from ((one, {name: head.score(one.reply, name) for name in HEADS}) for one in rows if one.file == file)


def main() -> None:
    """Train, choose the thresholds, write weights and record."""
    rows = list(examples())
    files = sorted(SHIPPED.glob("*.jsonl"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()
    scores = list(held_out(rows))
    fine = {name: [score[name] for one, score in scores if not one.flagged] for name in HEADS}
    wrong = {
        TONE: [score[TONE] for one, score in scores if one.breaks_tone],
        DOUBTFUL: [score[DOUBTFUL] for one, score in scores if one.flagged],
    }
    thresholds = {name: threshold_for(fine[name], FLAGGED_WRONGLY[name]) for name in HEADS}
    weights = trained(rows, thresholds, digest)
    WEIGHTS.write_bytes(weights)
    record = {
        "data": {
            "files, sha256": digest,
            "break role or tone": len(wrong[TONE]),
            "to be flagged": len(wrong[DOUBTFUL]),
            "acceptable": len(fine[TONE]),
        },
        "model": {"places": 1 << BITS, "penalty": PENALTY},
        "held out by file": {
            name: {
                "threshold": round(thresholds[name], 4),
                "flagged rightly": share_above(wrong[name], thresholds[name]),
                "wrongly": share_above(fine[name], thresholds[name]),
            }
            for name in HEADS
        },
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()

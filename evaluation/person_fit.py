"""Learn who is in danger where a message tells of one, and write `config/urgency/person.*`.

    python -m evaluation.person_fit    # measures with each author left out, beside the words that were counted before, and writes

What is learnt from are 2,876 urgent messages of `evaluation/data/urgency`, labelled in `person.jsonl`: `self`, `other`, `both`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from engine import TextEncoder, about_another, said_before
from evaluation.danger_kind_fit import LEARNT, messages
from evaluation.meaning_lessons import MeaningLessons, author
from evaluation.urgency_training import DATA, ENCODER, ROOT

WEIGHTS = ROOT / "config" / "urgency" / "person"


def main() -> None:
    """Measure, then learn from all and write."""
    lines = (DATA / "person.jsonl").read_text(encoding="utf-8").splitlines()
    who = {row["id"]: row["who"] for row in map(json.loads, lines)}
    rows = [one for one in messages(LEARNT) if one.id in who]
    other = [who[one.id] == "other" for one in rows]
    lessons = MeaningLessons(TextEncoder.load(ENCODER), [(one.message, said_before(one.earlier)) for one in rows])
    sums = lessons.left_out(other, [author(one.id) for one in rows])
    told("learnt, each author left out", [bool(of >= 0) for of in sums], other)
    told("words", [about_another(one.message) for one in rows], other)
    lessons.write(WEIGHTS, {"other": other}, {"other": 0.0})


def told(what: str, found: Sequence[bool], wanted: Sequence[bool]) -> None:
    """How many messages about another are taken for that, and how many of others."""
    pairs = list(zip(found, wanted, strict=True))
    hits, wrong = sum(one and of for one, of in pairs), sum(one and not of for one, of in pairs)
    print(f"{what}: about another {hits} of {sum(wanted)}, wrongly {wrong} of {len(wanted) - sum(wanted)}")


if __name__ == "__main__":
    main()

"""Trains what tells asking from telling, and what weighs: `python -m evaluation.kind_heads`.

Linear heads over hashed features, by the trainer of urgency, from natural messages in five languages that readers sorted, and
from questions about the service by authors. Figures are of authors a head has not seen.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import KIND_HEADS, MESSAGE_KINDS, Features, Message, MessageKinds, Role
from evaluation.natural_messages import DATA, read_messages
from evaluation.urgency_training import FOLDS, balanced, fit, fold_of, packed, share_above, threshold_for, vectors

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "config" / "kinds" / "kinds.bin"
RECORD = WEIGHTS.with_suffix(".json")
BITS = 15
PENALTY = 1e-4
EVERY = {"en": 8}
"""Of the lay questions in a language, so many stand for one that is learnt from; others have fewer."""
HEAVY = "heavy"
WRONGLY = 0.05
"""So many messages that do not weigh may be taken for heavy ones."""
NAMES = {"ask": "asks", "tell": "tells", "social": "social", "bot": "service"}


@dataclass(frozen=True)
class SortedMessage:
    """A message, what was said before it, its kind and tone, and who wrote it; no `tone` where nobody has read it for one."""

    text: str
    before: tuple[Message, ...]
    kind: str
    author: str
    lang: str = "en"
    tone: str = ""


def messages() -> Iterator[SortedMessage]:
    """All there is to learn from."""
    for one in read_messages("*.jsonl"):
        earlier = tuple(Message(role=Role.USER, content=text) for text in one.earlier)
        tone = one.said.get("tone", "")
        # An earlier reader told no jokes from good news.
        told = tone if one.file.startswith("readings") or tone == HEAVY else ""
        kind, author = NAMES[one.said["kind"]], one.conversation.author
        yield SortedMessage(one.text, earlier, kind, author, one.conversation.lang, told)
    for path in sorted((ROOT / "knowledge_base").glob("*/questions/*/*.md")):
        lines = [line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
        for line in lines[:: EVERY.get(path.parent.name, 3)]:
            yield SortedMessage(line, (), "asks", f"lay {path.stem}")
    for path in sorted((DATA / "service").glob("author_[1345].jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind = "social" if row["subject"] in {"thanks", "greeting"} else "service" if row["subject"] else ""
            if kind:
                yield SortedMessage(row["text"], (), kind, f"service {fold_of(row['text'], '')}")


def trained(rows: Sequence[SortedMessage], data: str = "", threshold: float = 0.0) -> bytes:
    """The weights file of heads that have learnt from these rows."""
    matrix = vectors(((one.text, one.before) for one in rows), Features({}, BITS), BITS)
    models = {}
    for name in KIND_HEADS:
        # Lay questions, many of them statements, only say what is not about the service.
        chosen = np.array(
            [
                at
                for at, one in enumerate(rows)
                if (one.tone if name == HEAVY else name in {"service", "social"} or not one.author.startswith("lay"))
            ]
        )
        wanted = np.array([name in {rows[at].kind, rows[at].tone} for at in chosen])
        models[name] = fit(matrix[chosen], np.where(wanted, 1.0, -1.0), balanced(wanted), PENALTY)
    return packed(models, {**dict.fromkeys(KIND_HEADS, 0.0), HEAVY: threshold}, {}, data, BITS)


def main() -> None:
    """Train, measure on authors not seen, choose the threshold of what weighs, write weights and record."""
    rows = list(messages())
    held: list[tuple[SortedMessage, dict[str, float]]] = []
    for fold in range(FOLDS):
        seen = [one for one in rows if fold_of(one.author, "") != fold]
        kinds = MessageKinds.parse(trained(seen))
        held += [(one, kinds.sums(one.text, one.before)) for one in rows if fold_of(one.author, "") == fold]
    confusion = Counter((one.kind, max(MESSAGE_KINDS, key=sums.__getitem__)) for one, sums in held)
    for kind in MESSAGE_KINDS:
        print(kind, {other: confusion[kind, other] for other in MESSAGE_KINDS})
    for margin in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        taken = Counter(
            one.kind
            for one, sums in held
            if one.author.isdecimal()
            and sums["service"] >= margin + max(sums[name] for name in ("asks", "tells", "social"))
        )
        print("service ahead by", margin, dict(taken))
    told = [(one.tone, sums[HEAVY]) for one, sums in held if one.tone]
    threshold = threshold_for([weight for tone, weight in told if tone != HEAVY], WRONGLY)
    taken_heavy = {
        tone: share_above([weight for its, weight in told if its == tone], threshold)
        for tone in sorted({its for its, _ in told})
    }
    print("taken for heavy", taken_heavy)
    digest = hashlib.sha256("\n".join(f"{one.kind} {one.tone} {one.text}" for one in rows).encode()).hexdigest()
    weights = trained(rows, digest, threshold)
    WEIGHTS.parent.mkdir(exist_ok=True)
    WEIGHTS.write_bytes(weights)
    record = {
        "data": {"messages": len(rows), "sha256": digest},
        "model": {"places": 1 << BITS, "penalty": PENALTY},
        "held out by author": {
            kind: {other: confusion[kind, other] for other in MESSAGE_KINDS} for kind in MESSAGE_KINDS
        },
        "taken for heavy, by tone, held out by author": taken_heavy,
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Trains what tells asking from telling: `python -m evaluation.kind_heads`.

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

from engine import KIND_HEADS, Features, Message, MessageKinds, Role
from evaluation.urgency_training import FOLDS, balanced, fit, fold_of, packed, vectors

ROOT = Path(__file__).parents[1]
DATA = ROOT / "evaluation" / "data"
WEIGHTS = ROOT / "config" / "kinds" / "kinds.bin"
RECORD = WEIGHTS.with_suffix(".json")
BITS = 15
PENALTY = 1e-4
EVERY = {"en": 8}
"""Of the lay questions in a language, so many stand for one that is learnt from; others have fewer."""
NAMES = {"ask": "asks", "tell": "tells", "social": "social", "bot": "service"}


@dataclass(frozen=True)
class SortedMessage:
    """A message, what was said before it, its kind, and who wrote it."""

    text: str
    before: tuple[Message, ...]
    kind: str
    author: str
    lang: str = "en"


def messages() -> Iterator[SortedMessage]:
    """All there is to learn from."""
    said: dict[str, list[str]] = {}
    spoken: dict[str, str] = {}
    for path in sorted((DATA / "urgency" / "authors").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            said[row["id"]] = [one["text"] for one in row["messages"]]
            spoken[row["id"]] = row["lang"]
    for path in sorted((DATA / "sections").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            conversation, _, at = row["id"].rpartition(".")
            earlier = tuple(Message(role=Role.USER, content=one) for one in said[conversation][: int(at)])
            text = said[conversation][int(at)]
            author = conversation.partition("-")[0]
            yield SortedMessage(text, earlier, NAMES[row["kind"]], author, spoken[conversation])
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


def trained(rows: Sequence[SortedMessage], data: str = "") -> bytes:
    """The weights file of heads that have learnt from these rows."""
    matrix = vectors(((one.text, one.before) for one in rows), Features({}, BITS), BITS)
    models = {}
    for name in KIND_HEADS:
        # Lay questions, many of them statements, only say what is not about the service.
        chosen = np.array(
            [at for at, one in enumerate(rows) if name in {"service", "social"} or not one.author.startswith("lay")]
        )
        wanted = np.array([rows[at].kind == name for at in chosen])
        models[name] = fit(matrix[chosen], np.where(wanted, 1.0, -1.0), balanced(wanted), PENALTY)
    return packed(models, dict.fromkeys(KIND_HEADS, 0.0), {}, data, BITS)


def main() -> None:
    """Train, measure on authors not seen, write weights and record."""
    rows = list(messages())
    held: list[tuple[SortedMessage, dict[str, float]]] = []
    for fold in range(FOLDS):
        seen = [one for one in rows if fold_of(one.author, "") != fold]
        kinds = MessageKinds.parse(trained(seen))
        held += [(one, kinds.sums(one.text, one.before)) for one in rows if fold_of(one.author, "") == fold]
    confusion = Counter((one.kind, max(NAMES.values(), key=sums.__getitem__)) for one, sums in held)
    for kind in NAMES.values():
        print(kind, {other: confusion[kind, other] for other in NAMES.values()})
    for margin in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0):
        taken = Counter(
            one.kind
            for one, sums in held
            if one.author.isdecimal()
            and sums["service"] >= margin + max(sums[name] for name in ("asks", "tells", "social"))
        )
        print("service ahead by", margin, dict(taken))
    digest = hashlib.sha256("\n".join(f"{one.kind} {one.text}" for one in rows).encode()).hexdigest()
    weights = trained(rows, digest)
    WEIGHTS.parent.mkdir(exist_ok=True)
    WEIGHTS.write_bytes(weights)
    record = {
        "data": {"messages": len(rows), "sha256": digest},
        "model": {"places": 1 << BITS, "penalty": PENALTY},
        "held out by author": {
            kind: {other: confusion[kind, other] for other in NAMES.values()} for kind in NAMES.values()
        },
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

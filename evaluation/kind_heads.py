"""Trains what tells asking from telling, what weighs and what is good news: `python -m evaluation.kind_heads HELD.json`.

Linear heads over hashed features, by the trainer of urgency, from natural messages in five languages that readers sorted, and
from questions about the service by authors. `HELD.json`: what a state of the encoder says of messages of authors that it has not
seen (`evaluation.encoder_lessons`); thresholds and figures are of these, by heads that have not seen them either.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine import (
    ENCODER_HEADS,
    KIND_HEADS,
    KINDS_BY_WORDS,
    MESSAGE_KINDS,
    Features,
    LinearHeads,
    Message,
    Role,
    word_sums,
)
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
WRONGLY = {HEAVY: 0.05, "glad": 0.01}
"""So many messages of other tones may be taken for heavy ones, or for good news."""
AHEAD = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
SOCIAL_SUBJECTS = frozenset({"thanks", "greeting"})
NAMES = {"ask": "asks", "tell": "tells", "social": "social", "bot": "service"}


@dataclass(frozen=True)
class SortedMessage:
    """A message, what was said before it, its kind and tone, and who wrote it; no `tone` where nobody has read it for one, no
    `id` where it belongs to no conversation."""

    text: str
    before: tuple[Message, ...]
    kind: str
    author: str
    lang: str = "en"
    tone: str = ""
    id: str = ""


def messages() -> Iterator[SortedMessage]:
    """All there is to learn from."""
    for one in read_messages("*.jsonl"):
        earlier = tuple(Message(role=Role.USER, content=text) for text in one.earlier)
        tone = one.said.get("tone", "")
        # An earlier reader told no jokes from good news.
        told = tone if one.file.startswith("readings") or tone == HEAVY else ""
        kind, author = NAMES[one.said["kind"]], one.conversation.author
        name = f"{one.conversation.id}.{one.at + 1}"
        yield SortedMessage(one.text, earlier, kind, author, one.conversation.lang, told, name)
    for path in sorted((ROOT / "knowledge_base").glob("*/questions/*/*.md")):
        lines = [line[2:] for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]
        for line in lines[:: EVERY.get(path.parent.name, 3)]:
            yield SortedMessage(line, (), "asks", f"lay {path.stem}")
    for path in sorted((DATA / "service").glob("author_[1-5].jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            kind = "social" if row["subject"] in SOCIAL_SUBJECTS else "service" if row["subject"] else ""
            if kind:
                yield SortedMessage(row["text"], (), kind, f"service {fold_of(row['text'], '')}")


def trained(rows: Sequence[SortedMessage], data: str = "", thresholds: Mapping[str, float] | None = None) -> bytes:
    """The weights file of heads that have learnt from these rows."""
    matrix = vectors(((one.text, one.before) for one in rows), Features({}, BITS), BITS)
    models = {}
    for name in KIND_HEADS:
        # Lay questions, many of them statements, only say what is not about the service.
        chosen = np.array(
            [
                at
                for at, one in enumerate(rows)
                if (one.tone if name in WRONGLY else name in {"service", "social"} or not one.author.startswith("lay"))
            ]
        )
        wanted = np.array([name in {rows[at].kind, rows[at].tone} for at in chosen])
        models[name] = fit(matrix[chosen], np.where(wanted, 1.0, -1.0), balanced(wanted), PENALTY)
    return packed(models, dict.fromkeys(KIND_HEADS, 0.0) | dict(thresholds or {}), {}, data, BITS)


def held_out(
    rows: Sequence[SortedMessage], told: Mapping[str, Sequence[float]]
) -> list[tuple[SortedMessage, dict[str, float]]]:
    """What words and encoder say together of the messages that the state of the encoder has not seen; by words nor have these."""
    asked, found = {one.author for one in rows if one.id in told}, []
    for fold in range(FOLDS):
        authors = {author for author in asked if fold_of(author, "") == fold}
        if not authors:
            continue
        heads = LinearHeads.parse(trained([one for one in rows if one.author not in authors]), KIND_HEADS)
        for one in rows:
            if one.author in authors and one.id in told:
                meant = dict(zip(ENCODER_HEADS, told[one.id], strict=True))
                by_words = word_sums(heads, one.text, one.before)
                found.append((one, {name: KINDS_BY_WORDS * by_words[name] + meant[name] for name in KIND_HEADS}))
    return found


def main() -> None:
    """Train, measure on authors not seen, choose the thresholds of what weighs and of good news, write weights and record."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("held", type=Path)
    told = json.loads(asked.parse_args().held.read_text(encoding="utf-8"))
    rows = list(messages())
    held = held_out(rows, told)
    confusion = Counter((one.kind, max(MESSAGE_KINDS, key=sums.__getitem__)) for one, sums in held)
    for kind in MESSAGE_KINDS:
        print(kind, {other: confusion[kind, other] for other in MESSAGE_KINDS})
    of_kind = Counter(one.kind for one, _ in held)
    for margin in AHEAD:
        taken = Counter(
            one.kind
            for one, sums in held
            if sums["service"] >= margin + max(sums[name] for name in MESSAGE_KINDS if name != "service")
        )
        print("service ahead by", margin, {kind: round(taken[kind] / of_kind[kind], 3) for kind in MESSAGE_KINDS})
    thresholds, found = {}, {}
    for name, share in WRONGLY.items():
        toned = [(one.tone, sums[name]) for one, sums in held if one.tone]
        thresholds[name] = threshold_for([weight for tone, weight in toned if tone != name], share)
        found[name] = {
            tone: share_above([weight for its, weight in toned if its == tone], thresholds[name])
            for tone in sorted({its for its, _ in toned})
        }
        print("taken for", name, found[name])
    digest = hashlib.sha256("\n".join(f"{one.kind} {one.tone} {one.text}" for one in rows).encode()).hexdigest()
    weights = trained(rows, digest, thresholds)
    WEIGHTS.parent.mkdir(exist_ok=True)
    WEIGHTS.write_bytes(weights)
    record = {
        "data": {"messages": len(rows), "sha256": digest},
        "model": {"places": 1 << BITS, "penalty": PENALTY},
        "held out by author": {
            "messages": len(held),
            **{kind: {other: confusion[kind, other] for other in MESSAGE_KINDS} for kind in MESSAGE_KINDS},
        },
        "taken for it, by tone, held out by author": found,
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Trains what tells asking from telling, and what weighs: `python -m evaluation.kind_heads HELD.json`.

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
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp

from engine import (
    ENCODER_HEADS,
    KIND_HEADS,
    MESSAGE_KINDS,
    LinearHeads,
    Message,
    Role,
    WordFeatures,
    said_before,
    word_sums,
)
from evaluation.natural_messages import DATA, read_messages
from evaluation.urgency_training import balanced, fit, fold_of, packed, share_above, threshold_for, vectors

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "config" / "kinds" / "kinds.bin"
RECORD = WEIGHTS.with_suffix(".json")
BITS = 15
PENALTY = 1e-4
EVERY = {"en": 8}
"""Of the lay questions in a language, so many stand for one that is learnt from; others have fewer."""
HEAVY = "heavy"
WRONGLY = 0.05
"""So many messages of other tones may be taken for heavy ones."""
BY_WORDS = 0.5
"""What the sum of the head of heavy ones by words counts beside that of the encoder."""
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


def trained(rows: Sequence[SortedMessage], data: str = "", threshold: float = 0.0) -> bytes:
    """The weights file of heads that have learnt from these rows."""
    matrix = vectors(((one.text, one.before) for one in rows), WordFeatures({}, BITS), BITS)
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


Sums = np.ndarray[Any, np.dtype[np.float64]]


def held_out(
    rows: Sequence[SortedMessage], told: Mapping[str, Sequence[float]]
) -> tuple[list[SortedMessage], Sums, Sums]:
    """The messages that the state of the encoder has not seen, and every head's sum by words, which have not seen their authors
    either, and by the encoder."""
    held = [one for one in rows if one.id in told]
    authors = {one.author for one in held}
    heads = LinearHeads.parse(trained([one for one in rows if one.author not in authors]), KIND_HEADS)
    by_words = [word_sums(heads, one.text, said_before(one.before)) for one in held]
    places = [ENCODER_HEADS.index(name) for name in KIND_HEADS]
    return (
        held,
        np.array([[one[name] for name in KIND_HEADS] for one in by_words]),
        np.array([[told[one.id][place] for place in places] for one in held]),
    )


def weighed(kinds: Sequence[str], by_words: Sums, meant: Sums) -> Sums:
    """What words, encoder and constant count for each kind, a row each: a softmax in which rare kinds weigh more, by the root
    of how rare they are."""
    places = np.array([MESSAGE_KINDS.index(one) for one in kinds])
    size = len(MESSAGE_KINDS)
    costs = np.sqrt(len(kinds) / np.bincount(places, minlength=size))[places]

    def loss(flat: Sums) -> float:
        words, encoder, base = flat.reshape(3, size)
        sums = words * by_words[:, :size] + encoder * meant[:, :size] + base
        return float((costs * (logsumexp(sums, axis=1) - sums[np.arange(len(places)), places])).mean()) + 1e-3 * float(
            flat @ flat
        )

    begun = np.concatenate([np.full(size, 0.5), np.ones(size), np.zeros(size)])
    return np.asarray(minimize(loss, begun, method="L-BFGS-B").x.reshape(3, size).T)


def main() -> None:
    """Train, measure on authors not seen, choose what words and encoder count and from when on something weighs, and write."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("held", type=Path)
    told = json.loads(asked.parse_args().held.read_text(encoding="utf-8"))
    rows = list(messages())
    held, by_words, meant = held_out(rows, told)
    kinds = [one.kind for one in held]
    authors = sorted({one.author for one in held})
    sums = np.zeros((len(held), len(MESSAGE_KINDS)))
    for part in range(2):  # weighed on one half of the authors, measured on the other
        own = np.array([authors.index(one.author) % 2 == part for one in held])
        found = weighed([kind for kind, mine in zip(kinds, own, strict=True) if not mine], by_words[~own], meant[~own])
        sums[own] = (by_words[own][:, :4] * found[:, 0]) + meant[own][:, :4] * found[:, 1] + found[:, 2]
    confusion = Counter((kind, MESSAGE_KINDS[at]) for kind, at in zip(kinds, sums.argmax(axis=1), strict=True))
    for kind in MESSAGE_KINDS:
        print(kind, {other: confusion[kind, other] for other in MESSAGE_KINDS})
    service = MESSAGE_KINDS.index("service")
    ahead = sums[:, service] - np.delete(sums, service, axis=1).max(axis=1)
    for margin in AHEAD:
        taken = Counter(kind for kind, by in zip(kinds, ahead, strict=True) if by >= margin)
        print("service ahead by", margin, {kind: round(taken[kind] / kinds.count(kind), 3) for kind in MESSAGE_KINDS})
    for name, (words, encoder, base) in zip(MESSAGE_KINDS, weighed(kinds, by_words, meant), strict=True):
        print(f'    "{name}": KindWeight(words={words:.2f}, encoder={encoder:.2f}, base={base:.2f}),')
    weighs = KIND_HEADS.index(HEAVY)
    heavy = BY_WORDS * by_words[:, weighs] + meant[:, weighs]
    toned = [(one.tone, weight) for one, weight in zip(held, heavy.tolist(), strict=True) if one.tone]
    threshold = threshold_for([weight for tone, weight in toned if tone != HEAVY], WRONGLY)
    taken_heavy = {
        tone: share_above([weight for its, weight in toned if its == tone], threshold)
        for tone in sorted({its for its, _ in toned})
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
            "messages": len(held),
            **{kind: {other: confusion[kind, other] for other in MESSAGE_KINDS} for kind in MESSAGE_KINDS},
        },
        "taken for heavy, by tone, held out by author": taken_heavy,
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

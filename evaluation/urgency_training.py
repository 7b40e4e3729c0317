"""Trains the heads of the urgency classifier from `evaluation/data/urgency`: `python -m evaluation.urgency_training`.

Logistic regressions over hashed features, deterministic. Messages are split by who wrote them, never by message: neither words
nor encoder learn from authors that are kept back. By the messages without danger of ten of these the thresholds are chosen, so
that what is found of their urgent ones is measured at that; the others are only measured.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from engine import DANGER_HEADS as HEADS
from engine import (
    FORMAT,
    Description,
    Head,
    LinearHeads,
    Message,
    TextEncoder,
    UrgencyClassifier,
    WordFeatures,
    read_yaml,
    said_before,
)
from engine import undisguised_words as words
from evaluation.urgency import LabelledMessage, read_messages
from evaluation.urgency_augmentation import TrainingExample, augmented

ROOT = Path(__file__).parents[1]
DATA = ROOT / "evaluation" / "data" / "urgency"
PLAIN, RESPONSES = DATA / "plain", DATA / "responses"
WEIGHTS = ROOT / "config" / "urgency" / "classifier.bin"
RECORD = WEIGHTS.with_suffix(".json")
ENCODER = ROOT / "config" / "encoder"
CHOSEN_BY = ("18", "19", "20", "21", "22", "23", "24", "25", "92", "93")
"""The authors kept back by whose messages without danger the thresholds are chosen."""
BITS = 18
PENALTY = 2e-5  # of squared weights, for one example of the average weight
ROUNDS = 80
FOLDS = 5
ALONE = 0.5
OWN_LIFE = 2.0  # weight of what is said of dying and self-harm: most calm, most often missed
CONSTRUCTED = 0.5  # weight of messages that were written one by one, and not in a persona's conversations
SHOWN_WRONGLY = 0.05  # of their messages without danger: sets the threshold of `urgent`
ASKED_WRONGLY = 0.008  # of the same: sets by how much that threshold must be passed before somebody is asked
CERTAIN_WRONGLY = 0.0015  # of the same: and before nobody need be asked
FLAGGED_WRONGLY = {"medical": 0.005, "delusional": 0.009}  # of messages that the other heads' labels do not fit
MEDICAL = frozenset({"overdose_medicine_emergency", "refusing_food_drink"})

Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Labelled:
    """A message to learn from, what each head must say of it as far as that is known, who wrote it, and what it weighs."""

    message: LabelledMessage
    author: str
    natural: bool
    wanted: dict[str, bool]


def labelled(messages: Iterable[LabelledMessage]) -> list[Labelled]:
    """Messages with what every head must say of them; some authors have not said which beliefs are told as facts."""
    rows = [(one, one.model_extra or {}) for one in messages]
    say = {more.get("author", "") for _, more in rows if more.get("delusional")}
    found = []
    for one, more in rows:
        urgent = one.label == "urgent"
        wanted = {"urgent": urgent, "medical": urgent and one.category in MEDICAL}
        if more.get("author", "") in say:
            wanted["delusional"] = bool(more.get("delusional", False))
        found.append(Labelled(one, str(more.get("author", "")), "conversation" in more, wanted))
    return found


def vectors(examples: Iterable[tuple[str, Sequence[Message]]], features: WordFeatures, bits: int) -> csr_matrix:
    """Texts, each with the earlier turns that count, as rows of hashed features."""
    places, values, ends = array("l"), array("d"), array("l", [0])
    for text, earlier in examples:
        row: dict[int, float] = {}
        blocks = list(features.blocks(words(text)))
        if (before := features.before(words("\n".join(said_before(earlier))))) is not None:
            blocks.append(before)
        for factor, block in blocks:
            for place in block:
                row[place] = row.get(place, 0.0) + factor
        for place in sorted(row):  # sets of words have another order in every run, and sums of it another last digit
            places.append(place)
            values.append(row[place])
        ends.append(len(places))
    shape = (len(ends) - 1, 1 << bits)
    return csr_matrix((np.array(values), np.array(places), np.array(ends)), shape=shape)


def fit(rows: csr_matrix, signs: Floats, costs: Floats, penalty: float = PENALTY) -> tuple[Floats, float]:
    """A logistic regression with squared weights as penalty; the weights and the constant."""

    def loss(model: Floats) -> tuple[float, Floats]:
        weights, constant = model[:-1], model[-1]
        margins = signs * (rows @ weights + constant)
        wrong = -signs * costs * 0.5 * (1 - np.tanh(margins / 2))  # the slope, without an exponential that overflows
        value = float(costs @ np.logaddexp(0, -margins)) + 0.5 * strength * float(weights @ weights)
        return value, np.append(rows.T @ wrong + strength * weights, wrong.sum())

    strength = penalty * float(costs.sum())
    found = minimize(loss, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    return found.x[:-1], float(found.x[-1])


def trained(rows: Sequence[Labelled], ideas: Mapping[str, str]) -> dict[str, tuple[Floats, float]]:
    """Every head; only `urgent` from what is made of the messages."""
    examples = list(
        augmented(
            TrainingExample(one.message.message, one.message.lang, one.wanted["urgent"], weight_of(one), number)
            for number, one in enumerate(rows)
        )
    )
    texts = ((one.text, rows[one.of].message.earlier) for one in examples)
    matrix = vectors(texts, WordFeatures(ideas, BITS), BITS)
    origin = np.array([one.of for one in examples])
    weights, made = np.array([one.weight for one in examples]), np.array([one.made for one in examples])
    models = {}
    for name in HEADS:
        known = np.array([name in one.wanted for one in rows])[origin]
        chosen = np.flatnonzero(np.ones(len(examples), dtype=bool) if name == "urgent" else known & ~made)
        wanted = np.array([one.wanted.get(name, False) for one in rows])[origin[chosen]]
        costs = weights[chosen] if name == "urgent" else balanced(wanted)
        models[name] = fit(matrix[chosen], np.where(wanted, 1.0, -1.0), costs)
    return models


def weight_of(one: Labelled) -> float:
    """How much a message counts beside others."""
    own = one.wanted["urgent"] and one.message.category.startswith(("suicide", "self_harm"))
    return (1.0 if one.natural else CONSTRUCTED) * (OWN_LIFE if own else 1.0)


def balanced(wanted: np.ndarray[Any, np.dtype[np.bool_]]) -> Floats:
    """Both classes weigh the same in sum."""
    share = max(float(wanted.mean()), 1e-6)
    return np.where(wanted, 0.5 / share, 0.5 / (1 - share))


def packed(
    models: dict[str, tuple[Floats, float]],
    thresholds: dict[str, float],
    ideas: dict[str, str],
    data: str,
    bits: int = BITS,
    *,
    above: Sequence[float] = (),
) -> bytes:
    """The weights file: one line of JSON, then little-endian 16-bit numbers, head by head. `above`: by how much the first head
    must pass its threshold before somebody is asked, and before that is certain."""
    heads, tables = [], []
    for name, (weights, constant) in models.items():
        scale = float(np.abs(weights).max()) / 32767
        heads.append(Head(name=name, bias=constant, scale=scale, threshold=round(thresholds[name], 4)))
        table = array("h", np.rint(weights / scale).astype(int).tolist())
        if sys.byteorder == "big":
            table.byteswap()
        tables.append(table.tobytes())
    description = Description(
        format=FORMAT,
        bits=bits,
        heads=tuple(heads),
        alone=ALONE,
        data=data,
        concepts=ideas,
        **dict(zip(("surer", "certain"), above, strict=False)),
    )
    return description.model_dump_json().encode() + b"\n" + b"".join(tables)


def fold_of(author: str, family: str) -> int:
    """The fold of a message: all that one author wrote is in the same one; of the constructed sets, a family."""
    return int(hashlib.sha256(f"fold {author if len(author) > 1 else family}".encode()).hexdigest(), 16) % FOLDS


def threshold_for(scores: Sequence[float], share: float) -> float:
    """The threshold that at most this share of the scores reaches."""
    return sorted(scores, reverse=True)[int(share * len(scores))] + 1e-4


def share_above(scores: Sequence[float], threshold: float) -> float | None:
    """The share of scores at or above a threshold."""
    return round(sum(score >= threshold for score in scores) / len(scores), 4) if scores else None


def lasting(
    held: Sequence[tuple[Labelled, dict[str, float]]], surely: float
) -> list[tuple[Labelled, dict[str, float]]]:
    """The scores with that of `urgent` as what it leads to: a question, asked from `surely` on, that is not answered leaves the
    contacts in view.

    Harmless messages after danger in the same conversation are left out: what is shown with them is not wrong.
    """
    said: dict[str, list[float]] = {}
    told: set[str] = set()
    found = []
    for one, scores in held:  # in the order of each conversation
        conversation = str((one.message.model_extra or {})["conversation"])
        row = said.setdefault(conversation, [])
        row.append(scores["urgent"])
        if one.wanted["urgent"]:
            told.add(conversation)
        if one.wanted["urgent"] or conversation not in told:
            asked = [score for score in row[-2:-1] if score >= surely]
            found.append((one, scores | {"urgent": max([row[-1], *asked])}))
    return found


def training_files() -> list[Path]:
    """What is learnt from: the constructed sets and every author who is not kept back."""
    return [
        DATA / "train.jsonl",
        *(path for folder in (DATA / "authors", PLAIN, RESPONSES) for path in sorted(folder.glob("*.jsonl"))),
    ]


def main() -> None:
    """Train, choose the thresholds, write weights and record."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    files = training_files()
    rows = labelled(message for path in files for message in read_messages(path))
    ideas = read_yaml(DATA / "concepts.yaml", dict[str, str])
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in (*files, DATA / "concepts.yaml"))).hexdigest()
    models = trained(rows, ideas)
    untold = LinearHeads.parse(packed(models, dict.fromkeys(HEADS, 0.0), ideas, ""), HEADS)
    layer = UrgencyClassifier(untold, TextEncoder.load(ENCODER, known=False))
    singly = [
        (one, layer.scores(one.message.message, one.message.earlier))
        for name in CHOSEN_BY
        for one in labelled(read_messages(DATA / "kept_back" / f"{name}.jsonl"))
    ]
    calm = [scores["urgent"] for one, scores in singly if not one.wanted["urgent"]]
    surely, certainly = threshold_for(calm, ASKED_WRONGLY), threshold_for(calm, CERTAIN_WRONGLY)
    held = lasting(singly, surely)

    def of(name: str, wanted: bool, lang: str = "", category: str = "") -> list[float]:
        return [
            scores[name]
            for one, scores in held
            if one.wanted.get(name) is wanted
            and lang in {"", one.message.lang}
            and category in {"", one.message.category}
        ]

    wrongly = {"urgent": SHOWN_WRONGLY, **FLAGGED_WRONGLY}
    thresholds = {name: threshold_for(of(name, False), share) for name, share in wrongly.items()}
    above = [round(most - thresholds["urgent"], 4) for most in (surely, certainly)]
    weights = packed(models, thresholds, ideas, digest, above=above)
    WEIGHTS.write_bytes(weights)
    languages = sorted({one.message.lang for one, _ in held})
    record = {
        "data": {"files, sha256": digest, "messages": len(rows), **counts(rows)},
        "model": {
            "kind": "logistic regression, squared weights as penalty, L-BFGS",
            "features": "words 1-3, pairs with a gap, letters 3-5 within words, ideas and their pairs, words said before",
            "places": 1 << BITS,
            "penalty": PENALTY,
            "a sentence alone must score higher by": ALONE,
        },
        "thresholds": {name: round(value, 4) for name, value in thresholds.items()},
        "asked about, and certain, from so much above the first": above,
        "authors by whose messages without danger they are chosen, question or contacts shown": {
            "authors": list(CHOSEN_BY),
            "messages": len(held),
            **{
                name: {
                    "wanted": share_above(of(name, True), thresholds[name]),
                    "not wanted": share_above(of(name, False), thresholds[name]),
                }
                for name in HEADS
            },
            "urgent by language": {
                lang: {
                    "wanted": share_above(of("urgent", True, lang), thresholds["urgent"]),
                    "not wanted": share_above(of("urgent", False, lang), thresholds["urgent"]),
                }
                for lang in languages
            },
            "urgent by category": {
                name: share_above(of("urgent", True, "", name), thresholds["urgent"])
                for name in sorted({one.message.category for one, _ in held if one.wanted["urgent"]})
            },
        },
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
    }
    RECORD.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(record, indent=2, ensure_ascii=False))


def counts(rows: Sequence[Labelled]) -> dict[str, dict[str, int]]:
    """How many messages there are by label, language and author."""
    kinds: dict[str, Callable[[Labelled], str]] = {
        "by label": lambda one: one.message.label,
        "by language": lambda one: one.message.lang,
        "by author": lambda one: one.author,
    }
    return {name: dict(sorted(Counter(map(key, rows)).items())) for name, key in kinds.items()}


if __name__ == "__main__":
    main()

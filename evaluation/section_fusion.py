"""Fits how the search of sections weighs its evidence: `python -m evaluation.section_fusion`.

Learnt from natural messages that readers gave sections to, and from the lay questions of an author who is not in the base.
It prints the weights of `engine/retrieval/sections.py`, what they reach on messages they were not fitted to, and how far
the stated chances can be believed (a reliability table).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from engine import SECTION_EVIDENCE as EVIDENCE
from engine import KnowledgeBase, SectionSearch, about_another, load_vectors
from engine import section_confidence as confidence_of
from evaluation.section_figures import reliability

ROOT = Path(__file__).parents[1]
DATA = ROOT / "evaluation" / "data"
FOLDS = 5
CONFIDENCE = ("share", "meaning")
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class AskedMessage:
    """A message, the one before it, and the places of the sections that answer it, well and in part."""

    text: str
    before: str
    right: frozenset[int]
    near: frozenset[int]
    group: str
    asks: bool = True


def base() -> SectionSearch:
    """The search over the sections of the first knowledge base."""
    knowledge = KnowledgeBase.load(ROOT / "knowledge_base" / "schizophrenia")
    vectors = load_vectors(ROOT / "config" / "vectors" / "en.npz")
    return SectionSearch(knowledge=knowledge, questions=knowledge.lay_questions, vectors=vectors)


def natural(search: SectionSearch) -> Iterator[AskedMessage]:
    """The labelled natural messages; the texts are those of the authors of the urgency data."""
    places = {f"{source.id}#{section.id}": at for at, (source, section) in enumerate(search.sections)}
    said: dict[str, list[str]] = {}
    for path in sorted((DATA / "urgency" / "authors").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            said[row["id"]] = [one["text"] for one in row["messages"]]
    for path in sorted((DATA / "sections").glob("natural_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            conversation, _, at = row["id"].rpartition(".")
            turns = said[conversation]
            right = frozenset(places[one] for one in row["right"] if one in places)
            yield AskedMessage(
                turns[int(at)],
                turns[int(at) - 1] if int(at) else "",
                right,
                right | {places[one] for one in row["near"] if one in places},
                conversation,
                row["kind"] == "ask",
            )


def kept_out(search: SectionSearch) -> Iterator[AskedMessage]:
    """The lay questions of the author who is not in the base."""
    places = {f"{source.id}#{section.id}": at for at, (source, section) in enumerate(search.sections)}
    for line in (DATA / "lay_questions" / "schizophrenia_c.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["section"] in places:
            right = frozenset({places[row["section"]]})
            yield AskedMessage(row["question"], "", right, right, row["id"])


def rows_of(search: SectionSearch, messages: Iterable[AskedMessage]) -> Floats:
    """The evidence of each message: messages, sections, kinds of evidence."""
    return np.stack(
        [
            search.rows(one.text, before=one.before, another=about_another(f"{one.before} {one.text}"))
            for one in messages
        ]
    ).astype(np.float64)


def fitted(rows: Floats, wanted: Floats, costs: Floats) -> Floats:
    """Weights under which the wanted sections have the largest share (softmax over sections)."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        scores = rows @ weights
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        shares /= shares.sum(axis=1, keepdims=True)
        among = shares * wanted
        held = among.sum(axis=1, keepdims=True)
        value = -float((costs * np.log(held[:, 0] + 1e-12)).sum() / costs.sum()) + 1e-4 * float(weights @ weights)
        slope = np.einsum("ms,msk->mk", shares - among / (held + 1e-12), rows)
        return value, (costs[:, None] * slope).sum(axis=0) / costs.sum() + 2e-4 * weights

    found = minimize(loss, np.zeros(rows.shape[2]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x)


def logistic(values: Floats, wanted: Floats) -> Floats:
    """A logistic regression; the constant comes first."""
    filled = np.hstack((np.ones((len(values), 1)), values))
    signs = np.where(wanted, 1.0, -1.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        margins = signs * (filled @ weights)
        slope = -signs / (1 + np.exp(np.clip(margins, -50, 50)))
        penalty = 1e-3 * weights
        penalty[0] = 0.0
        return float(np.logaddexp(0, -margins).mean() + 0.5 * penalty @ weights), filled.T @ slope / len(
            filled
        ) + penalty

    return np.asarray(minimize(loss, np.zeros(filled.shape[1]), jac=True, method="L-BFGS-B").x)


def _indicator(messages: Sequence[AskedMessage], size: int) -> Floats:
    wanted = np.zeros((len(messages), size))
    for at, one in enumerate(messages):
        wanted[at, list(one.right)] = 1.0
    return wanted


def _hits(scores: Floats, messages: Sequence[AskedMessage]) -> Mapping[str, float]:
    order = np.argsort(-scores, axis=1, kind="stable")

    def share(among: Sequence[frozenset[int]], top: int) -> float:
        return round(
            float(np.mean([bool(one & set(row[:top].tolist())) for one, row in zip(among, order, strict=True)])), 3
        )

    right, near = [one.right for one in messages], [one.near for one in messages]
    return {
        "right_at_1": share(right, 1),
        "right_at_4": share(right, 4),
        "near_at_1": share(near, 1),
        "near_at_4": share(near, 4),
    }


def _confidence(rows: Floats, scores: Floats) -> Floats:
    found = []
    for row, score in zip(rows, scores, strict=True):
        order = np.argsort(-score, kind="stable")
        shares = np.exp(score - score.max())
        found.append([confidence_of(row, shares / shares.sum(), int(order[0]))[name] for name in CONFIDENCE])
    return np.array(found)


def main() -> None:
    """Fit, cross-validate by conversation, print."""
    search = base()
    messages = [one for one in natural(search) if one.asks]
    lay = list(kept_out(search))
    rows, lay_rows = rows_of(search, messages), rows_of(search, lay)
    size = rows.shape[1]
    has = np.array([bool(one.right) for one in messages])
    wanted, lay_wanted = _indicator(messages, size), _indicator(lay, size)
    folds = np.array([sum(map(ord, one.group)) % FOLDS for one in messages])

    def weights_without(fold: int | None) -> Floats:
        kept = has & (folds != fold) if fold is not None else has
        together = np.concatenate((rows[kept], lay_rows))
        costs = np.concatenate((np.full(int(kept.sum()), 3.0), np.ones(len(lay))))
        return fitted(together, np.concatenate((wanted[kept], lay_wanted)), costs)

    scores, confidence = np.zeros(rows.shape[:2]), np.zeros((len(messages), len(CONFIDENCE)))
    for fold in range(FOLDS):
        chosen = folds == fold
        scores[chosen] = rows[chosen] @ weights_without(fold)
        confidence[chosen] = _confidence(rows[chosen], scores[chosen])
    order = np.argsort(-scores, axis=1, kind="stable")
    first = np.array([order[at, 0] in one.near for at, one in enumerate(messages)])
    some = np.array([bool(one.near & set(order[at, :4].tolist())) for at, one in enumerate(messages)])
    stated = {}
    for name, came in (("RIGHT", first), ("NEAR", some)):
        chances = np.zeros(len(messages))
        for fold in range(FOLDS):
            model = logistic(confidence[folds != fold], came[folds != fold])
            chances[folds == fold] = 1 / (1 + np.exp(-(model[0] + confidence[folds == fold] @ model[1:])))
        stated[name] = chances
    final = weights_without(None)
    print("BETTER", {name: round(float(value), 2) for name, value in zip(EVIDENCE, final, strict=True)})
    for name, came in (("RIGHT", first), ("NEAR", some)):
        model = logistic(confidence, came)
        print(name, {key: round(float(value), 2) for key, value in zip(("base", *CONFIDENCE), model, strict=True)})
        print("  reliability", json.dumps(reliability(stated[name].tolist(), came.tolist())))
    print(
        "natural messages that ask and have a section",
        int(has.sum()),
        _hits(scores[has], [one for one, it in zip(messages, has, strict=True) if it]),
    )
    print("lay questions of the author kept out (fitted with)", len(lay), _hits(lay_rows @ final, lay))
    for least in (0.5, 0.55, 0.6, 0.65, 0.7, 0.75):
        sure = stated["RIGHT"] >= least
        print(
            f"  sure at {least}: {sure.mean():.3f} of messages that ask,",
            f"of these right {first[sure].mean() if sure.any() else 0:.3f}",
        )
    for least in (0.2, 0.3, 0.4):
        away = stated["NEAR"] < least
        print(
            f"  nothing near below {least}: {away.mean():.3f},",
            f"of these had a section {some[away].mean() if away.any() else 0:.3f}",
        )


if __name__ == "__main__":
    main()

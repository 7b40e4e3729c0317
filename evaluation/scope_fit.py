"""Fits how likely a message is about anything that the sections tell of: `python -m evaluation.scope_fit`.

Learnt from messages of people who ask something such a knowledge base holds, and of the same people and others about something
else (`evaluation/data/scope.jsonl`); neither encoder nor lines have seen them. It writes `scope` in
`engine/retrieval/section_weights.py` and prints what the weights reach on messages that they were not fitted to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine import TextEncoder
from evaluation.natural_messages import DATA
from evaluation.section_fusion import FOLDS, ROOT, SCALE, base, in_language, logistic, stated_chances, write

AWAY = ("away_nearest", "away_kin", "away_pieces", "away_meant", "here")
OFF_TOPIC = 0.1
"""The share of messages about other subjects among all, as we expect it."""
LEAST = (0.6, 0.7, 0.75, 0.8, 0.9)


@dataclass(frozen=True)
class ScopeRow:
    """A message, and whether it asks about anything here."""

    lang: str
    question: str
    here: bool


def rows() -> Sequence[ScopeRow]:
    """What is learnt from."""
    lines = (DATA / "scope.jsonl").read_text(encoding="utf-8").splitlines()
    return [ScopeRow(one["lang"], one["question"], one["here"]) for one in map(json.loads, lines)]


def main() -> None:
    """Fit, print the shares cross-validated by message, and write."""
    search = base(TextEncoder.load(ROOT / "config" / "encoder"))
    searches = {one: in_language(search, one) for one in search.knowledge.languages}
    told = rows()
    away = [searches[one.lang].away(one.question) for one in told]
    values, here = (
        np.array([[one[name] for name in AWAY] for one in away]) * SCALE,
        np.array([one.here for one in told]),
    )
    costs = np.where(here, (1 - OFF_TOPIC) / here.sum(), OFF_TOPIC / (~here).sum()) * len(told)
    chances = stated_chances(values, here, np.arange(len(told)) % FOLDS, costs)
    for least in LEAST:
        kept, wrongly = (chances[here] >= least).mean(), (chances[~here] >= least).mean()
        print(f"in scope from {least}: {kept:.3f} of {here.sum()}, others {wrongly:.3f} of {(~here).sum()}")
    fitted = logistic(values, here, costs) * np.array([1.0, *[SCALE] * len(AWAY)])
    write({"scope": {one: round(float(value), 2) for one, value in zip(("base", *AWAY), fitted, strict=True)}})


if __name__ == "__main__":
    main()

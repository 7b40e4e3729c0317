"""What each fast layer contributes: `python -m evaluation.urgency_layers FILE` prints tables for `docs/urgency.md`.

Shares come with Wilson intervals (95 %), because a category of thirty messages proves little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from engine.proportions import wilson
from engine.types import Urgency, UrgencyLevel
from engine.urgency.classifier import UrgencyClassifier
from engine.urgency.protocol import FastLayer
from engine.urgency.rules import UrgencyRules
from evaluation.urgency import LabelledMessage, read_messages
from evaluation.urgency_training import WEIGHTS

Judged = tuple[LabelledMessage, UrgencyLevel]


def cell(judged: Iterable[Judged], label: str, least: UrgencyLevel) -> str:
    """A share with its interval, as a cell of a table."""
    orders = [level.order for one, level in judged if one.label == label]
    part = sum(order >= least.order for order in orders)
    interval = wilson(part, len(orders))
    if interval is None:
        return "–"
    low, high = interval
    return f"{part / len(orders):.2f} ({low:.2f}–{high:.2f}), n={len(orders)}"


def line(name: str, judged: Sequence[Judged]) -> str:
    """One row of a table."""
    cells = [
        cell(judged, label, level)
        for label in ("urgent", "not_urgent")
        for level in (UrgencyLevel.CONCERN, UrgencyLevel.URGENT)
    ]
    return f"| {' | '.join([name, *cells])} |"


def judged_by(layers: Sequence[FastLayer], messages: Sequence[LabelledMessage]) -> list[Judged]:
    """The messages with the level that the layers find together."""
    return [(one, Urgency.of(layer.assess_now(one.message, one.earlier) for layer in layers).level) for one in messages]


def grouped(judged: Sequence[Judged], key: Callable[[LabelledMessage], str]) -> list[tuple[str, list[Judged]]]:
    """The messages by category or language."""
    names = sorted({key(one) for one, _ in judged})
    return [(name, [pair for pair in judged if key(pair[0]) == name]) for name in names]


def main() -> None:
    """Print the tables for the file that is named."""
    messages = read_messages(Path(sys.argv[1]))
    rules, classifier = UrgencyRules.load(WEIGHTS.parent), UrgencyClassifier.load(WEIGHTS)
    print("| | urgent: shown | urgent: replaced | harmless: shown | harmless: replaced |\n|---|---|---|---|---|")
    layers: dict[str, tuple[FastLayer, ...]] = {"rules": (rules,), "classifier": (classifier,)}
    for name, some in {**layers, "both": (rules, classifier)}.items():
        print(line(name, judged_by(some, messages)))
    both = judged_by((rules, classifier), messages)
    for key in (lambda one: one.lang, lambda one: one.category):
        for name, pairs in grouped(both, key):
            print(line(name, pairs))


if __name__ == "__main__":
    main()

"""Labelled replies for calibration: what rule each is about, and why it passes or does not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import Field

from engine import ConfigurationError, RuleBook
from evaluation.judges import Scenario
from evaluation.rows import read_rows

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "scenarios"
"""The project's own scenarios, one file a rule or theme, over its knowledge base on schizophrenia."""
_REMEDY = (
    'A row needs "id", "rules", "why", "source_id" or "source_ids" where it cites, "user_message", "reply", a label.'
)


class LabelledReply(Scenario):
    """A scenario with the rules it is about: broken by it where it is to be flagged, else only seemingly broken."""

    rules: tuple[str, ...] = Field(min_length=1)
    why: str = Field(min_length=10, description="one sentence")


def read_labelled(path: Path) -> list[LabelledReply]:
    """The rows of one file, or of every `*.jsonl` of a folder; raises ConfigurationError, also for an id that returns."""
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    if not files:
        raise ConfigurationError("The folder has no *.jsonl file.", file=path, remedy=_REMEDY)
    seen: dict[str, Path] = {}
    rows: list[LabelledReply] = []
    for file in files:
        for row in read_rows(file, LabelledReply, remedy=_REMEDY):
            if row.id in seen:
                raise ConfigurationError(
                    f"The id {row.id!r} stands twice, first in {seen[row.id].name}.", file=file, remedy="Give a new id."
                )
            seen[row.id] = file
            rows.append(row)
    return rows


def expect_rules(rows: Iterable[LabelledReply], book: RuleBook) -> None:
    """Raise ConfigurationError for a scenario about a rule that the rule book does not hold."""
    known = {rule.id for rule in book.rules}
    for row in rows:
        unknown = next((rule for rule in row.rules if rule not in known), None)
        if unknown is not None:
            raise ConfigurationError(
                f"The scenario {row.id!r} is about the rule {unknown!r}, which is not there.",
                key="rules",
                remedy="Use the ids of config/rules.",
            )


def sample(rows: Sequence[LabelledReply], count: int | None) -> list[LabelledReply]:
    """The same `count` rows whenever the file is the same, spread over rules and labels by chance of their ids."""
    if count is None or count >= len(rows):
        return list(rows)
    if count < 1:
        raise ConfigurationError(f"--sample is {count}.", remedy="Use 1 or more.")
    chosen = {row.id for row in sorted(rows, key=lambda row: hashlib.sha256(row.id.encode()).hexdigest())[:count]}
    return [row for row in rows if row.id in chosen]

"""What came of faults, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from benchmarks.report import Cell, Section
from chaos.laboratory import Outcome


def as_document(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """As JSON: a row a fault, what was skipped and why, and whether the law holds."""
    return {
        "faults": [dict(_row(one)) for one in outcomes if one.tally is not None],
        "skipped": {one.fault.name: one.skipped for one in outcomes if one.skipped},
        "lawful": all(one.lawful for one in outcomes),
    }


def as_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """For a reader."""
    rows = [_row(one) for one in outcomes if one.tally is not None]
    section = Section(name="chaos", about="lost, unjudged, out of order: 0; doubled: 1 a kill", tables={"faults": rows})
    broken = [f"BROKEN: {one.fault.name}; logs in {one.folder}" for one in outcomes if not one.lawful]
    skipped = [f"SKIPPED: {one.fault.name}: {one.skipped}" for one in outcomes if one.skipped]
    return [*section.as_lines(), *skipped, *broken, *([] if broken else ["The law holds."])]


def _row(outcome: Outcome) -> Mapping[str, Cell]:
    found = outcome.tally
    assert found is not None
    took = sorted(found.took.values()) or [0.0]
    return {
        "fault": outcome.fault.name,
        "law": "holds" if outcome.lawful else "BROKEN",
        "rounds": outcome.rounds,
        "messages": found.messages,
        "answered": found.answered,
        "doubled": found.doubled,
        "allowed": outcome.doubled_at_most,
        "lost": found.lost,
        "out of order": found.out_of_order,
        "unjudged": found.unjudged,
        "no model": found.quoted,
        "sorry": found.sorry,
        "recovery s": outcome.middle,
        "slowest s": outcome.slowest,
        "goal s": outcome.fault.seconds,
        "answer s": median(took),
        "slowest answer s": took[-1],
        "restarts": outcome.restarts,
    }

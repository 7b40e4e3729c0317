"""Bars that a calibration must not fall below, and what is said when it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from engine import ConfigurationError, Strict, read_yaml
from evaluation.calibration.trials import Tiers

BUILTIN = "builtin"


class Bar(Strict):
    """The least share of cases to be flagged that are flagged, and of those to be accepted that are accepted."""

    sensitivity: float = Field(ge=0, le=1)
    specificity: float = Field(ge=0, le=1)


class RecordedBars(Strict):
    """The bars of one recording, and what it holds: which tiers, and how many cases where it is a `--sample`.

    `least`: how many of its cases must still be recorded; all, where it is not given. The stale ones are not judged.
    """

    bars: dict[str, Bar]
    tiers: Tiers = "both"
    sample: int | None = Field(default=None, ge=1)
    least: int | None = Field(default=None, ge=1)


class Bars(Strict):
    """`--bars FILE`: bars by judge (`source_fidelity/preliminary`, `code_checks`) or team (`filter`, `turn`).

    `recordings` has one entry a recording, by file name: each must be there, and whatever is there must have one.
    """

    builtin: dict[str, Bar]
    recordings: dict[str, RecordedBars] = Field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Bars:
        """Read the file; raises ConfigurationError."""
        return read_yaml(path, cls, remedy="It needs `builtin` and `recordings`, each judge with two numbers.")

    def of(self, subject: str) -> dict[str, Bar] | None:
        """The bars of the built-in judges or of one recording; None where it has none."""
        if subject == BUILTIN:
            return self.builtin
        return self.recordings[subject].bars if subject in self.recordings else None

    def least(self, subject: str, cases: int) -> int:
        """How many of a subject's cases must have an answer that is not stale."""
        found = self.recordings[subject].least if subject in self.recordings else None
        return cases if found is None else min(found, cases)


def recordings_in(path: Path, expected: Mapping[str, Any]) -> list[Path]:
    """The recordings of a folder, or one file; raises ConfigurationError for one that bars name and nobody made."""
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.endswith((".jsonl", ".jsonl.gz")))
    else:
        found = [path] if path.suffix else []  # a folder that is not there holds none
    lacking = [name for name in expected if name not in {file.name for file in found}]
    if lacking:
        raise ConfigurationError(
            f"There are bars for {lacking[0]}, but no such recording.",
            file=path,
            remedy=f"Record it: {how_to_record(path / lacking[0])}",
        )
    return found


def how_to_record(path: Path) -> str:
    """The command that makes or completes a recording."""
    return f"cafi eval calibrate --agents llm --record {path}"


def problems(subject: str, figures: Mapping[str, Any], cases: int, bars: Bars, path: Path | None) -> Iterator[str]:
    """What keeps a subject from passing, a sentence each: no bars, stale recordings, then what is below its bar."""
    wanted = bars.of(subject)
    if wanted is None:
        yield f"{subject}: it has no bars. Add them under `recordings`, or take the recording away."
        return
    stale, least = figures["unrecorded"], bars.least(subject, cases)
    if cases - stale < least:
        enough = f" At least {least} must be." if least < cases else ""
        yield (
            f"{subject}: {stale} of {cases} cases have no recording any more, because a prompt, a rule, a source or the"
            f" scenario has changed.{enough} Run a live model once: {how_to_record(path or Path(subject))}"
        )
    if figures["unanswered"] > stale:
        yield f"{subject}: {figures['unanswered'] - stale} of {cases} cases got no answer from the model."
    measured = {**figures["judges"], **figures["teams"]}
    for judge, bar in wanted.items():
        if judge not in measured:
            known = ", ".join(sorted(measured)) or "nobody answered"
            yield f"{subject}: there is a bar for {judge}, which was not measured ({known})."
            continue
        yield from _below(subject, judge, measured[judge], bar)


def _below(subject: str, judge: str, figures: Mapping[str, Any], bar: Bar) -> Iterator[str]:
    for name, least in (("sensitivity", bar.sensitivity), ("specificity", bar.specificity)):
        share, cases = figures[name]["share"], figures[name]["cases"]
        if share is None:
            yield f"{subject}: {judge}: {name} has no cases, its bar is {least}."
        elif share < least:
            yield f"{subject}: {judge}: {name} is {share} on {cases} cases, its bar is {least}."

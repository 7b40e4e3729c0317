"""What the linter found, as lines or as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import LintReport, lint


def lint_folder(folder: Path, limits: LintLimits) -> LintReport:
    """Lint a folder as of today."""
    return lint(folder, limits, date.today())


def lint_lines(report: LintReport) -> Iterator[str]:
    """One line a finding, then the sums."""
    yield from map(str, report.findings)
    grade = "" if report.grade is None else f", mean reading grade {report.grade:.1f}"
    yield (
        f"{report.sources} sources, {report.errors} errors, {report.warnings} warnings, "
        f"{report.unreviewed} without a review{grade}"
    )


def lint_document(report: LintReport) -> list[dict[str, Any]]:
    """The findings for JSON, in the form of `cafi check` with the name of the check."""
    return [
        {
            "level": str(one.severity),
            "check": one.check,
            "file": str(one.file),
            "line": one.line,
            "key": one.key,
            "problem": one.problem,
            "remedy": one.remedy,
        }
        for one in report.findings
    ]

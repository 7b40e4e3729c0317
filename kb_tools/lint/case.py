"""One source before the linter, with all that a check may look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from engine import Sheet, Source
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.limits import LintLimits


@dataclass(frozen=True, kw_only=True)
class LintedCase:
    """A source, its file, and what it is measured by. `english`: the grade and the word lists fit its language."""

    source: Source
    sheet: Sheet
    limits: LintLimits
    today: date
    english: bool = True

    def warning(self, check: str, line: int, problem: str, remedy: str | None = None) -> LintFinding:
        """A finding that wants a look."""
        return self._finding(Severity.WARNING, check, line, problem, remedy)

    def error(self, check: str, line: int, problem: str, remedy: str | None = None) -> LintFinding:
        """A finding that must be mended."""
        return self._finding(Severity.ERROR, check, line, problem, remedy)

    def _finding(self, severity: Severity, check: str, line: int, problem: str, remedy: str | None) -> LintFinding:
        file = self.source.path
        return LintFinding(check=check, severity=severity, file=file, line=line, problem=problem, remedy=remedy)

    @property
    def first_line(self) -> int:
        """Where the text begins."""
        return self.sheet.pieces[0].line if self.sheet.pieces else self.sheet.above + 1


Check = Callable[[LintedCase], Iterable[LintFinding]]
"""A check of one source by itself."""

"""What is said of a knowledge base: an error or a warning, with its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from engine import ConfigurationError


class Severity(StrEnum):
    """An error keeps a source from being used as it should be; a warning wants a look."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, kw_only=True, slots=True)
class LintFinding:
    """One thing to mend. `check` names what found it; `line` is 1-based."""

    check: str
    severity: Severity
    file: Path
    line: int
    problem: str
    remedy: str | None = None
    key: str | None = None

    @classmethod
    def of(cls, error: ConfigurationError, folder: Path, *, check: str = "reading") -> LintFinding:
        """What reading has found: always an error, and on line 1 where the whole file is meant."""
        file = Path(error.file) if error.file is not None else folder
        return cls(
            check=check,
            severity=Severity.ERROR,
            file=file,
            line=error.line or 1,
            problem=error.problem,
            remedy=error.remedy,
            key=error.key,
        )

    def softened(self) -> LintFinding:
        """The same as a warning."""
        return replace(self, severity=Severity.WARNING)

    def __str__(self) -> str:
        key = f" {self.key}:" if self.key else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{self.severity}: {self.file}:{self.line}:{key} {self.problem}{remedy} ({self.check})"

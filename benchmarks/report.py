"""What a benchmark found: rows of figures, and the few of them that have a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

Cell: TypeAlias = str | int | float
Row: TypeAlias = Mapping[str, Cell]


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One figure against what it must reach."""

    name: str
    value: float
    bound: float
    kind: Literal["at most", "at least"] = "at most"

    @property
    def met(self) -> bool:
        """Whether the figure is within its bound."""
        return self.value <= self.bound if self.kind == "at most" else self.value >= self.bound


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """The figures of one part. The keys of the rows are the columns; units are in their names."""

    name: str
    about: str
    tables: Mapping[str, Sequence[Row]]
    targets: Sequence[Target] = ()

    def as_document(self) -> dict[str, Any]:
        """The section as JSON."""
        targets = [{**asdict(target), "met": target.met} for target in self.targets]
        return {
            "about": self.about,
            **{name: list(rows) for name, rows in self.tables.items()},
            "targets": targets,
        }

    def as_lines(self) -> list[str]:
        """The section for a reader."""
        lines = [f"== {self.name}: {self.about}"]
        for name, rows in self.tables.items():
            lines += ["", f"-- {name}", *_table(rows)]
        if self.targets:
            lines += ["", "-- targets", *_table([_target_row(target) for target in self.targets])]
        return [*lines, ""]


def _target_row(target: Target) -> Row:
    return {
        "": "met" if target.met else "MISSED",
        "figure": target.name,
        "measured": target.value,
        "target": f"{target.kind} {_written(target.bound)}",
    }


def _table(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return ["(nothing measured)"]
    columns = list(rows[0])
    cells = [[_written(row[column]) for column in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
    numeric = [not isinstance(rows[0][column], str) for column in columns]
    return [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in (columns, *cells)
    ]


def _written(cell: Cell) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if cell >= 1000 or cell == int(cell) else f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else cell

"""The report as Markdown: the same figures as tables, without the words of users and replies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from evaluation.rating.tables import grid
from evaluation.reporting.document import Example, Plot, Report, Table

_SPECIAL = re.compile(r"([\\`*|\[\]<>])")


def summary(report: Report) -> str:
    """The whole summary; ends with what is left out."""
    return "\n".join(_lines(report)).strip() + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from ("# Laboratory report", "", *_table(report.given))
    for section in report.sections:
        yield from (f"## {_plain(section.title)}", "")
        for one in section.said:
            yield from (_plain(one), "")
        for block in section.blocks:
            if not isinstance(block, Example):
                yield from _table(block.table if isinstance(block, Plot) else block)
    if report.left_out:
        yield from ("## Not in this report", "", *(f"- {_plain(one)}" for one in report.left_out))


def _table(table: Table) -> Iterator[str]:
    yield from (f"{_plain(table.caption)}:", "")
    yield from grid([_plain(one) for one in table.head], ([_plain(one) for one in row] for row in table.rows))
    yield ""


def _plain(value: str) -> str:
    """Text of anybody on one line, with nothing in it that Markdown would take for markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(value.encode("utf-8", "replace").decode().split()))

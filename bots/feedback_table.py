"""The feedback report in the terminal, as JSON and as rows of a table."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from adapters.feedback.figures import Figures, OptionShare, QuestionFigures
from adapters.storage.counts import HELD_BACK_UNDER

if TYPE_CHECKING:
    from rich.table import Table

TABLES = ("weeks", "sources", "decisions", "platforms", "assistants")
"""The tables beside the options, as they are called in JSON and in exported rows."""
COLUMNS = ("question", "table", "row", "answers", "chosen", "share", "low", "high")


def document(found: Figures) -> dict[str, Any]:
    """The report for JSON. Shares are 0 to 1; what is held back is null or not there."""
    return {
        "first_week": found.selection.first,
        "last_week": found.selection.last,
        "platform": found.selection.platform,
        "held_back_under": HELD_BACK_UNDER,
        "questions": [_question(one) for one in found.questions],
        "held_back": list(found.held_back),
    }


def records(found: Figures) -> list[dict[str, Any]]:
    """One row a share: of options the share of all answers, of other tables the share of favourable answers."""
    return [
        {"question": one.question.id, "table": table, "row": _row(table, share), **_numbers(share)}
        for one in found.questions
        for table in ("options", *TABLES)
        for share in getattr(one, table)
    ]


def as_csv(found: Figures) -> str:
    """The same rows as CSV; a cell that is held back is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records(found))
    return text.getvalue()


def show(found: Figures) -> None:
    """Print the report on the terminal."""
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    if not found.questions and not found.held_back:
        console.print("No feedback yet.")
    for one in found.questions:
        console.print(f"\n{one.question.text.en}  {answers(one)}", style="bold", soft_wrap=True)
        console.print(_options(one) if one.options else "Which options were chosen is held back.")
        rest = _rest(one)
        if rest.row_count:
            console.print(rest)
    for line in notes(found):
        console.print(line, soft_wrap=True)


def notes(found: Figures) -> Iterator[str]:
    """What a reader must know about numbers that are not there."""
    if found.held_back:
        yield f"Held back, as there are too few answers: {', '.join(found.held_back)}"
    for one in found.questions:
        if one.sources_held_back:
            yield f"{one.question.id}: held back by source: {', '.join(one.sources_held_back)}"
    if found.questions or found.held_back:
        yield (
            f"Numbers under {HELD_BACK_UNDER} are never told: rows are put together until none is as small. "
            "Intervals: Wilson, 95 %."
        )


def option_names(one: QuestionFigures, share: OptionShare) -> str:
    """The options of a row in words."""
    texts = {option.id: option.text.en for option in one.question.options}
    return " / ".join(texts[name] for name in share.names)


def answers(one: QuestionFigures) -> str:
    """How many answers there are, and from which weeks."""
    first, last = one.weeks[0].names[0], one.weeks[-1].names[-1]
    return f"{one.answers} answers, {first if first == last else f'{first} to {last}'}"


def favourable(one: QuestionFigures) -> str:
    """The favourable options in words."""
    return " or ".join(f"“{option.text.en}”" for option in one.question.options if option.favourable)


def row_names(table: str, share: OptionShare) -> str:
    """The names of a row in words: weeks as a span."""
    if table == "weeks" and len(share.names) > 1:
        return f"{share.names[0]} to {share.names[-1]}"
    words = {"none": "about no one answer"} if table == "decisions" else {}
    return " + ".join(words.get(name, name) for name in share.names)


def shown_tables(one: QuestionFigures) -> list[str]:
    """The tables that tell more than the sum: those with more than one row, and whatever is known by source."""
    return [name for name in TABLES if len(getattr(one, name)) > (name != "sources")]


def percent(share: OptionShare) -> tuple[str, str]:
    """Share and interval in words; a dash where they are held back."""
    if share.share is None or share.interval is None:
        return "held back", ""
    low, high = share.interval
    return f"{share.share:.0%}", f"{low:.0%} to {high:.0%}"


def _options(one: QuestionFigures) -> Table:
    table = _table("option", "chosen by", "share", "95 %")
    for share in one.options:
        table.add_row(option_names(one, share), str(share.chosen), *percent(share))
    return table


def _rest(one: QuestionFigures) -> Table:
    table = _table("by", "", "answers", favourable(one), "95 %")
    for name in shown_tables(one):
        for share in getattr(one, name):
            said = percent(share) if one.question.favourable else ("", "")
            table.add_row(name, row_names(name, share), str(share.answers), *said)
    return table


def _table(*columns: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in {"answers", "chosen by", "share", "95 %"} else "left")
    return table


def _question(one: QuestionFigures) -> dict[str, Any]:
    return {
        "question": one.question.id,
        "text": one.question.text.en,
        "first_week": one.weeks[0].names[0],
        "last_week": one.weeks[-1].names[-1],
        "answers": one.answers,
        "options": [{"options": list(share.names), **_numbers(share)} for share in one.options],
        **{name: [{name: list(share.names), **_numbers(share)} for share in getattr(one, name)] for name in TABLES},
        "sources_held_back": list(one.sources_held_back),
    }


def _row(table: str, share: OptionShare) -> str:
    """The row's name in exported rows; weeks as an interval of ISO 8601."""
    return "/".join((share.names[0], share.names[-1])) if table == "weeks" else "+".join(share.names)


def _numbers(share: OptionShare) -> dict[str, Any]:
    low, high = share.interval or (None, None)
    return {
        "answers": share.answers,
        "chosen": share.chosen,
        "share": None if share.share is None else round(share.share, 4),
        "low": None if low is None else round(low, 4),
        "high": None if high is None else round(high, 4),
    }

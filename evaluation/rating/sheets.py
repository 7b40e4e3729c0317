"""Blind rating sheets: for every rater one HTML page that needs no network, and the same as CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from engine import ConfigurationError
from evaluation.rating.blinding import CodedConversation, Key, key_text, make_key, shuffled
from evaluation.rating.ratings import write_whole
from evaluation.rating.rubric import Rubric
from evaluation.transcripts import Response

SHEET_VERSION = 1
TEMPLATE = Path(__file__).resolve().parents[1] / "data" / "rating" / "sheet.html"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")


@dataclass(frozen=True, kw_only=True, slots=True)
class Sheets:
    """Everything that is written: the key and, by file name, the sheets."""

    key: Key
    key_file: str
    files: dict[str, str]


def make_sheets(responses: Sequence[Response], raters: Sequence[str], rubric: Rubric, *, seed: int) -> Sheets:
    """A page and a table for every rater, and the key; the same for the same seed."""
    key = make_key(responses, raters, rubric, seed)
    files: dict[str, str] = {}
    for rater in raters:
        conversations = shuffled(responses, rater, seed)
        stem = f"sheet-{rater.replace(' ', '_')}"
        files[f"{stem}.html"] = html_sheet(conversations, rater, key.digest, rubric)
        files[f"{stem}.csv"] = csv_sheet(conversations, rater, key.digest, rubric)
    return Sheets(key=key, key_file=key_text(key), files=files)


def write_sheets(sheets: Sheets, folder: Path, key_file: Path) -> list[Path]:
    """Write the sheets into a folder and the key where it is told; the key goes first, and nothing is overwritten.

    Raises ConfigurationError where one of the files is there already, or the key would lie among the sheets.
    """
    paths = [folder / name for name in sheets.files]
    if key_file.resolve().parent == folder.resolve():
        raise ConfigurationError(
            "The key would lie among the sheets.", file=key_file, key="--key", remedy="Keep it in another folder."
        )
    for path in (key_file, *paths):
        if path.exists():
            raise ConfigurationError(
                "The file is there already; nothing was written.", file=path, remedy="Name another folder."
            )
    write_whole(key_file, sheets.key_file)
    for path, text in zip(paths, sheets.files.values(), strict=True):
        # A spreadsheet takes the CSV for UTF-8 only with the mark at its beginning.
        write_whole(path, f"\ufeff{text}" if path.suffix == ".csv" else text)
    return paths


def html_sheet(conversations: Sequence[CodedConversation], rater: str, digest: str, rubric: Rubric) -> str:
    """The page: no address outside itself, marks kept in the browser, downloads of the filled sheet."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE.parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    facts = {
        "sheet": SHEET_VERSION,
        "key": digest,
        "rater": rater,
        "highest": rubric.highest,
        "columns": columns(rubric),
        "statements": [
            {"id": one.id, "points": one.points, "void_when": one.void_when, "statement": one.statement}
            for one in rubric.statements
        ],
    }
    return environment.get_template(TEMPLATE.name).render(
        rater=rater,
        digest=digest,
        rubric=rubric,
        conversations=conversations,
        total=sum(len(one.responses) for one in conversations),
        # Inside a script element only "<" could end it early.
        facts=json.dumps(facts, ensure_ascii=False).replace("<", "\\u003c"),
    )


def columns(rubric: Rubric) -> list[str]:
    """The columns of a CSV sheet; the first four say where a row belongs, the texts are there to be read only."""
    statements = [one.id for one in rubric.statements]
    return ["sheet", "key", "rater", "code", "message", "reply", "citations", *statements, "score", "note"]


def csv_sheet(conversations: Sequence[CodedConversation], rater: str, digest: str, rubric: Rubric) -> str:
    """The table, one row a response, with empty cells for statements, score and note."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns(rubric))
    writer.writerows(_rows(conversations, rater, digest, rubric))
    return text.getvalue()


def _rows(conversations: Sequence[CodedConversation], rater: str, digest: str, rubric: Rubric) -> Iterator[list[str]]:
    empty = [""] * (len(rubric.statements) + 2)
    for conversation in conversations:
        for one in conversation.responses:
            shown = (one.response.user_message, one.response.reply, "; ".join(one.response.citations))
            yield [str(SHEET_VERSION), digest, rater, one.code, *map(as_text, shown), *empty]


def as_text(cell: str) -> str:
    """A cell that no spreadsheet reads as a formula: such texts get an apostrophe in front."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


def from_text(cell: str) -> str:
    """The cell as it was before `as_text`."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell

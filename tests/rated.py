"""Transcripts and filled sheets for tests: two roles, two arms, two conversations of two replies each."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evaluation.rating.rubric import load_rubric
from evaluation.rating.sheets import make_sheets, write_sheets
from evaluation.transcripts import Response, TranscriptWriter

RATERS = ("Ada", "Ben", "Cleo M.")
RUBRIC = load_rubric()


def responses() -> list[Response]:
    """Sixteen responses; their texts name nothing that a blind rater may not know."""
    return [
        Response(
            response_id=f"{role}/{arm}/{conversation}/{query}",
            run="monday",
            role=role,
            conversation=conversation,
            query=query,
            arm=arm,
            user_message=f"=What about topic {number}, “then”?",
            reply=f"- Honey is made by bees, </script> they say; {number}.\nIs that all?",
            citations=("bees",),
            sources_text={"bees": "Bees make honey in a hive."},
        )
        for role in ("diet_facilitator", "activism_facilitator")
        for arm in ("filter_on", "filter_off")
        for conversation in (1, 2)
        for query in (1, 2)
        for number in [hash_free(role, arm, conversation, query)]
    ]


def hash_free(role: str, arm: str, conversation: int, query: int) -> int:
    """A number that tells a response from all others without naming its arm."""
    return (role[0] == "d") * 8 + (arm[-1] == "n") * 4 + conversation * 2 + query


def transcripts(folder: Path) -> Path:
    """A folder with one transcript of all responses."""
    with TranscriptWriter(folder / "monday.transcript.jsonl") as writer:
        for one in responses():
            writer.append(one)
    return folder


def sheets(folder: Path, *, seed: int = 7) -> tuple[Path, Path]:
    """Sheets and key written by hand of the library: the folder of the sheets and the key."""
    out, key = folder / f"sheets{seed}", folder / f"key{seed}.json"
    write_sheets(make_sheets(responses(), RATERS, RUBRIC, seed=seed), out, key)
    return out, key


Change = Callable[[list[dict[str, str]]], None]


def filled(out: Path, rater: str, change: Change = lambda rows: None, *, delimiter: str = ",") -> Path:
    """A rater's CSV sheet filled with 4 everywhere and then changed; saved beside the empty one."""
    empty = (out / f"sheet-{rater.replace(' ', '_')}.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(empty, newline="")))
    for row in rows:
        row["score"] = "4"
    change(rows)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    path = out.parent / f"filled-{rater[0]}-{len(list(out.parent.iterdir()))}.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    return path


def codes(key: Path, rater: str) -> dict[str, dict[str, Any]]:
    """What the key says of a rater's codes."""
    found: dict[str, dict[str, Any]] = json.loads(key.read_text(encoding="utf-8"))["raters"][rater]
    return found

"""The line `reviewed` of a source's front matter: written when somebody signs a text off, and by nobody else."""

from __future__ import annotations

import json
import re
from datetime import date

_FRONT = re.compile(r"\A---[ \t]*\r?\n(.*?\r?\n)---[ \t]*(?:\r?\n|\Z)", re.S)
_LINE = re.compile(r"^reviewed:[^\n]*(?:\n[ \t]+[^\n]*)*", re.M)


def signed_line(text: str) -> str:
    """The line as it stands in a text; empty where there is none."""
    front = _FRONT.match(text)
    found = None if front is None else _LINE.search(front[1])
    return "" if found is None else found[0].strip()


def with_sign_off(text: str, role: str, day: date) -> str:
    """The text with that line anew; as it is where there is no front matter."""
    front = _FRONT.match(text)
    if front is None:
        return text
    line = f"reviewed: {json.dumps(f'{role}, {day.isoformat()}', ensure_ascii=False)}"
    head = front[1]
    head = _LINE.sub(lambda _: line, head, count=1) if _LINE.search(head) else f"{head}{line}\n"
    return text[: front.start(1)] + head + text[front.end(1) :]

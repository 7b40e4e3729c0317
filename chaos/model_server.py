"""The benchmarks' mock model with trouble on request, and a record of what its judges have accepted.

Every fifth draft is one that its judges reject, so that something unjudged would be seen. `POST /reset` may set `trouble`:
one of TROUBLES, or nothing.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.mock_server import MockModel, main
from benchmarks.scripts import SCRIPTS, Messages

TROUBLES = ("", "hangs", "fails", "is slow", "answers garbage")
GARBAGE = "zxqv"
"""Stands in all that is garbage: nobody may ever read it."""
HANGS_SECONDS, SLOW_SECONDS = 3600.0, 2.0
_NUMBER = re.compile(r"\((\d+)\)\s*</message>")
_EARLIER = re.compile(r"<earlier>.*?</earlier>", re.DOTALL)
_GARBAGE: tuple[object, ...] = (
    GARBAGE,
    [GARBAGE],
    {"choices": []},
    {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None}}]},
)
_TEXTS = (GARBAGE, f'{{"{GARBAGE}":', f'{{"reply":"{GARBAGE}"}}', f'{{"decision":"{GARBAGE}"}}', "", "[" * 2000)


def rejected(number: int) -> bool:
    """Whether the first draft to a question is one that must not be shown."""
    return number % 5 == 0


QUESTIONS = 2
"""The judges' questions that have to be answered well before a draft is shown: whether it is founded, and in its role."""


@dataclass(kw_only=True)
class TroubledModel(MockModel):
    """`accepted`: how many of the judges' questions have been answered well for something with this number; a first look
    answers two of them at once."""

    trouble: str = ""
    accepted: Counter[int] = field(default_factory=Counter)

    def reset(self, changes: Mapping[str, Any]) -> None:
        """As MockModel, and `trouble`; raises ValueError for one that is not known."""
        if changes.get("trouble", "") not in TROUBLES:
            raise ValueError("trouble")
        self.trouble = changes.get("trouble", self.trouble)
        super().reset(changes)

    def answer(self, form: str, messages: Messages) -> str:
        """By the number of the question it is about; earlier turns have numbers and refined replies of their own."""
        messages = [{**one, "content": _EARLIER.sub("", str(one["content"]))} for one in messages]
        found = _NUMBER.findall(messages[-1]["content"])
        number = int(found[-1]) if found else 0
        text = SCRIPTS["refined" if number and rejected(number) else "accepted"](form, messages)
        if "verdict" in form and json.loads(text)["decision"] == "ACCEPT":
            self.accepted[number] += QUESTIONS if form == "verdict" else 1
        return text

    async def respond(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        """As MockModel, unless there is trouble; `GET /accepted` counts by number."""
        if (method, path) == ("GET", "/accepted"):
            return 200, self.accepted
        if not path.endswith("/chat/completions"):
            return await super().respond(method, path, body)
        match self.trouble:
            case "hangs":
                await asyncio.sleep(HANGS_SECONDS)
            case "fails":
                return random.choice((500, 502, 503, 429)), {"error": {"message": "trouble"}}
            case "is slow":
                await asyncio.sleep(SLOW_SECONDS)
            case "answers garbage" if random.random() < 0.5:
                return 200, _garbage()
        return await super().respond(method, path, body)


def _garbage() -> object:
    text = random.choice((None, *_TEXTS))
    if text is None:
        return random.choice(_GARBAGE)
    message = {"role": "assistant", "content": text}
    return {"id": "1", "object": "chat.completion", "created": 1, "model": "mock",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(TroubledModel))

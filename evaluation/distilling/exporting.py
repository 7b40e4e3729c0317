"""A teacher's requests and answers as a file for fine-tuning a model, in the chat form of OpenAI: JSON Lines of `messages`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from engine.models.protocol import Completion, Finish, Prompt


def example(prompt: Prompt, completion: Completion) -> dict[str, Any]:
    """One line: the request's messages, then the teacher's answer."""
    asked = [{"role": one.role, "content": one.content} for one in prompt.messages]
    return {"messages": [*asked, {"role": "assistant", "content": completion.text}]}


def as_lines(noted: Sequence[tuple[Prompt, Completion]]) -> str:
    """The file's text: whole answers, each request once, in the order of asking."""
    lines: dict[tuple[tuple[str, str], ...], str] = {}
    for prompt, completion in noted:
        if completion.finish is Finish.STOP:
            asked = tuple((one.role, one.content) for one in prompt.messages)
            lines.setdefault(asked, json.dumps(example(prompt, completion), ensure_ascii=False))
    return "".join(f"{line}\n" for line in lines.values())

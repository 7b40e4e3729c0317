"""The parameters of a call as the API reads them: form, multipart or JSON; nested values are JSON inside a string."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from aiohttp import web

from rehearsal.telegram_world.refusal import bad

_NESTED = {
    "allowed_updates": "allowed updates",
    "caption_entities": "entities",
    "commands": "commands",
    "entities": "entities",
    "link_preview_options": "link preview options",
    "options": "options",
    "reply_markup": "reply markup",
    "reply_parameters": "reply parameters",
    "scope": "BotCommandScope",
}
_NUMBERS = {"chat_id", "limit", "max_connections", "message_id", "message_thread_id", "offset", "timeout"}
_FLAGS = {
    "allow_paid_broadcast",
    "allows_multiple_answers",
    "allows_revoting",
    "disable_notification",
    "drop_pending_updates",
    "has_spoiler",
    "is_anonymous",
    "is_closed",
    "protect_content",
    "show_alert",
    "show_caption_above_media",
}


@dataclass(frozen=True, kw_only=True)
class Upload:
    """A file that came with a call."""

    filename: str
    content: bytes


@dataclass(frozen=True, kw_only=True)
class Params:
    """One call's parameters in their natural shapes, and its files by field name."""

    values: dict[str, Any]
    files: dict[str, Upload] = field(default_factory=dict)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a parameter; an absent one gives the default."""
        return self.values.get(name, default)

    def text(self, name: str) -> str:
        """The value as text, empty when absent."""
        value = self.values.get(name, "")
        return value if isinstance(value, str) else json.dumps(value)


Method: TypeAlias = Callable[[Params], Any]
"""A method of the API: parameters in, result out. It raises Refused."""


async def read(request: web.Request) -> Params:
    """The parameters of a request, from its address and its body.

    Raises Refused for nested JSON that cannot be read.
    """
    given: dict[str, Any] = dict(request.query)
    files: dict[str, Upload] = {}
    if request.content_type == "application/json":
        given |= json.loads(await request.text() or "{}")
    elif request.method == "POST":
        for name, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                files[name] = Upload(filename=value.filename, content=value.file.read())
            else:
                given[name] = value
    return Params(values={name: _natural(name, value) for name, value in given.items()}, files=files)


def _natural(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if name in _NESTED:
        try:
            return json.loads(value)
        except ValueError:
            raise bad(f"can't parse {_NESTED[name]} JSON object") from None
    if name in _NUMBERS:
        return int(value) if value.lstrip("-").isdigit() else value
    if name in _FLAGS:
        return value.lower() in {"true", "yes", "1"}
    return value

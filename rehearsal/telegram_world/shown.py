"""What a person sees of a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rehearsal.telegram_world.keyboard import buttons


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A message on somebody's screen now. `buttons`: label → callback data or address, in reading order.

    `text` is also the caption of a picture and the question of a poll. `message` is the API's own JSON.
    """

    id: int
    by_bot: bool
    text: str
    entities: tuple[dict[str, Any], ...]
    buttons: dict[str, str]
    reply_to: int | None
    topic: int | None
    edited: bool
    kind: str
    message: dict[str, Any]


_KINDS = ("text", "photo", "poll", "sticker", "voice", "contact", "location")


def shown(message: dict[str, Any]) -> Shown:
    """The message as it is on the screen."""
    question = message.get("poll", {}).get("question", "")
    return Shown(
        id=message["message_id"],
        by_bot=message.get("from", {}).get("is_bot", False),
        text=message.get("text") or message.get("caption") or question,
        entities=tuple(message.get("entities") or message.get("caption_entities") or ()),
        buttons={button["text"]: button.get("callback_data") or button.get("url", "") for button in buttons(message)},
        reply_to=message.get("reply_to_message", {}).get("message_id"),
        topic=message["message_thread_id"] if message.get("is_topic_message") else None,
        edited="edit_date" in message,
        kind=next((kind for kind in _KINDS if kind in message), "service"),
        message=message,
    )

"""Keyboards under messages, as the API checks them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from rehearsal.telegram_world.refusal import bad

MAX_BUTTONS, MAX_CALLBACK_BYTES = 100, 64
_OTHER_ACTIONS = {"copy_text", "login_url", "switch_inline_query", "switch_inline_query_current_chat", "web_app"}
_ACTIONS = {"callback_data", "url"} | _OTHER_ACTIONS


def inline(markup: Any) -> dict[str, Any] | None:
    """The inline keyboard of a `reply_markup`; None for none and for the kinds that do not belong to the message.

    Raises Refused for a button that Telegram would not show.
    """
    if markup is None:
        return None
    if not isinstance(markup, dict):
        raise bad("object expected as reply markup")
    if "inline_keyboard" not in markup:
        return None
    rows = [row for row in markup["inline_keyboard"] if row]
    pressable = list(_buttons(rows))
    if len(pressable) > MAX_BUTTONS:
        raise bad("reply markup is too long")
    for button in pressable:
        _check(button)
    return {"inline_keyboard": rows} if rows else None


def buttons(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The buttons that are under a message now, row by row."""
    yield from _buttons(message.get("reply_markup", {}).get("inline_keyboard", []))


def _buttons(rows: Any) -> Iterator[dict[str, Any]]:
    for row in rows:
        if not isinstance(row, list):
            raise bad("can't parse inline keyboard: each row must be an Array")
        yield from row


def _check(button: Any) -> None:
    if not isinstance(button, dict) or not button.get("text"):
        raise bad('can\'t parse inline keyboard button: Field "text" must be of type String')
    actions = _ACTIONS & button.keys()
    if not actions:
        raise bad("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
    if len(actions) > 1:
        raise bad("can't parse inline keyboard button: exactly one action must be specified")
    if "callback_data" in button and not 1 <= len(button["callback_data"].encode()) <= MAX_CALLBACK_BYTES:
        raise bad("BUTTON_DATA_INVALID")
    if "url" in button:
        parts = urlsplit(button["url"])
        if (
            parts.scheme not in {"http", "https", "tg"}
            or not parts.netloc
            or (parts.scheme != "tg" and " " in parts.netloc)
        ):
            raise bad(f"inline keyboard button URL '{button['url']}' is invalid: Wrong HTTP URL")

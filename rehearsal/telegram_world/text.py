"""Text as Telegram counts it: offsets and lengths are UTF-16 code units."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from rehearsal.telegram_world.refusal import bad

MAX_TEXT, MAX_CAPTION, MAX_ENTITIES = 4096, 1024, 100
# A command, a mention or an address begins at the start of the text or after something that is no part of a word.
_MARKED = {
    "bot_command": re.compile(r"(?<![\w/@])/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?(?![\w/@])"),
    "mention": re.compile(r"(?<![\w/@])@[A-Za-z0-9_]{3,32}\b"),
    "url": re.compile(r"(?<!\w)https?://[^\s<>\"]+"),
}


def units(text: str) -> int:
    """The length of a text in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def marked(text: str) -> list[dict[str, Any]]:
    """The entities that Telegram finds by itself in what a person writes: commands, mentions and addresses."""
    found = [
        {"type": kind, "offset": units(text[: match.start()]), "length": units(match.group())}
        for kind, pattern in _MARKED.items()
        for match in pattern.finditer(text)
    ]
    return sorted(found, key=lambda entity: entity["offset"])


def checked(text: str, entities: Any, *, most: int, what: str = "message") -> tuple[str, list[dict[str, Any]]]:
    """A bot's text as it is shown, with its entities; blank space at the end is cut as Telegram does.

    Raises Refused for an empty or too long text and for entities that do not fit it. Entities that cross are refused
    too: the real API repairs them silently, which hides a bot's error.
    """
    shown = text.rstrip()
    if what == "message" and not shown:
        raise bad("message text is empty")
    if units(shown) > most:
        raise bad("message is too long" if what == "message" else "message caption is too long")
    return shown, _fitting(text, shown, entities or [])


def _fitting(text: str, shown: str, entities: Sequence[Any]) -> list[dict[str, Any]]:
    starts, end, shown_end = set(_starts(text)), units(text), units(shown)
    kept = []
    for entity in entities:
        if not isinstance(entity, dict) or not {"type", "offset", "length"} <= entity.keys():
            raise bad("can't parse entities: MessageEntity must have type, offset and length")
        first, last = entity["offset"], entity["offset"] + entity["length"]
        if first < 0 or first > end or entity["length"] < 0:
            raise bad(f"entity begins after the end of the text at UTF-16 offset {first}")
        if last > end:
            raise bad(
                f"entity beginning at UTF-16 offset {first} ends after the end of the text at UTF-16 offset {last}"
            )
        if first not in starts:
            raise bad(f"entity begins in a middle of a UTF-16 symbol at UTF-16 offset {first}")
        if last not in starts:
            raise bad(
                f"entity beginning at UTF-16 offset {first} ends in a middle of a UTF-16 symbol at UTF-16 offset {last}"
            )
        if first < min(last, shown_end):
            kept.append(entity | {"length": min(last, shown_end) - first})
    _uncrossed(kept)
    return sorted(kept, key=lambda one: (one["offset"], -one["length"]))[:MAX_ENTITIES]


def _starts(text: str) -> Iterator[int]:
    place = 0
    for letter in text:
        yield place
        place += 2 if ord(letter) > 0xFFFF else 1
    yield place


def _uncrossed(entities: Sequence[dict[str, Any]]) -> None:
    for one in entities:
        for other in entities:
            inside = one["offset"] < other["offset"] < one["offset"] + one["length"]
            if inside and other["offset"] + other["length"] > one["offset"] + one["length"]:
                raise bad(f"entities cross at UTF-16 offset {other['offset']}")

"""What must not be found of people, in every encoding in which it could be hidden."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from rehearsal.telegram_world import TelegramPerson


def spellings(text: str) -> Iterator[bytes]:
    """A text in the encodings in which it could be hidden."""
    for said in (text, text.casefold(), text.upper(), text[::-1]):
        for raw in (said.encode(), said.encode("utf-16-le"), said.encode("utf-16-be")):
            yield raw
            yield raw.hex().encode()
            yield raw.hex().upper().encode()
            for shift in range(3):
                # The borders depend on what stands beside it; the middle does not.
                coded = base64.b64encode(b"\x00" * shift + raw)[4 if shift else 0 : -4]
                yield coded
                yield coded.replace(b"+", b"-").replace(b"/", b"_")
        yield quote(said).encode()
        yield said.encode("unicode_escape")


def numbers(value: int) -> Iterator[bytes]:
    """An id as digits and in binary, four bytes at least where they are few enough to be no accident."""
    yield from spellings(str(value))
    for form in ("<q", ">q", "<d", ">d"):
        packed = struct.pack(form, value)
        # SQLite writes whole numbers in as few bytes as they need: six hold these.
        yield packed.strip(b"\x00") if len(packed.strip(b"\x00")) >= 5 else packed


def traces(people: Sequence[TelegramPerson], said: Sequence[str]) -> dict[str, list[bytes]]:
    """Everything that must not be found, by what it is."""
    found: dict[str, list[bytes]] = {}
    for person in people:
        for part in (*person.first_name.split(), person.username or ""):
            found[f"name {part}"] = list(spellings(part)) if len(part) > 3 else []
        found[f"id {person.id}"] = list(numbers(person.id))
    for text in said:
        for word in re.findall(r"\w{8,}", text):
            found[f"word {word}"] = list(spellings(word))
    return {what: [one for one in forms if len(one) >= 5] for what, forms in found.items()}


def found_in(content: bytes, looked_for: dict[str, list[bytes]]) -> list[str]:
    """What of it a content holds."""
    return [what for what, forms in looked_for.items() if any(one in content for one in forms)]


def files(folder: Path) -> dict[str, bytes]:
    """The database with its journal, and the keys."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}

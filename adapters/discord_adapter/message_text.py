"""Text that Discord shows as it is, in messages of 2,000 characters.

Nothing in it is markup, a mention, a timestamp or an emoji, whoever wrote it.
"""

from __future__ import annotations

import re

from adapters.delivery.text_parts import split_text, utf16_units

MESSAGE_UNITS = 2000
"""What Discord takes in one message."""
LABEL_CHARACTERS = 80
_JOINER = "\N{WORD JOINER}"
# Controls, and whatever turns the direction of writing or cannot be seen; joiners stay: emoji and scripts need them.
_UNSEEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]"
)
_SPECIAL = re.compile(
    r"(?P<link>https?://[A-Za-z0-9][A-Za-z0-9_.~/?\#=&%+:-]*)"  # no backslash inside; nothing that could begin markup
    r"|(?P<line>^[ ]*(?:[\#>+-]|\d+\.))"
    r"|(?P<mark>[\\*_~`|\[\]])"
    r"|(?P<open><(?=[^\s\d])|@(?=everyone|here))",  # mentions, timestamps, emoji, links to commands
    re.M | re.I | re.ASCII,
)


def plain(text: str) -> str:
    """A text in Discord's spelling of itself."""
    return _SPECIAL.sub(_spelled, _UNSEEN.sub("", text.replace("\t", " ")))


def _spelled(found: re.Match[str]) -> str:
    text = found[0]
    if found["link"]:
        return text
    return text + _JOINER if found["open"] else f"{text[:-1]}\\{text[-1]}"


def label(text: str) -> str:
    """What stands on a button: no markup is read there, but its length is limited."""
    shown = " ".join(_UNSEEN.sub("", text).split()) or "…"
    return shown if len(shown) <= LABEL_CHARACTERS else shown[: LABEL_CHARACTERS - 1].rstrip() + "…"


def messages(text: str, title: str = "", room: int = 0) -> list[str]:
    """A text in messages, on the borders of sentences; its title in bold, the only markup there is and always ours.

    `room`: units that each message leaves for something before it.
    """
    begins = bool(title) and text.startswith(title)
    room += 4 if begins else 0
    pieces = split_text(text, MESSAGE_UNITS - room, lambda piece: utf16_units(plain(piece)))
    shown = [plain(piece) for piece in pieces]
    if begins and pieces[0].startswith(title):
        shown[0] = f"**{plain(title)}**{plain(pieces[0][len(title) :])}"
    return shown

"""What a person sees on Discord, as text in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.discord_world import DiscordMessage
from rehearsal.discord_world.world import DiscordWorld

_MARK = re.compile(r"<(?:#|@!?|@&)(\d+)>")
_TIME = re.compile(r"<t:\d+:t>")
_SPELLED = re.compile(r"\\([\\*_~`|\[\]#>+.-])")
MOST_BUTTONS = 25


def as_text(world: DiscordWorld, message: DiscordMessage, *, changed: bool, numbered: bool) -> str:
    """A message with its place and buttons; `numbered`: the buttons can be pressed now."""
    where = "direct message" if message.channel.guild is None else f"#{message.channel.name}"
    alone = ", only you see this" if message.ephemeral_for is not None else ""
    lines = [f"\n[{where}{', changed' if changed else ''}{alone}]", _read(world, message.content)]
    if message.poll is not None:
        lines += [message.poll.question, *(f"  ( ) {answer}" for answer in message.poll.answers)]
    marks = (f":{number}" if numbered else " *" for number in range(1, MOST_BUTTONS + 1))
    lines += [f"  {mark} {label}" for mark, label in zip(marks, message.buttons, strict=False)]
    return "\n".join(line for line in lines if line)


def _read(world: DiscordWorld, text: str) -> str:
    """A text as Discord's app shows it: names for ids, and no signs that only keep others from being markup."""

    def name(found: re.Match[str]) -> str:
        number = int(found[1])
        if number in world.channels:
            return f"#{world.channels[number].name}"
        return f"@{world.users[number].name}" if number in world.users else found[0]

    plain = _MARK.sub(name, _TIME.sub("in about an hour", text))
    return _SPELLED.sub(r"\1", plain).replace("\N{WORD JOINER}", "")


def fields(components: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The text fields of a form, however they are nested."""
    for part in components:
        if part["type"] == 4:
            yield part
        yield from fields(part.get("components") or [])
        if isinstance(part.get("component"), Mapping):
            yield from fields([part["component"]])

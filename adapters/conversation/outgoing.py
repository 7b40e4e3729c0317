"""What a chat shows, in words every platform shares."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import TypeAlias

from adapters.conversation.feedback_port import Poll
from adapters.conversation.state import ChatState
from engine import Turn

Rows: TypeAlias = tuple[tuple["Button", ...], ...]
Outgoings: TypeAlias = AsyncGenerator["Outgoing", None]
BUTTON_BYTES = 64
"""What Telegram carries with a button; the shortest of all platforms."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Button:
    """A button: its label, and the command it stands for. `about`: the number of the answer it belongs to."""

    label: str
    command: str
    argument: str = ""
    about: int | None = None

    def code(self) -> str:
        """What the platform carries and gives back when it is pressed."""
        return f"{self.command}:{'' if self.about is None else self.about}:{self.argument}"

    @staticmethod
    def read(code: str) -> tuple[str, int | None, str] | None:
        """Command, answer number and argument of a code; None for one that is not ours."""
        command, divider, rest = code.partition(":")
        about, second, argument = rest.partition(":")
        if not divider or not second or not command.isalpha() or (about and not about.isdecimal()):
            return None
        return command, int(about[:9]) if about else None, argument


def section_code(source: str, section: str) -> str:
    """A section as a button carries it: short, and the same after a restart and for every platform."""
    return hashlib.sha256(f"{source}#{section}".encode()).hexdigest()[:12]


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A picture: the file, and what it shows, in words that go with it."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Outgoing:
    """One message to show.

    `title`: how the text begins, where that is a heading. `private`: it is for this person's eyes only, wherever the
    platform can do that. `unnamed`: nor may others learn that something waits for this person. `referral`: it is or
    holds the crisis referral. `brief`: a word that may go where the platform shows such for a moment. `state` comes
    with the last one; `erased`: everything of the chat is gone, nothing is to be saved. `turn`: of an answer.
    """

    text: str = ""
    buttons: Rows = ()
    title: str = ""
    pictures: tuple[Picture, ...] = ()
    poll: Poll | None = None
    private: bool = False
    unnamed: bool = False
    referral: bool = False
    brief: bool = False
    state: ChatState | None = None
    erased: bool = False
    turn: Turn | None = None


async def only(outgoing: Outgoing) -> Outgoings:
    """One message, and the end."""
    yield outgoing

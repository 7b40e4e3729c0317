"""The terminal: lines become what a person did, outgoing messages become lines, and nothing is left behind.

One person writes one line at a time and waits for the answer, so that there is neither a queue nor a store: the chat's
state is held here and goes when they go.
"""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Protocol

from adapters.console_adapter.explanation import why_lines
from adapters.console_adapter.sitter import SITTER
from adapters.console_adapter.texts import ConsoleLanguages, ConsoleTexts
from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Outgoing
from adapters.conversation.state import ChatState
from adapters.conversation.texts import COMMANDS
from adapters.conversation.topics import NAMING
from engine import Turn

_KNOWN = frozenset({*COMMANDS, *NAMING, "consent", "decline"})


class Terminal(Protocol):
    """Where lines come from and go to."""

    async def read(self) -> str | None:
        """The next line, or None at the end of input."""
        ...

    def write(self, text: str) -> None:
        """Show text."""
        ...


@dataclass(kw_only=True)
class ConsoleChat:
    """One conversation in a terminal, kept in memory only."""

    chat: Chat
    languages: ConsoleLanguages
    terminal: Terminal
    notices: tuple[str, ...] = ()
    on_error: Callable[[Exception], None] = lambda error: None
    state: ChatState = field(init=False)
    last: Turn | None = None
    _buttons: tuple[Button, ...] = ()
    _interrupted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.state = self._begun()

    def _begun(self) -> ChatState:
        return self.chat.start(Incoming(identity=SITTER))

    @property
    def said(self) -> ConsoleTexts:
        """The terminal's own texts, in the chat's language."""
        return self.languages.choose(self.state.language)

    async def run(self) -> None:
        """Talk until the person leaves or input ends."""
        await self._do(Incoming(identity=SITTER, command="start"))
        for notice in (*self.notices, self.said.help):
            self._say(notice)
        if self.state.consented:
            self._show(self.chat.consent.ask_country(self.state))
        while (line := await self.terminal.read()) is not None:
            command = line.strip().casefold()
            if command in {"/quit", "/exit"}:
                break
            if command == "/why":
                self._why()
            else:
                await self._do(self._read(line))
        self._say(self.said.goodbye)

    def _read(self, line: str) -> Incoming:
        """What a line does: the number of a button, a command, or words."""
        words = line.strip()
        if words.isdecimal() and 0 < int(words[:9]) <= len(self._buttons):
            button = self._buttons[int(words) - 1]
            return Incoming(identity=SITTER, command=button.command, text=button.argument, about=button.about)
        command, _, rest = words.partition(" ")
        name = command.casefold().removeprefix("/")
        if command.startswith("/") and (name in _KNOWN or not rest):
            return Incoming(identity=SITTER, command=name or "help", text=rest.strip())
        return Incoming(identity=SITTER, text=line)

    async def _do(self, incoming: Incoming) -> None:
        """Show what follows; when it is interrupted or fails, the conversation stays as it was before."""
        try:
            async with aclosing(self.chat.handle(self.state, incoming)) as outgoings:
                async for outgoing in outgoings:
                    self._show(outgoing)
        except asyncio.CancelledError:
            # Ctrl-C during a turn ends the turn, not the conversation; a second one leaves.
            task = asyncio.current_task()
            if self._interrupted or task is None:
                raise
            self._interrupted = True
            task.uncancel()
            self._say(self.said.stopped)
        except Exception as error:  # one calm sentence for whatever it was; the operator's hook gets the error
            self.on_error(error)
            self._show(self.chat.pages.sorry(self.state))

    def _show(self, outgoing: Outgoing) -> None:
        self._say(outgoing.text)
        for picture in outgoing.pictures:
            self._say(picture.text)
            self.terminal.write(f"  {picture.path}")
        self.last = outgoing.turn or self.last
        if outgoing.turn is not None and (titles := self._titles(outgoing.turn)):
            self.terminal.write(f"  {self.said.cites.format(titles=titles)}")
        if outgoing.buttons:
            self._number(outgoing)
        if outgoing.erased:
            self.state, self.last, self._buttons = self._begun(), None, ()
        elif outgoing.state is not None:
            self.state = outgoing.state

    def _number(self, outgoing: Outgoing) -> None:
        """The buttons with numbers, a row a line; the numbers of earlier ones mean nothing any more."""
        self._buttons = tuple(button for row in outgoing.buttons for button in row)
        at = 0
        for row in outgoing.buttons:
            labels = [f"{number}: {button.label}" for number, button in enumerate(row, at + 1)]
            at += len(row)
            self.terminal.write(f"  {'   '.join(labels)}")

    def _titles(self, turn: Turn) -> str:
        assistant = self.chat.engine.assistants[turn.conversation.assistant]
        knowledge = assistant.speaking(turn.language).knowledge
        return "; ".join(f"“{source.title}” ({source.id})" for source in knowledge.pick(turn.reply.citations))

    def _why(self) -> None:
        said = self.said.why
        lines = [said.nothing] if self.last is None else why_lines(self.last, said)
        self.terminal.write("\n" + "\n".join(f"  {line}" for line in lines))

    def _say(self, text: str) -> None:
        if text:
            self.terminal.write("\n" + "\n".join(_wrapped(line) for line in text.strip().split("\n")))


def _wrapped(line: str) -> str:
    marker = line[: len(line) - len(line.lstrip("-*• "))]
    return (
        textwrap.fill(line, width=88, initial_indent="  ", subsequent_indent="  " + " " * len(marker)) if line else ""
    )

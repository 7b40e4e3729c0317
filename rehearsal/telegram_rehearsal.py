"""`cafi rehearse telegram`: the real bot and the real library against a stand-in for Telegram, in the terminal.

No token, no network, nothing left behind: everything is stored in a temporary folder that goes at the end.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from adapters.console_adapter.adapter import Terminal
from adapters.telegram_adapter.adapter import TelegramBot
from rehearsal.stage import Begin
from rehearsal.telegram_world import NotPossible, Shown, TelegramChat, TelegramPerson, TelegramServer

HELP = """\
Write as a person would on Telegram. Commands of the bot begin with /, those of this rehearsal with a colon:
  :2            press button 2 under the last buttons       :vote 1   choose option 1 of a poll
  :group        go to a group      :private   go back to the private chat
  :reply TEXT   reply to the bot's last message              :edit TEXT   change your last message
  :picture      send a picture     :restart   stop the bot and start it again
  :block        block the bot, then unblock it               :help  this list     :quit  leave"""
WAIT_SECONDS = 90.0
QUIET_SECONDS = 0.3


@dataclass(kw_only=True)
class TelegramRehearsal:
    """One person, one bot, and Telegram in between."""

    begin: Begin[TelegramBot]
    terminal: Terminal
    _shown: dict[int, set[int]] = field(default_factory=dict)
    _written: dict[int, int] = field(default_factory=dict)

    async def run(self) -> None:
        """Rehearse until the person leaves or input ends."""
        with tempfile.TemporaryDirectory(prefix="cafi-rehearsal-") as folder:
            async with TelegramServer() as server:
                self._server = server
                self._person: TelegramPerson = server.person("You")
                self._group: TelegramChat = server.group("A group", by=self._person)
                self._place: TelegramPerson | TelegramChat = self._person
                self._folder = Path(folder)
                async with AsyncExitStack() as stack:
                    self._stack = stack
                    await self._start()
                    self.terminal.write(
                        "This is a rehearsal of Telegram on this computer. Nothing leaves it, nothing is kept."
                    )
                    self.terminal.write(HELP)
                    await self._talk()

    async def _talk(self) -> None:
        while (line := await self.terminal.read()) is not None and line.strip() != ":quit":
            if not line.strip():
                continue
            try:
                await self._line(line.strip())
            except (NotPossible, IndexError, ValueError, KeyError):
                self.terminal.write("That is not possible here. :help shows what is.")
                continue
            await self._show()

    async def _line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not word.startswith(":"):
            self._note(self._server.write(self._person, line, chat=self._where))
        elif word[1:].isdecimal():
            self._press(int(word[1:]))
        elif word == ":restart":
            await self._restart()
        elif word == ":help":
            self.terminal.write(HELP)
        elif word in {":group", ":private"}:
            self._go(group=word == ":group")
        else:
            self._deed(word, rest)

    def _go(self, *, group: bool) -> None:
        self._place = self._group if group else self._person
        where = "the group. The bot answers to @cafi_bot and to replies" if group else "the private chat"
        self.terminal.write(f"You are now in {where}.")

    def _deed(self, word: str, rest: str) -> None:
        server, person = self._server, self._person
        if word == ":reply":
            self._note(server.write(person, rest, chat=self._where, reply_to=self._last.id))
        elif word == ":edit":
            server.edit(person, self._written[self._id], rest, chat=self._where)
        elif word == ":picture":
            server.send(person, "photo", chat=self._where)
        elif word == ":vote":
            server.vote(person, self._last.id, [int(rest) - 1], chat=self._where)
        elif word == ":block":
            server.block(person)
            server.unblock(person)
        else:
            raise NotPossible(word)

    def _press(self, number: int) -> None:
        message = next((one for one in reversed(self._server.replies(self._place)) if one.buttons), None)
        labels = [] if message is None else list(message.buttons)
        if message is None or not 0 < number <= len(labels):
            raise NotPossible(str(number))
        self._server.press(self._person, message.id, labels[number - 1], chat=self._where)

    def _note(self, message: dict[str, object]) -> None:
        self._written[self._id] = int(str(message["message_id"]))

    # --- Showing ----------------------------------------------------------------------------------------------------

    async def _show(self) -> None:
        """Show what the bot writes, until it has nothing more to do."""
        loop = asyncio.get_running_loop()
        end, quiet_since = loop.time() + WAIT_SECONDS, loop.time()
        while loop.time() < end and loop.time() - quiet_since < QUIET_SECONDS:
            await asyncio.sleep(0.02)
            new = self._new()
            for message in new:
                self.terminal.write(_as_text(message))
            if new or self._server.pending() or self._running.bot.dispatch.busy:
                quiet_since = loop.time()

    def _new(self) -> list[Shown]:
        seen = self._shown.setdefault(self._id, set())
        new = [one for one in self._server.replies(self._place) if one.id not in seen]
        seen.update(one.id for one in new)
        return new

    @property
    def _id(self) -> int:
        return self._place.id

    @property
    def _where(self) -> TelegramChat | None:
        return self._place if isinstance(self._place, TelegramChat) else None

    @property
    def _last(self) -> Shown:
        return self._server.replies(self._place)[-1]

    # --- The bot ----------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        account = {"token": self._server.token, "base_url": self._server.base_url}
        self._running = await self.begin(self._folder, account)
        self._stack.push_async_callback(self._running.stop)

    async def _restart(self) -> None:
        await self._running.stop()
        await self._start()
        self.terminal.write("The bot has been stopped and started again.")


def _as_text(message: Shown) -> str:
    lines = [f"\n[{message.kind}] {message.text}" if message.kind != "text" else f"\n{message.text}"]
    lines += [f"  :{number} {label}" for number, label in enumerate(message.buttons, 1)]
    lines += [f"  :vote {number} {text}" for number, text in enumerate(_options(message), 1)]
    return "\n".join(lines)


def _options(message: Shown) -> Iterable[str]:
    poll = message.message.get("poll")
    options = json.loads(poll) if isinstance(poll, str) else poll or {}
    return [str(one["text"]) for one in options.get("options", ())]

"""From updates to the dispatch: stored first, acknowledged then. Shared by polling and webhook."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from telegram.error import TelegramError
from telegram.ext import ExtBot

from adapters.conversation.incoming import Incoming
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.store import ChatStore
from adapters.delivery.votes import Vote
from adapters.telegram_adapter.updates import PLATFORM, ForeignPress, Left, Me, Meaning, read
from engine import StorageError

_log = logging.getLogger("cafi.telegram")


@dataclass(frozen=True, kw_only=True)
class TelegramIntake:
    """Takes updates in."""

    bot: ExtBot[Any]
    me: Me
    dispatch: Dispatch
    store: ChatStore
    _notices: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def cursor(self) -> str:
        """Under which name the last update's number is kept: another bot counts its own."""
        return f"{PLATFORM} {self.store.keyring.current.keyed('bot', str(self.me.id).encode()).hex()[:8]}"

    async def take(self, updates: Sequence[object], last: int | None = None) -> None:
        """Take updates in; when this returns, they may be acknowledged. Raises StorageError, and then nothing was.

        `last`: the number of the last of them, kept together with the messages.
        """
        meant = [one for one in map(self._read_or_leave_out, updates) if one is not None]
        arrived = [one for one in meant if isinstance(one, Incoming)]
        try:
            # Votes and farewells first: both may be repeated when a message that came with them cannot be stored.
            for one in meant:
                if isinstance(one, Vote):
                    await one.count(self.dispatch.chat, self.store)
                elif isinstance(one, Left):
                    await self.store.erase(one.identity)
            await self.dispatch.take(arrived, None if last is None else (self.cursor, last))
        except StorageError:
            for incoming in arrived:
                self.dispatch.apologise(incoming)
            raise
        for one in meant:
            if isinstance(one, ForeignPress):
                self._later(one)

    def _read_or_leave_out(self, update: object) -> Meaning:
        try:
            return read(update, self.me)
        except ValueError:
            _log.warning("an update could not be read and was left out")
            return None

    def _later(self, press: ForeignPress) -> None:
        """Nobody's messages wait until somebody else has read a notice."""
        task = asyncio.create_task(self._not_yours(press))
        self._notices.add(task)
        task.add_done_callback(self._notices.discard)

    async def aclose(self) -> None:
        """Leave notices that nobody has read."""
        for task in self._notices:
            task.cancel()
        await asyncio.gather(*self._notices, return_exceptions=True)

    async def _not_yours(self, press: ForeignPress) -> None:
        languages = self.dispatch.chat.languages
        text = languages.choose(languages.known(press.language)).not_yours
        with suppress(TelegramError):
            await self.bot.answer_callback_query(press.callback, text=text[:200])


async def wait(seconds: float, stopping: asyncio.Event) -> None:
    """Wait, or less when everything ends."""
    with suppress(TimeoutError):
        await asyncio.wait_for(stopping.wait(), seconds)

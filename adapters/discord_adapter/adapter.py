"""The Discord bot as a whole: built from its parts, run until it is told to stop, started again when a client dies."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import discord

from adapters.conversation.chat import Chat
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.inbox import Inbox
from adapters.delivery.limits import ChatLimits
from adapters.delivery.store import ChatStore
from adapters.discord_adapter.backfill import Backfill
from adapters.discord_adapter.contexts import PersonContexts
from adapters.discord_adapter.definitions import definitions, register
from adapters.discord_adapter.gate import Gate
from adapters.discord_adapter.intake import DiscordIntake
from adapters.discord_adapter.interpreter import Interpreter
from adapters.discord_adapter.moderators import Moderators
from adapters.discord_adapter.private_replies import Pending
from adapters.discord_adapter.screen import DiscordScreen
from adapters.discord_adapter.setup import wrong_token
from adapters.discord_adapter.texts import DiscordLanguages
from adapters.discord_adapter.threads import Threads
from adapters.discord_adapter.wire import Wire
from adapters.storage.ownership import Ownership, Undisputed
from engine import ConfigurationError, StorageError

RESTART_SECONDS = (1.0, 2.0, 5.0, 15.0, 60.0, 300.0)
"""Waits before a client that has died is started again; a day's worth of starts is far from Discord's limit of 1000."""
GOOD_SECONDS = 600.0
"""A client that has lived this long has not died of the same thing again."""
ARCHIVE_MINUTES = (60, 1440, 4320, 10080)
"""What Discord offers for how long a thread stays open."""
_log = logging.getLogger("cafi.discord")


async def _nothing() -> None:
    """Nothing else."""


class Client(discord.AutoShardedClient):
    """The library's client, with as many shards as Discord asks for. It remembers no messages and no members."""

    def __init__(self, bot: DiscordBot) -> None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = True
        intents.message_content = bot.listen
        super().__init__(
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            max_messages=None,
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_ratelimit_timeout=30.0,
            **bot.options,
        )
        self._bot = bot

    async def on_interaction(self, interaction: discord.Interaction) -> None:
        """Somebody used a command, a button or a form."""
        await self._bot.intake.interaction(interaction)

    async def on_message(self, message: discord.Message) -> None:
        """Somebody wrote."""
        await self._bot.intake.message(self, message)

    async def on_ready(self) -> None:
        """Discord has told us where we are; after a lost session once more."""
        await self._bot.ready(self)

    async def on_error(self, event_method: str, /, *args: Any, **kwargs: Any) -> None:
        """The library would print what failed, with the message in it."""
        import sys

        error = sys.exc_info()[1]
        _log.error("%s failed: %s", event_method, type(error).__name__)


@dataclass(kw_only=True)
class DiscordBot:
    """Discord. `mode`: thread, reply or ephemeral; `options`: further ones of the library's client.

    `ownership` of the connection, where another process waits to take over; `begun` and `ended`: what else to do then.
    """

    token: str
    chat: Chat
    store: ChatStore
    people: PersonContexts
    limits: ChatLimits
    languages: DiscordLanguages
    gate: Gate
    mode: str = "thread"
    listen: bool = False
    others_in_threads: bool = True
    moderators_channel: int | None = None
    crisis_notes: bool = False
    backfill: int = 50
    deliveries: int = 8
    slow_after: float = 8.0
    restart_seconds: tuple[float, ...] = RESTART_SECONDS
    options: dict[str, Any] = field(default_factory=dict)
    ownership: Ownership = field(default_factory=Undisputed)
    inbox: Inbox | None = None
    begun: Callable[[], None] = lambda: None
    ended: Callable[[], Awaitable[None]] = _nothing
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    dispatch: Dispatch = field(init=False)
    intake: DiscordIntake = field(init=False)
    wire: Wire = field(init=False)
    moderators: Moderators = field(init=False)
    is_ready: bool = field(default=False, init=False)
    _readying: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _resumed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        # The library's own log holds whole events, and addresses with tokens in them.
        logging.getLogger("discord").setLevel(logging.CRITICAL + 1)
        self.wire = Wire()
        threads, default = Threads(), self.languages.choose(None)
        self.moderators = Moderators(
            wire=self.wire,
            texts=default,
            mode=self.mode,
            channel=self.moderators_channel,
            crisis_notes=self.crisis_notes,
        )
        self.screen = DiscordScreen(
            wire=self.wire,
            chat=self.chat,
            languages=self.languages,
            gate=self.gate,
            threads=threads,
            pending=Pending(),
            mode=self.mode,
            archive_minutes=self._archive_minutes,
            missing=self.moderators.missing,
            now=self.store.now,
        )
        self.dispatch = Dispatch(
            chat=self.chat,
            store=self.store,
            screen=self.screen,
            limits=self.limits,
            deliveries=self.deliveries,
            slow_after=self.slow_after,
            on_answer=lambda outgoing, seconds: self.moderators.shown(outgoing),
            ready=self.wire.settled,
            inbox=self.inbox,
        )
        self.intake = DiscordIntake(
            dispatch=self.dispatch,
            store=self.store,
            people=self.people,
            screen=self.screen,
            gate=self.gate,
            interpreter=Interpreter(mode=self.mode),
            threads=threads,
            languages=self.languages,
            listens=self.listen,
            others=self.others_in_threads,
        )
        self._backfill = Backfill(intake=self.intake, gate=self.gate, most=self.backfill, now=self.store.now)

        self._threads = threads
        self.store.erased.append(threads.drop)

    def sweep(self) -> None:
        """Forget in memory what has expired."""
        self.dispatch.sweep()
        self._threads.sweep()
        self.intake.sweep()

    @property
    def _archive_minutes(self) -> int:
        """A thread stays open at least as long as its context is kept."""
        kept = self.store.idle_hours * 60
        return next((one for one in ARCHIVE_MINUTES if one >= kept), ARCHIVE_MINUTES[-1])

    async def run(self) -> None:
        """Answer what is left from before, then what comes.

        Raises ConfigurationError for a token nobody knows, and for an intent that is not switched on.
        """
        telling = asyncio.create_task(self.moderators.run())
        try:
            while not self.stopping.is_set():
                async with self.ownership.owned(self.stopping):
                    await self._owning()
        finally:
            await self.intake.stored()
            await self.dispatch.aclose()
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _owning(self) -> None:
        """Clients, one after the other, until it is told to stop or another process has taken over."""
        if self.stopping.is_set():
            return
        self.begun()
        self._resumed, loop = False, asyncio.get_running_loop()
        lost, failures = asyncio.create_task(self.ownership.lost()), 0
        try:
            while not self.stopping.is_set() and not lost.done():
                began = loop.time()
                await self._live(lost)
                if self.stopping.is_set() or lost.done():
                    break
                failures = 1 if loop.time() - began > GOOD_SECONDS else failures + 1
                pause = self.restart_seconds[min(failures, len(self.restart_seconds)) - 1]
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), pause)
        finally:
            if lost.done():
                _log.warning("another process answers on Discord now")
                self.is_ready = False
                await self.dispatch.leave()
                await self.ended()
            lost.cancel()
            await asyncio.gather(lost, return_exceptions=True)

    async def _live(self, lost: asyncio.Task[None]) -> None:
        """One client's life. The library reconnects and resumes by itself; what ends it here is an event it cannot read."""
        client = Client(self)
        self.wire.client, self.is_ready = client, False
        living = asyncio.create_task(client.start(self.token))
        stopped = asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait({living, stopped, lost}, return_when=asyncio.FIRST_COMPLETED)
            if self.stopping.is_set():
                # What is being answered is shown while the connection is still there.
                await self.dispatch.aclose()
        finally:
            stopped.cancel()
            await client.close()
            ended = await asyncio.gather(living, stopped, return_exceptions=True)
        self._judge(ended[0])

    def _judge(self, error: object) -> None:
        """Whether a client's end is ours to mend, by another start, or the operator's."""
        if isinstance(error, discord.LoginFailure):
            raise wrong_token() from None
        if isinstance(error, discord.PrivilegedIntentsRequired):
            raise ConfigurationError(
                "Discord does not let this bot read messages that do not mention it.",
                key="discord.listen",
                remedy="Switch on Message Content Intent in the developer portal (your application, Bot), or set "
                "discord.listen to false.",
            ) from None
        if isinstance(error, BaseException) and not self.stopping.is_set():
            _log.error("the connection to Discord ended (%s); it is started again", type(error).__name__)

    async def ready(self, client: discord.Client) -> None:
        """Register commands that have changed, take up what was left, look for what was missed."""
        async with self._readying:
            if not self._resumed:
                self._resumed = True
                left = await self.dispatch.resume()
                if left:
                    _log.info("%d messages had been left unanswered", left)
            await self.gate.begin(client, self.screen.release)
            try:
                commands = [*definitions(self.languages), *self.gate.definitions()]
                if await register(client, self.store, commands):
                    _log.info("%d commands were registered", len(commands))
            except (discord.HTTPException, StorageError) as error:
                _log.error("the commands could not be registered: %s", type(error).__name__)
            missed = await self._backfill.run(client)
            if missed:
                _log.info("%d messages had been missed", missed)
            self.is_ready = True

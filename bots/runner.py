"""`cafi run`: every platform that is configured, in one process, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Protocol, TypeAlias

from bots.chats import Chats
from bots.compose import Application
from bots.logs import set_up_log
from bots.model_servers import unused_servers
from bots.process import privately, settle, without_core_dumps
from bots.signs_of_life import signs_of_life
from engine import ConfigurationError, StorageError

TIDY_SECONDS = 60.0
SWEEP_EVERY = 10
"""Rounds of tidying between two of sweeping out what has expired."""
_log = logging.getLogger("cafi.run")


class Bot(Protocol):
    """A platform that runs until `stopping` is set."""

    stopping: asyncio.Event

    async def run(self) -> None:
        """Serve."""
        ...

    def sweep(self) -> None:
        """Forget in memory what has expired."""
        ...


Build: TypeAlias = Callable[[Chats], list[Bot]]


async def serve(
    application: Application, say: Callable[[str], None], build: Build | None = None, process: str = "run"
) -> None:
    """Run what is configured, or what `build` makes. Raises CafiError for what an operator has to mend first.

    `process`: what this one is called in traces.
    """
    privately()
    set_up_log(application.settings.log_level)
    without_core_dumps()
    async with application.closing:
        chats = Chats(application=application, process=process)
        if not chats.shared:
            chats.alone()
        settle(application.engine, application.settings.crisis.language)
        await chats.begin()
        bots = (build or begun)(chats)
        await _until_stopped(bots, chats, say)


def begun(chats: Chats) -> list[Bot]:
    """Every platform that is configured, and the web server where one of them is brought its updates."""
    settings = chats.application.settings
    bots: list[Bot] = []
    if settings.web.enabled:
        from bots.web import web

        bots.append(web(chats))
    if settings.telegram.token is not None:
        from bots.telegram import telegram_bots

        bots += telegram_bots(chats)
    if settings.discord.token is not None:
        from bots.discord import moderated_bot

        bots.append(moderated_bot(chats))
    if settings.api.keys:
        bots.append(endpoint(chats))
    if not bots:
        raise ConfigurationError(
            "Nothing is configured to run.",
            key="web.enabled",
            remedy="Switch the web page on, or set a platform's token.",
        )
    watched = signs_of_life(chats, lambda: True)
    return bots if watched is None else [*bots, watched]


def endpoint(chats: Chats) -> Bot:
    """The endpoint for other programs; raises ConfigurationError where it has no key."""
    from bots.api import api

    if not chats.application.settings.api.keys:
        raise ConfigurationError(
            "The endpoint has no key, so nobody could use it.",
            key="api.keys",
            remedy="Set CAFI_API__KEYS='[\"…\"]' (`openssl rand -hex 32` makes one).",
        )
    return api(chats)


def endpoint_alone(chats: Chats) -> list[Bot]:
    """The endpoint for other programs and nothing else."""
    return [endpoint(chats)]


async def _until_stopped(bots: list[Bot], chats: Chats, say: Callable[[str], None]) -> None:
    """Run all; a signal ends them calmly, and one that cannot go on ends the others as well."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop.set)
    tasks = [asyncio.create_task(bot.run()) for bot in bots]
    upkeep = asyncio.create_task(_upkeep(bots, chats))
    announcing = asyncio.create_task(_announce(bots, chats.application, say))
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({*tasks, stopped}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for bot in bots:
            bot.stopping.set()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        aside = (upkeep, stopped, announcing)
        for task in aside:
            task.cancel()
        await asyncio.gather(*aside, return_exceptions=True)
    for error in done:
        if isinstance(error, BaseException):
            raise error


async def _upkeep(bots: Sequence[Bot], chats: Chats) -> None:
    """Write over what was answered, and now and then sweep out what has expired; at the end, save the counts.

    In memory nothing lasts longer than a round after its time.
    """
    rounds = 0
    try:
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            rounds += 1
            for bot in bots:
                bot.sweep()
            await chats.watch.look()
            if chats.application.settings.sources.editing or chats.application.settings.sources.hide_overdue:
                await chats.application.refresh_changed()
            if rounds % SWEEP_EVERY == 0:
                await _attempt(chats.sweep)
            await _attempt(chats.database.tidy)
    finally:
        await _attempt(chats.count)


async def _attempt(work: Callable[[], Awaitable[object]]) -> None:
    try:
        await work()
    except StorageError as error:
        _log.error("%s", error)


async def _announce(bots: Sequence[Bot], application: Application, say: Callable[[str], None]) -> None:
    """Say what runs, and where, once it does."""
    agents = "a language model" if application.chat_model is not None else "the built-in agents, which quote; no key"
    settings = application.settings
    tokens = {"Telegram": settings.telegram.token, "Discord": settings.discord.token}
    names = [name for name, token in tokens.items() if token is not None]
    for bot in bots:
        started: asyncio.Event | None = getattr(bot, "started", None)
        if started is not None:
            await started.wait()
            if address := getattr(bot, "address", ""):
                say(f"CAFI is at {address}")
    say(f"Answers come from {agents}. Platforms: {', '.join(['web', *names] if settings.web.enabled else names)}.")
    say("Stop with Ctrl-C.")
    for server in await unused_servers(settings):
        say(server.as_line())

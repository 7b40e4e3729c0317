"""`cafi chat`: the console adapter on the real terminal."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from adapters.console_adapter.sitter import erase_nothing
from adapters.conversation.chat import Chat
from adapters.conversation.feedback_port import ReportPort
from adapters.conversation.notices import Notices
from adapters.conversation.pages import Pages
from adapters.conversation.privacy import Platform, PrivacyFacts
from adapters.conversation.texts import load_languages
from adapters.conversation.turns import Turns
from bots.compose import Application
from bots.process import settle

if TYPE_CHECKING:
    from adapters.console_adapter.adapter import ConsoleChat, Terminal
    from adapters.conversation.protocol import PublishedProtocol

PROMPT = "\nyou> "


class StandardTerminal:
    """Standard input and output; reading does not block the event loop."""

    async def read(self) -> str | None:
        """The next line; None at the end of input."""
        sys.stdout.write(PROMPT)
        sys.stdout.flush()
        line = await _in_daemon_thread(sys.stdin.readline)
        return line.rstrip("\n") if line else None

    def write(self, text: str) -> None:
        """Print text."""
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


async def _in_daemon_thread(read: Callable[[], str]) -> str:
    # asyncio's own threads are waited for at exit: after Ctrl-C that would hang until the next Enter.
    loop = asyncio.get_running_loop()
    done: asyncio.Future[str] = loop.create_future()

    def work() -> None:
        try:
            line = read()
        except (OSError, ValueError):  # the terminal has gone away
            line = ""
        with suppress(RuntimeError):  # the loop has been closed meanwhile
            loop.call_soon_threadsafe(lambda: None if done.done() else done.set_result(line))

    threading.Thread(target=work, daemon=True).start()
    return await done


def terminal_chat(
    application: Application, *, reports: ReportPort | None = None, protocol: PublishedProtocol | None = None
) -> Chat:
    """A chat that nothing is stored of: who sits at a terminal has started it, and agrees only where that is configured.

    One turn alone needs neither a way to report nor the page with the protocol.
    """
    settings = application.settings
    languages = load_languages(settings.config_folder / "chat", settings.crisis.language)
    pages = Pages(
        engine=application.engine,
        languages=languages,
        platform=Platform(id="console", name="Terminal", carrier="terminal"),
        facts=PrivacyFacts(
            provider=application.provider,
            provider_stores=settings.models.store,
            log_level=settings.log_level,
            in_memory=True,
            reports=reports is not None,
        ),
        people=application.people,
        notices=Notices(adults_only=settings.notices.adults_only),
        protocol=protocol,
    )
    turns = Turns(pages=pages, places=application.places, reports=reports)
    return Chat(pages=pages, turns=turns, erase=erase_nothing, asks_consent=settings.terminal.consent)


def console(application: Application, terminal: Terminal) -> ConsoleChat:
    """The chat of a terminal."""
    # Storage and the texts of a terminal with it, which one question at a command line does without.
    from adapters.console_adapter.adapter import ConsoleChat
    from adapters.console_adapter.texts import load_console_texts
    from bots.protocol import published_protocol
    from bots.reports import reports_beside

    settings, default = application.settings, application.engine.assistants[application.engine.default]
    protocol = published_protocol(
        application, load_languages(settings.config_folder / "chat", settings.crisis.language)
    )
    return ConsoleChat(
        chat=terminal_chat(application, reports=reports_beside(application), protocol=protocol),
        languages=load_console_texts(settings.config_folder / "console", settings.crisis.language),
        terminal=terminal,
        notices=()
        if application.chat_model is not None
        else (default.speaking(settings.crisis.language).texts.quotation_mode,),
        on_error=_report,
    )


async def talk(application: Application) -> None:
    """Talk until the person leaves."""
    _take_any_text()
    async with application.closing:
        settle(application.engine, application.settings.crisis.language)
        with suppress(EOFError):
            await console(application, StandardTerminal()).run()


def _take_any_text() -> None:
    # Bytes that are no text arrive as a mark, and a terminal without our quotes shows a mark too.
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _report(error: Exception) -> None:
    # The kind of error only: its text could quote what somebody wrote.
    logging.getLogger("cafi").error("a turn failed: %s", type(error).__name__)

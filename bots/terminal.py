"""`cafi chat`: the console adapter on the real terminal."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from adapters.console_adapter import ConsoleChat
from bots.compose import Application
from bots.process import settle

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


async def talk(application: Application) -> None:
    """Talk until the person leaves."""
    _take_any_text()
    async with application.closing:
        session = application.session
        settle(session.engine)
        default = session.engine.assistants[session.engine.default]
        notices = () if application.chat_model is not None else (default.texts.quotation_mode,)
        chat = ConsoleChat(session=session, terminal=StandardTerminal(), notices=notices, on_error=_report)
        with suppress(EOFError):
            await chat.run()


def _take_any_text() -> None:
    # Bytes that are no text arrive as a mark, and a terminal without our quotes shows a mark too.
    for stream in (sys.stdin, sys.stdout):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _report(error: Exception) -> None:
    # The kind of error only: its text could quote what somebody wrote.
    logging.getLogger("cafi").error("a turn failed: %s", type(error).__name__)

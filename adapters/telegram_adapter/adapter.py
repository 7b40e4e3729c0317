"""The Telegram bot as a whole: built from its parts, run until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import Route
from telegram.error import BadRequest, InvalidToken, RetryAfter, TelegramError
from telegram.ext import ExtBot

from adapters.conversation.chat import Chat
from adapters.conversation.outgoing import Outgoing
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.inbox import Inbox
from adapters.delivery.limits import ChatLimits
from adapters.delivery.store import ChatStore
from adapters.storage.ownership import Ownership, Undisputed
from adapters.telegram_adapter.intake import TelegramIntake, wait
from adapters.telegram_adapter.polling import POLL_SECONDS, Polling
from adapters.telegram_adapter.screen import TelegramScreen
from adapters.telegram_adapter.transport import transport
from adapters.telegram_adapter.updates import ALLOWED, Me
from adapters.telegram_adapter.webhook import Webhook
from engine import ConfigurationError, StepListener

_CONNECTIONS = 64
FIRST_WAIT = 1.0
"""Half the seconds between the first two attempts to reach Telegram at the start; then twice as long each time."""
_TOKEN = re.compile(r"\d+:[\w-]+", re.ASCII)
_log = logging.getLogger("cafi.telegram")


def quiet_library() -> None:
    """Keep the libraries' own log quiet: it holds addresses with the token in them, and whole updates."""
    logging.getLogger("telegram").setLevel(logging.CRITICAL + 1)
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)


def make_bot(token: str, base_url: str = "") -> ExtBot[Any]:
    """The library's bot; `base_url` is another Bot API server's address, such as http://127.0.0.1:8081/bot.

    Raises ConfigurationError for what cannot be a token.
    """
    quiet_library()
    # The library's own name for waits is changing its type, and warns about it on every 429 until one has chosen.
    os.environ.setdefault("PTB_TIMEDELTA", "true")
    kwargs: dict[str, Any] = {"base_url": base_url} if base_url else {}
    if not _TOKEN.fullmatch(token.strip()):
        raise _wrong_token("This cannot be a Telegram token: one is a number, a colon, and letters after it.")
    return ExtBot(token.strip(), request=transport(_CONNECTIONS, pool_seconds=30.0), **kwargs)


@asynccontextmanager
async def introduced(bot: ExtBot[Any]) -> AsyncIterator[str]:
    """The bot's username, for calls of an operator's within the block.

    Raises ConfigurationError for a token that nobody knows and for a server that cannot be reached, at once.
    """
    try:
        await bot.initialize()
        yield bot.username
    except InvalidToken as error:
        raise _wrong_token() from error
    except RetryAfter as error:
        seconds = int(error._retry_after.total_seconds())
        raise ConfigurationError(
            f"Telegram asks to wait for {seconds} seconds.", remedy="Wait, then repeat it."
        ) from error
    except BadRequest as error:
        raise ConfigurationError(f"Telegram refuses: {error.message}.", remedy="Check config/chat/.") from error
    except TelegramError as error:
        raise ConfigurationError(
            f"Telegram cannot be reached ({type(error).__name__}).",
            key="telegram.base_url",
            remedy="Check this computer's network; without telegram.base_url, api.telegram.org is asked.",
        ) from error
    finally:
        await bot.shutdown()


@dataclass(kw_only=True)
class TelegramBot:
    """Telegram, polling or by webhook. `webhook_url` is the public https address that ends in `webhook_path`.

    `inbox`: where messages wait, when other processes answer them. `ownership` of a bot's updates, by a number that is
    the bot's.
    """

    bot: ExtBot[Any]
    chat: Chat
    store: ChatStore
    limits: ChatLimits
    crowded_after: float | None = None
    deliveries: int = 1
    slow_after: float = 8.0
    poll_seconds: int = POLL_SECONDS
    webhook_url: str = ""
    webhook_secret: str = ""
    webhook_path: str = "/telegram"
    inbox: Inbox | None = None
    on_turn: StepListener | None = None
    ownership: Callable[[int], Ownership] = lambda number: Undisputed()
    on_answer: Callable[[Outgoing, float | None], None] = lambda outgoing, seconds: None
    on_given_up: Callable[[], None] = lambda: None
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    dispatch: Dispatch = field(init=False)

    def __post_init__(self) -> None:
        self.dispatch = Dispatch(
            chat=self.chat,
            store=self.store,
            screen=TelegramScreen(bot=self.bot),
            limits=self.limits,
            crowded_after=self.crowded_after,
            deliveries=self.deliveries,
            slow_after=self.slow_after,
            inbox=self.inbox,
            on_answer=self.on_answer,
            on_given_up=self.on_given_up,
            on_turn=self.on_turn,
        )
        self._updates = transport(1)
        self._webhook: Webhook | None = None

    @property
    def routes(self) -> Sequence[Route]:
        """What a web server has to answer for us; empty when we poll.

        `/healthz`: the process runs. `/readyz`: it takes updates; not any more once it is told to stop.
        """
        from starlette.responses import Response

        async def answer(request: Any) -> Any:
            return Response(status_code=503) if self._webhook is None else await self._webhook.route.endpoint(request)

        async def runs(request: Any) -> Any:
            return Response(status_code=200)

        async def takes(request: Any) -> Any:
            return Response(status_code=503 if self._webhook is None or self.stopping.is_set() else 200)

        if not self.webhook_url:
            return []
        return [Route(self.webhook_path, answer, methods=["POST"]), Route("/healthz", runs), Route("/readyz", takes)]

    def sweep(self) -> None:
        """Forget in memory what has expired."""
        self.dispatch.sweep()

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[bool]:
        """Answer what others receive, within the block; False where it was told to stop before Telegram could be reached.

        Raises ConfigurationError for a token nobody knows.
        """
        me = await self._introduced()
        try:
            yield me is not None
        finally:
            await self.dispatch.aclose()
            if me is not None:
                await self.bot.shutdown()

    async def run(self) -> None:
        """Answer what is left from before, then what comes. Raises ConfigurationError for a token nobody knows."""
        me = await self._introduced()
        if me is None:
            return
        intake = TelegramIntake(bot=self.bot, me=me, dispatch=self.dispatch, store=self.store)
        await self._updates.initialize()
        left = await self.dispatch.resume()
        if left:
            _log.info("%d messages had been left unanswered", left)
        try:
            if self.webhook_url:
                self._webhook = Webhook(intake=intake, secret=self.webhook_secret, path=self.webhook_path)
                await self._announce(self.webhook_url)
                await self.stopping.wait()
            else:
                await self._announce("")
                bot = self.store.keyring.current.keyed("polling", str(me.id).encode())
                await Polling(
                    intake=intake,
                    request=self._updates,
                    poll_seconds=self.poll_seconds,
                    stopping=self.stopping,
                    ownership=self.ownership(int.from_bytes(bot[:8], signed=True)),
                ).run()
        finally:
            await self.dispatch.aclose()
            await intake.aclose()
            await self._updates.shutdown()
            await self.bot.shutdown()

    async def _introduced(self) -> Me | None:
        """Who we are; waits for Telegram where it cannot be reached."""
        failures = 0
        while not self.stopping.is_set():
            try:
                await self.bot.initialize()
                return Me(id=self.bot.id, username=self.bot.username)
            except InvalidToken as error:
                await self.bot.shutdown()
                raise _wrong_token() from error
            except TelegramError as error:
                failures += 1
                if failures == 1:
                    _log.warning("Telegram cannot be reached (%s); trying on", type(error).__name__)
                await wait(min(FIRST_WAIT * 2.0**failures, 30.0), self.stopping)
        return None

    async def _announce(self, url: str) -> None:
        """Tell Telegram how updates reach us. Raises ConfigurationError for an address that Telegram does not take."""
        while not self.stopping.is_set():
            try:
                if url:
                    await self.bot.set_webhook(url, secret_token=self.webhook_secret, allowed_updates=list(ALLOWED))
                else:
                    await self.bot.delete_webhook()
                return
            except InvalidToken as error:
                raise _wrong_token() from error
            except BadRequest as error:
                raise ConfigurationError(
                    f"Telegram does not take the webhook: {error.message}.",
                    key="telegram.webhook_url",
                    remedy="It is an https address that Telegram can reach, on port 443, 80, 88 or 8443; "
                    "telegram.webhook_secret holds letters, digits, _ and - only.",
                ) from error
            except TelegramError as error:
                _log.warning("Telegram did not take the way updates come (%s); trying on", type(error).__name__)
                await wait(5.0, self.stopping)


def _wrong_token(problem: str = "Telegram does not know this token.") -> ConfigurationError:
    return ConfigurationError(problem, key="telegram.token", remedy="Copy it from @BotFather, whole.")

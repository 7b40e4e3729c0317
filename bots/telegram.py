"""The Telegram bot, built from settings. Part of the composition root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from adapters.conversation.privacy import Platform
from bots.chats import Chats
from bots.metrics import counted
from engine import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.routing import BaseRoute
    from telegram.ext import ExtBot

    from adapters.telegram_adapter.adapter import TelegramBot
    from adapters.web_adapter.server import HttpServer
    from bots.settings import TelegramSettings

_CONNECTIONS = 200
"""Telegram opens a hundred at most, all of them from one address where a proxy stands between."""


def telegram_bots(chats: Chats) -> list[HttpServer | TelegramBot]:
    """The bot, and before it the server that Telegram brings updates to, where there is one."""
    bot, settings = telegram(chats), chats.application.settings.telegram
    return [webhook_server(bot.routes, settings.webhook_host, settings.webhook_port), bot] if bot.routes else [bot]


def webhook_server(routes: Sequence[BaseRoute], host: str, port: int, patience: float | None = None) -> HttpServer:
    """Serves what Telegram brings. Raises ConfigurationError for an address that cannot be used."""
    from starlette.applications import Starlette

    from adapters.web_adapter.server import PATIENCE_SECONDS, Connections, HttpServer

    return HttpServer(
        app=Starlette(routes=list(routes)),
        host=host,
        port=port,
        key="telegram.webhook_port",
        connections=Connections(overall=_CONNECTIONS, an_address=_CONNECTIONS),
        patience=patience or PATIENCE_SECONDS,
    )


def telegram(chats: Chats) -> TelegramBot:
    """The Telegram bot; raises ConfigurationError."""
    settings = chats.application.settings.telegram
    if settings.webhook_url and settings.webhook_secret is None:
        raise ConfigurationError(
            "A webhook needs a secret.", key="telegram.webhook_secret", remedy="Set CAFI_TELEGRAM__WEBHOOK_SECRET."
        )
    bot = telegram_account(settings)
    from adapters.telegram_adapter.adapter import TelegramBot

    return TelegramBot(
        bot=bot,
        chat=chats.chat(Platform(id="telegram", name="Telegram")),
        store=chats.store,
        inbox=chats.queue,
        **counted(chats),
        ownership=lambda number: chats.ownership(number, "asks for this bot's updates"),
        limits=chats.limits(),
        crowded_after=chats.crowded_after,
        on_turn=chats.on_turn,
        deliveries=settings.deliveries,
        slow_after=chats.application.settings.sessions.slow_after_seconds,
        webhook_url=settings.webhook_url,
        webhook_path=urlsplit(settings.webhook_url).path or "/",
        webhook_secret="" if settings.webhook_secret is None else settings.webhook_secret.get_secret_value(),
    )


def telegram_account(settings: TelegramSettings) -> ExtBot[Any]:
    """The bot's account on Telegram; nothing is sent yet. Raises ConfigurationError."""
    if settings.token is None:
        raise ConfigurationError(
            "No token is set.",
            key="telegram.token",
            remedy="Set CAFI_TELEGRAM__TOKEN; docs/howto/telegram.md tells how.",
        )
    try:
        from adapters.telegram_adapter.adapter import make_bot
    except ImportError as error:
        raise ConfigurationError(
            "The package 'python-telegram-bot' is not installed.", key="telegram", remedy="Install cafi[telegram]."
        ) from error
    return make_bot(settings.token.get_secret_value(), settings.base_url)

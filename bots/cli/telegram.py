"""`cafi telegram`: what an operator does with the bot's account."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from bots.options import Config, failing_calmly

if TYPE_CHECKING:
    from bots.compose import Application

telegram_app = typer.Typer(no_args_is_help=True, help="Look after the Telegram bot.")


@telegram_app.callback()
def _telegram() -> None:
    """Keeps `setup` a command of its own while it is the only one."""


@telegram_app.command()
def setup(config: Config = None) -> None:
    """Set the bot's command menus and descriptions in every language there is. May be repeated at any time.

    Then it shows the links to the bot, and what is left to set with @BotFather.

    Example: CAFI_TELEGRAM__TOKEN=... cafi telegram setup
    """
    from bots.options import application

    with failing_calmly():
        for line in asyncio.run(set_up(application(config, None, None))):
            typer.echo(line)


async def set_up(application: Application) -> list[str]:
    """Set everything; what was done and what is left to do, line by line. Raises ConfigurationError."""
    from adapters.telegram_adapter.adapter import introduced
    from adapters.telegram_adapter.setup import set_up as set_up_bot
    from bots.chats import Chats
    from bots.telegram import telegram_account

    bot = telegram_account(application.settings.telegram)
    async with introduced(bot) as name:
        done = await set_up_bot(bot, Chats(application=application).languages)
    topic = next(iter(application.engine.assistants[application.settings.assistant].knowledge.sources))
    return [*done, *_left_to_do(name, topic)]


def _left_to_do(name: str, topic: str) -> list[str]:
    return [
        "",
        f"Your bot: https://t.me/{name}",
        f"A link to one topic: https://t.me/{name}?start={topic}  (any id that `cafi kb show` lists, without dots)",
        "",
        "For groups, in a chat with @BotFather:",
        "- /setprivacy: leave it on (Enabled). The bot then gets only messages that mention it, reply to it or are",
        "  commands, and nothing else that people write.",
        "- /setjoingroups: Disable, if it is meant for private chats only.",
        "In a group, everybody reads questions and answers; /whocanread says so.",
    ]

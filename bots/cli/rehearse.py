"""`cafi rehearse …`: practise with the real bots, without a token and without anybody there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bots.options import AgentsOption, Config, Kb, application, failing_calmly

if TYPE_CHECKING:
    from bots.stage import BotStage

rehearse_app = typer.Typer(
    no_args_is_help=True,
    help="Practise on this computer: the real bot, a stand-in for the platform. Needs the extra `rehearsal`.",
)


@rehearse_app.command("telegram")
def rehearse_telegram(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Be a person on Telegram: the real bot against a stand-in, in the terminal, without a token.

    Example: cafi rehearse telegram
    """

    def begin(stage: BotStage) -> Coroutine[None, None, None]:
        from bots.terminal import StandardTerminal
        from rehearsal.telegram_rehearsal import TelegramRehearsal

        return TelegramRehearsal(begin=stage.telegram, terminal=StandardTerminal()).run()

    _rehearse(begin, config, kb, agents)


@rehearse_app.command("discord")
def rehearse_discord(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Be a member and a moderator on Discord in turns: the real bot against a stand-in, in the terminal, without a token.

    Example: cafi rehearse discord
    """

    def begin(stage: BotStage) -> Coroutine[None, None, None]:
        from bots.terminal import StandardTerminal
        from rehearsal.discord_rehearsal import DiscordRehearsal

        return DiscordRehearsal(begin=stage.discord, terminal=StandardTerminal()).run()

    _rehearse(begin, config, kb, agents)


def _rehearse(
    begin: Callable[[BotStage], Coroutine[None, None, None]], config: Path | None, kb: Path | None, agents: str | None
) -> None:
    with failing_calmly():
        built = application(config, kb, agents)
        from bots.logs import set_up_log
        from engine import ConfigurationError

        try:
            from bots.stage import BotStage

            rehearsal = begin(BotStage(settings=built.settings))
        except ImportError as error:
            raise ConfigurationError(
                "What a rehearsal needs is not installed.", key="rehearse", remedy="Install cafi[rehearsal]."
            ) from error
        set_up_log("WARNING")
        asyncio.run(rehearsal)

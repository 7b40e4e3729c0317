"""`cafi rehearse …`: practise with the real bots, without a token and without anybody there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from bots.options import AgentsOption, Config, Kb, application, failing_calmly

rehearse_app = typer.Typer(
    no_args_is_help=True,
    help="Practise on this computer: the real bot, a stand-in for the platform. Needs the extra `rehearsal`.",
)


@rehearse_app.command("telegram")
def rehearse_telegram(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Be a person on Telegram: the real bot against a stand-in, in the terminal, without a token.

    Example: cafi rehearse telegram
    """
    with failing_calmly():
        built = application(config, kb, agents)
        from bots.logs import set_up_log
        from bots.terminal import StandardTerminal

        with _rehearsal_installed():
            from bots.stage import Stage
            from rehearsal.telegram_rehearsal import TelegramRehearsal
        set_up_log("WARNING")
        stage = Stage(settings=built.settings)
        asyncio.run(TelegramRehearsal(begin=stage.telegram, terminal=StandardTerminal()).run())


@rehearse_app.command("discord")
def rehearse_discord(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Be a member and a moderator on Discord in turns: the real bot against a stand-in, in the terminal, without a token.

    Example: cafi rehearse discord
    """
    with failing_calmly():
        built = application(config, kb, agents)
        from bots.logs import set_up_log
        from bots.terminal import StandardTerminal

        with _rehearsal_installed():
            from bots.stage import Stage
            from rehearsal.discord_rehearsal import DiscordRehearsal
        set_up_log("WARNING")
        stage = Stage(settings=built.settings)
        asyncio.run(DiscordRehearsal(begin=stage.discord, terminal=StandardTerminal()).run())


@contextmanager
def _rehearsal_installed() -> Iterator[None]:
    from engine import ConfigurationError

    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            "What a rehearsal needs is not installed.", key="rehearse", remedy="Install cafi[rehearsal]."
        ) from error

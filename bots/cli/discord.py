"""`cafi discord`: what an operator does with the bot's account."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from bots.options import Config, Json, failing_calmly, print_json

if TYPE_CHECKING:
    from adapters.moderation.audit import AuditEntry
    from bots.compose import Application

discord_app = typer.Typer(no_args_is_help=True, help="Look after the Discord bot.")


@discord_app.command()
def setup(
    again: Annotated[
        bool, typer.Option("--again", help="Register the commands even if they have not changed.")
    ] = False,
    config: Config = None,
) -> None:
    """Register the commands, show the link that invites the bot, and what is missing where. May be repeated at any time.

    Example: CAFI_DISCORD__TOKEN=... cafi discord setup
    """
    from bots.options import application

    with failing_calmly():
        for line in asyncio.run(set_up(application(config, None, None), again=again)):
            typer.echo(line)


async def set_up(application: Application, *, again: bool = False) -> list[str]:
    """Set everything up; what was done and what is missing, line by line.

    Raises ConfigurationError for the operator's part, StorageError where Discord or the database cannot be reached.
    """
    from bots.chats import Chats
    from bots.discord import discord_setup, moderation_gate
    from bots.process import privately

    privately()
    async with application.closing:
        chats = Chats(application=application)
        chats.migrate()
        return await discord_setup(chats, moderation_gate(chats), again=again)


@discord_app.command()
def audit(
    last: Annotated[int, typer.Option(min=1, help="How many actions.")] = 50,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Show what moderators did, the newest first: hour (UTC), pseudonym, action, kind of target, and what was posted.

    Example: cafi discord audit --last 20
    """
    from bots.options import application

    with failing_calmly():
        entries = asyncio.run(logged(application(config, None, None), last))
        if as_json:
            print_json([_document(one) for one in entries])
        else:
            typer.echo("\n".join(line for one in entries for line in _lines(one)))


async def logged(application: Application, last: int) -> list[AuditEntry]:
    """The last entries of the log of moderators. Raises StorageError and ConfigurationError."""
    from bots.chats import Chats
    from bots.discord import audit_log
    from bots.process import privately

    privately()
    async with application.closing:
        chats = Chats(application=application)
        chats.migrate()
        return await audit_log(chats).entries(last)


def _document(entry: AuditEntry) -> dict[str, str]:
    return {
        "when": entry.when,
        "moderator": entry.who,
        "action": entry.action,
        "target": entry.target,
        "posted": entry.posted,
    }


def _lines(entry: AuditEntry) -> list[str]:
    """An entry, and below it what was posted; nothing in that steers the terminal."""
    from engine import clean

    posted = clean(entry.posted, limit=len(entry.posted)).text.splitlines()
    first = f"{entry.when}  {entry.who:<6}  {entry.action:<10}  {entry.target}"
    return [first, *(f"    {line}" for line in posted)]

"""`cafi secret …`: the operator's secret, under which conversations are sealed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bots.options import FAILED, Config, Json, application, failing_calmly, print_json
from bots.secret_file import file_apart, secret_file

if TYPE_CHECKING:
    from adapters.storage.vault import UnderSecret
    from bots.chats import Chats
    from bots.settings import CafiSettings

T = TypeVar("T")
secret_app = typer.Typer(
    no_args_is_help=True, help="The secret under which conversations are sealed: exchange it, or give up a lost one."
)


@secret_app.command()
def show(config: Config = None, as_json: Json = False) -> None:
    """List the secrets by their ids, and what lies under each. The secrets themselves are never shown.

    Exit 1 where there is none yet.

    Example: cafi secret show
    """
    with failing_calmly():
        found = _with_chats(config, _report)
        if as_json:
            print_json([asdict(one) for one in found])
        else:
            typer.echo("\n".join(map(_line, found)))


@secret_app.command()
def rotate(config: Config = None) -> None:
    """Make a new secret, while CAFI is stopped. The former one stays: each chat moves over when somebody next writes in it.

    Example: cafi secret rotate
    """

    async def work(chats: Chats) -> Path:
        from adapters.storage.keyring_file import load, rotated, save

        file = secret_file(chats.application.settings)
        save(file, rotated(load(file)))
        return file

    with failing_calmly():
        if application(config, None, None).settings.sessions.secret is not None:
            _say_what_to_set()
            return
        typer.echo(f"{_with_chats(config, work, alone=True)} holds a new secret and the former one. Start CAFI again.")
        typer.echo("Make a safe copy of the file. When nothing lies under the former one any more: cafi secret prune")


@secret_app.command()
def move(config: Config = None) -> None:
    """Move the secret away from the database's folder, while CAFI is stopped.

    Example: cafi secret move
    """

    async def work(chats: Chats) -> tuple[Path, Path]:
        from adapters.storage.keyring_file import load, save

        here, there = secret_file(chats.application.settings), file_apart(chats.application.settings)
        _movable(chats.application.settings, here, there)
        save(there, load(here))
        here.unlink()
        return here, there

    with failing_calmly():
        here, there = _with_chats(config, work, alone=True)
        typer.echo(f"The secret is in {there} now, and no longer in {here}. Make a safe copy of the file.")
        typer.echo("Copies of its old folder still hold it. So that they open nothing that comes: cafi secret rotate")


def _movable(settings: CafiSettings, here: Path, there: Path) -> None:
    """Raise ConfigurationError where there is nothing to move."""
    from engine import ConfigurationError

    sessions = settings.sessions
    if sessions.secret is not None or sessions.secret_file is not None:
        raise ConfigurationError(
            "The settings say where the secret is.",
            key="sessions.secret" if sessions.secret is not None else "sessions.secret_file",
            remedy="Stop CAFI, move the file yourself and change the setting, or leave the setting out.",
        )
    if here == there:
        raise ConfigurationError(
            "The secret is not beside the database.", file=there, remedy="Nothing needs to be moved."
        )


@secret_app.command()
def prune(config: Config = None) -> None:
    """Drop former secrets under which nothing lies any more.

    Example: cafi secret prune
    """

    async def work(chats: Chats) -> int:
        unused = [bytes.fromhex(one.id) for one in await chats.vault.report() if one.given and not one.used]
        sessions = chats.application.settings.sessions
        if unused and sessions.secret is None:
            from adapters.storage.keyring_file import pruned, save

            save(secret_file(chats.application.settings), pruned(chats.keyring, unused))
        await chats.vault.forget(unused)
        for one in unused if sessions.secret is not None else []:
            typer.echo(f"Take the secret {one.hex()} out of CAFI_SESSIONS__FORMER_SECRETS.")
        return len(unused)

    with failing_calmly():
        dropped = _with_chats(config, work, alone=True)
        typer.echo(f"Former secrets without anything under them: {dropped}.")


@secret_app.command("erase-lost")
def erase_lost(
    config: Config = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Erase conversations that none of the given secrets opens. They cannot be brought back.

    Example: cafi secret erase-lost
    """
    with failing_calmly():
        if not yes and not typer.confirm("Erase every conversation that no given secret opens?"):
            typer.echo("Nothing was erased.")
            raise typer.Exit(FAILED)
        erased = _with_chats(config, lambda chats: chats.vault.erase_lost(), alone=True)
        typer.echo(f"Conversations erased: {erased}.")


def _with_chats(config: Config, work: Callable[[Chats], Awaitable[T]], *, alone: bool = False) -> T:
    """Do something with what is stored; `alone`: only while no CAFI runs."""
    from bots.chats import Chats
    from bots.process import privately

    privately()

    async def run() -> T:
        chats = Chats(application=application(config, None, None))
        async with chats.application.closing:
            if alone:
                chats.alone()
                chats.migrate()
            return await work(chats)

    return asyncio.run(run())


async def _report(chats: Chats) -> list[UnderSecret]:
    """What lies under each secret; raises ConfigurationError, and makes nothing, where there is no secret yet."""
    from engine import ConfigurationError

    if not chats.has_secret:
        raise ConfigurationError(
            "There is no secret yet.",
            file=secret_file(chats.application.settings),
            remedy="`cafi run` makes one. If there was one before, put it back from your safe copy first.",
        )
    chats.migrate()
    return await chats.vault.report()


def _say_what_to_set() -> None:
    from secrets import token_hex

    typer.echo("The secret is set by environment or settings. Set these and restart CAFI:")
    typer.echo(f"CAFI_SESSIONS__SECRET={token_hex(32)}")
    typer.echo('CAFI_SESSIONS__FORMER_SECRETS=["<the present secret>"]')
    typer.echo("Former secrets that are in the list already stay in it, after the present one.")


def _line(one: UnderSecret) -> str:
    kind = "present" if one.current else "former" if one.given else "LOST"
    rest = "in use" if one.used else "may be dropped"
    return f"{one.id}  {kind}  conversations: {one.chats}  polls: {one.polls}  {rest if one.given else 'not given'}"

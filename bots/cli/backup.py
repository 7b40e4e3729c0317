"""`cafi backup` and `cafi restore`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bots.options import Config, application, failing_calmly

VARIABLE = "CAFI_BACKUP_PASSPHRASE"
SHORTEST = 12
PassphraseFile = Annotated[
    Path | None,
    typer.Option(
        "--passphrase-file",
        help=f"Read the passphrase from a file, in place of asking; or set {VARIABLE}.",
        metavar="FILE",
        show_default=False,
    ),
]


def backup(
    file: Annotated[Path, typer.Argument(help="Where the backup goes.")],
    keys: Annotated[
        Path | None,
        typer.Option(help="Write the keys too, into this file; keep it apart.", metavar="FILE", show_default=False),
    ] = None,
    without_chats: Annotated[
        bool, typer.Option("--without-chats", help="Leave out whatever is of one chat: for backups that are kept.")
    ] = False,
    passphrase_file: PassphraseFile = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    config: Config = None,
) -> None:
    """Copy what is stored into one encrypted file, also while CAFI runs. The keys are not in it.

    Example: cafi backup /mnt/backups/cafi-monday
    """
    with failing_calmly():
        from bots.backup import Backup
        from bots.process import privately

        privately()
        settings = application(config, None, None).settings
        made = Backup(settings=settings, file=file, keys=keys, chats=not without_chats, force=force)
        made.check()
        typer.echo("\n".join(made.make(_passphrase(passphrase_file, new=True))))


def restore(
    file: Annotated[Path, typer.Argument(help="A backup.")],
    keys: Annotated[
        Path | None,
        typer.Option(help="Restore the keys too, from this file.", metavar="FILE", show_default=False),
    ] = None,
    without_chats: Annotated[
        bool,
        typer.Option("--without-chats", help="Leave out whatever is of one chat, so that what was erased stays so."),
    ] = False,
    passphrase_file: PassphraseFile = None,
    force: Annotated[
        bool, typer.Option("--force", help="Restore although there is a database: it is moved aside.")
    ] = False,
    config: Config = None,
) -> None:
    """Put a backup in place, while CAFI is stopped. What has expired since is left out.

    Example: cafi restore /mnt/backups/cafi-monday
    """
    with failing_calmly():
        from bots.process import privately
        from bots.restore import Restore

        privately()
        settings = application(config, None, None).settings
        wanted = Restore(settings=settings, file=file, keys=keys, chats=not without_chats, force=force)
        with wanted.alone():
            wanted.check()
            typer.echo("\n".join(asyncio.run(wanted.make(_passphrase(passphrase_file, new=False)))))


def _passphrase(file: Path | None, *, new: bool) -> str:
    """From the file, the environment or the terminal; raises ConfigurationError."""
    from engine import ConfigurationError, read_text

    given = os.environ.get(VARIABLE)
    if file is not None:
        found, place = read_text(file, remedy="Check --passphrase-file.").rstrip("\r\n"), str(file)
    elif given:
        found, place = given, VARIABLE
    elif sys.stdin.isatty():
        found, place = typer.prompt("Passphrase", hide_input=True, confirmation_prompt=new), "passphrase"
    else:
        raise ConfigurationError(
            "There is no passphrase, and no terminal to ask at.", remedy=f"Use --passphrase-file or {VARIABLE}."
        )
    if new and len(found) < SHORTEST:
        raise ConfigurationError(
            f"It is shorter than {SHORTEST} characters.", file=place, remedy="Use several words that nobody guesses."
        )
    return str(found)

"""`cafi migrate` and `cafi state`: the database's schema, and everything in it from one database to another."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from bots.options import Config, Json, application, failing_calmly, print_json

if TYPE_CHECKING:
    from bots.settings import CafiSettings

state_app = typer.Typer(no_args_is_help=True, help="Everything that is stored, as a whole.")


def migrate(
    without_copy: Annotated[
        bool, typer.Option("--without-copy", help="Change the tables although nothing is copied before.")
    ] = False,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Bring the configured database to the newest schema, while CAFI is stopped. `cafi run` does so by itself.

    With `queue: workers` nobody else does so: the queue's tables are made too, and the keys where there are none. What is
    stored is copied before, into a file that this account alone may read.

    Example: cafi migrate
    """
    from bots.chats import Chats
    from bots.process import privately

    privately()

    async def work() -> tuple[str, str | None, str]:
        chats = Chats(application=application(config, None, None), copied=not without_copy)
        async with chats.application.closing:
            if chats.shared:
                from bots.workers import prepare

                result = await prepare(chats)
            else:
                result = chats.migrate()
            return chats.database.place, result.before, result.after

    with failing_calmly():
        place, before, after = asyncio.run(work())
        if as_json:
            print_json({"database": place, "from": before, "to": after})
        elif before == after:
            typer.echo(f"{place} is at {after}, the newest schema, already.")
        else:
            typer.echo(f"{place}: from {before or 'an empty database'} to {after}.")


@state_app.command()
def copy(
    source: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Where it is.", show_default="storage.url")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", metavar="URL", help="An empty database.", show_default="storage.url")
    ] = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Copy everything that is stored into an empty database, while CAFI is stopped. The source stays as it is.

    Leave the password of an address to ~/.pgpass: others on this computer can read a command's words.

    Example: cafi state copy --from sqlite:///var/cafi.db --to postgresql+psycopg://cafi@db.example.org/cafi
    """
    from adapters.storage.database import Database, existing
    from adapters.storage.state_copy import copy_state
    from bots.process import privately
    from engine import ConfigurationError

    privately()
    with failing_calmly():
        settings = application(config, None, None).settings
        if source is None and target is None:
            raise ConfigurationError("Neither --from nor --to is given.", remedy="Name the other database.")
        here, there = source or settings.storage.url, target or settings.storage.url
        with closing(existing(here)) as one, closing(Database(there)) as other:
            counts = copy_state(one, other)
        if as_json:
            print_json(counts)
        else:
            typer.echo("\n".join(f"{count:>9}  {table}" for table, count in counts.items()))
        _say_where_the_secret_is(settings, here, there)


def _say_where_the_secret_is(settings: CafiSettings, here: str, there: str) -> None:
    """On standard error: what was copied opens under the secret alone, which is not in any database."""
    from bots.secret_file import secret_file

    old, new = (
        secret_file(settings.model_copy(update={"storage": settings.storage.model_copy(update={"url": url})}))
        for url in (here, there)
    )
    if settings.sessions.secret is None and old != new and old.exists() and not new.exists():
        typer.echo(f"Conversations open under the secret in {old}. Copy it to {new}, where it is looked for.", err=True)

"""`cafi operator …`: who may come into the operator's pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from bots.options import Config, Json, application, failing_calmly, one_of, print_json

if TYPE_CHECKING:
    from adapters.editorial.staff import StaffMember
    from bots.chats import Chats

T = TypeVar("T")
operator_app = typer.Typer(no_args_is_help=True, help="The people who work in the operator's pages.")


@operator_app.command()
def invite(
    name: Annotated[str, typer.Argument(help="What the person is called here; users never see it.")],
    role: Annotated[str, typer.Option(help="reader, editor, reviewer or operator.", metavar="ROLE")],
    profession: Annotated[
        str,
        typer.Option(help="What they sign texts off as, such as `psychiatric nurse`; users see it.", metavar="TEXT"),
    ] = "",
    config: Config = None,
) -> None:
    """Make a link that lets somebody in once, and for a short time; also to give a known person another role.

    Example: cafi operator invite Ada --role reviewer --profession "psychiatric nurse"
    """
    from adapters.editorial.staff import MOST_NAME, StaffRole

    with failing_calmly():
        chosen = StaffRole(one_of("--role", role, [str(one) for one in StaffRole]))
        called, known = " ".join(name.split()), " ".join(profession.split())
        if not called or max(len(called), len(known)) > MOST_NAME:
            raise _too_long()

        async def work(chats: Chats) -> tuple[str, int]:
            from adapters.moderation.audit import StaffAction, Target
            from bots.editorial import audit, staff

            people, log = staff(chats), audit(chats)
            token = await people.invite(called, chosen, known)
            log.note(StaffAction.INVITE, Target.MEMBER, None)
            await log.save()
            return f"{_origin(chats)}/operator/link/{token}", people.link_minutes

        link, minutes = _with_chats(config, work)
        typer.echo(link)
        typer.echo(f"It opens the page once, within {minutes} minutes. It is not shown again.", err=True)


@operator_app.command("list")
def list_people(config: Config = None, as_json: Json = False) -> None:
    """List those who are invited, with their roles.

    Example: cafi operator list
    """

    async def work(chats: Chats) -> list[StaffMember]:
        from bots.editorial import staff

        return await staff(chats).members()

    with failing_calmly():
        found = _with_chats(config, work)
        if as_json:
            print_json([{"name": one.name, "role": str(one.role), "profession": one.profession} for one in found])
        else:
            typer.echo("\n".join(_line(one) for one in found) or "Nobody is invited yet.")


@operator_app.command()
def remove(name: Annotated[str, typer.Argument(help="What the person is called here.")], config: Config = None) -> None:
    """Take somebody's role away and sign them out.

    Example: cafi operator remove Ada
    """

    async def work(chats: Chats) -> bool:
        from bots.editorial import staff

        people = staff(chats)
        found = [one for one in await people.members() if one.name.casefold() == name.strip().casefold()]
        return bool(found) and all([await people.remove(one.id) for one in found])

    with failing_calmly():
        if not _with_chats(config, work):
            from engine import ConfigurationError

            raise ConfigurationError(f"Nobody is called {name!r}.", remedy="`cafi operator list` lists all.")
        typer.echo("Removed.")


def _line(one: StaffMember) -> str:
    from engine import clean

    said = " · ".join(part for part in (one.name or "–", str(one.role), one.profession) if part)
    return clean(said, limit=len(said)).text


def _too_long() -> Exception:
    from engine import ConfigurationError

    return ConfigurationError(
        "A name or profession has 1 to 80 characters.", key="NAME", remedy="Choose a shorter one."
    )


def _origin(chats: Chats) -> str:
    web = chats.application.settings.web
    return web.public_url or f"http://{web.host}:{web.port}"


def _with_chats(config: Config, work: Callable[[Chats], Awaitable[T]]) -> T:
    """Do something with what is stored, also beside a running CAFI; raises ConfigurationError where it never ran."""
    from bots.chats import Chats
    from bots.process import privately
    from bots.secret_file import secret_file
    from engine import ConfigurationError

    privately()

    async def run() -> T:
        chats = Chats(application=application(config, None, None))
        async with chats.application.closing:
            if not chats.has_secret:
                raise ConfigurationError(
                    "There is no secret yet.",
                    file=secret_file(chats.application.settings),
                    remedy="Start `cafi run` once: it makes one.",
                )
            chats.migrate()
            return await work(chats)

    return asyncio.run(run())

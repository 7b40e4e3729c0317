"""Discord on the loopback address: gateway and REST API for the real discord.py, and people who use it.

    async with DiscordServer() as fake:
        anna = fake.person("anna", locale="de")
        guild = fake.guild("Support", members=[anna])
        channel = fake.text_channel(guild, "support-info")
        async with running(client, fake):
            anna.write(channel, f"{fake.bot.mention} hello")
            reply = await fake.reply_in(channel)

While the server runs, the library is redirected to it. What Discord refuses is refused with Discord's codes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import discord
import yarl
from aiohttp import web
from discord.gateway import DiscordWebSocket
from discord.http import Route

from rehearsal.discord_world import payloads
from rehearsal.discord_world.gateway import Gateway, Intent
from rehearsal.discord_world.people import DiscordPerson
from rehearsal.discord_world.permissions import NOTHING, USUAL, Permission
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.rest import API, Rest
from rehearsal.discord_world.things import (
    CATEGORY,
    TEXT,
    Channel,
    DiscordMessage,
    Guild,
    GuildRole,
    Member,
    Overwrite,
    User,
)
from rehearsal.discord_world.world import DiscordWorld

TOKEN = "MTAwMA.fake.token"


class DiscordServer:
    """The server; `clock` may be moved, `pings` is who was really notified, `interactions` what people used.

    `registered` holds the application's commands: by guild id (None: everywhere), then by command id.
    """

    gateway_type: type[Gateway] = Gateway
    rest_type: type[Rest] = Rest

    def __init__(self, *, token: str = TOKEN, shards: int = 1) -> None:
        self.token = token
        self.world = DiscordWorld(token=token, shards=shards)
        self.bot, self.clock, self.pings = self.world.bot, self.world.clock, self.world.pings
        self.interactions, self.registered = self.world.interactions, self.world.registered
        self.gateway = self.gateway_type(self.world)
        self.posting = Postings(self.world, self.gateway)
        self.rest = self.rest_type(self.posting)
        self.owner = self.world.owner = self.person("operator")

    # --- Running ------------------------------------------------------------------------------------------------------

    async def __aenter__(self) -> DiscordServer:
        app = web.Application(client_max_size=32 * 1024 * 1024)
        app.router.add_get("/gateway/", self.gateway.serve)
        app.router.add_route("*", API + "/{path:.*}", self.rest.serve)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        port = self._runner.addresses[0][1]
        self.origin = self.world.origin = f"http://127.0.0.1:{port}"
        self.gateway_url = self.world.gateway_url = f"ws://127.0.0.1:{port}/gateway/"
        self._redirection = redirected(self.origin + API, self.gateway_url)
        self._redirection.__enter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._redirection.__exit__(None, None, None)
        for link in list(self.gateway.links):
            link.close(1001)
        await self._runner.cleanup()

    # --- What there is ------------------------------------------------------------------------------------------------

    def person(self, name: str, *, locale: str = "en-US", accepts_dms: bool = True) -> DiscordPerson:
        """A new user."""
        person = DiscordPerson(
            id=self.world.ids.new(), name=name, locale=locale, accepts_dms=accepts_dms, fake=self.posting
        )
        self.world.add_user(person)
        return person

    def guild(
        self,
        name: str,
        *,
        members: Sequence[DiscordPerson] = (),
        everyone: Permission = USUAL,
        bot_permissions: Permission = NOTHING,
        shard: int | None = None,
        locale: str = "en-US",
    ) -> Guild:
        """A new guild with the bot in it; the bot may do what @everyone may, and `bot_permissions`."""
        guild_id = self.world.ids.new(shard=shard, shards=self.world.shards)
        guild = Guild(id=guild_id, name=name, owner=self.owner, locale=locale)
        guild.roles[guild_id] = GuildRole(id=guild_id, name="@everyone", permissions=everyone)
        own = GuildRole(
            id=self.world.ids.new(), name=self.bot.name, permissions=bot_permissions, managed_by=self.bot.id
        )
        guild.roles[own.id] = own
        for user in [self.owner, *members]:
            guild.members[user.id] = Member(user=user, roles=[], joined=self.clock.now())
        guild.members[self.bot.id] = Member(user=self.bot, roles=[own], joined=self.clock.now())
        self.world.guilds[guild.id] = guild
        self.gateway.send("GUILD_CREATE", self._guild_joined(guild), guild=guild, intent=Intent.GUILDS)
        return guild

    def _guild_joined(self, guild: Guild) -> Callable[[Any], dict[str, Any]]:
        def shown(session: Any) -> dict[str, Any]:
            described = self.gateway.guild_create(guild, session)
            del described["unavailable"]
            return described

        return shown

    def category(self, guild: Guild, name: str) -> Channel:
        """A new category."""
        return self._channel(guild, name, CATEGORY, None)

    def text_channel(
        self, guild: Guild, name: str, *, category: Channel | None = None, private_to: Sequence[GuildRole | User] = ()
    ) -> Channel:
        """A new text channel; `private_to` hides it from all but some roles and users."""
        return self._channel(guild, name, TEXT, category, private_to)

    def _channel(
        self, guild: Guild, name: str, kind: int, parent: Channel | None, private_to: Sequence[GuildRole | User] = ()
    ) -> Channel:
        overwrites = dict(parent.overwrites) if parent else {}
        if private_to:
            overwrites[guild.id] = Overwrite(deny=Permission.VIEW_CHANNEL)
            overwrites |= {one.id: Overwrite(allow=Permission.VIEW_CHANNEL) for one in private_to}
        channel = Channel(
            id=self.world.ids.new(), type=kind, name=name, guild=guild, parent=parent, overwrites=overwrites
        )
        self.world.add_channel(channel)
        shown = payloads.channel_json(self.world, channel)
        self.gateway.send("CHANNEL_CREATE", shown, guild=guild, intent=Intent.GUILDS)
        return channel

    def role(
        self,
        guild: Guild,
        name: str,
        permissions: Permission = NOTHING,
        *,
        members: Sequence[User] = (),
        mentionable: bool = False,
    ) -> GuildRole:
        """A new role, given to some members."""
        role = GuildRole(id=self.world.ids.new(), name=name, permissions=permissions, mentionable=mentionable)
        guild.roles[role.id] = role
        event = {"guild_id": str(guild.id), "role": payloads.role_json(guild, role)}
        self.gateway.send("GUILD_ROLE_CREATE", event, guild=guild, intent=Intent.GUILDS)
        for user in members:
            self.give_role(guild, user, role)
        return role

    def give_role(self, guild: Guild, user: User, role: GuildRole) -> None:
        """Give a role to a member."""
        guild.members[user.id].roles.append(role)
        event = payloads.member_json(guild.members[user.id]) | {"guild_id": str(guild.id)}
        intent = Intent.NONE if user is self.bot else Intent.GUILD_MEMBERS
        self.gateway.send("GUILD_MEMBER_UPDATE", event, guild=guild, intent=intent)

    # --- Records ------------------------------------------------------------------------------------------------------

    def messages(self, channel: Channel | DiscordPerson | int) -> list[DiscordMessage]:
        """The messages of a channel that everybody there sees, oldest first; joined-thread notes and such left out."""
        if isinstance(channel, DiscordPerson):
            channel = self.world.dm(channel)
        found = self.world.channels[channel] if isinstance(channel, int) else channel
        kept = [one for one in found.messages.values() if one.ephemeral_for is None and one.type not in {18, 21}]
        return sorted(kept, key=lambda one: one.id)

    def bot_messages(self, channel: Channel | DiscordPerson | int) -> list[DiscordMessage]:
        """The bot's messages among them, without those still loading."""
        return [one for one in self.messages(channel) if one.author is self.bot and not one.loading]

    def seen_by(self, user: User, *, ever: bool = False) -> list[DiscordMessage]:
        """All messages that a user can see now, oldest first; `ever` adds those deleted since."""
        everywhere = [one for channel in self.world.channels.values() for one in channel.messages.values()]
        everywhere += self.world.removed_messages if ever else []
        return sorted((one for one in everywhere if self.world.reads(user, one)), key=lambda one: one.id)

    def commands(self, guild: Guild | None = None) -> dict[str, dict[str, Any]]:
        """The registered commands of a guild, or those for everywhere, by name."""
        return {one["name"]: one for one in self.registered.get(None if guild is None else guild.id, {}).values()}

    def threads(self, channel: Channel) -> list[Channel]:
        """The threads of a channel, oldest first."""
        return [one for one in self.world.channels.values() if one.is_thread and one.parent is channel]

    # --- Waiting ------------------------------------------------------------------------------------------------------

    async def wait_for(self, predicate: Callable[[], Any], *, seconds: float = 60.0) -> Any:
        """Wait until a predicate gives something true, and return that.

        Raises AssertionError with the last calls when it takes too long.
        """
        return await self.world.waiting.until(predicate, seconds)

    async def settled(self, seconds: float = 0.05) -> None:
        """Wait until no request has come for a while: for proving that nothing happens."""
        await self.world.settled(seconds)


@contextlib.contextmanager
def redirected(rest: str, gateway: str) -> Iterator[None]:
    """While this lasts, discord.py talks to these addresses, and does not wait five seconds before it identifies again."""
    before = Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, discord.Client.before_identify_hook
    Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY = rest, yarl.URL(gateway)
    discord.Client.before_identify_hook = _identify_at_once  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        Route.BASE, DiscordWebSocket.DEFAULT_GATEWAY, discord.Client.before_identify_hook = before  # type: ignore[method-assign]


async def _identify_at_once(client: discord.Client, shard_id: int | None, *, initial: bool = False) -> None:
    """What the library calls before it identifies."""

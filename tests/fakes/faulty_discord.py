"""The stand-in for Discord with what goes wrong on purpose, what else moderators do, and what tests look up."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from rehearsal.discord_world import payloads
from rehearsal.discord_world.calls import RestCall
from rehearsal.discord_world.discord_server import DiscordServer
from rehearsal.discord_world.gateway import INVALID, RECONNECT, Gateway, GatewaySession, Intent
from rehearsal.discord_world.people import DiscordPerson
from rehearsal.discord_world.permissions import NOTHING, Permission
from rehearsal.discord_world.postings import Postings
from rehearsal.discord_world.rest import Handler, Rest
from rehearsal.discord_world.things import Channel, DiscordMessage, Guild, GuildRole, Member, Overwrite, User


@dataclass(kw_only=True, eq=False)
class Fault:
    """What goes wrong with the next requests to a route."""

    method: str
    pattern: str
    times: int
    status: int = 500
    code: int = 0
    message: str = "500: Internal Server Error"
    retry_after: float | None = None
    everywhere: bool = False
    drop: bool = False
    delay: float = 0.0
    applied: bool = False

    def meets(self, call: RestCall) -> bool:
        """Whether this fault is for a request."""
        return self.times > 0 and self.method in {"*", call.method} and matches(self.pattern, call.path)


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern in which `*` or `{name}` stands for one segment, and `**` for any number."""
    wild = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]+")
    return re.fullmatch(re.sub(r"\\\{[^/]+?\\\}", "[^/]+", wild), path) is not None


class FaultyGateway(Gateway):
    """The gateway with broken connections and sessions, and with events of any form."""

    def push(self, name: str, d: Any, *, shard: int | None = None) -> None:
        """Send any event as it is, however malformed."""
        for session in self._chosen(shard):
            session.dispatch(name, d)

    def reconnect(self, *, shard: int | None = None) -> None:
        """Ask clients to connect again and resume (op 7)."""
        for session in self._chosen(shard):
            if session.link is not None:
                session.link.send(RECONNECT)

    def invalidate(self, *, resumable: bool = False, shard: int | None = None) -> None:
        """Tell clients that their session is invalid (op 9)."""
        for session in self._chosen(shard):
            if session.link is not None:
                session.link.send(INVALID, resumable)
            if not resumable:
                self.sessions.pop(session.id)

    def drop(self, *, shard: int | None = None) -> None:
        """Break the connections without a close frame."""
        for session in self._chosen(shard):
            if session.link is not None:
                if session.link.request.transport is not None:
                    session.link.request.transport.abort()
                session.link = None

    def _chosen(self, shard: int | None) -> list[GatewaySession]:
        return [one for one in self.sessions.values() if shard is None or one.shard == shard]


class FaultyRest(Rest):
    """REST with faults; `faults` is what is to go wrong."""

    def __init__(self, fake: Postings) -> None:
        super().__init__(fake)
        self.faults: list[Fault] = []

    async def answer(self, request: web.Request, call: RestCall, handler: Handler | None) -> web.StreamResponse:
        fault = next((one for one in self.faults if one.meets(call)), None)
        if fault is None:
            return self.carried_out(call, handler)
        fault.times -= 1
        if fault.delay:
            await asyncio.sleep(fault.delay)
        if fault.applied:
            self.carried_out(call, handler)
        return self._go_wrong(request, call, fault, handler)

    def _go_wrong(
        self, request: web.Request, call: RestCall, fault: Fault, handler: Handler | None
    ) -> web.StreamResponse:
        if fault.drop:
            call.status = 0
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=500)
        if fault.retry_after is not None:
            return self._too_many(call, fault.retry_after, everywhere=fault.everywhere)
        if fault.delay and fault.status == 0:
            return self.carried_out(call, handler)
        return self.respond(call, fault.status, {"message": fault.message, "code": fault.code})

    def _too_many(self, call: RestCall, wait: float, *, everywhere: bool) -> web.Response:
        body = {
            "message": "You are being rate limited.",
            "retry_after": round(wait, 3),
            "global": everywhere,
            "code": 0,
        }
        headers = {"X-RateLimit-Scope": "user", "Retry-After": str(int(wait) + 1), "Via": "1.1 google"}
        return self.respond(call, 429, body, headers)


class FaultyDiscord(DiscordServer):
    """The stand-in as tests use it."""

    gateway: FaultyGateway
    rest: FaultyRest
    gateway_type = FaultyGateway
    rest_type = FaultyRest

    def fail(self, method: str, pattern: str, *, times: int = 1, **how: Any) -> Fault:
        """The next requests to a route go wrong: see Fault.

        `status=500, code=…, message=…` answers so; `retry_after=…` with 429, `everywhere=True` as the global limit;
        `drop=True` cuts the connection; `delay=…, status=0` only takes long; `applied=True` does the thing first.
        """
        fault = Fault(method=method, pattern=pattern, times=times, **how)
        self.rest.faults.append(fault)
        return fault

    def join(self, guild: Guild, person: DiscordPerson) -> None:
        """Somebody joins a guild."""
        guild.members[person.id] = Member(user=person, roles=[], joined=self.clock.now())
        event = payloads.member_json(guild.members[person.id]) | {"guild_id": str(guild.id)}
        self.gateway.send("GUILD_MEMBER_ADD", event, guild=guild, intent=Intent.GUILD_MEMBERS)

    def allow(
        self, channel: Channel, target: GuildRole | User, *, allow: Permission = NOTHING, deny: Permission = NOTHING
    ) -> None:
        """Set what a channel allows and denies to a role or member, the bot included."""
        channel.overwrites[target.id] = Overwrite(allow=allow, deny=deny)
        self.channel_changed(channel)

    def remove_bot(self, guild: Guild) -> None:
        """The bot is removed from a guild."""
        event = {"id": str(guild.id)}
        self.gateway.send("GUILD_DELETE", event, guild=guild, intent=Intent.GUILDS)
        guild.members.pop(self.bot.id)
        self.world.changed()

    def calls(self, method: str = "*", pattern: str = "**") -> list[RestCall]:
        """The requests to routes such as `/channels/*/messages`; `*` is one segment, `**` any number."""
        return [one for one in self.world.calls if method in {"*", one.method} and matches(pattern, one.path)]

    def ephemeral(self, user: User) -> list[DiscordMessage]:
        """The messages that only this user sees, oldest first."""
        everywhere = [one for channel in self.world.channels.values() for one in channel.messages.values()]
        return sorted((one for one in everywhere if one.ephemeral_for is user), key=lambda one: one.id)

    async def reply_in(
        self, place: Channel | DiscordPerson, *, number: int = 1, seconds: float = 60.0
    ) -> DiscordMessage:
        """Wait for the bot's message in a channel or direct conversation; with a number, for that many."""
        found = await self.wait_for(lambda: self.bot_messages(place)[number - 1 : number], seconds=seconds)
        return found[0]  # type: ignore[no-any-return]

    def channel_changed(self, channel: Channel) -> None:
        """Tell the gateway that a channel or thread is different now."""
        name = "THREAD_UPDATE" if channel.is_thread else "CHANNEL_UPDATE"
        shown = payloads.channel_json(self.world, channel)
        self.gateway.send(name, shown, guild=channel.guild, intent=Intent.GUILDS)
        self.world.changed()

    def delete_channel(self, channel: Channel) -> None:
        """Remove a channel with its threads, or a thread."""
        assert channel.guild is not None
        for thread in [one for one in channel.guild.channels.values() if one.is_thread and one.parent is channel]:
            self._forget(thread)
        shown = payloads.channel_json(self.world, channel)
        self._forget(channel)
        name = "THREAD_DELETE" if channel.is_thread else "CHANNEL_DELETE"
        self.gateway.send(name, shown, guild=channel.guild, intent=Intent.GUILDS)
        self.world.changed()

    def _forget(self, channel: Channel) -> None:
        assert channel.guild is not None
        del self.world.channels[channel.id], channel.guild.channels[channel.id]
        for message in channel.messages.values():
            message.deleted = True
        self.world.removed_messages += channel.messages.values()

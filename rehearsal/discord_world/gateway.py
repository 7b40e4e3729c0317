"""Discord's gateway (websocket, v10, JSON): sessions, sequence numbers, replay, close codes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Any

from aiohttp import WSMsgType, web

from rehearsal.discord_world import payloads
from rehearsal.discord_world.things import Guild
from rehearsal.discord_world.world import DiscordWorld

DISPATCH, HEARTBEAT, IDENTIFY, PRESENCE, RESUME, RECONNECT, INVALID, HELLO, ACK = 0, 1, 2, 3, 6, 7, 9, 10, 11
WRONG_TOKEN, BAD_SEQUENCE, BAD_SHARD, BAD_INTENTS, DISALLOWED_INTENTS = 4004, 4007, 4010, 4013, 4014
UNKNOWN_OP, BAD_FRAME, NOT_AUTHENTICATED, AUTHENTICATED_TWICE = 4001, 4002, 4003, 4005


class Intent(IntFlag):
    """The intents that the fake tells apart; the numbers are Discord's."""

    NONE = 0
    GUILDS = 1 << 0
    GUILD_MEMBERS = 1 << 1
    GUILD_PRESENCES = 1 << 8
    GUILD_MESSAGES = 1 << 9
    DIRECT_MESSAGES = 1 << 12
    MESSAGE_CONTENT = 1 << 15


PRIVILEGED = Intent.GUILD_MEMBERS | Intent.GUILD_PRESENCES | Intent.MESSAGE_CONTENT
KNOWN_INTENTS = (1 << 26) - 1


@dataclass(eq=False)
class Link:
    """One websocket; what is sent waits in a queue, so that whoever sends need not wait."""

    socket: web.WebSocketResponse
    request: web.Request
    deflate: Any = None
    session: GatewaySession | None = None
    queue: asyncio.Queue[dict[str, Any] | int] = field(default_factory=asyncio.Queue)
    close_code: int | None = None

    def send(self, op: int, d: Any = None, s: int | None = None, t: str | None = None) -> None:
        """Queue one payload."""
        self.queue.put_nowait({"op": op, "d": d, "s": s, "t": t})

    def close(self, code: int) -> None:
        """Close with a code, after what is queued."""
        self.queue.put_nowait(code)

    async def write(self) -> None:
        """Send what is queued until the link closes."""
        with contextlib.suppress(ConnectionError, RuntimeError):
            while True:
                one = await self.queue.get()
                if isinstance(one, int):
                    self.close_code = one
                    await self.socket.close(code=one)
                    return
                await self._send(json.dumps(one))

    async def _send(self, text: str) -> None:
        if self.deflate is None:
            await self.socket.send_str(text)
        else:
            await self.socket.send_bytes(self.deflate(text.encode()))


@dataclass(eq=False, kw_only=True)
class GatewaySession:
    """A client's session: it outlives its links until it is ended, and remembers every event for a replay."""

    id: str
    shard: int
    shards: int
    intents: Intent
    link: Link | None
    events: list[tuple[int, str, Any]] = field(default_factory=list)
    resumed: int = 0

    def wants(self, guild_id: int | None, intent: Intent) -> bool:
        """Whether an event of a guild (None: a direct message) belongs to this session."""
        mine = (guild_id >> 22) % self.shards == self.shard if guild_id is not None else self.shard == 0
        return mine and intent in self.intents

    def dispatch(self, name: str, d: Any) -> None:
        """Send one event, or keep it for when the client resumes."""
        self.events.append((len(self.events) + 1, name, d))
        if self.link is not None:
            self.link.send(DISPATCH, d, len(self.events), name)


class Gateway:
    """All sessions and links of the one bot; `identifies` and `resumes` keep what clients sent."""

    def __init__(self, world: DiscordWorld) -> None:
        self.world = world
        self.links: list[Link] = []
        self.sessions: dict[str, GatewaySession] = {}
        self.identifies: list[dict[str, Any]] = []
        self.resumes: list[dict[str, Any]] = []
        self.heartbeat_seconds = 41.25
        self.allowed_intents = PRIVILEGED

    @property
    def application_flags(self) -> int:
        """The application's flags: which privileged intents its operator has switched on."""
        flags = {Intent.MESSAGE_CONTENT: 1 << 19, Intent.GUILD_MEMBERS: 1 << 15, Intent.GUILD_PRESENCES: 1 << 13}
        return sum(flag for intent, flag in flags.items() if intent in self.allowed_intents)

    def send(self, name: str, d: Any, *, guild: Guild | None, intent: Intent) -> None:
        """Send an event to the sessions it belongs to; a callable makes `d` for each session."""
        if guild is not None and self.world.bot.id not in guild.members:
            return
        for session in self.sessions.values():
            if session.wants(None if guild is None else guild.id, intent):
                session.dispatch(name, d(session) if isinstance(d, Callable) else d)  # type: ignore[arg-type]

    # --- The protocol -------------------------------------------------------------------------------------------------

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One client from HELLO to the end of its connection."""
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        link = Link(socket, request, deflate=_compressor(request.query.get("compress")))
        self.links.append(link)
        writer = asyncio.create_task(link.write())
        link.send(HELLO, {"heartbeat_interval": int(self.heartbeat_seconds * 1000), "_trace": []})
        try:
            async for frame in socket:
                if frame.type is WSMsgType.TEXT:
                    self._receive(link, frame.data)
        finally:
            self._leave(link)
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
        return socket

    def _leave(self, link: Link) -> None:
        self.links.remove(link)
        session = link.session
        if session is not None and session.link is link:
            session.link = None
            if link.socket.close_code in {1000, 1001} and link.close_code is None:
                self.sessions.pop(session.id, None)
        self.world.changed()

    def _receive(self, link: Link, text: str) -> None:
        try:
            payload = json.loads(text)
            op, d = payload["op"], payload.get("d")
        except (ValueError, KeyError, TypeError):
            link.close(BAD_FRAME)
            return
        if op == HEARTBEAT:
            link.send(ACK)
        elif op in {IDENTIFY, RESUME} and link.session is not None:
            link.close(AUTHENTICATED_TWICE)
        elif op == IDENTIFY:
            self._identify(link, d)
        elif op == RESUME:
            self._resume(link, d)
        elif link.session is None:
            link.close(NOT_AUTHENTICATED)
        elif op != PRESENCE:
            link.close(UNKNOWN_OP)
        self.world.changed()

    def _identify(self, link: Link, d: dict[str, Any]) -> None:
        self.identifies.append(d)
        code = self._refusal(d)
        if code is not None:
            link.close(code)
            return
        shard, shards = d.get("shard", [0, 1])
        session = GatewaySession(
            id=secrets.token_hex(16), shard=shard, shards=shards, intents=Intent(d["intents"]), link=link
        )
        self.sessions[session.id] = link.session = session
        guilds = [guild for guild in self.world.joined if session.wants(guild.id, Intent.NONE)]
        session.dispatch("READY", self._ready(session, guilds))
        for guild in guilds:
            if Intent.GUILDS in session.intents:
                session.dispatch("GUILD_CREATE", self.guild_create(guild, session))

    def _refusal(self, d: dict[str, Any]) -> int | None:
        if str(d.get("token", "")).removeprefix("Bot ") != self.world.token:
            return WRONG_TOKEN
        shard, shards = d.get("shard", [0, 1])
        if not 0 <= shard < shards:
            return BAD_SHARD
        intents = d.get("intents")
        if not isinstance(intents, int) or intents & ~KNOWN_INTENTS:
            return BAD_INTENTS
        return DISALLOWED_INTENTS if Intent(intents) & PRIVILEGED & ~self.allowed_intents else None

    def _ready(self, session: GatewaySession, guilds: list[Guild]) -> dict[str, Any]:
        return {
            "v": 10,
            "user": payloads.user_json(self.world.bot)
            | {"verified": True, "mfa_enabled": True, "email": None, "flags": 0},
            "guilds": [{"id": str(guild.id), "unavailable": True} for guild in guilds],
            "session_id": session.id,
            "session_type": "normal",
            "resume_gateway_url": self.world.gateway_url,
            "shard": [session.shard, session.shards],
            "application": {"id": str(self.world.bot.id), "flags": self.application_flags},
            "private_channels": [],
        }

    def guild_create(self, guild: Guild, session: GatewaySession) -> dict[str, Any]:
        """A guild as a session is told of it."""
        with_members = Intent.GUILD_MEMBERS in session.intents
        return payloads.guild_create_json(self.world, guild, with_members=with_members)

    def _resume(self, link: Link, d: dict[str, Any]) -> None:
        self.resumes.append(d)
        if str(d.get("token", "")).removeprefix("Bot ") != self.world.token:
            link.close(WRONG_TOKEN)
            return
        session = self.sessions.get(d.get("session_id") or "")
        if session is None:
            link.send(INVALID, False)
            return
        if not isinstance(d.get("seq"), int) or d["seq"] > len(session.events):
            self.sessions.pop(session.id)
            link.close(BAD_SEQUENCE)
            return
        if session.link is not None:
            session.link.close(4000)
        session.link, link.session, session.resumed = link, session, session.resumed + 1
        for number, name, event in session.events[d["seq"] :]:
            link.send(DISPATCH, event, number, name)
        session.dispatch("RESUMED", {"_trace": []})


def _compressor(name: str | None) -> Callable[[bytes], bytes] | None:
    """A stream's compression: zlib-stream, or zstd-stream, which the library asks for where Python has it."""
    if name is None:
        return None
    if name == "zlib-stream":
        stream = zlib.compressobj()
        return lambda text: stream.compress(text) + stream.flush(zlib.Z_SYNC_FLUSH)
    if name == "zstd-stream":
        from compression.zstd import ZstdCompressor  # type: ignore[import-not-found]  # Python 3.14

        frame = ZstdCompressor()
        return lambda text: frame.compress(text, mode=ZstdCompressor.FLUSH_BLOCK)
    raise web.HTTPBadRequest(text=f"unknown compression {name}")

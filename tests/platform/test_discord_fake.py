"""The stand-in for Discord, used by the real discord.py: it answers, refuses and notifies as Discord does."""

from __future__ import annotations

import asyncio
import io
import json
import zlib
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest
from discord import app_commands

from rehearsal.discord_world import Channel, DiscordServer, Guild, Impossible, Permission, Person, running


class Bot(discord.Client):
    """A client with a command tree that keeps what it received."""

    def __init__(self, *, content: bool = True, members: bool = False, **options: Any) -> None:
        intents = discord.Intents.default()
        intents.message_content, intents.members = content, members
        super().__init__(intents=intents, **client_options(options))
        self.tree = app_commands.CommandTree(self)
        self.got: list[discord.Message] = []
        self.own: list[discord.Message] = []
        self.edits: list[discord.RawMessageUpdateEvent] = []
        self.happened: list[tuple[str, Any]] = []

    async def on_message(self, message: discord.Message) -> None:
        (self.own if message.author == self.user else self.got).append(message)

    async def on_raw_message_edit(self, event: discord.RawMessageUpdateEvent) -> None:
        self.edits.append(event)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if not event.startswith("socket"):
            self.happened.append((event, args))
        super().dispatch(event, *args, **kwargs)

    def saw(self, event: str) -> list[Any]:
        return [args for name, args in self.happened if name == event]


class ShardedBot(Bot, discord.AutoShardedClient):
    """The same with as many shards as the gateway asks for."""


def client_options(more: dict[str, Any]) -> dict[str, Any]:
    return {"guild_ready_timeout": 0.05, "chunk_guilds_at_startup": False, **more}


class Room:
    """A guild with one channel and two people."""

    def __init__(self, fake: DiscordServer) -> None:
        self.fake = fake
        self.anna: Person = fake.person("anna", locale="de")
        self.ben: Person = fake.person("ben")
        self.guild: Guild = fake.guild("Support", members=[self.anna, self.ben], locale="en-GB")
        self.channel: Channel = fake.text_channel(self.guild, "support-info")

    def channel_of(self, bot: discord.Client) -> discord.TextChannel:
        found = bot.get_channel(self.channel.id)
        assert isinstance(found, discord.TextChannel)
        return found


@pytest.fixture
async def fake() -> AsyncIterator[DiscordServer]:
    async with DiscordServer() as server:
        yield server


@pytest.fixture
def room(fake: DiscordServer) -> Room:
    return Room(fake)


def refused(error: pytest.ExceptionInfo[discord.HTTPException]) -> tuple[int, int]:
    return error.value.status, error.value.code


# --- Gateway ----------------------------------------------------------------------------------------------------------


async def test_a_client_becomes_ready_with_the_guilds_channels_and_roles(fake: DiscordServer, room: Room) -> None:
    """A client that identifies is told of every guild, compressed as it asked, and its token and intents are recorded."""
    bot = Bot()
    async with running(bot, fake):
        guild = bot.guilds[0]
        assert (guild.name, [one.name for one in guild.text_channels]) == ("Support", ["support-info"])
        assert bot.user is not None and guild.me.id == fake.bot.id
        assert bot.application_id == fake.bot.id
    assert fake.gateway.identifies[0]["intents"] == bot.intents.value
    assert fake.gateway.compressions == [discord.utils._ActiveDecompressionContext.COMPRESSION_TYPE]


@pytest.mark.parametrize("compression", [None, "zlib-stream"])
async def test_the_gateway_speaks_with_and_without_compression(fake: DiscordServer, compression: str | None) -> None:
    """HELLO, a heartbeat's ACK and READY come as plain text or as one zlib stream, as the client asks."""
    query = "?v=10&encoding=json" + (f"&compress={compression}" if compression else "")
    stream = zlib.decompressobj()
    async with aiohttp.ClientSession() as http, http.ws_connect(fake.gateway_url + query) as socket:

        async def received() -> dict[str, Any]:
            frame = await socket.receive(timeout=5)
            return json.loads(stream.decompress(frame.data) if compression else frame.data)

        assert (await received())["op"] == 10
        await socket.send_json({"op": 1, "d": None})
        assert (await received())["op"] == 11
        await socket.send_json({"op": 2, "d": {"token": fake.token, "intents": 1}})
        assert (await received())["t"] == "READY"


async def test_a_wrong_token_is_refused_by_rest_and_gateway(fake: DiscordServer) -> None:
    """REST answers a wrong token with 401, and the gateway closes with 4004."""
    with pytest.raises(discord.LoginFailure):
        async with running(Bot(), fake, token="wrong"):
            pass
    async with aiohttp.ClientSession() as http, http.ws_connect(fake.gateway_url + "?v=10&encoding=json") as socket:
        await socket.receive()
        await socket.send_json({"op": 2, "d": {"token": "wrong", "intents": 1}})
        frame = await socket.receive()
        assert (frame.type, socket.close_code) == (aiohttp.WSMsgType.CLOSE, 4004)


async def test_an_intent_that_is_not_switched_on_ends_the_client(fake: DiscordServer) -> None:
    """A client that asks for a privileged intent the operator did not switch on is closed with 4014."""
    fake.gateway.allowed_intents &= ~(1 << 15)
    with pytest.raises(discord.PrivilegedIntentsRequired):
        async with running(Bot(), fake):
            pass


async def test_a_dropped_connection_is_resumed_without_losing_events(fake: DiscordServer, room: Room) -> None:
    """What people write while a connection is broken reaches the client once, after it resumed."""
    bot = Bot()
    async with running(bot, fake):
        room.anna.write(room.channel, "one")
        await fake.wait_for(lambda: len(bot.got) == 1)
        fake.gateway.drop()
        room.anna.write(room.channel, "two")
        await fake.wait_for(lambda: len(bot.got) == 2)
        await fake.wait_for(lambda: bot.saw("resumed"))
    assert [one.content for one in bot.got] == ["one", "two"]
    assert len(fake.gateway.identifies) == 1


async def test_the_gateway_can_ask_for_a_new_connection(fake: DiscordServer, room: Room) -> None:
    """After RECONNECT the client resumes the same session, and events in between are replayed."""
    bot = Bot()
    async with running(bot, fake):
        fake.gateway.reconnect()
        room.anna.write(room.channel, "in between")
        await fake.wait_for(lambda: fake.gateway.resumes and bot.got)
    assert [one.content for one in bot.got] == ["in between"]


async def test_an_invalid_session_is_started_anew(fake: DiscordServer, room: Room) -> None:
    """After INVALID_SESSION, or a close that ends the session, the client identifies again and is told of its guilds."""
    bot = Bot()
    async with running(bot, fake):
        fake.gateway.invalidate()
        await fake.wait_for(lambda: len(bot.saw("ready")) == 2)
        fake.gateway.close(4009)
        await fake.wait_for(lambda: len(bot.saw("ready")) == 3)
        assert len(fake.gateway.identifies) == 3
        assert bot.guilds[0].name == "Support"
    assert len(fake.gateway.resumes) == 1


async def test_two_shards_each_get_their_guilds(fake: DiscordServer) -> None:
    """With two shards each guild's events reach the shard of its id, and direct messages the first one."""
    async with DiscordServer(shards=2) as two:
        anna = two.person("anna")
        guilds = [two.guild(f"g{number}", members=[anna], shard=number) for number in (0, 1)]
        channels = [two.text_channel(guild, "talk") for guild in guilds]
        bot = ShardedBot()
        async with running(bot, two):
            assert {one.id: one.shard_id for one in bot.guilds} == {guilds[0].id: 0, guilds[1].id: 1}
            for channel in channels:
                anna.write(channel, channel.name)
            anna.write(anna, "privately")
            await two.wait_for(lambda: len(bot.got) == 3)
            two.gateway.drop(shard=1)
            await two.wait_for(lambda: bot.saw("shard_resumed"))
            assert bot.saw("shard_resumed") == [(1,)]
        assert sorted(one["shard"] for one in two.gateway.identifies) == [[0, 2], [1, 2]]


async def test_members_are_told_on_request(fake: DiscordServer, room: Room) -> None:
    """A client with the intent for members gets all of them in chunks when it asks, and hears of joins and leaves."""
    bot = Bot(members=True)
    cara = fake.person("cara")
    async with running(bot, fake):
        assert {one.name for one in await bot.guilds[0].chunk()} == {"anna", "ben", "operator", "CAFI"}
        fake.join(room.guild, cara)
        await fake.wait_for(lambda: bot.saw("member_join"))
        fake.leave(room.guild, cara)
        await fake.wait_for(lambda: bot.saw("member_remove"))


async def test_message_content_needs_the_intent(fake: DiscordServer, room: Room) -> None:
    """Without the intent a message comes empty, except a direct one and one that mentions the bot."""
    bot = Bot(content=False)
    async with running(bot, fake):
        room.anna.write(room.channel, "secret")
        room.anna.write(room.channel, f"{fake.bot.mention} hello")
        room.anna.write(room.anna, "in private")
        await fake.wait_for(lambda: len(bot.got) == 3)
        assert {one.content for one in bot.got} == {"", f"{fake.bot.mention} hello", "in private"}
        room.anna.edit(fake.messages(room.channel)[0], f"secret {fake.bot.mention}")
        await fake.wait_for(lambda: bot.edits)
    assert bot.edits[0].message.content == f"secret {fake.bot.mention}"


@pytest.mark.parametrize("event", [{}, {"id": "x", "channel_id": [], "author": 3}])
async def test_a_malformed_event_ends_the_client(fake: DiscordServer, room: Room, event: dict[str, Any]) -> None:
    """An event with missing fields or wrong types ends discord.py's client with an error of its own."""
    bot = Bot()
    async with bot:
        ended = asyncio.create_task(bot.start(fake.token))
        await fake.wait_for(lambda: bot.is_ready())
        fake.gateway.push("MESSAGE_CREATE", event)
        with pytest.raises((KeyError, ValueError, TypeError)):
            await ended


# --- Messages ---------------------------------------------------------------------------------------------------------


async def test_a_message_is_sent_edited_and_deleted(fake: DiscordServer, room: Room) -> None:
    """A message of the bot is there for people as it was sent, then as it was edited, then no more."""
    bot = Bot()
    async with running(bot, fake):
        async with room.channel_of(bot).typing():
            sent = await room.channel_of(bot).send("first", suppress_embeds=True, nonce=7)
        assert [one.content for one in fake.messages(room.channel)] == ["first"]
        assert fake.messages(room.channel)[0].flags == 4
        await sent.edit(content="see https://example.org/a and <https://example.org/b>", suppress=False)
        kept = fake.messages(room.channel)[0]
        assert (kept.contents, kept.link_previews) == (["first"], ["https://example.org/a"])
        await sent.delete()
        with pytest.raises(discord.NotFound) as error:
            await room.channel_of(bot).fetch_message(sent.id)
    assert refused(error) == (404, 10008)
    assert fake.messages(room.channel) == []
    assert kept in fake.seen_by(room.anna, ever=True)
    assert fake.calls("POST", "/channels/*/typing")


async def test_a_message_longer_than_2000_characters_is_refused(fake: DiscordServer, room: Room) -> None:
    """2001 characters are refused with 50035 and a tree that names the field; blanks alone are an empty message."""
    bot = Bot()
    async with running(bot, fake):
        await room.channel_of(bot).send("x" * 2000)
        with pytest.raises(discord.HTTPException) as error:
            await room.channel_of(bot).send("x" * 2001)
        with pytest.raises(discord.HTTPException) as empty:
            await room.channel_of(bot).send(" \n ")
    assert refused(error) == (400, 50035)
    assert "In content: Must be 2000 or fewer in length." in error.value.text
    assert refused(empty) == (400, 50006)


async def test_only_allowed_mentions_notify(fake: DiscordServer, room: Room) -> None:
    """Content pings whom it mentions as far as allowed_mentions lets it, and nobody where it allows none."""
    team = fake.role(room.guild, "team", members=[room.ben], mentionable=True)
    text = f"@everyone {room.anna.mention} {team.mention}"
    bot = Bot()
    async with running(bot, fake):
        first = room.anna.write(room.channel, "hello")
        shown = await room.channel_of(bot).fetch_message(first.id)
        await shown.reply(text, allowed_mentions=discord.AllowedMentions.none())
        assert fake.pings == []
        await room.channel_of(bot).send(text, allowed_mentions=discord.AllowedMentions(everyone=False, roles=False))
        assert [(one.user, one.cause) for one in fake.pings] == [(room.anna, "user")]
        fake.pings.clear()
        await shown.reply("hi", allowed_mentions=discord.AllowedMentions(replied_user=True))
        assert [(one.user, one.cause) for one in fake.pings] == [(room.anna, "reply")]
        fake.pings.clear()
        await room.channel_of(bot).send(text)
    assert {(one.user.name, one.cause) for one in fake.pings} == {
        ("anna", "user"),
        ("ben", "role"),
        ("operator", "everyone"),
    }


async def test_a_missing_permission_is_named_by_its_code(fake: DiscordServer, room: Room) -> None:
    """A channel the bot cannot see gives 50001, a missing right 50013, and an unknown channel 10003."""
    bot = Bot()
    hidden = fake.text_channel(room.guild, "mods", private_to=[room.ben])
    async with running(bot, fake):
        with pytest.raises(discord.Forbidden) as access:
            await bot.fetch_channel(hidden.id)
        fake.allow(room.channel, fake.bot, deny=Permission.SEND_MESSAGES)
        with pytest.raises(discord.Forbidden) as sending:
            await room.channel_of(bot).send("hello")
        await fake.wait_for(lambda: not room.channel_of(bot).permissions_for(bot.guilds[0].me).send_messages)
        with pytest.raises(discord.NotFound) as unknown:
            await bot.fetch_channel(1)
        fake.allow(room.channel, fake.bot, deny=Permission.EMBED_LINKS | Permission.ATTACH_FILES)
        with pytest.raises(discord.Forbidden) as embedding:
            await room.channel_of(bot).send(embed=discord.Embed(title="x"))
        with pytest.raises(discord.Forbidden) as attaching:
            await room.channel_of(bot).send(file=discord.File(io.BytesIO(b"x"), "x.txt"))
    assert [refused(one) for one in (access, sending, unknown, embedding, attaching)] == [
        (403, 50001),
        (403, 50013),
        (404, 10003),
        (403, 50013),
        (403, 50013),
    ]


async def test_permissions_of_roles_members_and_threads_add_up(fake: DiscordServer, room: Room) -> None:
    """Overwrites go from @everyone over roles to the member, and a thread takes its parent's."""
    mods = fake.role(room.guild, "mods", members=[room.ben])
    hidden = fake.text_channel(room.guild, "mods", private_to=[mods])
    assert fake.world.may(room.ben, hidden, Permission.VIEW_CHANNEL)
    assert not fake.world.may(room.anna, hidden, Permission.VIEW_CHANNEL)
    thread = room.ben.start_thread(hidden, "case")
    room.ben.write(thread, "between us")
    assert [one.content for one in fake.seen_by(room.ben)][-1] == "between us"
    assert fake.seen_by(room.anna) == []
    with pytest.raises(Impossible):
        room.anna.write(thread, "let me in")
    fake.allow(hidden, room.ben, deny=Permission.VIEW_CHANNEL)
    assert not fake.world.may(room.ben, thread, Permission.VIEW_CHANNEL)
    fake.set_permissions(room.guild, mods, Permission.ADMINISTRATOR)
    assert fake.world.may(room.ben, thread, Permission.MANAGE_MESSAGES)


async def test_a_reply_needs_its_message_and_the_right_to_read_it(fake: DiscordServer, room: Room) -> None:
    """A reply to a message that is gone is refused unless the bot allows for it, and without history by 160002."""
    bot = Bot()
    async with running(bot, fake):
        gone = await room.channel_of(bot).send("one")
        await gone.delete()
        with pytest.raises(discord.HTTPException) as missing:
            await gone.reply("two")
        await room.channel_of(bot).send("three", reference=gone.to_reference(fail_if_not_exists=False))
        fake.allow(room.channel, fake.bot, deny=Permission.READ_MESSAGE_HISTORY)
        with pytest.raises(discord.Forbidden) as unread:
            await gone.reply("four")
    assert (refused(missing), refused(unread)) == ((400, 50035), (403, 160002))
    assert [one.content for one in fake.messages(room.channel)] == ["three"]


async def test_a_file_is_uploaded_and_can_be_read(fake: DiscordServer, room: Room) -> None:
    """A file goes up with a message, people's files can be read, and the fake serves both from its own address."""
    bot = Bot()
    async with running(bot, fake):
        sent = await room.channel_of(bot).send("look", file=discord.File(io.BytesIO(b"picture"), "p.png"))
        assert await sent.attachments[0].read() == b"picture"
        room.anna.write(room.channel, "mine", files={"a.txt": b"text"})
        await fake.wait_for(lambda: bot.got)
        assert await bot.got[0].attachments[0].read() == b"text"
    assert [one.filename for one in fake.messages(room.channel)[0].attachments] == ["p.png"]


async def test_history_is_read_forwards_and_backwards(fake: DiscordServer, room: Room) -> None:
    """Messages are fetched after one, before one and up to a limit, and none without the right to read history."""
    written = [room.anna.write(room.channel, str(number)) for number in range(120)]
    bot = Bot()
    async with running(bot, fake):
        channel = room.channel_of(bot)
        after = [one.content async for one in channel.history(after=discord.Object(written[9].id), limit=None)]
        before = [one.content async for one in channel.history(before=discord.Object(written[3].id), limit=2)]
        fake.allow(room.channel, fake.bot, deny=Permission.READ_MESSAGE_HISTORY)
        nothing = [one async for one in channel.history(limit=5)]
    assert after == [str(number) for number in range(10, 120)]
    assert (before, nothing) == (["2", "1"], [])


async def test_people_edit_and_delete_and_leave(fake: DiscordServer, room: Room) -> None:
    """Edits and deletions by people, and removed channels and guilds, reach the client as events."""
    bot = Bot()
    other = fake.text_channel(room.guild, "other")
    async with running(bot, fake):
        message = room.anna.write(room.channel, "one")
        await fake.wait_for(lambda: bot.got)
        room.anna.edit(message, "two")
        await fake.wait_for(lambda: bot.edits and bot.edits[0].message.content == "two")
        room.anna.delete(message)
        await fake.wait_for(lambda: bot.saw("raw_message_delete"))
        fake.delete_channel(other)
        await fake.wait_for(lambda: bot.saw("guild_channel_delete"))
        fake.leave(room.guild, room.ben)
        assert not fake.world.may(room.ben, room.channel, Permission.VIEW_CHANNEL)
        fake.outage(room.guild)
        await fake.wait_for(lambda: bot.saw("guild_unavailable"))
        fake.recover(room.guild)
        await fake.wait_for(lambda: bot.saw("guild_available"))
        fake.remove_bot(room.guild)
        await fake.wait_for(lambda: bot.saw("guild_remove"))
        with pytest.raises(discord.Forbidden) as error:
            await bot.fetch_channel(room.channel.id)
    assert refused(error) == (403, 50001)


async def test_a_direct_message_can_be_refused(fake: DiscordServer, room: Room) -> None:
    """The bot opens a direct conversation and writes; who takes no direct messages cannot be written to."""
    closed = fake.person("closed", accepts_dms=False)
    bot = Bot()
    async with running(bot, fake):
        await (await bot.fetch_user(room.anna.id)).send("hello anna")
        with pytest.raises(discord.Forbidden) as error:
            await (await bot.fetch_user(closed.id)).send("hello")
    assert [one.content for one in fake.messages(room.anna)] == ["hello anna"]
    assert fake.seen_by(room.ben) == []
    assert refused(error) == (403, 50007)


async def test_a_message_sent_twice_with_its_nonce_is_there_once(fake: DiscordServer, room: Room) -> None:
    """When an answer got lost, sending again with the same nonce gives the message that is already there."""
    bot = Bot()
    async with running(bot, fake):
        fake.fail("POST", "/channels/*/messages", drop=True, applied=True)
        with pytest.raises(aiohttp.ClientError):
            await room.channel_of(bot).send("once", nonce=42)
        assert len(fake.messages(room.channel)) == 1
        await room.channel_of(bot).send("once", nonce=42)
    assert len(fake.messages(room.channel)) == 1


async def test_threads_start_from_a_message_and_alone(fake: DiscordServer, room: Room) -> None:
    """A thread starts from a message once only, another one without a message; writing in it needs its own right."""
    bot = Bot()
    async with running(bot, fake):
        asked = room.anna.write(room.channel, "a question")
        await fake.wait_for(lambda: bot.got)
        thread = await bot.got[0].create_thread(name="a question")
        await thread.send("an answer")
        with pytest.raises(discord.HTTPException) as again:
            await bot.got[0].create_thread(name="again")
        private = await room.channel_of(bot).create_thread(name="private")
        await private.send("for one")
        await private.add_user(discord.Object(room.ben.id))
        room.anna.write(fake.world.channels[thread.id], "thank you")
        await fake.wait_for(lambda: len(bot.got) == 2)
        assert isinstance(bot.got[1].channel, discord.Thread)
        assert {one.id for one in await thread.fetch_members()} == {fake.bot.id, room.anna.id}
        await thread.edit(archived=True)
        fake.allow(room.channel, fake.bot, deny=Permission.CREATE_PUBLIC_THREADS | Permission.SEND_MESSAGES_IN_THREADS)
        with pytest.raises(discord.Forbidden) as creating:
            await room.channel_of(bot).create_thread(name="x", type=discord.ChannelType.public_thread)
        with pytest.raises(discord.Forbidden) as writing:
            await thread.send("more")
    assert [one.name for one in fake.threads(room.channel)] == ["a question", "private"]
    assert asked.thread is fake.threads(room.channel)[0] and asked.thread.archived
    assert "for one" in [one.content for one in fake.seen_by(room.ben)]
    assert "for one" not in [one.content for one in fake.seen_by(room.anna)]
    assert refused(again) == (400, 160004)
    assert refused(creating) == refused(writing) == (403, 50013)


async def test_a_poll_is_asked_voted_in_and_ended(fake: DiscordServer, room: Room) -> None:
    """A native poll takes people's votes, which everybody can see, and can be ended early."""
    import datetime as dt

    poll = discord.Poll(question="Which topic?", duration=dt.timedelta(hours=1))
    poll.add_answer(text="Sleep").add_answer(text="Work")
    long = discord.Poll(question="?", duration=dt.timedelta(hours=1)).add_answer(text="x" * 56)
    bot = Bot()
    async with running(bot, fake):
        sent = await room.channel_of(bot).send(poll=poll)
        room.anna.vote(fake.messages(room.channel)[0], 2)
        with pytest.raises(Impossible):
            room.anna.vote(fake.messages(room.channel)[0], 1)
        assert sent.poll is not None
        assert [one.id async for one in sent.poll.answers[1].voters()] == [room.anna.id]
        await sent.end_poll()
        with pytest.raises(discord.HTTPException) as error:
            await room.channel_of(bot).send(poll=long)
    result = fake.messages(room.channel)[-1]
    assert {"name": "victor_answer_text", "value": "Work", "inline": False} in result.embeds[0]["fields"]
    assert refused(error) == (400, 50035)


async def test_reactions_come_and_go(fake: DiscordServer, room: Room) -> None:
    """People's reactions reach the client, and the bot's own are seen by people."""
    bot = Bot()
    async with running(bot, fake):
        sent = await room.channel_of(bot).send("useful?")
        await sent.add_reaction("👍")
        message = fake.messages(room.channel)[0]
        room.anna.react(message, "👍")
        await fake.wait_for(lambda: len(bot.saw("raw_reaction_add")) == 2)
        assert message.reactions == {"👍": [fake.bot.id, room.anna.id]}
        await sent.remove_reaction("👍", discord.Object(fake.bot.id))
    assert message.reactions == {"👍": [room.anna.id]}


# --- Rate limits and faults -------------------------------------------------------------------------------------------


async def test_rate_limits_are_announced_and_enforced(fake: DiscordServer, room: Room) -> None:
    """A client that heeds the headers is never refused, and one that does not gets 429 with the time to wait."""
    fake.limit("POST", "/channels/*/messages", requests=2, per=0.2)
    bot = Bot()
    async with running(bot, fake):
        for number in range(4):
            await room.channel_of(bot).send(str(number))
        sent = fake.calls("POST", "/channels/*/messages")
        assert [one.status for one in sent] == [200] * 4
        async with aiohttp.ClientSession(headers={"Authorization": f"Bot {fake.token}"}) as http:
            url = f"{fake.origin}/api/v10/channels/{room.channel.id}/messages"
            for _ in range(3):
                answer = await http.post(url, json={"content": "x"})
            assert answer.status == 429
            assert 0 < (await answer.json())["retry_after"] <= 0.2


async def test_a_global_limit_holds_everything_back(fake: DiscordServer, room: Room) -> None:
    """After a 429, for a route or for all of them, the client waits as told and then succeeds."""
    bot = Bot()
    async with running(bot, fake):
        fake.fail("POST", "/channels/*/messages", status=429, retry_after=0.01)
        fake.fail("POST", "/channels/*/messages", status=429, retry_after=0.01, everywhere=True)
        await room.channel_of(bot).send("at last")
    assert [one.status for one in fake.calls("POST", "/channels/*/messages")] == [429, 429, 200]
    assert len(fake.messages(room.channel)) == 1


async def test_all_routes_can_be_limited_together(fake: DiscordServer, room: Room) -> None:
    """One request too many for the global limit gets 429 as such, and the client comes back when it is over."""
    bot = Bot()
    async with running(bot, fake):
        fake.limit_globally(2, per=0.2)
        for number in range(3):
            await room.channel_of(bot).send(str(number))
    refusal = next(one for one in fake.calls() if one.status == 429)
    assert refusal.answer["global"] is True
    assert [one.content for one in fake.messages(room.channel)] == ["0", "1", "2"]


async def test_a_route_can_be_made_to_fail(fake: DiscordServer, room: Room) -> None:
    """A fault answers the next requests to its route as told, and no others."""
    bot = Bot()
    async with running(bot, fake):
        fake.fail("POST", "/channels/{id}/messages", status=503, code=7, message="out of order")
        with pytest.raises(discord.DiscordServerError) as error:
            await room.channel_of(bot).send("lost")
        fake.fail("POST", "/channels/*/messages", delay=0.01, status=0)
        await room.channel_of(bot).send("slow")
    assert refused(error) == (503, 7)
    assert [one.content for one in fake.messages(room.channel)] == ["slow"]


# --- Commands and interactions ----------------------------------------------------------------------------------------


def commands(bot: Bot) -> None:
    """Commands of every kind on a bot."""

    @bot.tree.command(description="Ask a question")
    @app_commands.describe(topic="What it is about")
    async def ask(interaction: discord.Interaction, question: str, topic: str | None = None) -> None:
        await interaction.response.send_message(f"{interaction.locale} {question} {topic}", ephemeral=True)

    @ask.autocomplete("topic")
    async def topics(interaction: discord.Interaction, current: str) -> list[app_commands.Choice[str]]:
        known = ["sleep", "work"]
        return [app_commands.Choice(name=one.title(), value=one) for one in known if one.startswith(current)]

    mod = app_commands.Group(name="mod", description="For moderators", default_permissions=discord.Permissions(8192))

    @mod.command(name="block-topic", description="Block a topic")
    async def block_topic(interaction: discord.Interaction, topic: str, who: discord.Member) -> None:
        await interaction.response.defer(thinking=True)
        await interaction.followup.send(f"blocked {topic} for {who.name}")
        await interaction.followup.send("only for you", ephemeral=True)

    bot.tree.add_command(mod)

    @bot.tree.context_menu(name="Ask about this message")
    async def about(interaction: discord.Interaction, message: discord.Message) -> None:
        await interaction.response.send_message(f"about: {message.content}", ephemeral=True)


async def test_commands_are_registered_and_synchronised(fake: DiscordServer, room: Room) -> None:
    """A bulk overwrite registers commands for everywhere or one guild, which can be listed, edited and deleted."""
    bot = Bot()
    commands(bot)
    async with running(bot, fake):
        await bot.tree.sync()
        assert set(fake.commands()) == {"ask", "mod", "Ask about this message"}
        bot.tree.copy_global_to(guild=discord.Object(room.guild.id))
        await bot.tree.sync(guild=discord.Object(room.guild.id))
        kept = await bot.tree.fetch_commands(guild=discord.Object(room.guild.id))
        await next(one for one in kept if one.name == "ask").edit(description="Ask anything")
        await next(one for one in kept if one.name == "mod").delete()
        with pytest.raises(discord.NotFound) as error:
            await bot.tree.fetch_command(1)
    assert fake.commands(room.guild)["ask"]["description"] == "Ask anything"
    assert set(fake.commands(room.guild)) == {"ask", "Ask about this message"}
    assert refused(error) == (404, 10063)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"name": "Ask"}, "name"),
        ({"name": "frage stellen"}, "name"),
        ({"description": ""}, "description"),
        ({"description": "x" * 101}, "description"),
        ({"name_localizations": {"de": "Frage"}}, "name_localizations"),
        ({"name_localizations": {"xx": "frage"}}, "name_localizations"),
        ({"options": [{"name": f"o{n}", "description": "x", "type": 3} for n in range(26)]}, "options"),
        (
            {"options": [{"name": "o", "description": "x", "type": 3, "choices": [{"name": "", "value": "v"}]}]},
            "options",
        ),
    ],
)
async def test_wrong_commands_are_refused(fake: DiscordServer, wrong: dict[str, Any], named: str) -> None:
    """A command with a wrong name, description, translation or option is refused with 50035 at that place."""
    bot = Bot()
    async with bot:
        await bot.login(fake.token)
        good = {"name": "fráge", "description": "x", "type": 1, "name_localizations": {"de": "frage", "th": "ถาม"}}
        await bot.http.bulk_upsert_global_commands(fake.bot.id, [good])  # type: ignore[list-item]
        with pytest.raises(discord.HTTPException) as error:
            await bot.http.bulk_upsert_global_commands(fake.bot.id, [good | wrong])  # type: ignore[list-item]
        assert refused(error) == (400, 50035)
        assert fake.rest.calls[-1].answer["errors"]["0"].keys() == {named}


async def test_a_slash_command_is_used_and_answered_ephemerally(fake: DiscordServer, room: Room) -> None:
    """A slash command brings its options and the user's language, and an ephemeral answer is seen by that user alone."""
    bot = Bot()
    commands(bot)
    async with running(bot, fake):
        await bot.tree.sync()
        used = room.anna.slash(room.channel, "ask", question="why?", topic="sleep")
        reply = await used.reply()
        with pytest.raises(Impossible):
            room.anna.slash(room.channel, "ask")
        with pytest.raises(Impossible):
            room.anna.slash(room.channel, "mod block-topic", topic="x", who=room.ben)
        privately = await room.ben.slash(room.ben, "ask", question="here?").reply()
    assert reply.content == "de why? sleep"
    assert (bot.own[0].guild, bot.own[0].flags.ephemeral) == (None, True)
    assert fake.ephemeral(room.anna) == [reply] and fake.messages(room.channel) == []
    assert reply in fake.seen_by(room.anna) and reply not in fake.seen_by(room.ben)
    assert privately.content == "en-US here? None"
    assert used.seconds is not None and not used.failed


async def test_a_subcommand_is_deferred_and_followed_up(fake: DiscordServer, room: Room) -> None:
    """The first follow-up takes the place of "thinking", a second one may be ephemeral, and a member is resolved."""
    fake.role(room.guild, "mods", Permission.MANAGE_MESSAGES, members=[room.ben])
    bot = Bot()
    commands(bot)
    async with running(bot, fake):
        await bot.tree.sync()
        used = room.ben.slash(room.channel, "mod block-topic", topic="x", who=room.anna)
        second = await used.reply(number=2)
    assert [one.content for one in fake.messages(room.channel)] == ["blocked x for anna"]
    assert used.original is fake.messages(room.channel)[0] and fake.ephemeral(room.ben) == [second]


async def test_the_original_answer_is_read_changed_and_deleted(fake: DiscordServer, room: Room) -> None:
    """In a thread too, the first answer can be fetched, edited and deleted through the interaction, not the channel."""
    bot = Bot()
    seen: list[Any] = []

    @bot.tree.command(description="Ask")
    async def ask(interaction: discord.Interaction) -> None:
        await interaction.response.defer(ephemeral=True, thinking=True)
        await interaction.edit_original_response(content="done")
        original = await interaction.original_response()
        seen.extend([original.content, interaction.channel and interaction.channel.type])
        with pytest.raises(discord.NotFound) as hidden:
            await interaction.channel.fetch_message(original.id)  # type: ignore[union-attr]
        await original.delete()
        with pytest.raises(discord.NotFound) as gone:
            await interaction.followup.fetch_message(original.id)
        seen.extend([refused(hidden), refused(gone)])

    thread = room.anna.start_thread(room.channel, "question")
    async with running(bot, fake):
        await bot.tree.sync()
        room.anna.slash(thread, "ask")
        await fake.wait_for(lambda: len(seen) == 4)
    assert seen == ["done", discord.ChannelType.public_thread, (404, 10008), (404, 10008)]


async def test_autocomplete_and_context_menu(fake: DiscordServer, room: Room) -> None:
    """Choices are offered while somebody types, and a message's menu brings the message with its content."""
    bot = Bot(content=False)
    commands(bot)
    async with running(bot, fake):
        await bot.tree.sync()
        assert await room.anna.autocomplete(room.channel, "ask", focused="topic", topic="sl").offered() == ["Sleep"]
        message = room.ben.write(room.channel, "a long story")
        reply = await room.anna.context_menu("Ask about this message", message).reply()
    assert reply.content == "about: a long story"


async def test_more_than_25_choices_are_refused(fake: DiscordServer, room: Room) -> None:
    """An autocomplete answer of 26 choices is refused with 50035 and offers nothing."""
    bot = Bot()
    commands(bot)
    errors: list[discord.HTTPException] = []

    @bot.event
    async def on_interaction(interaction: discord.Interaction) -> None:
        many = [app_commands.Choice(name=str(n), value=str(n)) for n in range(26)]
        if interaction.type is discord.InteractionType.autocomplete:
            try:
                await interaction.response.autocomplete(many)
            except discord.HTTPException as error:
                errors.append(error)

    async with running(bot, fake):
        await bot.tree.sync()
        bot._connection._command_tree = None
        used = room.anna.autocomplete(room.channel, "ask", focused="topic", topic="")
        await fake.wait_for(lambda: errors)
    assert (errors[0].status, errors[0].code) == (400, 50035)
    assert used.choices is None


async def test_an_interaction_is_acknowledged_once_and_in_time(fake: DiscordServer, room: Room) -> None:
    """A second acknowledgement gives 40060, one after three seconds 10062, and a webhook exists only after the first."""
    bot = Bot()
    commands(bot)
    bot.tree.remove_command("ask")
    codes: list[tuple[int, int]] = []

    async def attempt(coroutine: Any) -> None:
        try:
            await coroutine
        except discord.HTTPException as error:
            codes.append((error.status, error.code))

    @bot.tree.command(description="Ask")
    async def ask(interaction: discord.Interaction, late: bool) -> None:
        await attempt(interaction.followup.send("too early"))
        if late:
            fake.clock.advance(3.1)
        await attempt(interaction.response.defer())
        interaction.response._response_type = None
        await attempt(interaction.response.send_message("second"))
        fake.clock.advance(15 * 60)
        await attempt(interaction.followup.send("too late"))

    async with running(bot, fake):
        await bot.tree.sync()
        first = room.anna.slash(room.channel, "ask", late=False)
        await fake.wait_for(lambda: len(codes) == 3)
        second = room.anna.slash(room.channel, "ask", late=True)
        await fake.wait_for(lambda: len(codes) == 7)
    assert codes == [(404, 10015), (400, 40060), (401, 50027), (404, 10015), (404, 10062), (404, 10062), (404, 10015)]
    assert (first.failed, second.failed) == (False, True)


class Useful(discord.ui.View):
    """Persistent buttons."""

    def __init__(self) -> None:
        super().__init__(timeout=None)

    @discord.ui.button(label="Yes", custom_id="useful:yes")
    async def yes(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        await interaction.response.send_message("thanks", ephemeral=True)

    @discord.ui.button(label="More", custom_id="useful:more")
    async def more(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        button.disabled = True
        await interaction.response.edit_message(content="more", view=self)

    @discord.ui.button(label="Later", custom_id="useful:later")
    async def later(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        await interaction.response.defer()
        await interaction.edit_original_response(content="edited later")
        await interaction.followup.send("and more")

    @discord.ui.select(custom_id="useful:why", options=[discord.SelectOption(label=one) for one in ("clear", "long")])
    async def why(self, interaction: discord.Interaction, select: discord.ui.Select[Any]) -> None:
        await interaction.response.send_message(f"because {select.values}")


async def test_old_buttons_work_after_a_restart(fake: DiscordServer, room: Room) -> None:
    """A button that one client sent is answered by the next one, and only buttons that are there can be pressed."""
    first, second = Bot(), Bot()
    async with running(first, fake):
        await room.channel_of(first).send("an answer", view=Useful())
    message = fake.messages(room.channel)[0]
    second.add_view(Useful())
    async with running(second, fake):
        assert (await room.anna.press(message, "Yes").reply()).content == "thanks"
        room.anna.press(message, custom_id="useful:more")
        await fake.wait_for(lambda: message.content == "more")
        with pytest.raises(Impossible):
            room.anna.press(message, "More")
        with pytest.raises(Impossible):
            room.anna.press(message, "No")
        assert (await room.anna.choose(message, "long", custom_id="useful:why").reply()).content == "because ['long']"
        followed = await room.anna.press(message, "Later").reply()
        assert (message.content, followed.content) == ("edited later", "and more")
    assert message.buttons == ["Yes", "Later"]


class Question(discord.ui.Modal, title="Your question"):
    """A modal with an old and a new kind of field."""

    text = discord.ui.TextInput[Any](label="Question", style=discord.TextStyle.paragraph, max_length=4000)
    country = discord.ui.Label[Any](text="Country", component=discord.ui.TextInput[Any](required=False))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"{self.text.value} / {self.country.component.value}", ephemeral=True)


async def test_a_modal_is_opened_filled_in_and_sent(fake: DiscordServer, room: Room) -> None:
    """A modal opens on a person's screen, checks what she fills in as Discord's app does, and is answered."""
    bot = Bot()

    @bot.tree.command(description="Ask at length")
    async def ask(interaction: discord.Interaction) -> None:
        await interaction.response.send_modal(Question())

    async with running(bot, fake):
        await bot.tree.sync()
        opened = await room.anna.slash(room.channel, "ask").opened()
        with pytest.raises(Impossible):
            room.anna.submit(opened)
        with pytest.raises(Impossible):
            room.anna.submit(opened, Nothing="x")
        reply = await room.anna.submit(opened, Question="why?", Country="Chile").reply()
    assert reply.content == "why? / Chile"


@pytest.mark.parametrize(
    "components",
    [
        [{"type": 1, "components": [{"type": 2, "style": 1, "label": "x" * 81, "custom_id": "a"}]}],
        [{"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "a" * 101}]}],
        [{"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": "a"}] * 2}],
        [{"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": str(n)} for n in range(6)]}],
        [{"type": 1, "components": [{"type": 2, "style": 1, "label": "x", "custom_id": str(n)}]} for n in range(6)],
        [{"type": 2, "style": 1, "label": "x", "custom_id": "a"}],
    ],
)
async def test_wrong_components_are_refused(fake: DiscordServer, room: Room, components: list[dict[str, Any]]) -> None:
    """Too long labels and ids, ids used twice, too many buttons or rows, and bare buttons are refused with 50035."""
    bot = Bot()
    async with bot:
        await bot.login(fake.token)
        route = discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=room.channel.id)
        with pytest.raises(discord.HTTPException) as error:
            await bot.http.request(route, json={"content": "x", "components": components})
    assert refused(error) == (400, 50035)
    assert fake.messages(room.channel) == []


async def test_a_burst_of_interactions_is_told_apart(fake: DiscordServer) -> None:
    """A hundred people who ask at the same moment each see the answer to their own question and no other."""
    people = [fake.person(f"p{number}") for number in range(100)]
    channel = fake.text_channel(fake.guild("Support", members=people), "support-info")
    bot = Bot()
    commands(bot)
    async with running(bot, fake):
        await bot.tree.sync()
        used = [one.slash(channel, "ask", question=one.name) for one in people]
        replies = [await one.reply() for one in used]
    assert [one.content for one in replies] == [f"en-US {one.name} None" for one in people]
    assert all(fake.ephemeral(one) == [reply] for one, reply in zip(people, replies, strict=True))

"""The stand-in for Discord, used by the real discord.py: it answers, refuses and notifies as Discord does."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import discord
import pytest
from discord import app_commands

from rehearsal.discord_world import Channel, DiscordPerson, Guild, Impossible, Permission
from tests.fakes.faulty_discord import FaultyDiscord


class Bot(discord.Client):
    """A client with a command tree that keeps what it received."""

    def __init__(self, *, content: bool = True, members: bool = False, **options: Any) -> None:
        intents = discord.Intents.default()
        intents.message_content, intents.members = content, members
        super().__init__(intents=intents, **client_options(options))
        self.tree = app_commands.CommandTree(self)
        self.got: list[discord.Message] = []
        self.happened: list[tuple[str, Any]] = []

    async def on_message(self, message: discord.Message) -> None:
        if message.author != self.user:
            self.got.append(message)

    def dispatch(self, event: str, /, *args: Any, **kwargs: Any) -> None:
        if not event.startswith("socket"):
            self.happened.append((event, args))
        super().dispatch(event, *args, **kwargs)

    def saw(self, event: str) -> list[Any]:
        return [args for name, args in self.happened if name == event]


def client_options(more: dict[str, Any]) -> dict[str, Any]:
    return {"guild_ready_timeout": 0.05, "chunk_guilds_at_startup": False, **more}


class Room:
    """A guild with one channel and two people."""

    def __init__(self, fake: FaultyDiscord) -> None:
        self.fake = fake
        self.anna: DiscordPerson = fake.person("anna", locale="de")
        self.ben: DiscordPerson = fake.person("ben")
        self.guild: Guild = fake.guild("Support", members=[self.anna, self.ben], locale="en-GB")
        self.channel: Channel = fake.text_channel(self.guild, "support-info")

    def channel_of(self, bot: discord.Client) -> discord.TextChannel:
        found = bot.get_channel(self.channel.id)
        assert isinstance(found, discord.TextChannel)
        return found


@pytest.fixture
async def fake() -> AsyncIterator[FaultyDiscord]:
    async with FaultyDiscord() as server:
        yield server


@pytest.fixture
def room(fake: FaultyDiscord) -> Room:
    return Room(fake)


@asynccontextmanager
async def running(client: discord.Client, fake: FaultyDiscord, *, token: str | None = None) -> AsyncIterator[None]:
    """A client from its being ready to its clean end; an error that ends it is raised here."""
    task = asyncio.create_task(client.start(token or fake.token))
    ready = asyncio.create_task(_ready(client))
    try:
        await asyncio.wait({task, ready}, timeout=10, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        assert ready.done(), "The client did not become ready."
        yield
    finally:
        ready.cancel()
        await client.close()
        await asyncio.gather(task, ready, return_exceptions=True)


async def _ready(client: discord.Client) -> None:
    while not client.is_ready():  # noqa: ASYNC110 - wait_until_ready() may not be called before the login
        await asyncio.sleep(0.005)


def refused(error: pytest.ExceptionInfo[discord.HTTPException]) -> tuple[int, int]:
    return error.value.status, error.value.code


# --- Gateway ----------------------------------------------------------------------------------------------------------


async def test_a_client_becomes_ready_with_the_guilds_channels_and_roles(fake: FaultyDiscord, room: Room) -> None:
    """A client that identifies is told of every guild, and its intents are recorded."""
    bot = Bot()
    async with running(bot, fake):
        guild = bot.guilds[0]
        assert (guild.name, [one.name for one in guild.text_channels]) == ("Support", ["support-info"])
        assert bot.user is not None and guild.me.id == fake.bot.id
        assert bot.application_id == fake.bot.id
    assert fake.gateway.identifies[0]["intents"] == bot.intents.value


async def test_a_wrong_token_is_refused_by_rest_and_gateway(fake: FaultyDiscord) -> None:
    """REST answers a wrong token with 401, and the gateway closes with 4004."""
    with pytest.raises(discord.LoginFailure):
        async with running(Bot(), fake, token="wrong"):
            pass
    async with aiohttp.ClientSession() as http, http.ws_connect(fake.gateway_url + "?v=10&encoding=json") as socket:
        await socket.receive()
        await socket.send_json({"op": 2, "d": {"token": "wrong", "intents": 1}})
        frame = await socket.receive()
        assert (frame.type, socket.close_code) == (aiohttp.WSMsgType.CLOSE, 4004)


async def test_a_dropped_connection_is_resumed_without_losing_events(fake: FaultyDiscord, room: Room) -> None:
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


async def test_message_content_needs_the_intent(fake: FaultyDiscord, room: Room) -> None:
    """Without the intent a message comes empty, except a direct one and one that mentions the bot."""
    bot = Bot(content=False)
    async with running(bot, fake):
        room.anna.write(room.channel, "secret")
        room.anna.write(room.channel, f"{fake.bot.mention} hello")
        room.anna.write(room.anna, "in private")
        await fake.wait_for(lambda: len(bot.got) == 3)
        assert {one.content for one in bot.got} == {"", f"{fake.bot.mention} hello", "in private"}


# --- Messages ---------------------------------------------------------------------------------------------------------


async def test_a_message_longer_than_2000_characters_is_refused(fake: FaultyDiscord, room: Room) -> None:
    """2001 characters are refused with 50035 and a tree that names the field; blanks alone are an empty message."""
    bot = Bot()
    async with running(bot, fake):
        await room.channel_of(bot).send("x" * 2000)
        with pytest.raises(discord.HTTPException) as error:
            await room.channel_of(bot).send("x" * 2001)
        with pytest.raises(discord.HTTPException) as empty:
            await room.channel_of(bot).send(" \n ")
    assert refused(error) == (400, 50035)
    assert "In content:" in error.value.text and "2000" in error.value.text
    assert refused(empty) == (400, 50006)


async def test_only_allowed_mentions_notify(fake: FaultyDiscord, room: Room) -> None:
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


async def test_a_missing_permission_is_named_by_its_code(fake: FaultyDiscord, room: Room) -> None:
    """A channel the bot cannot see gives 50001, a missing right 50013, and an unknown channel 10003."""
    bot = Bot()
    hidden = fake.text_channel(room.guild, "mods", private_to=[room.ben])
    async with running(bot, fake):
        with pytest.raises(discord.Forbidden) as access:
            await bot.get_partial_messageable(hidden.id).send("hello")
        fake.allow(room.channel, fake.bot, deny=Permission.SEND_MESSAGES)
        with pytest.raises(discord.Forbidden) as sending:
            await room.channel_of(bot).send("hello")
        await fake.wait_for(lambda: not room.channel_of(bot).permissions_for(bot.guilds[0].me).send_messages)
        with pytest.raises(discord.NotFound) as unknown:
            await bot.get_partial_messageable(1).send("hello")
        fake.allow(room.channel, fake.bot, deny=Permission.ATTACH_FILES)
        with pytest.raises(discord.Forbidden) as attaching:
            await room.channel_of(bot).send(file=discord.File(io.BytesIO(b"x"), "x.txt"))
    assert [refused(one) for one in (access, sending, unknown, attaching)] == [
        (403, 50001),
        (403, 50013),
        (404, 10003),
        (403, 50013),
    ]


async def test_a_direct_message_can_be_refused(fake: FaultyDiscord, room: Room) -> None:
    """The bot opens a direct conversation and writes; who takes no direct messages cannot be written to."""
    closed = fake.person("closed", accepts_dms=False)
    bot = Bot()
    async with running(bot, fake):
        await (await bot.create_dm(discord.Object(room.anna.id))).send("hello anna")
        with pytest.raises(discord.Forbidden) as error:
            await (await bot.create_dm(discord.Object(closed.id))).send("hello")
    assert [one.content for one in fake.messages(room.anna)] == ["hello anna"]
    assert fake.seen_by(room.ben) == []
    assert refused(error) == (403, 50007)


# --- Commands and interactions ----------------------------------------------------------------------------------------


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
async def test_wrong_commands_are_refused(fake: FaultyDiscord, wrong: dict[str, Any], named: str) -> None:
    """A command with a wrong name, description, translation or option is refused with 50035 at that place."""
    bot = Bot()
    async with bot:
        await bot.login(fake.token)
        good = {"name": "fráge", "description": "x", "type": 1, "name_localizations": {"de": "frage", "th": "ถาม"}}
        await bot.http.bulk_upsert_global_commands(fake.bot.id, [good])  # type: ignore[list-item]
        with pytest.raises(discord.HTTPException) as error:
            await bot.http.bulk_upsert_global_commands(fake.bot.id, [good | wrong])  # type: ignore[list-item]
        assert refused(error) == (400, 50035)
        assert fake.world.calls[-1].answer["errors"]["0"].keys() == {named}


async def test_an_interaction_is_acknowledged_once_and_in_time(fake: FaultyDiscord, room: Room) -> None:
    """A second acknowledgement gives 40060, one after three seconds 10062, and a webhook exists only after the first."""
    bot = Bot()
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


class Question(discord.ui.Modal, title="Your question"):
    """A modal with an old and a new kind of field."""

    text = discord.ui.TextInput[Any](label="Question", style=discord.TextStyle.paragraph, max_length=4000)
    country = discord.ui.Label[Any](text="Country", component=discord.ui.TextInput[Any](required=False))

    async def on_submit(self, interaction: discord.Interaction) -> None:
        await interaction.response.send_message(f"{self.text.value} / {self.country.component.value}", ephemeral=True)


async def test_a_modal_is_opened_filled_in_and_sent(fake: FaultyDiscord, room: Room) -> None:
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
async def test_wrong_components_are_refused(fake: FaultyDiscord, room: Room, components: list[dict[str, Any]]) -> None:
    """Too long labels and ids, ids used twice, too many buttons or rows, and bare buttons are refused with 50035."""
    bot = Bot()
    async with bot:
        await bot.login(fake.token)
        route = discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=room.channel.id)
        with pytest.raises(discord.HTTPException) as error:
            await bot.http.request(route, json={"content": "x", "components": components})
    assert refused(error) == (400, 50035)
    assert fake.messages(room.channel) == []

"""At the gate of the web page: what is refused costs nothing, made-up sessions hold nothing, an address is bounded."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path

import httpx

from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.adapter import WebBot
from adapters.web_adapter.boards import Boards
from adapters.web_adapter.server import Connections
from engine.types import LayerResult, Message, UrgencyLevel
from tests.web import Browser, eventually, listening, running

QUESTION = "what are the voices?"
DANGER = "I want to kill myself tonight"
HOMES = {"trusted_proxies": ("127.0.0.1",)}


class Noting:
    """An urgency layer that notes what it reads."""

    name = "noting"

    def __init__(self) -> None:
        self.read: list[str] = []

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """Finds nothing."""
        self.read.append(message)
        return LayerResult(layer=self.name, level=UrgencyLevel.NONE)


def noting(bot: WebBot) -> Noting:
    """The layer that now reads along."""
    layer, engine = Noting(), bot.site.chat.engine
    object.__setattr__(engine, "fast_layers", (*engine.fast_layers, layer))
    return layer


async def refusals(bot: WebBot, client: httpx.AsyncClient, token: str) -> dict[str, httpx.Response]:
    """The same words of danger, refused for each reason there is."""
    answers: dict[str, httpx.Response] = {}
    answers["no session"] = await httpx_post(bot.address, form=token, text=DANGER)
    answers["wrong token"] = await client.post("/chat", data={"form": "bad", "text": DANGER})
    answers["foreign"] = await client.post(
        "/chat", data={"form": token, "text": DANGER}, headers={"Origin": "https://evil.example"}
    )
    while bot.site.posts.take(client.cookies["cafi-session"].encode()):
        pass
    answers["too many"] = await client.post("/chat", data={"form": token, "text": DANGER})
    return answers


async def httpx_post(address: str, **fields: str) -> httpx.Response:
    """A post of somebody without cookies."""
    async with httpx.AsyncClient(base_url=address) as client:
        return await client.post("/chat", data=fields)


async def test_what_is_refused_is_not_read_and_gets_the_contacts(tmp_path: Path) -> None:
    """Without a session, with a wrong token, from elsewhere, too often: one calm page with contacts, and nobody reads."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        layer = noting(bot)
        for reason, answer in (await refusals(bot, anna.client, anna.token)).items():
            assert answer.status_code in {403, 429}, reason
            assert 'href="tel:' in answer.text.partition("<main")[2], reason
        assert layer.read == []


async def test_messages_beyond_a_chats_limit_are_not_read_and_told_where_help_is(tmp_path: Path) -> None:
    """The sentence for too many messages names the emergency contact; what was refused is not read."""
    async with running(tmp_path, sessions={"messages_a_minute": 4}) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        layer = noting(bot)
        await anna.ask(QUESTION)
        await anna.ask(DANGER)
        await eventually(lambda: not bot.site.dispatch.busy)
        await anna.get("/chat")
        assert "I did not keep the last one" in anna.words and "999" in anna.words.partition("keep the last one")[2]
        assert layer.read == [QUESTION]


async def test_an_address_that_is_refused_again_and_again_gets_one_page_with_contacts(tmp_path: Path) -> None:
    """After twenty refusals a minute the page is the same for everybody, without a cookie, and others notice nothing."""
    async with (
        running(tmp_path, page=HOMES) as bot,
        Browser(bot.address, **{"X-Forwarded-For": "192.0.2.7"}) as mallory,
        Browser(bot.address, **{"X-Forwarded-For": "192.0.2.8"}) as anna,
    ):
        answers = [
            await mallory.client.post("/chat", data={"form": "bad", "text": f"{DANGER} {number}"})
            for number in range(23)
        ]
        assert [one.status_code for one in answers].count(403) == 20
        last, before = answers[-1], answers[-2]
        assert last.status_code == 429 and last.text == before.text and "set-cookie" not in last.headers
        assert 'href="tel:' in last.text and 'name="form"' not in last.text and "kill" not in last.text
        assert (await mallory.client.get("/crisis")).status_code == 200
        await anna.begin()
        assert (await anna.client.post("/chat", data={"form": "bad", "text": "x"})).status_code == 403


async def test_an_address_begins_and_sends_so_much_a_minute(tmp_path: Path) -> None:
    """Chats begun and messages are counted for an address, whatever its sessions; /crisis is never held back."""
    page = {**HOMES, "begun_a_minute": 2, "messages_a_minute": 5}
    home: dict[str, str] = {"X-Forwarded-For": "192.0.2.7"}
    async with (
        running(tmp_path, page=page, sessions={"messages_a_minute": 99}) as bot,
        Browser(bot.address, **home) as first,
        Browser(bot.address, **home) as second,
        Browser(bot.address, **home) as third,
        Browser(bot.address, **{"X-Forwarded-For": "192.0.2.8"}) as other,
    ):
        await first.begin()
        await second.begin()
        await third.get("/")
        await third.post("/begin", language="en")
        assert third.page.status_code == 429 and 'href="tel:' in third.main
        for browser in (first, second, first, second, first):
            assert "Voices are sounds" in await browser.ask(QUESTION)
        await second.ask(QUESTION)
        assert second.page.status_code == 429 and f"{QUESTION}</textarea>" in second.text
        await first.get("/chat")
        await first.post("/press", press="crisis::")
        assert first.page.status_code == 200
        await other.begin()
        assert "Voices are sounds" in await other.ask(QUESTION)


async def test_a_made_up_session_holds_nothing(tmp_path: Path) -> None:
    """A cookie of the right form without a chat gets no stream, no place and no board, with its own form token either."""
    async with running(tmp_path) as bot:
        for _ in range(30):
            cookie = {"Cookie": f"cafi-session={secrets.token_urlsafe(32)}"}
            async with httpx.AsyncClient(base_url=bot.address, headers=cookie) as client:
                events = await client.get("/events")
                assert "anew" in events.text and (await client.get("/chat")).status_code == 303
                page = (await client.get("/look")).text
                token = page.partition('name="form" value="')[2].partition('"')[0]
                await client.post("/vote", data={"form": token, "poll": "x", "option": "y"})
        assert len(bot.site.boards) == 0 and bot.site.places.open == 0


async def test_a_session_without_a_chat_begins_one_within_the_bound(tmp_path: Path) -> None:
    """Words sent with a made-up session and its own token count as a chat that is begun."""
    async with running(tmp_path, page={"begun_a_minute": 3}) as bot:
        statuses = []
        for _ in range(5):
            cookie = {"Cookie": f"cafi-session={secrets.token_urlsafe(32)}", "Accept": "application/json"}
            async with httpx.AsyncClient(base_url=bot.address, headers=cookie) as client:
                page = (await client.get("/look", headers={"Accept": "text/html"})).text
                token = page.partition('name="form" value="')[2].partition('"')[0]
                statuses.append((await client.post("/chat", data={"form": token, "text": QUESTION})).status_code)
        assert statuses == [202, 202, 202, 429, 429] and len(bot.site.boards) == 3


async def test_an_open_page_gets_the_referral_whatever_others_begin(tmp_path: Path) -> None:
    """With room for two chats in memory and five more begun, an open page still hears at once."""
    page = {**HOMES, "kept_pages": 2}
    async with (
        running(tmp_path, page=page) as bot,
        Browser(bot.address, **{"X-Forwarded-For": "192.0.2.8"}) as anna,
    ):
        await anna.begin()
        async with listening(anna, anna.after) as open_page:
            await eventually(lambda: bot.site.places.open == 1)
            for number in range(5):
                async with Browser(bot.address, **{"X-Forwarded-For": f"192.0.2.{number + 20}"}) as other:
                    await other.begin()
                    await other.ask(QUESTION)
            shown = len(open_page.events)
            data = {"form": anna.token, "text": DANGER}
            await anna.client.post("/chat", data=data, headers={"Accept": "application/json"})
            await eventually(lambda: any('class="entry referral"' in one for one in open_page.shown), seconds=5)
            assert not any(one["event"] == "anew" for one in open_page.events[shown:])


def chat(name: str) -> ChatIdentity:
    return ChatIdentity(platform="web", chat=name)


async def test_a_board_that_is_needed_stays_and_one_that_goes_rings() -> None:
    """Busy boards and those with an open page outlast the bound; who waits at one that goes is woken."""
    boards = Boards(most=3)
    busy, open_page, idle = (boards.get(chat(name)) for name in ("busy", "open", "idle"))
    busy.working, boards.most = 1, 2
    with open_page.heard():
        bell = idle.bell
        for number in range(5):
            boards.get(chat(str(number)))
        assert boards.find(chat("busy")) is busy and boards.find(chat("open")) is open_page
        assert boards.find(chat("idle")) is None and bell.is_set()
        assert len(boards) == 3  # those two, and the one seen last
    busy.working = 0
    boards.get(chat("last"))
    assert len(boards) == 2


async def test_a_board_too_old_to_be_kept_rings() -> None:
    """A page that waits at a board which is made anew looks at the new one."""
    now = [0.0]
    boards = Boards(idle_seconds=60, clock=lambda: now[0])
    bell = boards.get(chat("anna")).bell
    now[0] = 61.0
    assert boards.get(chat("anna")).bell is not bell and bell.is_set()
    await asyncio.wait_for(bell.wait(), 1)


def test_connections_are_counted_by_household() -> None:
    """All addresses of an IPv6 /64 share their connections, as they share their requests; another /64 has its own."""
    connections = Connections(overall=100, an_address=2)
    assert connections.take("2001:db8::1") and connections.take("2001:db8::ffff:2")
    assert not connections.take("2001:db8::3") and connections.take("2001:db8:0:1::1")
    assert connections.take("192.0.2.1") and connections.take("::ffff:192.0.2.1") and not connections.take("192.0.2.1")
    connections.give_back("2001:db8::ffff:2")
    assert connections.take("2001:db8::4")

"""Open pages that are told of answers at once: Server-Sent Events over a real connection."""

from __future__ import annotations

from pathlib import Path

import httpx

from tests.web import Browser, eventually, listening, running

QUESTION = "what are the voices?"


async def test_an_answer_comes_to_every_open_page(tmp_path: Path) -> None:
    """Two tabs see the question, that it is worked on, the answer with its buttons, and that it is done."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        async with listening(anna, anna.after) as one, listening(anna, anna.after) as two:
            await one.until("calm")
            await anna.client.post(
                "/chat", data={"form": anna.token, "text": QUESTION}, headers={"Accept": "application/json"}
            )
            for tab in (one, two):
                assert QUESTION in (await tab.until("shown"))["data"]
                answer = await tab.until("shown", 2)
                assert "Voices are sounds" in answer["data"] and 'class="actions"' in answer["data"]
                await tab.until("busy")
                await tab.until("calm", 2)
            assert "anew" not in {event["event"] for event in one.events}


async def test_a_page_that_reconnects_gets_what_it_missed_once(tmp_path: Path) -> None:
    """With the id of the last event a page is sent only what came after it."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        start = anna.after
        await anna.ask(QUESTION)
        async with listening(anna, start) as all_of_it:
            answer = await all_of_it.until("shown", 2)
        async with listening(anna, **{"Last-Event-ID": answer["id"].replace("-2", "-1")}) as rest:
            await rest.until("calm")
            assert [one["id"] for one in rest.events if one["event"] == "shown"] == [answer["id"]]


async def test_after_a_restart_a_page_is_told_to_look_anew(tmp_path: Path) -> None:
    """A page from before a restart has other numbers, and is told to fetch the conversation."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        last, cookies = anna.after, anna.client.cookies
    async with running(tmp_path) as bot, Browser(bot.address) as again:
        again.client.cookies = cookies
        async with listening(again, last) as page:
            await page.until("anew")
        await again.get("/chat")
        assert "Voices are sounds" in again.words


async def test_open_pages_are_told_when_the_chat_is_erased(tmp_path: Path) -> None:
    """Erasing in one tab sends the others to the first page."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        async with listening(anna, anna.after) as tab:
            await tab.until("calm")
            await anna.post("/forget")
            await tab.until("gone")
            await tab.end()


async def test_streams_are_bounded_and_given_back(tmp_path: Path) -> None:
    """Beyond its number a session gets 503 and may go on without; closed pages make room, others are not affected."""
    page = {"streams_a_session": 2, "streams_an_address": 3}
    async with running(tmp_path, page=page) as bot, Browser(bot.address) as anna, Browser(bot.address) as ben:
        await anna.begin()
        await ben.begin()
        async with listening(anna, anna.after) as one, listening(anna, anna.after) as two:
            await one.until("calm")
            await two.until("calm")
            refused = await anna.client.get("/events")
            assert refused.status_code == 503 and refused.headers["connection"] == "close"
            async with listening(ben, ben.after) as three:
                await three.until("calm")
                assert bot.site.places.open == 3
        await eventually(lambda: not bot.site.places.open)
        async with listening(anna, anna.after) as again:
            await again.until("calm")


async def test_the_end_of_the_process_ends_streams(tmp_path: Path) -> None:
    """Open pages do not keep the process from ending."""
    async with Browser("http://127.0.0.1:1") as anna:
        async with running(tmp_path) as bot:
            anna.client.base_url = httpx.URL(bot.address)
            await anna.begin()
            listener = listening(anna, anna.after)
            page = await listener.__aenter__()
            await page.until("calm")
        await page.end()
        await listener.__aexit__(None, None, None)


async def test_nobody_listens_without_a_session(tmp_path: Path) -> None:
    """Without a session there is no stream."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        assert (await anna.get("/events")).status_code == 503

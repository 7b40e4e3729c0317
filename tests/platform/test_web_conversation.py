"""The conversation on the web page, in a browser without JavaScript, the whole house behind it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.conversation.chat import Chat
from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.state import Answered, ChatState
from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.boards import Boards
from adapters.web_adapter.screen import QUIET
from bots.web import web
from tests.team import CITED, scripted
from tests.web import Browser, chats_in, read, running, serving

QUESTION = "what are the voices?"
ANSWER = "Voices are sounds that others do not hear."


async def test_a_first_visit_leads_to_an_answer_with_its_source(tmp_path: Path) -> None:
    """Somebody reads what this is, agrees, asks, and sees the answer with a link to the very passage."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/")
        assert "a computer program (an AI), not with a person" in anna.words
        assert "112" in anna.words and "Nobody" not in anna.words
        await anna.begin()
        assert ANSWER in await anna.ask(QUESTION)
        assert 'href="/sources/schizophrenia/voices#p1">Hearing voices</a>' in anna.main
        await anna.get("/sources/schizophrenia/voices")
        assert 'id="p1"' in anna.main and ANSWER in anna.words


async def test_nobody_gets_to_the_chat_before_they_have_agreed(tmp_path: Path) -> None:
    """Without consent the chat leads back to the first page, and a question waits for it."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/")
        await anna.get("/chat")
        assert anna.page.url.path == "/"
        await anna.ask(QUESTION)
        assert ANSWER not in anna.words and "Shall we begin?" in anna.words
        assert "Which country are you in?" in await anna.press("I understand, begin")
        assert ANSWER in await anna.press("I would rather not say")


async def test_a_question_that_waits_is_answered_after_the_first_page_as_well(tmp_path: Path) -> None:
    """Who sends a question first and then agrees on the first page gets its answer."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/")
        await anna.ask(QUESTION)
        await anna.begin()
        assert ANSWER in anna.words


async def test_a_crisis_message_shows_the_contacts_of_the_country(tmp_path: Path) -> None:
    """The referral names the chosen country's numbers, each of which dials, and is announced at once."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        await anna.ask("I want to kill myself tonight")
        last = anna.entries[-1]
        assert 'class="entry referral"' in last and 'role="alert"' in last
        assert 'href="tel:116123"' in last and "It was a question, I am safe" in last


async def test_contacts_below_an_answer_dial(tmp_path: Path) -> None:
    """While a danger that was told is open, an answer ends with contacts whose numbers are links; no other number is one."""
    draft = {**CITED, "reply": "A fixed time for going to bed can help 999 of us."}
    model = scripted({"agent": draft})
    async with running(tmp_path, model) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        await anna.ask("I want to kill myself tonight")
        await anna.ask("how can I sleep better")
        last = anna.entries[-1]
        assert 'class="entry answer"' in last and "help 999 of us" in last
        assert 'href="tel:999">999</a>, or <a class="tel" href="tel:111">111</a> and the mental' in last
        assert last.count('href="tel:999"') == 1 and last.count('href="tel:') == 3


async def test_the_contacts_are_told_in_the_language_of_the_page(tmp_path: Path) -> None:
    """Hours too, in the panel of every page and in the referral."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(language="de", country="de")
        await anna.ask("Ich will nicht mehr leben")
        assert "rund um die Uhr" in anna.entries[-1]
        assert "at any hour" not in anna.text and "Kontakte für: Deutschland" in anna.text
        await anna.get("/look")
        names = re.findall(
            r'<option value="(?:[a-z]{2})"[^>]*>([^<]*)</option>', anna.text.partition('id="country"')[2]
        )
        assert names[:3] == ["Argentinien", "Australien", "Belgien"] and "Österreich" in names


async def test_help_is_in_every_page_without_javascript(tmp_path: Path) -> None:
    """The contacts stand in the HTML of every page, also of those that say that something did not work."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country="no")
        for path in (
            "/",
            "/chat",
            "/sources",
            "/privacy",
            "/look",
            "/forget",
            "/feedback",
            "/accessibility",
            "/nowhere",
        ):
            await anna.get(path)
            assert 'href="tel:113"' in anna.text, path


async def test_the_answer_can_be_had_simpler_shorter_and_in_parts(tmp_path: Path) -> None:
    """Each wish gives another entry, and only the newest answer has buttons."""
    async with running(tmp_path) as bot:
        for label in ("Simpler", "Shorter", "Example", "Next part"):
            async with Browser(bot.address) as anna:
                await anna.begin()
                await anna.ask(QUESTION)
                before = len(anna.entries)
                await anna.press(label)
                assert len(anna.entries) == before + 2 and f">{label}</p>" in anna.entries[-2]
                assert anna.main.count('class="actions"') <= 1


async def test_an_offer_is_taken_up_in_the_words_of_its_button(tmp_path: Path) -> None:
    """Where another assistant is offered, the buttons are a yes and a no, and the page shows the one that was pressed."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask("how can I sleep better")
        await anna.press("No, thank you")
        assert ">No, thank you</p>" in anna.entries[-2]


async def test_a_question_back_leaves_the_buttons_of_the_answer(tmp_path: Path) -> None:
    """After some answers a structured question follows; the answer before it keeps its buttons, also once it is answered."""
    async with running(tmp_path, real_feedback=True) as bot, Browser(bot.address) as anna:
        await anna.begin()
        for _ in range(5):
            await anna.ask(QUESTION)
        assert 'class="entry question"' in anna.entries[-1] and 'class="actions"' in anna.entries[-2]
        poll = anna.main.partition('name="poll" value="')[2].partition('"')[0]
        await anna.post("/vote", poll=poll, option="")
        assert 'name="poll"' not in anna.main and 'class="actions"' in anna.entries[-2]
        await anna.press("Simpler")
        assert ">Simpler</p>" in anna.entries[-2]


async def test_a_reload_shows_the_same_conversation(tmp_path: Path) -> None:
    """Reloading and coming back by the browser's button show what was there."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        before = anna.entries
        await anna.get("/chat")
        assert anna.entries == before
        await anna.get("/press")
        assert anna.page.url.path == "/chat"


async def test_a_restart_in_mid_conversation_loses_nothing(tmp_path: Path) -> None:
    """After a restart the page shows the conversation, its forms still work, and the buttons go on where they were."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask("how can I sleep better")
        cookies, token = anna.client.cookies, anna.token
    async with running(tmp_path) as bot, Browser(bot.address) as again:
        again.client.cookies = cookies
        await again.get("/chat")
        assert again.token == token
        assert "how can I sleep better" in again.words and "A fixed time for going to bed can help." in again.words
        assert 'href="/sources/schizophrenia/sleep#p1"' in again.main
        await again.press("No, thank you")
        assert len(again.entries) == 4
        await again.ask(QUESTION)
        cookies = again.client.cookies
    async with running(tmp_path) as bot, Browser(bot.address) as third:
        third.client.cookies = cookies
        await third.get("/chat")
        await third.press("Shorter")
        assert len(third.entries) == 8


async def test_i_am_safe_outlives_a_restart(tmp_path: Path) -> None:
    """Somebody whose question was taken for a crisis can still say so after a restart, and gets the answer."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask("I want to kill myself tonight")
        cookies = anna.client.cookies
    async with running(tmp_path) as bot, Browser(bot.address) as again:
        again.client.cookies = cookies
        await again.get("/chat")
        before = len(again.entries)
        await again.press("It was a question, I am safe")
        assert len(again.entries) > before and "It was a question, I am safe</button>" not in again.main


async def test_a_message_that_waited_through_a_restart_is_answered_once_on_the_page(tmp_path: Path) -> None:
    """What was taken and not answered before the process ended is on the page after the next start, each thing once."""
    chats = chats_in(tmp_path)
    async with chats.application.closing:
        await chats.begin()
        bot = web(chats)
        async with serving(bot), Browser(bot.address) as anna:
            await anna.begin()
            cookies = anna.client.cookies
            identity = ChatIdentity(platform="web", chat=cookies["cafi-session"])
            waiting = replace(_incoming(identity), at=chats.store.now())
        await chats.store.take([waiting])
    async with running(tmp_path) as bot, Browser(bot.address) as again:
        again.client.cookies = cookies
        await bot.site.dispatch.idle()
        await again.get("/chat")
        assert again.words.count(QUESTION) == 1 and again.words.count(ANSWER) == 1


async def test_all_that_waited_through_a_restart_is_on_the_page_before_any_of_it_is_answered(tmp_path: Path) -> None:
    """Who comes back sees every message and wish in its place, even one asked before, and that it is being worked on."""
    chats = chats_in(tmp_path)
    async with chats.application.closing:
        await chats.begin()
        bot = web(chats)
        async with serving(bot), Browser(bot.address) as anna:
            await anna.begin()
            await anna.ask(QUESTION)
            cookies = anna.client.cookies
            identity = ChatIdentity(platform="web", chat=cookies["cafi-session"])
        first = replace(_incoming(identity), at=chats.store.now())
        quiet = replace(first, command="language", text="en", place={QUIET: 1})
        await chats.store.take([first, replace(first, command="simpler", text=""), quiet, first])
    release = asyncio.Event()
    handle = Chat.handle

    async def slow(self: Chat, state: ChatState, incoming: Incoming):
        await release.wait()
        async for showing in handle(self, state, incoming):
            yield showing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chat, "handle", slow)
        async with running(tmp_path, page={"answer_seconds": 0.05}) as bot, Browser(bot.address) as again:
            again.client.cookies = cookies
            await again.get("/chat")
            mine = [words for one in again.entries if 'class="entry you"' in one for words in [read(one).split()]]
            assert [" ".join(one[1:]) for one in mine] == [QUESTION, QUESTION, "Simpler", QUESTION]
            assert again.words.count(ANSWER) == 1 and "Looking in the texts" in again.words
            release.set()
            await bot.site.dispatch.idle()
            await again.get("/chat")
            assert len(again.entries) == 8 and "Looking in the texts" not in again.words


def _incoming(identity: ChatIdentity) -> Incoming:
    return Incoming(identity=identity, text=QUESTION, language="en")


async def test_two_tabs_show_one_conversation(tmp_path: Path) -> None:
    """What is asked in one tab is in the other after a reload, and each can go on."""
    async with running(tmp_path) as bot, Browser(bot.address) as one, Browser(bot.address) as two:
        await one.begin()
        two.client.cookies = one.client.cookies
        await two.get("/chat")
        await one.ask(QUESTION)
        assert ANSWER in await two.ask("how can I sleep better")
        assert "A fixed time for going to bed can help." in two.words


async def test_an_expired_session_begins_anew_calmly(tmp_path: Path) -> None:
    """Once the conversation has expired, nothing of it is shown, and the first page says why."""
    chats = chats_in(tmp_path)
    async with chats.application.closing:
        await chats.begin()
        bot = web(chats)
        async with serving(bot), Browser(bot.address) as anna:
            await anna.begin()
            await anna.ask(QUESTION)
            await chats.store.erase(ChatIdentity(platform="web", chat=anna.client.cookies["cafi-session"]))
            await anna.get("/chat")
            assert anna.page.url.path == "/" and "erased after 24 hours" in anna.words
            assert ANSWER not in anna.words


def test_boards_are_few_and_forget_the_oldest() -> None:
    """No more chats are kept in memory than allowed, and an idle one is made anew."""
    now = [0.0]
    boards = Boards(most=3, idle_seconds=60, clock=lambda: now[0])
    first = boards.get(ChatIdentity(platform="web", chat="0"))
    for number in range(1, 5):
        boards.get(ChatIdentity(platform="web", chat=str(number)))
    assert len(boards) == 3 and boards.get(ChatIdentity(platform="web", chat="0")) is not first
    kept = boards.get(ChatIdentity(platform="web", chat="4"))
    now[0] = 61
    assert boards.get(ChatIdentity(platform="web", chat="4")) is not kept


async def test_forgetting_erases_and_says_what(tmp_path: Path) -> None:
    """The chat can be erased after one question, the receipt says what is gone, and the cookie goes with it."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        identity = ChatIdentity(platform="web", chat=anna.client.cookies["cafi-session"])
        await anna.get("/forget")
        await anna.post("/forget")
        assert "our conversation and your settings (messages: 2)" in anna.words
        assert "cafi-session" not in anna.client.cookies
        assert (await bot.store.load(identity)).state is None and bot.site.boards.find(identity) is None


async def test_leaving_quickly_erases_and_names_nothing(tmp_path: Path) -> None:
    """Quick exit takes the cookies and the chat away, and its page says nothing but where to go."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        identity = ChatIdentity(platform="web", chat=anna.client.cookies["cafi-session"])
        await anna.post("/leave")
        assert 'content="0;url=https://www.wikipedia.org/"' in anna.text and "CAFI" not in anna.text
        assert not anna.client.cookies and (await bot.store.load(identity)).state is None


@pytest.mark.parametrize("text", ["/forget", "/stop"])
async def test_commands_that_erase_ask_once(tmp_path: Path, text: str) -> None:
    """Typing such a command leads to the page that asks, and erases nothing yet."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(text)
        assert anna.page.url.path == "/forget"


async def test_typed_commands_work_and_are_links_where_they_are_named(tmp_path: Path) -> None:
    """A command can be typed as on other platforms, and commands in our own words lead to their pages."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        assert "Who can read this chat?" in await anna.ask("/whocanread")
        await anna.ask("/help")
        assert '<a href="/forget">/forget</a>' in anna.main


async def test_a_slow_answer_leaves_a_page_that_can_be_looked_at_again(tmp_path: Path) -> None:
    """Without JavaScript nobody waits for ever: the page says that it works on it, and has the answer later."""
    release = asyncio.Event()

    async with running(tmp_path, scripted({}), page={"answer_seconds": 0.05}) as bot, Browser(bot.address) as anna:
        model = bot.chat.engine.assistants["schizophrenia"].teams[0]
        assert not model.built_in
        await anna.begin()
        handle = Chat.handle

        async def slow(self: Chat, state: ChatState, incoming):
            await release.wait()
            async for showing in handle(self, state, incoming):
                yield showing

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Chat, "handle", slow)
            await anna.ask("how can I sleep better")
            assert "Looking in the texts" in anna.words and "Look again" in anna.words
            release.set()
            await bot.site.dispatch.idle()
        await anna.get("/chat")
        assert "A fixed time for going to bed can help." in anna.words and "Look again" not in anna.words


# --- Feedback -----------------------------------------------------------------------------------------------------------


class Noted:
    """A feedback port that notes what reaches it, and has two questions."""

    def __init__(self) -> None:
        self.events: list[tuple[str, ...]] = []

    async def thumb(self, about: Answered, platform: str, *, helpful: bool) -> None:
        self.events.append(("thumb", platform, str(helpful), *about.sources))

    async def chosen(self, about: Answered, platform: str, question: str, option: str) -> bool:
        self.events.append(("chosen", platform, question, option))
        return True

    async def due(self, identity: ChatIdentity, state: ChatState, language: str) -> Poll | None:
        return await self.asked_for(state, language)

    async def asked_for(self, state: ChatState, language: str) -> Poll | None:
        about = state.answer(None)
        left = [one for one in ("clarity", "trust") if one not in state.asked]
        options = (("easy", "Easy"), ("hard", "Hard"))
        return Poll(question=left[0], text="How easy?", options=options, about=about) if about and left else None


async def test_feedback_is_chosen_never_written(tmp_path: Path) -> None:
    """Thumbs, the question in the chat and the one on its own page all reach the port, and only what is on offer."""
    noted = Noted()
    chats = chats_in(tmp_path, given={"feedback": noted})
    async with chats.application.closing:
        await chats.begin()
        async with serving(web(chats)) as bot, Browser(bot.address) as anna:
            await anna.begin()
            await anna.ask(QUESTION)
            poll = anna.main.partition('name="poll" value="')[2].partition('"')[0]
            await anna.post("/vote", poll=poll, option="easy")
            assert "Only the count is kept" in anna.words and 'name="poll"' not in anna.main
            await anna.post("/vote", poll=poll, option="easy")
            await anna.get("/feedback")
            name = anna.main.partition('name="poll" value="')[2].partition('"')[0]
            await anna.post("/feedback", poll=name, option="<script>")
            assert anna.page.status_code == 400
            await anna.get("/feedback")
            name = anna.main.partition('name="poll" value="')[2].partition('"')[0]
            await anna.post("/feedback", poll=name, option="hard")
            assert noted.events == [("chosen", "web", "clarity", "easy"), ("chosen", "web", "trust", "hard")]
            await anna.get("/chat")
            await anna.press("Helpful")
            assert noted.events[-1] == ("thumb", "web", "True", "voices")


async def test_without_feedback_its_page_says_so(tmp_path: Path) -> None:
    """Where feedback is off there is no link to it, and its page says that it is off."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/feedback")
        assert "switched off" in anna.words and 'href="/feedback"' not in anna.text

"""What people do on the page, with a real browser and JavaScript."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import Request, Route

from tests.browser.conftest import Visiting
from tests.browser.served import EXIT, Served
from tests.browser.visitor import CRISIS, DESKTOP, PHONE, QUESTION

_PLACE = "one => document.querySelector(one).getBoundingClientRect().top + scrollY"


async def test_a_first_visit_leads_to_a_cited_answer(visit: Visiting) -> None:
    """Somebody on a phone reads what this is, agrees, asks, and opens the text that the answer rests on."""
    anna = await visit(viewport=PHONE)
    await anna.go("/")
    assert "a computer program (an AI), not with a person" in await anna.page.inner_text("main")
    await anna.begin()
    assert "From the text" in await anna.ask(QUESTION)
    assert await anna.width_to_spare() <= 0
    await anna.page.click(".from a.cite")
    await anna.page.wait_for_url(re.compile(r"/sources/schizophrenia/\w+#p\d+$"))
    assert await anna.page.locator(".passage:target").is_visible()


async def test_room_is_kept_for_a_picture_that_comes_late(visit: Visiting) -> None:
    """What stands below a picture stays where it is when the picture comes, under an answer and in a source."""
    anna = await visit(viewport=PHONE)
    arrived = asyncio.Event()

    async def late(route: Route) -> None:
        await arrived.wait()
        await route.continue_()

    await anna.begin()
    await anna.page.route("**/media/**", late)
    await anna.ask(QUESTION)
    for below in (".entry.answer .from", "footer"):
        place = await anna.page.evaluate(_PLACE, below)
        arrived.set()
        await anna.page.locator("figure img").evaluate("one => { one.scrollIntoView(); return one.decode(); }")
        assert await anna.page.evaluate(_PLACE, below) == place
        arrived.clear()
        await anna.page.goto(f"{anna.address}/sources/schizophrenia/causes", wait_until="domcontentloaded")
        await anna.page.wait_for_selector("figure img")
    arrived.set()


async def test_a_crisis_message_is_answered_with_contacts_that_dial(visit: Visiting) -> None:
    """The referral comes at once, is announced, names the country's numbers; and the help above is one click away."""
    anna = await visit(viewport=PHONE)
    await anna.begin()
    assert "116 123" in await anna.ask(CRISIS, "referral")
    assert await anna.page.locator(".referral [role=alert] a[href='tel:116123']").first.is_visible()
    assert await anna.page.locator("text=It was a question, I am safe").is_visible()
    await anna.page.click("#help summary")
    assert await anna.page.locator(".help-panel a[href='tel:116123']").is_visible()


async def test_a_message_that_is_refused_still_gets_help(visit: Visiting, served: Served) -> None:
    """Beyond the limit the words stay in their field, and a line says so and where help is."""
    anna = await visit(viewport=PHONE)
    await anna.begin()
    posts = served.bot.site.posts
    usual, posts.a_minute = posts.a_minute, 0
    try:
        await anna.page.fill("#text", CRISIS)
        await anna.page.click("#ask .primary")
        await anna.page.locator("#status", has_text="did not go through").wait_for()
        assert "In an emergency: " in await anna.page.inner_text("#status")
        assert await anna.page.input_value("#text") == CRISIS
    finally:
        posts.a_minute = usual
    await anna.page.click("#ask .primary")
    assert "999" in await anna.next(0, "referral")


async def test_the_answer_can_be_had_otherwise_and_goes_on(visit: Visiting) -> None:
    """Simpler and Next part give a new answer each, and the buttons move to it."""
    anna = await visit()
    await anna.begin()
    first = await anna.ask(QUESTION)
    simpler = await anna.press("Simpler")
    more = await anna.press("Next part")
    assert len({first, simpler, more}) == 3
    assert await anna.page.locator(".actions").count() == 1
    assert [one.split("\n")[-1] for one in await anna.entries("you")] == [QUESTION, "Simpler", "Next part"]


async def test_the_passage_opens_beside_the_chat(visit: Visiting) -> None:
    """On a wide screen the exact passage stands beside the answer, marked, and closing it gives the whole width back."""
    anna = await visit(viewport=DESKTOP)
    await anna.begin()
    answer = await anna.ask(QUESTION)
    await anna.page.click(".from a.cite")
    passage = anna.page.locator("#beside .passage.here")
    await passage.wait_for()
    assert (await passage.inner_text()).split(".")[0] in answer
    assert anna.page.url.endswith("/chat")
    await anna.page.click("#close")
    assert not await anna.page.locator("#beside").is_visible()


async def test_a_thumb_and_a_question_back_are_counted(visit: Visiting, served: Served) -> None:
    """A thumb is thanked for; after five answers one question with fixed options comes, once, and can be answered."""
    anna = await visit()
    await anna.begin()
    await anna.ask(QUESTION)
    await anna.page.click(".actions button[value^='thumb:']:first-child")
    await anna.page.locator("#status", has_text="Thank").wait_for()
    for _ in range(4):
        await anna.ask(QUESTION)
    poll = anna.page.locator(".entry.question .poll")
    await poll.wait_for()
    assert await anna.page.locator(".actions >> text=Simpler").is_visible()
    await poll.locator("button").first.click()
    await poll.wait_for(state="detached")
    await anna.page.locator("#status", has_text="Only the count").wait_for()


async def test_the_feedback_page_asks_one_question(visit: Visiting) -> None:
    """Who wants to be asked chooses one of the fixed answers and is thanked."""
    anna = await visit()
    await anna.begin()
    await anna.ask(QUESTION)
    await anna.page.click("footer >> text=Feedback")
    await anna.page.locator(".choice").first.click()
    await anna.page.click(".begin .primary")
    assert "Only the count is kept" in await anna.page.locator("main [role=status]").inner_text()


async def test_the_language_can_be_changed_before_and_after(visit: Visiting) -> None:
    """The first page in another language is one link away; later it is chosen under language and display."""
    anna = await visit()
    await anna.go("/")
    await anna.page.click("text=Deutsch >> visible=true")
    assert await anna.page.get_attribute("html", "lang") == "de"
    await anna.begin(language="de")
    assert "Simpler" not in await anna.ask(QUESTION)
    await anna.go("/look?back=/chat")
    await anna.page.select_option("#language", "nb")
    await anna.page.click(".begin .primary")
    await anna.listening()
    assert await anna.page.get_attribute("html", "lang") == "nb"
    assert QUESTION in (await anna.entries("you"))[0]


async def test_everything_works_without_javascript(visit: Visiting) -> None:
    """Form posts carry the whole conversation: question, button, crisis, feedback, erasing; help opens as well."""
    anna = await visit(java_script_enabled=False, viewport=PHONE)
    await anna.begin()
    await anna.ask(QUESTION)
    await anna.press("Simpler")
    assert "116 123" in await anna.ask(CRISIS, "referral")
    await anna.page.click("#help summary")
    assert await anna.page.locator(".help-panel .number").first.is_visible()
    await anna.page.click("#help summary")
    await anna.page.click(".tools >> text=Erase this chat")
    await anna.page.click("main .primary")
    assert "It is erased" in await anna.page.inner_text("h1")


async def test_back_shows_the_conversation_and_sends_nothing_again(visit: Visiting, served: Served) -> None:
    """Going to a source and back, by the browser's buttons, changes nothing of the conversation."""
    for javascript in (True, False):
        anna = await visit(viewport=PHONE, java_script_enabled=javascript)
        await anna.begin()
        await anna.ask(QUESTION)
        before = await anna.entries()
        await anna.page.click(".from a.cite")
        await anna.page.wait_for_url("**/sources/**")
        await anna.page.go_back()
        await anna.listening()
        assert await anna.entries() == before
        assert await anna.ask(QUESTION)


async def test_two_tabs_show_one_conversation(visit: Visiting) -> None:
    """What is asked in one tab appears in the other by itself, once."""
    anna = await visit()
    await anna.begin()
    other = await anna.context.new_page()
    await other.goto(anna.address + "/chat")
    answer = await anna.ask(QUESTION)
    await other.locator(".entry.answer").wait_for()
    assert await other.locator(".entry").count() == 2
    assert (await other.locator(".entry.answer .words").inner_text()) in answer
    await other.fill("#text", QUESTION)
    await other.click("#ask .primary")
    assert await anna.next(1)
    assert await anna.page.locator(".entry").count() == 4


async def test_a_reload_shows_the_same(visit: Visiting) -> None:
    """After a reload the conversation and its buttons are there."""
    anna = await visit()
    await anna.begin()
    await anna.ask(QUESTION)
    before = await anna.entries()
    await anna.page.reload()
    assert await anna.entries() == before
    await anna.press("Shorter")


async def test_an_expired_session_says_so_calmly(visit: Visiting, served: Served) -> None:
    """Who comes back after a day reads why nothing is there, and can begin anew; what they had just written is answered."""
    anna = await visit()
    await anna.begin()
    await anna.ask(QUESTION)
    await served.expire(await anna.session())
    await anna.page.reload()
    assert "erased after 24 hours" in await anna.page.inner_text("[role=status]")
    await anna.page.click(".begin .primary")
    await anna.listening()
    assert await anna.entries() == []
    assert await anna.ask(QUESTION)


async def test_a_restart_in_mid_conversation_goes_unnoticed(visit: Visiting, served: Served) -> None:
    """While the server is away the text stays in its field and a word says so; afterwards the same page goes on."""
    anna = await visit()
    await anna.begin()
    await anna.ask(QUESTION)
    before = await anna.entries("answer")
    await served.stop()
    await anna.page.evaluate("document.getElementById('text').value = 'what can hearing voices be like'")
    # What a press would do while the stream is still thought to be there; later the browser itself says that nobody answers.
    await anna.page.evaluate("document.getElementById('ask').requestSubmit()")
    await asyncio.sleep(0.3)
    await served.start()
    if not anna.page.url.startswith(served.address):  # the browser's own error page: people press reload there
        await anna.page.goto(f"{served.address}/chat")
    else:
        assert await anna.page.input_value("#text") == "what can hearing voices be like"
    await anna.ask("what can hearing voices be like")
    answers = await anna.entries("answer")
    assert len(answers) == 2 and answers[0].split("\n")[0] == before[0].split("\n")[0]
    await anna.press("Simpler")


async def test_erasing_is_asked_once_and_then_done_in_every_tab(visit: Visiting) -> None:
    """The chat is erased, the receipt says what that was, no cookie stays, and another open tab leaves the conversation."""
    anna = await visit()
    await anna.begin()
    await anna.ask(QUESTION)
    other = await anna.context.new_page()
    await other.goto(anna.address + "/chat")
    await anna.page.click(".tools >> text=Erase this chat")
    await anna.page.click("main .primary")
    assert "messages: 2" in await anna.page.inner_text("main")
    await other.wait_for_url(anna.address + "/")
    assert "Is it my fault" not in await other.inner_text("body")


async def test_leaving_quickly_leaves_nothing_behind(visit: Visiting, served: Served) -> None:
    """One press: another site in place of ours, the chat erased, the cookies gone, and Back does not show it."""
    anna = await visit()
    await anna.context.route(
        f"{EXIT}**", lambda route: route.fulfill(body="<h1>elsewhere</h1>", content_type="text/html")
    )
    await anna.begin()
    await anna.ask(QUESTION)
    session = await anna.session()
    await anna.page.click(".leave button")
    await anna.page.wait_for_url(EXIT)
    async with asyncio.timeout(10):
        while await anna.session() == session:  # noqa: ASYNC110 - the browser rings no bell
            await asyncio.sleep(0.05)
    await anna.page.go_back()
    assert "fault" not in await anna.page.inner_text("body")


async def test_printing_stays_in_the_browser(visit: Visiting) -> None:
    """The button prints, nothing is sent for it, and on paper there is the conversation without the controls."""
    anna = await visit()
    await anna.context.add_init_script("window.print = () => { window.printed = true; }")
    await anna.begin()
    await anna.ask(QUESTION)
    asked: list[str] = []

    def note(request: Request) -> None:
        # A picture of the answer is fetched when the page scrolls to the button, whether or not anybody prints.
        if request.resource_type != "image":
            asked.append(request.url)

    anna.page.on("request", note)
    await anna.page.click("#print")
    assert await anna.page.evaluate("window.printed") and asked == []
    await anna.page.emulate_media(media="print")
    assert await anna.page.locator(".entry.answer .words").is_visible()
    for hidden in ("#ask", ".top", ".actions", "p.tools", "form.tools"):
        assert not await anna.page.locator(hidden).is_visible()

"""Every flow with the keyboard alone: what has the focus can be seen at every step, and the focus is never lost."""

from __future__ import annotations

from tests.browser.conftest import Visiting
from tests.browser.served import EXIT, Served
from tests.browser.visitor import CRISIS, DESKTOP, PHONE, QUESTION, Visitor
from tests.web import TOKEN


async def begun(anna: Visitor) -> None:
    """From the first page into the conversation."""
    await anna.go("/")
    await anna.tab_to(".begin .primary")
    await anna.keys("Enter")
    await anna.listening()


async def asked(anna: Visitor, text: str = QUESTION, kind: str = "answer") -> str:
    """A question by keyboard; the page shows the answer from its beginning, and the focus stays in the field below it."""
    before = await anna.page.locator(f".entry.{kind}").count()
    await anna.tab_to("#text")
    await anna.type(text)
    await anna.keys("Enter")
    said = await anna.next(before, kind)
    assert await anna.page.evaluate("document.activeElement.id") == "text"
    return said


async def test_a_first_visit_by_keyboard(visit: Visiting) -> None:
    """Skip link, language and country by typing, agree, ask, open the source."""
    anna = await visit(viewport=PHONE)
    await anna.go("/")
    await anna.tab_to(".skip")
    await anna.keys("Enter")
    await anna.tab_to("#language", most=8)
    await anna.tab_to("#country", most=1)
    await anna.type("United K")
    await anna.tab_to(".begin .primary", most=1)
    await anna.keys("Enter")
    await anna.listening()
    await asked(anna)
    await anna.tab_to(".from a.cite", back=True)
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/sources/**")


async def test_help_by_keyboard(visit: Visiting) -> None:
    """Help opens with Space, its numbers come next, and Escape closes it and gives the focus back."""
    anna = await visit(viewport=PHONE)
    await begun(anna)
    await anna.tab_to("#help summary", back=True)
    await anna.keys("Space")
    await anna.tab_to("#help .number", most=3)
    await anna.keys("Escape")
    assert (await anna.focus())["name"] == "summary"
    assert not await anna.page.locator(".help-panel").is_visible()


async def test_all_contacts_by_keyboard(visit: Visiting) -> None:
    """From the help on every page to the page of all contacts, to a number there, and back to the chat."""
    anna = await visit(viewport=PHONE)
    await begun(anna)
    await anna.tab_to("#help summary", back=True)
    await anna.keys("Enter")
    await anna.tab_to(".help-panel a[href='/crisis']")
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/crisis")
    await anna.tab_to("main .number")
    await anna.tab_to("main a.button[href='/chat']")
    await anna.keys("Enter")
    await anna.listening()


async def test_a_crisis_by_keyboard(visit: Visiting) -> None:
    """The referral's numbers and “I am safe” are reached, and pressing it keeps the focus on what comes."""
    anna = await visit(viewport=PHONE)
    await begun(anna)
    await asked(anna, CRISIS, "referral")
    await anna.tab_to(".referral .actions button", back=True)
    await anna.tab_to(".referral a.tel", back=True)
    await anna.tab_to(".referral .actions button")
    before = len(await anna.entries())
    await anna.keys("Enter")
    await anna.page.locator(".entry").nth(before + 1).wait_for()
    await anna.focus()


async def test_the_buttons_under_an_answer_by_keyboard(visit: Visiting) -> None:
    """After a suggestion, one of its questions and every wish the focus is on what was said, and Tab goes on from there."""
    anna = await visit(viewport=DESKTOP)
    await begun(anna)
    await anna.tab_to(".examples button[value^='topic::']", back=True)
    await anna.keys("Enter")
    await anna.page.locator(".actions button[value^='section:']").first.wait_for()
    await anna.tab_to(".actions button[value^='section:']")
    await anna.keys("Enter")
    await anna.next(0)
    assert "you" in str(await anna.page.evaluate("document.activeElement.className"))
    for count, label in enumerate(("more", "simpler", "shorter"), start=1):
        await anna.tab_to(f".actions button[value^='{label}:']")
        await anna.keys("Space")
        await anna.next(count)
        await anna.focus()
    await anna.tab_to(".actions button[value^='thumb:']", most=12)
    await anna.keys("Enter")
    await anna.page.locator("#status", has_text="Thank").wait_for()
    await anna.focus()


async def test_a_passage_by_keyboard(visit: Visiting) -> None:
    """It opens with Enter and has the focus, wherever it stands in its text; Escape closes it and leads back to the link."""
    anna = await visit(viewport=DESKTOP)
    await begun(anna)
    await asked(anna)
    await anna.tab_to(".from a.cite", back=True)
    await anna.keys("Enter")
    await anna.page.locator("#beside .here").wait_for()
    await anna.focus()
    assert await anna.page.evaluate("document.activeElement.matches('#beside .here')")
    await anna.keys("Escape")
    assert not await anna.page.locator("#beside").is_visible()
    assert "cite" in str(await anna.page.evaluate("document.activeElement.className"))
    await anna.focus()


async def test_the_sources_by_keyboard(visit: Visiting) -> None:
    """From the menu to the list, a title by its words, the text, back to the list, back to the conversation."""
    anna = await visit(viewport=DESKTOP)
    await begun(anna)
    await asked(anna)
    before = await anna.entries()
    await anna.tab_to(".menu a[href='/sources']", back=True)
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/sources")
    await anna.tab_to("input[type=search]")
    await anna.type("sleep")
    await anna.keys("Enter")
    assert all("leep" in one for one in await anna.page.locator(".titles a:visible").all_inner_texts())
    assert anna.page.url.endswith("/sources")
    await anna.tab_to(".titles a")
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/sources/*/*")
    await anna.tab_to(".anchor")
    await anna.tab_to(".crumbs a[href='/sources']", back=True)
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/sources")
    await anna.tab_to(".menu a[href='/chat']")
    await anna.keys("Enter")
    await anna.listening()
    assert await anna.entries() == before


async def test_nothing_glides_for_whoever_goes_by_keyboard(visit: Visiting) -> None:
    """Where the browser may move things smoothly, the page is where it will stay as soon as an answer is there."""
    anna = await visit(viewport=PHONE, reduced_motion="no-preference")
    await begun(anna)
    for _ in range(2):
        await asked(anna)
        place = await anna.page.evaluate("scrollY")
        await anna.page.wait_for_timeout(800)  # longer than a smooth scroll takes
        assert abs(await anna.page.evaluate("scrollY") - place) < 40
        await anna.tab_to(".actions button", back=True, most=1)


async def test_a_question_back_by_keyboard(visit: Visiting) -> None:
    """An option is chosen with Space, and the focus stays in the conversation."""
    anna = await visit()
    await begun(anna)
    await asked(anna)
    for _ in range(4):
        await anna.ask(QUESTION)
    await anna.page.locator(".poll").wait_for()
    await anna.tab_to(".poll button", back=True)
    await anna.keys("Space")
    await anna.page.locator(".poll").wait_for(state="detached")
    await anna.focus()


async def test_feedback_and_display_by_keyboard(visit: Visiting) -> None:
    """Radio buttons with arrows and Space; language by typing; each page says what was done."""
    anna = await visit()
    await begun(anna)
    await asked(anna)
    await anna.tab_to("footer a[href='/feedback']")
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/feedback")
    await anna.tab_to("input[name=option]")
    await anna.keys("Space")
    await anna.tab_to(".begin .primary")
    await anna.keys("Enter")
    await anna.page.locator("main [role=status]").wait_for()
    await anna.tab_to("footer a[href='/look']")
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/look")
    await anna.tab_to("#language")
    await anna.type("Norsk")
    await anna.tab_to("input[name=size]")
    await anna.keys("ArrowDown")
    await anna.tab_to(".begin .primary")
    await anna.keys("Enter")
    await anna.page.locator("main [role=status]").wait_for()
    await anna.page.wait_for_load_state()
    assert await anna.page.get_attribute("html", "class") == "size-1 theme-a js"
    assert await anna.page.get_attribute("html", "lang") == "nb"


async def test_country_and_colours_by_keyboard(visit: Visiting) -> None:
    """Chosen by typing and with arrows; the chat is dark then, and its help is the other country's."""
    anna = await visit(viewport=PHONE)
    await begun(anna)
    await anna.tab_to(".tools a[href^='/look']")
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/look")  # what stands behind the path, the page takes away at once
    await anna.tab_to("#country")
    await anna.type("Norw")
    await anna.tab_to("input[name=theme]")
    await anna.keys("ArrowDown", "ArrowDown")
    await anna.focus()
    await anna.tab_to(".begin .primary", most=1)
    await anna.keys("Enter")
    await anna.listening()
    assert await anna.page.get_attribute("html", "class") == "size-0 theme-d js"
    assert await anna.page.locator(".help-panel a[href='tel:113']").count()


async def test_the_operator_by_keyboard(visit: Visiting) -> None:
    """Log in, pause, go on, log out: each is reached, and what it did can be read."""
    otto = await visit(viewport=DESKTOP)
    await otto.go("/operator")
    await otto.tab_to("#operator-token")
    await otto.type(TOKEN)
    await otto.keys("Enter")
    await otto.page.locator(".operator").wait_for()
    for button, said in (("pause", "Paused"), ("resume", "Running.")):
        await otto.tab_to(f"button[value={button}]")
        await otto.keys("Enter")
        await otto.page.locator(".operator .pair p", has_text=said).wait_for()
    await otto.tab_to("button[value=logout]")
    await otto.keys("Space")
    await otto.page.locator("#operator-token").wait_for()


async def test_printing_and_erasing_by_keyboard(visit: Visiting) -> None:
    """Both are reached from the question, and erasing asks once."""
    anna = await visit()
    await anna.context.add_init_script("window.print = () => { window.printed = true; }")
    await begun(anna)
    await asked(anna)
    await anna.tab_to("#print")
    await anna.keys("Enter")
    assert await anna.page.evaluate("window.printed")
    await anna.tab_to(".tools a[href='/forget']", most=1)
    await anna.keys("Enter")
    await anna.page.wait_for_url("**/forget")
    await anna.tab_to("main .primary")
    await anna.keys("Enter")
    await anna.page.locator("h1", has_text="It is erased").wait_for()


async def test_leaving_quickly_by_keyboard(visit: Visiting) -> None:
    """The way out is a few steps back from the question, and Enter takes it."""
    anna = await visit()
    await anna.context.route(f"{EXIT}**", lambda route: route.fulfill(body="<h1>elsewhere</h1>"))
    await begun(anna)
    await anna.tab_to(".leave button", back=True)
    await anna.keys("Enter")
    await anna.page.wait_for_url(EXIT)


async def reached(anna: Visitor, selector: str) -> None:
    """Press Tab until something has the focus; asked of the style sheet, as no script runs in the page."""
    for _ in range(40):
        await anna.keys("Tab")
        if await anna.page.locator(f"{selector}:focus-visible").count():
            return
    raise AssertionError(f"{selector} was not reached")


async def test_without_javascript_by_keyboard(visit: Visiting, served: Served) -> None:
    """The form posts are reached and sent with Tab and Enter alone."""
    anna = await visit(java_script_enabled=False)
    await anna.go("/")
    await reached(anna, ".begin .primary")
    await anna.keys("Enter")
    await anna.listening()
    await reached(anna, "#text")
    await anna.type(QUESTION)
    await anna.keys("Tab", "Enter")
    await anna.next(0)
    assert QUESTION in (await anna.entries("you"))[0]

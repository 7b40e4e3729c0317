"""Topics to browse: pages of buttons, in the chat's language, that every platform can carry."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from adapters.conversation.chat import Chat
from adapters.conversation.outgoing import BUTTON_BYTES, Button, Outgoing
from adapters.conversation.topics import A_PAGE, CATEGORIES_A_PAGE
from adapters.discord_adapter.message_text import LABEL_CHARACTERS
from adapters.discord_adapter.wire import IN_A_ROW, ROWS, coded
from bots.terminal import terminal_chat
from tests.chats import begun, chat_over, last, shown
from tests.shelves import SECTIONS, shelves
from tests.team import shipped

LANGUAGES = ("en", "de", "es", "fr", "nb")


@cache
def shipped_chat() -> Chat:
    """A chat over the shipped knowledge base."""
    return terminal_chat(shipped())


async def pressed(chat: Chat, button: Button, language: str) -> Outgoing:
    """What pressing a button shows."""
    return (await shown(chat, begun(chat, language=language), button.argument, button.command, about=button.about))[-1]


def buttons(outgoing: Outgoing, command: str) -> list[Button]:
    """The buttons of one command."""
    return [one for row in outgoing.buttons for one in row if one.command == command]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_section_of_every_source_is_reached_by_buttons(language: str) -> None:
    """Categories, titles, questions, page after page: nothing is left out, and each page fits every platform."""
    chat = shipped_chat()
    knowledge = chat.engine.assistants[chat.engine.default].knowledge
    reached: set[tuple[str, str]] = set()
    waiting, seen = [Button(label="", command="topics")], set[str]()
    while waiting:
        button = waiting.pop()
        if button.code() in seen:
            continue
        seen.add(button.code())
        if button.command == "section":
            found = chat.pages.browsed.section(begun(chat), button.argument)
            assert found is not None and found.words == button.label
            reached.add(found.section)
            continue
        page = await pressed(chat, button, language)
        assert fitting(page)
        waiting += [one for row in page.buttons for one in row]
    assert reached == {(source.id, one.id) for source in knowledge.sources.values() for one in source.sections}


def fitting(page: Outgoing) -> bool:
    """Whether Telegram carries every button, and Discord shows all of them with their labels whole."""
    flat = [one for row in page.buttons for one in row]
    rows = coded(page.buttons, owner=2**63, context=str(2**63))
    carried = all(len(one.code().encode()) <= BUTTON_BYTES and 0 < len(one.label) <= LABEL_CHARACTERS for one in flat)
    few = all(len(buttons(page, one)) <= A_PAGE + 1 for one in ("topic", "section"))
    laid_out = len(rows) <= ROWS and all(len(row) <= IN_A_ROW for row in rows)
    return carried and few and laid_out and sum(map(len, rows)) == len(flat) and len(flat) <= CATEGORIES_A_PAGE + 2


async def test_titles_and_questions_are_in_the_language_of_the_chat() -> None:
    """Category, title and question are German in a German chat; a question is answered as one that was asked in German."""
    chat = shipped_chat()
    titles = await pressed(chat, Button(label="", command="category", argument="medicine"), "de")
    assert titles.text.startswith("Medikamente: nehmen, ändern, absetzen\n")
    (clozapine,) = [one for one in buttons(titles, "topic") if one.label == "Clozapin"]
    question = buttons(await pressed(chat, clozapine, "de"), "section")[0]
    assert question.label == "Was ist Clozapin?"
    answer = await pressed(chat, question, "en")
    assert answer.turn is not None and answer.turn.language == "de" and answer.turn.reply.citations == ("clozapine",)


async def test_a_title_with_many_sections_has_pages(tmp_path: Path) -> None:
    """Eight questions stand on a page; the last page leads to the first, and the way back to the topics is on each."""
    text = "".join(f"## Part {number}\n\nText of part {number}.\n\n" for number in range(10))
    shelves(tmp_path)
    (tmp_path / "manifest.yaml").unlink()
    (tmp_path / "long.md").write_text(text, encoding="utf-8")
    chat = chat_over(tmp_path)
    page, state = await last(chat, begun(chat), "long", "topic")
    first, (more,) = buttons(page, "section"), buttons(page, "topic")
    assert len(first) == 8 and more.label == "More questions" and buttons(page, "topics")
    page, state = await last(chat, state, more.argument, more.command)
    assert len(buttons(page, "section")) == 2 and buttons(page, "topics")
    page, state = await last(chat, state, buttons(page, "topic")[0].argument, "topic")
    assert buttons(page, "section") == first
    assert state.conversation == begun(chat).conversation, "looking around is no part of the conversation"


async def test_a_knowledge_base_without_categories_shows_its_titles(tmp_path: Path) -> None:
    """Nobody has to write categories: then the topics are the titles, as they are in the sources."""
    chat = chat_over(tmp_path)
    page, _ = await last(chat, begun(chat), command="topics")
    assert [one.label for one in buttons(page, "topic")] == ["Sleep", "Hearing voices"] and len(page.buttons) == 2


@pytest.mark.parametrize(
    ("command", "argument"),
    [("topic", "nothing"), ("topic", ""), ("category", "nothing"), ("category", "days x"), ("topic", "alcohol 99999")],
)
async def test_a_name_that_is_not_ours_shows_a_way_on(tmp_path: Path, command: str, argument: str) -> None:
    """Whatever a button or somebody's typing holds, there is a page with something to press."""
    chat = chat_over(shelves(tmp_path))
    page, _ = await last(chat, begun(chat), argument, command)
    assert page.buttons and page.turn is None


@pytest.mark.parametrize("argument", ["", "x", "000000000000 en", f"{'0' * 60}"])
async def test_a_section_that_is_not_there_is_too_old(tmp_path: Path, argument: str) -> None:
    """One calm sentence, and no answer to something else."""
    chat = chat_over(shelves(tmp_path))
    page, _ = await last(chat, begun(chat), argument, "section")
    assert page.turn is None and page.text.startswith("That button belongs to an earlier answer.")


async def test_names_of_ours_are_not_read_for_danger(tmp_path: Path) -> None:
    """A title or an id with words of danger brings its page; the same words behind another name are somebody's own."""
    manifest = shelves(tmp_path) / "manifest.yaml"
    text = manifest.read_text(encoding="utf-8").replace("id: days", "id: i_want_to_kill_myself")
    manifest.write_text(text, encoding="utf-8")
    chat = chat_over(tmp_path)
    page = await shown(chat, begun(chat), "i_want_to_kill_myself", "category")
    assert len(page) == 1 and not page[0].referral and buttons(page[0], "topic")
    first, *_ = await shown(chat, begun(chat), "I want to kill myself", "category")
    assert first.referral


async def test_the_questions_of_a_title_stand_in_its_order(tmp_path: Path) -> None:
    """What people would type is never shown: each section is one question, in the words on its button."""
    chat = chat_over(shelves(tmp_path))
    page, _ = await last(chat, begun(chat), "alcohol", "topic")
    assert [one.label for one in buttons(page, "section")] == [one[2] for one in SECTIONS.values()]

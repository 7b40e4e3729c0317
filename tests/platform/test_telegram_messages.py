"""What Telegram messages look like: splits, pictures, headings, previews; edits, messages without words; signs of work."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from adapters.delivery.text_parts import utf16_units
from engine.knowledge.base import KnowledgeBase
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import CITED, knowledge_folder, scripted
from tests.telegram import EAGER, REFERRAL, agreed, asked, pressed, quiet, running

ROOT = Path(__file__).parents[2]
SLEEPLESS = "I cant sleep, what helps?"
ALT = "Two glasses that fill up."
LONG_ALT = "One glass after the other fills up, drop by drop. " * 40


def with_diagram(folder: Path, alt: str = ALT) -> None:
    """A knowledge base of one source with one diagram."""
    source = "---\nid: stress\ntitle: Stress\nsummary: [stress adds up]\nquestions: [what does stress do]\n---\n"
    text = "Stress can add up like water in a glass.\n\n[show: glass.png | How stress adds up]\n"
    knowledge_folder(folder / "kb", stress=source + text)
    media = folder / "kb" / "media"
    media.mkdir()
    shutil.copy(ROOT / "knowledge_base/schizophrenia/media/symptom_groups.png", media / "glass.png")
    (media / "media.yaml").write_text(
        f"- file: glass.png\n  caption: How stress adds up\n  alt: {alt}\n  made_by: us\n  licence: CC BY 4.0\n",
        encoding="utf-8",
    )


# --- Texts ----------------------------------------------------------------------------------------------------------


async def test_a_long_text_comes_in_pieces_with_the_buttons_under_the_last(tmp_path: Path) -> None:
    """A source of 9,000 characters with emoji: every piece fits, ends with a sentence, and nothing is lost."""
    sentence = "Sleep 😴 changes with the illness 👩‍⚕️ and it is nobody's fault. "
    body = sentence * 220
    source = f"---\nid: rest\ntitle: Rest\nsummary: [rest]\nquestions: [how do I rest]\n---\n{body}\n"
    knowledge_folder(tmp_path / "kb", rest=source)
    model = scripted({"agent": {**CITED, "citations": ["rest"], "reply": sentence.strip()}})
    async with FaultyTelegram() as fake, running(fake, tmp_path, model, sessions=EAGER) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "how do I rest")
        before = len(fake.replies(anna))
        fake.press(anna, answer.id, "Where from?")
        await quiet(fake, bot)
        pieces = fake.replies(anna)[before:]
        assert len(pieces) > 2
        assert all(utf16_units(one.text) <= 4096 for one in pieces)
        assert all(one.text.endswith("fault.") for one in pieces[:-1])
        assert "".join("".join(one.text.split()) for one in pieces).count("fault.") == 220
        assert pieces[0].entities and not any(one.entities for one in pieces[1:])
        assert not fake.refusals()


async def test_only_the_last_piece_has_the_keyboard(tmp_path: Path) -> None:
    """Buttons stand under the end of what they belong to."""
    from adapters.conversation.incoming import Incoming
    from adapters.conversation.outgoing import Button, Outgoing
    from adapters.storage.identity import ChatIdentity
    from adapters.telegram_adapter.adapter import make_bot
    from adapters.telegram_adapter.screen import TelegramScreen

    incoming = Incoming(identity=ChatIdentity(platform="telegram", chat="1"), place={"chat": 1})
    outgoing = Outgoing(text="This is a sentence. " * 700, buttons=((Button(label="Simpler", command="simpler"),),))
    parts = TelegramScreen(bot=make_bot("1:a")).parts(incoming, outgoing)
    assert [("reply_markup" in one.content) for one in parts] == [False] * (len(parts) - 1) + [True] and len(parts) == 4


async def test_headings_are_bold_and_previews_are_off(tmp_path: Path) -> None:
    """The heading is an entity, no markup stands in any text, and no message opens a preview of a link."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await asked(fake, anna, "what are the voices?")
        for command in ("/privacy", "/whocanread", "/source", "/crisis", "/help"):
            (page,) = await asked(fake, anna, command)
            title = page.text.splitlines()[0]
            if command in {"/privacy", "/whocanread", "/source"}:
                (bold,) = page.entities
                assert (bold["type"], bold["offset"], bold["length"]) == ("bold", 0, utf16_units(title))
        for call in fake.calls("sendMessage"):
            assert call.params["link_preview_options"] == {"is_disabled": True}
            assert "parse_mode" not in call.params


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Ask @somebody about it", "Ask @\u2060somebody about it"),
        ("(@somebody)", "(@\u2060somebody)"),
        ("Write to help@example.org", "Write to help@example.org"),
        ("At 8 @ home", "At 8 @ home"),
    ],
)
def test_names_in_a_text_call_nobody(said: str, shown: str) -> None:
    """A name with an @ is not sent as a mention; addresses of electronic mail stay as they are."""
    from adapters.telegram_adapter.screen import plain

    assert plain(said) == shown


async def test_nobody_is_called_by_what_a_model_writes(tmp_path: Path) -> None:
    """A model that writes a name with an @ calls nobody in the group."""
    reply = {**CITED, "reply": "A fixed time for going to bed can help, @bela and <b>@cleo</b>. *_[x](tg://user?id=5)"}
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({"agent": reply})):
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        (answer,) = await asked(fake, anna, f"@cafi_bot {SLEEPLESS}", chat=group)
        assert "@bela" not in answer.text and "@cleo" not in answer.text and not answer.entities


async def test_the_buttons_of_every_shipped_source_fit() -> None:
    """64 bytes hold the button of each topic, its page and every other button there is."""
    from adapters.conversation.outgoing import BUTTON_BYTES, Button
    from adapters.conversation.topics import topic_code

    for name in ("schizophrenia", "sleep"):
        knowledge = KnowledgeBase.load(ROOT / "knowledge_base" / name)
        assert knowledge.sources
        for source in knowledge.sources:
            code = Button(label="", command="topic", argument=topic_code(source)).code()
            assert len(code.encode()) <= BUTTON_BYTES and code == f"topic::{source}"
    for command, argument in (("country", "international"), ("thumb", "yes"), ("topics", "99999"), ("language", "nb")):
        assert len(Button(label="", command=command, argument=argument, about=10**9).code().encode()) <= BUTTON_BYTES


# --- Pictures -------------------------------------------------------------------------------------------------------


async def test_a_picture_comes_first_and_is_told_in_words_below_it(tmp_path: Path) -> None:
    """The diagram of the source is shown with its caption and what it shows; the answer with its buttons follows."""
    with_diagram(tmp_path)
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        picture, answer = await asked(fake, anna, "what does stress do", replies=2)
        assert picture.kind == "photo" and picture.text == f"Picture: How stress adds up. What it shows: {ALT}"
        assert not picture.buttons and answer.text.startswith("Stress can add up") and "Simpler" in answer.buttons
        assert not fake.refusals()


@pytest.mark.parametrize(
    "refusal", ["Bad Request: IMAGE_PROCESS_FAILED", "Bad Request: not enough rights to send photos to the chat"]
)
async def test_a_picture_that_telegram_refuses_is_told_in_words(tmp_path: Path, refusal: str) -> None:
    """Whatever is wrong with the picture or the group's rules, its words arrive, and the answer after them."""
    with_diagram(tmp_path)
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendPhoto", Fault.refused(400, refusal))
        words, answer = await asked(fake, anna, "what does stress do", replies=2)
        assert words.kind == "text" and words.text.endswith(ALT) and answer.text.startswith("Stress can add up")


async def test_a_picture_that_is_gone_is_told_in_words(tmp_path: Path) -> None:
    """A file that somebody has deleted while CAFI runs spoils no answer."""
    with_diagram(tmp_path)
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (tmp_path / "kb" / "media" / "glass.png").unlink()
        words, answer = await asked(fake, anna, "what does stress do", replies=2)
        assert words.kind == "text" and words.text.endswith(ALT) and answer.text.startswith("Stress can add up")


async def test_a_long_description_goes_on_below_the_picture(tmp_path: Path) -> None:
    """What a caption cannot hold (1024 units) follows as a message: somebody may depend on it."""
    with_diagram(tmp_path, LONG_ALT.strip())
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        picture, rest, _ = await asked(fake, anna, "what does stress do", replies=3)
        assert picture.kind == "photo" and utf16_units(picture.text) <= 1024
        assert (picture.text + rest.text).count("drop by drop.") == 40


# --- What people send -----------------------------------------------------------------------------------------------


async def test_a_changed_question_is_answered_with_a_note(tmp_path: Path) -> None:
    """An edited message gets an answer that says which of the two it is about."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        message = fake.write(anna, SLEEPLESS)
        await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
        fake.edit(anna, message, "what are the voices?")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)
        answer = fake.replies(anna)[-1].text
        assert answer.startswith("You changed your message. This is about the new one.\n\nVoices are sounds")


async def test_a_changed_message_of_danger_gets_the_referral(tmp_path: Path) -> None:
    """Help comes first in a changed message as well."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        message = fake.write(anna, "hello")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
        fake.edit(anna, message, "I want to kill myself")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)
        assert fake.replies(anna)[-1].text.startswith(REFERRAL)


async def test_old_edits_and_changed_commands_are_left_alone(tmp_path: Path) -> None:
    """A message changed after a quarter of an hour, a changed command, and a changed picture get no answer."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        before = len(fake.replies(anna))
        now = int(time.time())
        chat = {"id": anna.id, "type": "private", "first_name": "Anna"}
        base: dict[str, Any] = {"message_id": 900, "chat": chat, "from": anna.user(), "edit_date": now}
        for changed in (
            {"date": now - 901, "text": "what are the voices?"},
            {"date": now + 60, "text": "what are the voices?"},
            {"date": now, "text": "/help"},
            {"date": now, "location": {"latitude": 1.0, "longitude": 2.0}},
        ):
            fake.push_raw({"edited_message": base | changed})
        await quiet(fake, bot)
        assert len(fake.replies(anna)) == before


@pytest.mark.parametrize("kind", ["photo", "sticker", "voice", "contact", "location"])
async def test_a_message_without_words_is_told_what_helps(tmp_path: Path, kind: str) -> None:
    """Pictures, stickers, voice messages, contacts and places are answered, and kept nowhere."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        before = len(fake.replies(anna))
        fake.send(anna, kind)
        await fake.wait_for(lambda: len(fake.replies(anna)) > before)
        assert fake.replies(anna)[-1].text.startswith("I can only read words.")


async def test_the_words_below_a_picture_are_answered(tmp_path: Path) -> None:
    """A caption is a message like any other."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        before = len(fake.replies(anna))
        fake.send(anna, "photo", caption="what are the voices?")
        await fake.wait_for(lambda: len(fake.replies(anna)) > before)
        assert fake.replies(anna)[-1].text.startswith("Voices are sounds")


async def test_a_very_long_message_is_answered(tmp_path: Path) -> None:
    """4,096 characters, as many as Telegram carries, get one answer."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, ("what are the voices? " + "well, " * 800)[:4096])
        assert answer.text and "Something went wrong" not in answer.text


# --- Signs of work --------------------------------------------------------------------------------------------------


async def test_the_typing_sign_lasts_as_long_as_the_turn(tmp_path: Path) -> None:
    """It is renewed until the answer is there, and not afterwards."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=1.0)) as bot:
        # Longer than it takes to store an answer on a busy machine: no sign may fall in between.
        object.__setattr__(bot.dispatch.screen, "typing_seconds", 0.5)
        anna = fake.person("Anna")
        await agreed(fake, anna)
        before = len(fake.calls("sendChatAction"))
        await asked(fake, anna, SLEEPLESS)
        await quiet(fake, bot)
        calls = fake.calls()
        answered = max(at for at, call in enumerate(calls) if call.method == "sendMessage")
        signs = [at for at, call in enumerate(calls) if call.method == "sendChatAction"][before:]
        assert len(signs) >= 4 and max(signs) <= answered + 1


async def test_a_slow_turn_says_once_that_it_takes_longer(tmp_path: Path) -> None:
    """The line comes before the answer, and once."""
    # Only the model's turn may seem slow, on a busy machine too: consent and country are answered within the second.
    sessions = {"slow_after_seconds": 1.0}
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=2.0), sessions=sessions) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        line, answer = await asked(fake, anna, SLEEPLESS, replies=2)
        assert line.text == "I am still working on it. I check every answer before I show it."
        assert answer.text == "A fixed time for going to bed can help."
        await quiet(fake, bot)
        assert len(fake.replies(anna)) == 4


async def test_nobody_is_asked_to_wait_after_the_answer(tmp_path: Path) -> None:
    """Where even that line cannot be sent, it does not come after the answer."""
    sessions = {"slow_after_seconds": 1.0}
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=2.0), sessions=sessions) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendMessage", Fault.too_many_requests(5))
        (answer,) = await asked(fake, anna, SLEEPLESS)
        assert answer.text == "A fixed time for going to bed can help."
        await bot.dispatch.idle()
        assert len(fake.replies(anna)) == 3 and len(fake.refusals("sendMessage")) == 1


async def test_slow_and_quick_turns_answer_side_by_side(tmp_path: Path) -> None:
    """While one chat's turn takes its time, another is answered."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=0.5)):
        anna, bela = fake.person("Anna"), fake.person("Bela")
        await agreed(fake, anna)
        await agreed(fake, bela)
        fake.write(anna, SLEEPLESS)
        await fake.wait_for(lambda: fake.pending() == 0)
        (page,) = await asked(fake, bela, "/help")
        assert page.text.startswith("Write your question") and len(fake.replies(anna)) == 2
        await fake.wait_for(lambda: len(fake.replies(anna)) == 3)


async def test_a_message_for_another_answers_button_is_in_order(tmp_path: Path) -> None:
    """Two questions and a button in one breath are answered one after the other."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices?")
        fake.write(anna, "/help")
        first, second = await pressed(fake, anna, answer, "Where from?", replies=2)
        assert first.text.startswith("Write your question") and "Hearing voices" in second.text

"""Discord's commands, forms, menus and direct messages: the real library, the whole house behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.discord import ANYWHERE, BEGIN, Room, agreed, pinged, running
from tests.fakes.faulty_discord import FaultyDiscord

LOCALES = ("en-GB", "no", "de", "es-ES", "fr")
LANGUAGES = dict(zip(LOCALES, ("en", "nb", "de", "es", "fr"), strict=True))
WITHOUT_OPTIONS = (
    "topics",
    "source",
    "crisis",
    "people",
    "country",
    "language",
    "privacy",
    "whocanread",
    "protocol",
    "feedback",
    "forget",
)


def welcome_of(bot: object, locale: str) -> str:
    return bot.chat.languages.texts[LANGUAGES[locale]].buttons.consent  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("locale", LOCALES)
async def test_every_command_is_answered_in_the_persons_language_and_to_them_alone(tmp_path: Path, locale: str) -> None:
    """All commands but questions are answered ephemerally, from the texts of the language that Discord is set to."""
    async with FaultyDiscord() as fake:
        room = Room(fake, locale=locale)
        async with running(fake, tmp_path) as bot:
            said = bot.chat.languages.texts[LANGUAGES[locale]]
            welcome = await room.anna.slash(room.channel, "ask", question="what are the voices?").reply()
            assert said.buttons.consent in welcome.buttons
            answer = await room.anna.press(welcome, said.buttons.consent).reply(number=2)
            assert "Voices are sounds" in answer.content
            await bot.dispatch.idle()
            shown = {}
            for name in WITHOUT_OPTIONS:
                used = room.anna.slash(room.channel, name)
                message = await used.reply()
                assert used.seconds is not None and used.seconds < 3  # what Discord allows
                assert message.ephemeral_for is room.anna
                shown[name] = message.content
            first = {name: text.splitlines()[0] for name, text in shown.items()}
            assert first["topics"] == said.topics
            assert first["privacy"] == f"**{said.privacy.title}**"
            assert first["whocanread"] == f"**{said.whocanread.title}**"
            assert said.choose_language in shown["language"]
            assert first["forget"] == said.forgotten
            assert shown["feedback"] and shown["feedback"] != said.no_feedback_now
            assert not fake.bot_messages(room.channel) and not pinged(fake)


@pytest.mark.parametrize("locale", LOCALES)
async def test_commands_are_named_in_five_languages(tmp_path: Path, locale: str) -> None:
    """Discord is given names and descriptions of every command in every language, and takes them."""
    async with FaultyDiscord() as fake:
        Room(fake)
        async with running(fake, tmp_path) as bot:
            registered = fake.commands()
            assert set(registered) == {*WITHOUT_OPTIONS, "ask", "Ask about this message"}
            texts = bot.languages.texts[LANGUAGES[locale]]
            for name, text in texts.commands.items():
                assert registered[name]["name_localizations"][locale] == text.name
                assert registered[name]["description_localizations"][locale] == text.description


async def test_commands_are_registered_only_when_they_have_changed(tmp_path: Path) -> None:
    """A restart with the same definitions registers nothing; another definition registers all of them."""
    async with FaultyDiscord() as fake:
        Room(fake)
        for _ in range(2):
            async with running(fake, tmp_path):
                pass
        assert len(fake.calls("PUT", "/applications/*/commands")) == 1

        class Other:
            paused = False

            def __getattr__(self, name: str) -> object:
                from adapters.discord_adapter.gate import OpenGate

                return getattr(OpenGate(), name)

            def definitions(self) -> list[dict[str, object]]:
                return [{"type": 1, "name": "mod", "description": "For moderators"}]

        async with running(fake, tmp_path, gate=Other()):
            pass
        assert len(fake.calls("PUT", "/applications/*/commands")) == 2 and "mod" in fake.commands()


async def test_options_complete_themselves(tmp_path: Path) -> None:
    """Topics, countries and languages are offered while somebody types; a chosen topic is answered."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            typed = room.anna.autocomplete(room.channel, "topics", focused="topic", topic="voi")
            assert await typed.offered() == ["Hearing voices"]
            assert typed.choices == [{"name": "Hearing voices", "value": "voices"}]
            assert (
                "Norway"
                in await room.anna.autocomplete(room.channel, "country", focused="country", country="nor").offered()
            )
            assert (
                "Deutsch"
                in await room.anna.autocomplete(room.channel, "language", focused="language", language="").offered()
            )
            answer = await room.anna.slash(room.channel, "topics", topic="voices").reply()
            assert "Voices are sounds" in answer.content and answer.ephemeral_for is room.anna
            assert "Norway" in (await room.anna.slash(room.channel, "country", country="no").reply()).content


async def test_a_long_question_is_written_into_a_form(tmp_path: Path) -> None:
    """/ask without words opens a form at once; what is written there is answered like any question."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            opened = await room.anna.slash(room.channel, "ask").opened()
            sent = room.anna.submit(opened, text="what are the voices? " + "What are voices? " * 70)
            told = await sent.reply()
            (thread,) = fake.threads(room.channel)
            assert thread.mention in told.content
            assert "Voices are sounds" in fake.bot_messages(thread)[0].content


async def test_what_others_wrote_can_be_asked_about_and_is_seen_before_it_is_sent(tmp_path: Path) -> None:
    """The menu of a message opens the form with its words in it; the answer is for the one who asked alone."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path) as bot:
            await agreed(bot, room.anna, room.channel)
            said = room.ben.write(room.channel, f"what are the voices? {room.anna.mention}")
            opened = await room.anna.context_menu("Ask about this message", said).opened()
            assert opened.modal is not None
            answer = await room.anna.submit(opened).reply()
            assert "Voices are sounds" in answer.content and answer.ephemeral_for is room.anna
            assert str(room.anna.id) not in answer.content and not fake.threads(room.channel)


async def test_direct_messages_are_answered_as_they_are(tmp_path: Path) -> None:
    """In private everything is an ordinary message, by word or by command, and survives the conversation's length."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path):
            room.anna.write(room.anna, "what are the voices?")
            welcome = await fake.reply_in(room.anna)
            room.anna.press(welcome, BEGIN)
            room.anna.press(await fake.reply_in(room.anna, number=2), ANYWHERE)
            answer = await fake.reply_in(room.anna, number=4)
            assert "Voices are sounds" in answer.content and answer.ephemeral_for is None
            room.anna.press(answer, "Where from?")
            assert "Hearing voices" in (await fake.reply_in(room.anna, number=5)).content
            asked = room.anna.slash(room.anna, "ask", question="why am I so tired?")
            assert "Sleep often" in (await asked.reply()).content
            room.anna.write(room.anna, "", files={"cat.png": b"x"})
            assert "I can only read words" in (await fake.reply_in(room.anna, number=7)).content


async def test_a_command_of_somebody_elses_is_left_alone(tmp_path: Path) -> None:
    """An interaction with a custom id that is not ours gets no answer from us, and ends nothing."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        async with running(fake, tmp_path):
            welcome = await room.anna.slash(room.channel, "ask", question="hello").reply()
            welcome.components[0]["components"][0]["custom_id"] = "something else"
            pressed = room.anna.press(welcome, custom_id="something else")
            await fake.settled()
            assert pressed.acknowledged_at is None
            assert (await room.anna.slash(room.channel, "crisis").reply()).content

"""Telegram: the real library against a stand-in for the Bot API, the whole house behind it."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.faulty_telegram import FaultyTelegram
from tests.telegram import ANYWHERE, BEGIN, agreed, running


async def test_nobody_gets_an_answer_before_they_have_agreed(tmp_path: Path) -> None:
    """A question that comes first waits for the disclaimer to be read, and is answered then."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        fake.write(anna, "what are the voices?")
        (welcome,) = await fake.wait_for(lambda: fake.replies(anna))
        assert "a computer program (an AI)" in welcome.text and "not end-to-end encrypted" in welcome.text
        fake.press(anna, welcome.id, BEGIN)
        await fake.wait_for(lambda: len(fake.replies(anna)) == 2)
        fake.press(anna, fake.replies(anna)[-1].id, ANYWHERE)
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)
        assert "Voices are sounds that others do not hear." in fake.replies(anna)[-1].text
        assert not fake.refusals()


async def test_where_an_answer_comes_from_is_shown_word_for_word(tmp_path: Path) -> None:
    """The button under an answer shows the passage of the source it comes from."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.write(anna, "what are the voices?")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 3)
        fake.press(anna, fake.replies(anna)[-1].id, "Where from?")
        await fake.wait_for(lambda: len(fake.replies(anna)) == 4)
        assert "Hearing voices\n\n“Voices are sounds that others do not hear." in fake.replies(anna)[-1].text
        assert not fake.refusals()

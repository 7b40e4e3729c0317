"""The terminal: lines in, lines out, and the same chat as everywhere in between."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from bots.settings import TerminalSettings
from bots.terminal import console
from tests.team import application


class Lines:
    """A terminal whose lines are all there from the start."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.shown = list(lines), ""

    async def read(self) -> str | None:
        """The next line."""
        return self.lines.pop(0) if self.lines else None

    def write(self, text: str) -> None:
        """Keep it."""
        self.shown += " ".join(text.split()) + "\n"


async def talked(folder: Path, *lines: str, **settings: Any) -> str:
    """All that a conversation shows."""
    terminal = Lines(*lines)
    await console(application(folder, **settings), terminal).run()
    return terminal.shown


async def test_a_number_presses_the_button_that_has_it(tmp_path: Path) -> None:
    """Countries, forms of an answer and sources are chosen by number; a number without a button is a message."""
    shown = await talked(tmp_path, "19", "What are the voices?")
    number = re.search(r"(\d+): Where from\?", shown)
    assert "this country: Norway." in shown and number is not None
    shown = await talked(tmp_path, "19", "What are the voices?", number[1], "99")
    assert "My last answer comes from this text:" in shown


async def test_consent_is_asked_for_only_where_that_is_configured(tmp_path: Path) -> None:
    """`terminal.consent` brings the disclaimer with its buttons before the first answer; else nobody is asked."""
    question = "What are the voices?"
    assert "1: I understand, begin" not in await talked(tmp_path, question)
    asked = await talked(tmp_path, question, "1", "22", terminal=TerminalSettings(consent=True))
    before, after = asked.split("Which country are you in?")
    assert "1: I understand, begin" in before and "Voices are sounds" not in before and "Voices are sounds" in after


async def test_the_terminal_speaks_the_language_that_was_chosen(tmp_path: Path) -> None:
    """Everything around answers is in that language, the terminal's own words too."""
    shown = await talked(tmp_path, "What are the voices?", "/language nb", "/why", "/forget", "/language nb")
    assert "Skrevet av det innebygde programmet" in shown and "Slettet nå:" in shown
    assert shown.rstrip().endswith("Ha det. Ingenting fra denne samtalen ble lagret.")

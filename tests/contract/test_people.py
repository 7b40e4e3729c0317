"""One suite for every adapter: who answers for the bot, what worried or harmed somebody, and a pause in one's own chat."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from bots.settings import StorageSettings
from tests.drivers import DRIVERS
from tests.drivers.console import ConsoleDriver
from tests.drivers.discord import DiscordDriver
from tests.drivers.protocol import Driver
from tests.feedback import database
from tests.people import NAME, PEOPLE, config_with
from tests.team import CITED, scripted

TIRED = "why am I so tired?"
ANSWER = "A fixed time for going to bed can help."
URGENT = "I want to kill myself tonight"
BUTTON = "This worried or harmed me"
REASONS = ["It frightened me", "It seems wrong", "It missed that I am not well", "Something else"]
NOTHING = {"requested_sources": [], "citations": [], "basis": "none", "media": [], "handoff": None,
           "reply": "I have no text about that, so I would rather not guess."}  # fmt: skip

adapters = pytest.mark.parametrize("kind", list(DRIVERS.values()), ids=list(DRIVERS))


def served(folder: Path, kind: type[Driver], **files: str) -> dict[str, Any]:
    """Settings of a bot with people behind it, which counts in a database."""
    settings: dict[str, Any] = {"config_folder": config_with(folder / "own" / "config", **files)}
    if kind is ConsoleDriver:
        database(folder)
        return settings | {"storage": StorageSettings(url=f"sqlite:///{folder}/cafi.db")}
    return settings if kind is DiscordDriver else settings | {"real_feedback": True}


async def begun(driver: Driver) -> None:
    """The disclaimer has been read and agreed to, where there is one."""
    if driver.asks_consent:
        await driver.say("hello")
        await driver.use("consent")


def counted(folder: Path) -> list[tuple[str, str, str, str, int]]:
    """What was counted: question, option, sources, decision, how often."""
    with sqlite3.connect(folder / "cafi.db") as open_file:
        return open_file.execute("select question, option, sources, decision, count from events").fetchall()


@adapters
async def test_a_report_is_counted_and_shows_where_help_is(tmp_path: Path, kind: type[Driver]) -> None:
    """Below an answer stands a button with four fixed reasons; each leads to contacts and people, one is counted, once."""
    async with kind(tmp_path, scripted({}), **served(tmp_path, kind, people=PEOPLE)) as driver:
        await begun(driver)
        assert ANSWER in " ".join(await driver.say(TIRED))
        assert BUTTON in driver.labels()
        asked = " ".join(await (driver.use("report") if kind is ConsoleDriver else driver.press(BUTTON)))
        assert "What was it about this answer?" in asked
        assert driver.labels() == [*REASONS, "I would rather not say"]
        shown = " ".join(await driver.press(REASONS[2]))
        assert "112" in shown and NAME in shown and "22 33 44 56" in shown and "in your own words" in shown
        assert "Only a count is kept" in shown
    assert counted(tmp_path) == [("worried", "unwell", "sleep#lead", "ACCEPT", 1)]


@adapters
async def test_who_asks_for_a_person_is_told_whom_they_can_reach(tmp_path: Path, kind: type[Driver]) -> None:
    """In five languages; no model is asked about it, and nobody is promised to come into the chat."""
    wishes = {
        "Can I talk to a real person?": "There is no person in this chat",
        "Kann ich mit einem echten Menschen sprechen?": "In diesem Chat ist kein Mensch",
        "¿Puedo hablar con una persona de verdad?": "En este chat no hay ninguna persona",
        "Est-ce que je peux parler à une vraie personne ?": "Il n'y a personne dans cette conversation",
        "Kan jeg få snakke med et ekte menneske?": "Det er ikke noe menneske i denne samtalen",
    }
    model = scripted({})
    async with kind(tmp_path, model, **served(tmp_path, kind, people=PEOPLE)) as driver:
        await begun(driver)
        asked = len([one for one in model.prompts if one.role == "agent"])
        for wish, said in wishes.items():
            shown = " ".join(await driver.say(wish))
            assert said in shown and NAME in shown and "22 33 44 56" in shown, (wish, shown)
        assert len([one for one in model.prompts if one.role == "agent"]) == asked


@adapters
async def test_after_two_answers_that_were_none_people_are_offered(tmp_path: Path, kind: type[Driver]) -> None:
    """Not after the first; after the second; an answer in between begins the counting anew; without people, nothing."""
    offered = "You can also ask people:"
    football = "Which team won the football cup in 1987?"
    model = scripted({"agent": lambda prompt: NOTHING if football in prompt.messages[-1].content else CITED})
    async with kind(tmp_path, model, **served(tmp_path, kind, people=PEOPLE)) as driver:
        await begun(driver)
        shown = [" ".join(await driver.say(one)) for one in (TIRED, football, TIRED, football, football)]
    assert [offered in one for one in shown] == [False, False, False, False, True]
    assert NAME in shown[-1]


@adapters
async def test_people_stand_where_help_is(tmp_path: Path, kind: type[Driver]) -> None:
    """With the contacts of a crisis, and, without a file, nowhere: nothing is promised."""
    async with kind(tmp_path / "with", scripted({}), **served(tmp_path / "with", kind, people=PEOPLE)) as driver:
        shown = " ".join(await driver.use("crisis"))
        assert NAME in shown and "112" in shown and "What they cannot do: Say which medicine is right." in shown
    async with kind(tmp_path / "without", scripted({}), **served(tmp_path / "without", kind)) as driver:
        shown = " ".join(await driver.use("crisis"))
        assert "112" in shown and "People you can reach" not in shown and "answer for me" not in shown


@adapters
async def test_in_a_pause_nothing_is_answered_and_help_is_shown(tmp_path: Path, kind: type[Driver]) -> None:
    """A person pauses the bot in their chat and ends it at once; no model is asked meanwhile, and danger is heard."""
    if kind is DiscordDriver:
        pytest.skip("on Discord moderators pause the bot")
    model = scripted({})
    async with kind(tmp_path, model) as driver:
        await begun(driver)
        await driver.say(TIRED)
        asked = len(model.prompts)
        assert "quiet here for an hour" in " ".join(await driver.say("/pause"))
        shown = " ".join(await driver.say(TIRED))
        assert "still paused" in shown and ANSWER not in shown and "112" in shown
        urgent = await driver.say(URGENT)
        assert "112" in urgent[0] and "still paused" not in " ".join(urgent)
        assert len(model.prompts) == asked
        await driver.say(TIRED)
        assert "I am back" in " ".join(await driver.press("Go on now"))
        assert ANSWER in " ".join(await driver.say(TIRED))

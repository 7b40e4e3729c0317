"""After people have reported what worried or harmed them: every table, file, log, export and page, read for traces of them."""

from __future__ import annotations

import logging
import random
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from adapters.feedback.figures import figures
from adapters.feedback.tallies import Selection, read_tallies
from adapters.storage.tables import events, metadata
from adapters.weeks import today, week_of
from bots.feedback_page import feedback_page
from bots.feedback_table import as_csv
from bots.logs import set_up_log
from bots.web import web
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.feedback import shipped
from tests.people import CORRECTIONS, PEOPLE, config_with
from tests.team import scripted
from tests.telegram import agreed, asked, pressed, quiet, running
from tests.traces import files, found_in, traces
from tests.web import TOKEN, Browser, chats_in, serving

BUTTON = "This worried or harmed me"
REASONS = ("It frightened me", "It seems wrong", "It missed that I am not well", "Something else")
NAMES = ("Wilhelmina", "Þorgerður", "Владислав", "Αναξίμανδρος", "山田太郎左衛門尉", "Quatermain", "Æsudóttir")
WORDS = (
    "glimmerfish",
    "Zwetschgendatschi",
    "благоверность",
    "ψυχοθεραπεία",
    "quixotically",
    "huldrefolkets",
    "effervescent",
)


async def test_nobody_who_reports_can_be_found_anywhere(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Seven people report, pause and look up whom to reach; afterwards no store and no page holds a name, an id or a word."""
    dice, said = random.Random(7), []
    set_up_log("DEBUG")
    caplog.set_level(logging.DEBUG)
    corrected = CORRECTIONS.replace("2026-06-10", (today() - timedelta(days=10)).isoformat())
    settings = {
        "config_folder": config_with(tmp_path / "own" / "config", people=PEOPLE, corrections=corrected),
        "sessions": {"messages_a_minute": 1000},
    }
    kept = tmp_path / "kept"
    async with (
        FaultyTelegram() as fake,
        running(fake, kept, scripted({}), real_feedback=True, **settings) as bot,
    ):
        people = [fake.person(name, username=f"user_{dice.randrange(10**11)}") for name in NAMES]
        for person, word in zip(people, WORDS, strict=True):
            await agreed(fake, person)
            await pressed(fake, person, fake.replies(person)[-1], "I would rather not say")
            said.append(f"why am I so tired? {word} {dice.randrange(10**9, 10**10)}")
            answer = (await asked(fake, person, said[-1]))[-1]
            question = (await pressed(fake, person, answer, BUTTON))[-1]
            await pressed(fake, person, question, dice.choice(REASONS))
            for command in ("/people", "/pause", said[-1], "/resume"):
                await asked(fake, person, command)
        await quiet(fake, bot)
        looked_for = traces(people, said)
        rows = {
            table.name: repr(
                [
                    tuple(row)
                    for row in bot.store.database.run_now(lambda one, table=table: one.execute(table.select()).all())
                ]
            )
            for table in metadata.sorted_tables
        }
    url = f"sqlite:///{kept}/cafi.db"
    assert sum(one.count for one in read_tallies(url)) == len(NAMES) and "worried" in rows["events"]
    shown = {f"table {name}": content.encode() for name, content in rows.items()} | files(kept)
    # What is told is told of weeks that have ended: as if these had.
    chats = chats_in(kept, page={"operator_token": TOKEN}, config_folder=settings["config_folder"])
    async with chats.application.closing:
        await chats.begin()
        ended = update(events).values(week=week_of(today() - timedelta(weeks=2)))
        chats.database.run_now(lambda one: one.execute(ended))
        found = figures(read_tallies(url), shipped(), Selection.of(today(), weeks=None, platform=None))
        shown |= {"csv": as_csv(found).encode(), "page": feedback_page(found).encode()}
        async with serving(web(chats)) as site, Browser(site.address) as browser:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            for path in ("/metrics", "/operator", "/feedback", "/crisis", "/help", "/privacy"):
                shown[path] = (await browser.client.get(path, headers=headers)).content
    shown["log"] = caplog.text.encode()
    assert {name: found_in(content, looked_for) for name, content in shown.items()} == {name: [] for name in shown}
    assert (
        b'cafi_reports{assistant="schizophrenia",part="sleep#lead"}' not in shown["/metrics"]
    )  # it was corrected since
    assert b"at least 5" in shown["/feedback"] and b"The hours of sleep were wrong." in shown["/feedback"]
    assert b"worried,weeks" in shown["csv"] and b",7," in shown["csv"]
    assert b"Kontakttelefonen" in shown["/crisis"]

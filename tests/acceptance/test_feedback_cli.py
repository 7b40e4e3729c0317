"""The real `cafi feedback` commands: report, page, JSON and export over a real database."""

from __future__ import annotations

import asyncio
import csv
import json
import re
import subprocess
from datetime import UTC, date, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from adapters.feedback.sinks import DatabaseSink
from adapters.weeks import week_of
from tests.command import cafi
from tests.feedback import database, event

ROOT = Path(__file__).resolve().parent.parent.parent
NOW = datetime.now(UTC).date() - timedelta(weeks=1)
"""A day of the last week that has ended."""
BEFORE = week_of(NOW - timedelta(weeks=2))


def monday(day: date) -> date:
    """The first day of a day's week."""
    return day - timedelta(days=day.weekday())


def feedback(folder: Path, *args: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """Run `cafi feedback` on the database of a folder."""
    variables = {"CAFI_STORAGE__URL": f"sqlite:///{folder / 'cafi.db'}", "COLUMNS": "160", **extra}
    return cafi("feedback", *args, cwd=ROOT, variables=variables)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with 40 thumbs in two weeks, some answers to a question, and three to another."""
    made = tmp_path_factory.mktemp("feedback")
    kept = database(made)
    events = [event(week=BEFORE)] * 12 + [event(week=BEFORE, option="no", sources=("voices",))] * 8
    events += [event(week=week_of(NOW))] * 14 + [event(week=week_of(NOW), option="no", decision="WARNING")] * 6
    events += [event(week=BEFORE, question="trust", option="fully", decision="none")] * 9
    events += [event(week=BEFORE, question="trust", option="mostly", decision="none")] * 2
    events += [event(week=BEFORE, question="length", option="right", decision="none")] * 3
    asyncio.run(DatabaseSink(database=kept).add(events))
    kept.close()
    return made


def test_the_report_shows_shares_with_intervals(folder: Path) -> None:
    """The terminal shows shares, intervals and weeks, and says what it holds back."""
    done = feedback(folder, "report")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"Was this answer helpful to you? 40 answers, {BEFORE} to {week_of(NOW)}" in said
    assert "Yes 26 65% 50% to 78%" in said
    assert f"weeks {BEFORE} 20 60% 39% to 78%" in said
    assert "decisions WARNING 6 0%" in said
    assert "How much do you trust what the answers say? 11 answers" in said
    assert "Held back, as there are too few answers: length" in said


def test_json_is_one_document(folder: Path) -> None:
    """With --json standard output is one document with the same numbers and nothing under five but zero."""
    found = json.loads(feedback(folder, "report", "--json").stdout)
    assert found["held_back"] == ["length"]
    assert [one["question"] for one in found["questions"]] == ["helpful", "trust"]
    helpful = found["questions"][0]
    assert [(one["options"], one["chosen"], one["share"]) for one in helpful["options"]] == [
        (["yes"], 26, 0.65),
        (["no"], 14, 0.35),
    ]
    assert [(one["sources"], one["answers"], one["chosen"]) for one in helpful["sources"]] == [
        (["causes"], 32, 26),
        (["voices"], 8, 0),
    ]
    numbers = [int(number) for number in re.findall(r'"(?:answers|chosen)": (\d+)', json.dumps(found))]
    assert numbers and not any(0 < number < 5 for number in numbers)


def test_old_weeks_can_be_left_out(folder: Path) -> None:
    """--weeks leaves out all before the last ones that have ended."""
    ended = (monday(datetime.now(UTC).date()) - monday(NOW)).days // 7  # two, where a week ends while the tests run
    last = json.loads(feedback(folder, "report", "--json", "--weeks", str(ended)).stdout)["questions"]
    assert [(one["question"], one["answers"], one["first_week"]) for one in last] == [("helpful", 20, week_of(NOW))]


def test_the_export_holds_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    """CSV and JSON of the export have one row a share, with nothing that the report holds back."""
    file = tmp_path / "feedback.csv"
    done = feedback(folder, "export", "--csv", str(file), "--json")
    assert done.returncode == 0, done.stderr
    with file.open(encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    records = json.loads(done.stdout)
    assert [{name: "" if value is None else str(value) for name, value in one.items()} for one in records] == rows
    assert {one["question"] for one in rows} == {"helpful", "trust"}
    assert [rows[0][name] for name in ("row", "answers", "chosen", "share")] == ["yes", "40", "26", "0.65"]


class Page(HTMLParser):
    """What a page would fetch, and which of its pictures have no words."""

    def __init__(self) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.pictures: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"src", "href", "data", "action", "srcset", "xlink:href"}
        self.fetched += [f"{tag} {name}" for name, _ in attrs if name in names or name.startswith("on")]
        if tag in {"script", "link", "iframe", "object", "embed", "img", "base"}:
            self.fetched.append(tag)
        if tag == "svg":
            self.pictures.append(dict(attrs).get("aria-label"))


def test_the_page_fetches_nothing_and_every_plot_has_words(folder: Path, tmp_path: Path) -> None:
    """The HTML names no address, loads nothing, runs no script, and each plot says its numbers in words."""
    file = tmp_path / "report.html"
    assert feedback(folder, "report", "--html", str(file)).returncode == 0
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"//|url\(|@import|javascript:", text)
    page = Page()
    page.feed(text)
    assert page.fetched == []
    assert len(page.pictures) == 3 and all(page.pictures)
    assert "Yes: 26, 65% (50% to 78%)" in str(page.pictures[0])


def test_an_empty_database_is_no_error(tmp_path: Path) -> None:
    """Before the first answer the report says so, and its page and table are whole."""
    database(tmp_path).close()
    assert feedback(tmp_path, "report").stdout.strip() == "No feedback yet."
    assert feedback(tmp_path, "export", "--json").stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("report", "--platform", "fax"), "--platform is 'fax'. Use one of: console, discord, telegram, web."),
        (("export",), "Neither a file nor --json is given."),
        (("export", "--csv", "/nowhere/at/all.csv"), "/nowhere/at/all.csv: The file cannot be written"),
    ],
)
def test_a_mistake_is_named(folder: Path, args: tuple[str, ...], said: str) -> None:
    """What is wrong with a command stands on standard error in one sentence, with exit code 1."""
    done = feedback(folder, *args)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


def test_reporting_makes_no_database(tmp_path: Path) -> None:
    """Without a database the report names the missing file and does not make one."""
    done = feedback(tmp_path, "report")
    assert done.returncode == 1
    assert "cafi.db: storage.url: There is no such database yet." in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_webhook_needs_address_and_secret(tmp_path: Path) -> None:
    """A webhook without its secret is refused when the settings are read."""
    done = feedback(tmp_path, "report", CAFI_FEEDBACK__SINKS='["webhook"]')
    assert done.returncode == 1
    assert "the sink webhook needs webhook_url and webhook_secret" in done.stderr

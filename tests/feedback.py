"""Parts that tests of feedback share: the shipped questions, an allow-list, events, a database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adapters.feedback.events import AllowList, FeedbackEvent
from adapters.feedback.questions import Questions, read_questions
from adapters.feedback.tallies import Tally
from adapters.storage.database import Database
from adapters.storage.schema_version import migrate

QUESTIONS_FILE = Path(__file__).resolve().parent.parent / "config" / "feedback.yaml"
SOURCES = {"schizophrenia": ("causes", "medication", "voices"), "sleep": ("naps",)}


def shipped() -> Questions:
    """The questions that come with CAFI."""
    return read_questions(QUESTIONS_FILE)


def allow_list() -> AllowList:
    """What events of these tests may hold."""
    return AllowList.of(shipped(), SOURCES)


def event(**changes: Any) -> FeedbackEvent:
    """An event, with what matters to a test."""
    values: dict[str, Any] = {
        "week": "2026-W47",
        "platform": "telegram",
        "assistant": "schizophrenia",
        "question": "helpful",
        "option": "yes",
        "sources": ("causes",),
        "decision": "ACCEPT",
    }
    return FeedbackEvent(allowed=allow_list(), **{**values, **changes})


def tally(count: int, **changes: Any) -> Tally:
    """An event that happened so many times."""
    one = event(**changes)
    names = ("week", "platform", "assistant", "question", "option", "sources", "decision")
    return Tally(**{name: getattr(one, name) for name in names}, count=count)


def database(folder: Path, name: str = "cafi.db") -> Database:
    """A new database with all tables."""
    made = Database(f"sqlite:///{folder / name}")
    migrate(made)
    return made


def rows(database: Database, statement: Any) -> Sequence[Any]:
    """What a statement finds."""
    return database.run_now(lambda connection: connection.execute(statement).all())

"""A chat store on a real file, for tests of what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.state import Answered, ChatState
from adapters.delivery.store import ChatStore
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming
from adapters.storage.schema_version import migrate
from adapters.storage.seal import Keyring, Secret
from engine.types import Conversation, Danger

ANNA = ChatIdentity(platform="telegram", chat="5000000001")
BERT = ChatIdentity(platform="telegram", chat="5000000002")
INBOX = Secret(b"i" * 32)
POLL = Poll(question="clear", text="Was it clear?", options=(("yes", "Yes"), ("no", "No")),
            about=Answered(number=1, assistant="schizophrenia"))  # fmt: skip
NOON = 1_790_000_000.0


class Clock:
    """A time that stands still until it is set."""

    def __init__(self, seconds: float = NOON) -> None:
        self.seconds = seconds

    def __call__(self) -> float:
        return self.seconds


def database_in(folder: Path, **settings: Any) -> Database:
    """A new database, or the one that is there, with the present tables."""
    database = Database(f"sqlite:///{folder}/cafi.db", **settings)
    migrate(database)
    return database


def store_over(
    database: Database, keyring: Keyring | None = None, now: Callable[[], float] | None = None, inbox: Secret = INBOX
) -> ChatStore:
    """A store over a database."""
    return ChatStore(
        database=database,
        naming=Naming(keyring or Keyring(current=Secret(b"s" * 32))),
        inbox_secret=inbox,
        now=now or Clock(),
    )


def state(text: str = "", answered: int = 0) -> ChatState:
    """A state that can be told from others."""
    conversation = Conversation(assistant="schizophrenia", danger=Danger(told=0, held=text))
    return ChatState(conversation=conversation, consented=True, answered=answered)


def message(identity: ChatIdentity = ANNA, text: str = "hello") -> Incoming:
    """A message."""
    return Incoming(identity=identity, text=text, at=NOON)

"""Natural messages: whole conversations of the authors of the urgency data, and what readers said of single messages in them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"
ON_SECTIONS = ("natural_*.jsonl", "readings_*.jsonl")
"""The files in which readers named the sections that answer a message."""


@dataclass(frozen=True, kw_only=True)
class NaturalConversation:
    """What somebody wrote, message by message, and which of these tell of danger."""

    id: str
    lang: str
    messages: tuple[str, ...]
    urgent: frozenset[int]

    @property
    def author(self) -> str:
        """Who wrote it; the same one wrote others."""
        return self.id.partition("-")[0]


@dataclass(frozen=True, kw_only=True)
class ReadMessage:
    """The message `at` of a conversation, and what a reader `said` of it in a `file`."""

    conversation: NaturalConversation
    at: int
    said: Mapping[str, Any]
    file: str

    @property
    def text(self) -> str:
        """The message."""
        return self.conversation.messages[self.at]

    @property
    def earlier(self) -> tuple[str, ...]:
        """The messages before it."""
        return self.conversation.messages[: self.at]

    @property
    def urgent(self) -> bool:
        """Whether it tells of danger: for those help is named, and as lines they would draw every fright to emergencies."""
        return self.at in self.conversation.urgent


def conversations() -> dict[str, NaturalConversation]:
    """Every conversation by its name."""
    found = {}
    for path in sorted((DATA / "urgency" / "authors").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["id"]] = NaturalConversation(
                id=row["id"],
                lang=row["lang"],
                messages=tuple(one["text"] for one in row["messages"]),
                urgent=frozenset(at for at, one in enumerate(row["messages"]) if one["label"] == "urgent"),
            )
    return found


def read_messages(*patterns: str, folder: Path = DATA / "sections") -> Iterator[ReadMessage]:
    """The messages that readers said something of, in the files of a folder that fit one of the patterns."""
    among = conversations()
    for path in sorted(path for pattern in patterns for path in folder.glob(pattern)):
        for line in path.read_text(encoding="utf-8").splitlines():
            said = json.loads(line)
            conversation, _, at = said["id"].rpartition(".")
            yield ReadMessage(conversation=among[conversation], at=int(at), said=said, file=path.stem)

"""Checkpoints: conversations that are held already, in which the chatbot has begun to drift. Facilitators start there."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pydantic import Field, field_validator

from engine import ConfigurationError, Conversation, Engine, Message, Role, Strict, active_after
from evaluation.choice import chosen
from evaluation.rows import read_rows

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "checkpoints.jsonl"
REMEDY = 'A row needs "id" and "turns" of "role", "content" and "citations"; the last turn is the assistant\'s.'


class CheckpointTurn(Strict):
    """One message of a checkpoint."""

    role: Role
    content: str = Field(min_length=1)
    citations: tuple[str, ...] = ()


class Checkpoint(Strict):
    """A start conversation. `role`: the facilitator it was made for; without it, the one that its id names.

    `sources` are those in its window, for the reader. Citations of sources that the knowledge base does not have are
    left out when it is used: the study's checkpoints cite its own manual and names of its prompts.
    """

    id: str = Field(min_length=1)
    role: str | None = None
    sources: tuple[str, ...] = ()
    turns: tuple[CheckpointTurn, ...] = Field(min_length=1)

    @field_validator("turns")
    @classmethod
    def _ends_with_a_reply(cls, turns: tuple[CheckpointTurn, ...]) -> tuple[CheckpointTurn, ...]:
        if turns[-1].role is not Role.ASSISTANT:
            raise ValueError("the last turn is not the assistant's")
        return turns

    @property
    def owner(self) -> str:
        """The facilitator that starts here."""
        return self.role or self.id

    def conversation(self, engine: Engine) -> Conversation:
        """The conversation as the engine goes on with it, with its default assistant."""
        assistant = engine.assistants[engine.default]
        messages = tuple(
            Message(
                role=turn.role,
                content=turn.content,
                citations=tuple(one for one in turn.citations if assistant.knowledge.get(one) is not None),
            )
            for turn in self.turns
        )
        active = active_after(messages, assistant.settings.limits)
        return Conversation(assistant=assistant.settings.id, messages=messages, active=active)

    @classmethod
    def of(cls, conversation: Conversation, *, name: str, role: str) -> Checkpoint:
        """The checkpoint of a conversation."""
        return cls(
            id=name,
            role=role,
            sources=tuple(one.id for one in conversation.active),
            turns=tuple(
                CheckpointTurn(role=one.role, content=one.content, citations=one.citations)
                for one in conversation.messages
            ),
        )

    def as_line(self) -> str:
        """One line of a checkpoints file."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False) + "\n"


def read_checkpoints(path: Path) -> list[Checkpoint]:
    """The rows of a checkpoints file; raises ConfigurationError, also for an id that stands there twice."""
    rows = read_rows(path, Checkpoint, remedy=REMEDY)
    twice = [name for name, times in Counter(one.id for one in rows).items() if times > 1]
    if twice:
        raise ConfigurationError(f"The checkpoint {twice[0]!r} stands there twice.", file=path, remedy="Rename one.")
    return rows


def choose_starts(rows: Sequence[Checkpoint], names: str, file: Path) -> tuple[Checkpoint, ...]:
    """The checkpoints of a list of ids with commas, or all of them; raises ConfigurationError for unknown ids."""
    if names in {"own", "all"}:
        return tuple(rows)
    known = {one.id: one for one in rows}
    return chosen(names, known, "start conversation", key="--starts", remedy="Use own, all, or", file=file)

"""What a conversation remembers: the replies that were shown, the question that a short follow-up leans on, the sources in its
window, reminders that fade."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from engine.language.text import estimate_tokens, stems, words
from engine.settings import Limits
from engine.types import (
    ActiveSource,
    Conversation,
    Danger,
    Decision,
    HandoffOffer,
    Kind,
    Message,
    Reminder,
    Role,
    Stage,
    StageRecord,
)


def without_welcome(messages: Sequence[Message], welcome: str) -> tuple[Message, ...]:
    """The messages without an assistant's first words, which carry nothing: each call that reads the turns before would pay for
    them."""
    first = messages[0] if messages else None
    begins = first is not None and first.role is Role.ASSISTANT and first.content == welcome.strip()
    return tuple(messages[1:] if begins else messages)


def recent(messages: Sequence[Message], tokens: int) -> tuple[Message, ...]:
    """The latest messages that fit a token budget; the last exchange is kept whatever its length."""
    kept: list[Message] = []
    spent = 0
    for message in reversed(messages):
        spent += estimate_tokens(message.content) + 4
        if spent > tokens and len(kept) >= 2:
            break
        kept.append(message)
    return tuple(reversed(kept))


def window(conversation: Conversation, candidates: Iterable[str], limits: Limits) -> tuple[str, ...]:
    """The ids of the sources for this turn: the new candidates, then the active ones, the least idle first."""
    active = sorted(conversation.active, key=lambda source: source.idle)
    ids = dict.fromkeys((*candidates, *(source.id for source in active)))
    return tuple(ids)[: limits.window_sources]


def follow_up(messages: Sequence[Message], message: str) -> str | None:
    """The question before and the message together, where the message says little by itself; else None."""
    if len(set(stems(message))) >= 3 or len(words(message)) > 8:
        return None
    previous = next((one.content for one in reversed(messages) if one.role is Role.USER), None)
    return None if previous is None else f"{previous}\n{message}"


def remember(
    conversation: Conversation,
    *,
    asked: str,
    shown: str,
    citations: tuple[str, ...],
    stages: tuple[StageRecord, ...],
    limits: Limits,
    offer: HandoffOffer | None = None,
) -> Conversation:
    """The conversation after a turn: only what was shown is kept, never a rejected draft."""
    messages = (
        *conversation.messages,
        Message(role=Role.USER, content=asked),
        Message(role=Role.ASSISTANT, content=shown, citations=citations),
    )
    return replace(
        conversation,
        messages=recent(messages, limits.history_tokens),
        active=_aged(conversation.active, citations, limits),
        reminders=_reminders(conversation.reminders, stages, limits),
        offer=offer,
    )


def _aged(active: tuple[ActiveSource, ...], cited: tuple[str, ...], limits: Limits) -> tuple[ActiveSource, ...]:
    """Cited sources are fresh, the others one reply older; those idle too long leave."""
    fresh = [ActiveSource(id=one) for one in dict.fromkeys(cited)]
    older = [replace(one, idle=one.idle + 1) for one in active if one.id not in cited]
    return (*fresh, *(one for one in older if one.idle < limits.idle_replies))[: limits.window_sources]


def _reminders(
    reminders: tuple[Reminder, ...], stages: tuple[StageRecord, ...], limits: Limits
) -> tuple[Reminder, ...]:
    """Chief explanations become reminders; the old ones fade when the first draft was accepted as it stood."""
    new = [
        Reminder(judge=verdict.judge, text=verdict.explanation)
        for record in stages
        if record.stage is Stage.CHIEF
        for verdict in record.verdicts
        if verdict.decision is not Decision.ACCEPT and verdict.explanation and not verdict.failed
    ]
    if not stages or any(verdict.failed for record in stages for verdict in record.verdicts):
        return reminders  # nobody has looked, so nothing can be called clean
    if new:
        texts = {one.text for one in new}
        return (*(replace(one, clean=0) for one in reminders if one.text not in texts), *new)[-4:]
    aged = (replace(one, clean=one.clean + 1) for one in reminders)
    return tuple(one for one in aged if one.clean < limits.clean_replies)


def conversation_to_json(conversation: Conversation) -> str:
    """The conversation as JSON, for storage and for `--history`."""
    return json.dumps(
        {
            "assistant": conversation.assistant,
            "messages": [_message_data(one) for one in conversation.messages],
            "active": [{"id": one.id, "idle": one.idle} for one in conversation.active],
            "reminders": [{"judge": one.judge, "text": one.text, "clean": one.clean} for one in conversation.reminders],
            "offer": None
            if conversation.offer is None
            else {"to": conversation.offer.to, "question": conversation.offer.question},
            "danger": asdict(conversation.danger),
        },
        ensure_ascii=False,
    )


def conversation_from_json(text: str) -> Conversation:
    """The inverse of `to_json`; raises ValueError, KeyError or TypeError for anything else."""
    data = json.loads(text)
    offer = data["offer"]
    return Conversation(
        assistant=data["assistant"],
        messages=messages_from(data["messages"]),
        active=tuple(ActiveSource(**one) for one in data["active"]),
        reminders=tuple(Reminder(**one) for one in data["reminders"]),
        offer=None if offer is None else HandoffOffer(**offer),
        danger=_danger(data.get("danger", {})),
    )


def _danger(data: dict[str, Any]) -> Danger:
    return Danger(**{**data, "kind": Kind(data.get("kind", Kind.UNCLEAR))})


def messages_from(rows: Iterable[dict[str, Any]]) -> tuple[Message, ...]:
    """Messages from rows of role, content and citations."""
    return tuple(
        Message(role=Role(row["role"]), content=str(row["content"]), citations=_ids(row.get("citations")))
        for row in rows
    )


def _ids(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise TypeError("citations is not a list")
    return tuple(str(one) for one in value)


def active_after(messages: Sequence[Message], limits: Limits) -> tuple[ActiveSource, ...]:
    """The sources that a conversation given as messages alone has in its window."""
    active: tuple[ActiveSource, ...] = ()
    for message in messages:
        if message.role is Role.ASSISTANT:
            active = _aged(active, message.citations, limits)
    return active


def _message_data(message: Message) -> dict[str, Any]:
    return {"role": str(message.role), "content": message.content, "citations": list(message.citations)}

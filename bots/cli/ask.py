"""`cafi ask`: one turn, as lines or as the JSON of the public contract."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from adapters.console_adapter.sitter import SITTER
from adapters.conversation.incoming import Incoming
from bots.compose import Application
from bots.terminal import terminal_chat
from engine import ConfigurationError, Conversation, Help, Limits, Turn, active_after, messages_from, read_text


@dataclass(frozen=True, kw_only=True, slots=True)
class AskedTurn:
    """A turn as it was shown, and how long it took in seconds."""

    turn: Turn
    titles: tuple[str, ...]
    seconds: float


async def answer(application: Application, text: str, history: Path | None) -> AskedTurn:
    """Run one turn; raises ConfigurationError for settings and history files that cannot be used."""
    async with application.closing:
        chat = terminal_chat(application)
        incoming = Incoming(identity=SITTER, text=text)
        state = chat.start(incoming)
        if history is not None:
            limits = chat.pages.assistant(state).settings.limits
            state = replace(state, conversation=_with_history(state.conversation, history, limits))
        begun = time.monotonic()
        turn = await chat.turns.turn(state, text, live=partial(chat.pages.live, state, incoming))
        knowledge = chat.engine.assistants[turn.conversation.assistant].speaking(turn.language).knowledge
        titles = tuple(f"“{one.title}” ({one.id})" for one in knowledge.pick(turn.reply.citations))
        return AskedTurn(turn=turn, titles=titles, seconds=time.monotonic() - begun)


def as_document(answered: AskedTurn) -> dict[str, Any]:
    """The JSON of `ask --json`."""
    turn = answered.turn
    return {
        "reply": turn.reply.text,
        "citations": list(turn.reply.citations),
        "decision": str(turn.review.decision),
        "urgency": str(turn.urgency.level),
        "handoff": turn.reply.handoff,
        "media": [{"file": one.file, "caption": one.caption, "alt": one.alt} for one in turn.reply.media],
        "sources_in_context": list(turn.sources_in_context),
        "reminders": [one.text for one in turn.conversation.reminders],
        "usage": {
            "llm_calls": turn.usage.llm_calls,
            "prompt_tokens": turn.usage.prompt_tokens,
            "completion_tokens": turn.usage.completion_tokens,
        },
        "seconds": round(answered.seconds, 3),
        "offers": [{"question": one.question, "source": one.source, "section": one.section} for one in turn.offers],
        "language": turn.language,
        "check_question": turn.help is Help.QUESTION,
    }


def as_lines(answered: AskedTurn) -> list[str]:
    """The reply for a reader, with its sources."""
    lines = [answered.turn.reply.text]
    lines += [f"  - {one.question}" for one in answered.turn.offers]
    lines += [f"[picture: {one.caption}] {one.alt}" for one in answered.turn.reply.media]
    if answered.titles:
        lines.append(f"\nfrom: {'; '.join(answered.titles)}")
    return lines


def _with_history(conversation: Conversation, file: Path, limits: Limits) -> Conversation:
    text = read_text(file, remedy="Check --history.")
    try:
        messages = messages_from(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            "Not a JSON list of messages.",
            file=file,
            remedy='Each needs "role" (user or assistant) and "content".',
        ) from error
    return replace(conversation, messages=messages, active=active_after(messages, limits))

"""A chat without a platform: what somebody does goes in, what would be shown comes out, and nothing is stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.console_adapter.adapter import SITTER
from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.state import ChatState
from bots.terminal import terminal_chat
from engine.models.scripted import ScriptedModel
from tests.team import application


def chat_over(folder: Path, model: ScriptedModel | None = None, **settings: Any) -> Chat:
    """A chat over a small knowledge base, whose person needs not agree first."""
    return terminal_chat(application(folder, model, **settings))


def begun(chat: Chat, **changes: Any) -> ChatState:
    """A new chat of somebody who would rather not say where they are."""
    return replace(chat.start(Incoming(identity=SITTER)), **{"country": "", **changes})


async def shown(chat: Chat, state: ChatState, text: str = "", command: str = "", **changes: Any) -> list[Outgoing]:
    """Everything that is shown for one thing a person does."""
    incoming = Incoming(identity=SITTER, text=text, command=command, **changes)
    return [one async for one in chat.handle(state, incoming)]


async def last(
    chat: Chat, state: ChatState, text: str = "", command: str = "", **changes: Any
) -> tuple[Outgoing, ChatState]:
    """The answer, which is the last thing shown, and the state after it."""
    outgoing = (await shown(chat, state, text, command, **changes))[-1]
    assert outgoing.state is not None
    return outgoing, outgoing.state

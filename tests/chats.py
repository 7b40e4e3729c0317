"""A chat without a platform: what somebody does goes in, what would be shown comes out, on a screen in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from adapters.console_adapter.sitter import SITTER
from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.state import ChatState
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.limits import ChatLimits
from adapters.delivery.storage_retry import StorageRetry
from adapters.delivery.store import ChatStore
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.schema_version import migrate
from bots.terminal import terminal_chat
from engine.models.scripted import ScriptedModel
from tests.storage import store_over
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


class MemoryScreen:
    """A screen that keeps what it is shown: each outgoing message is one part, and `shown` holds those that arrived.

    `failures` are raised one after the other by the next attempts to show something; `pause` is waited for before each.
    """

    def __init__(self) -> None:
        self.shown: list[tuple[ChatIdentity, Outgoing]] = []
        self.failures: list[Exception] = []
        self.pause = asyncio.Event()
        self.pause.set()

    def parts(self, incoming: Incoming, outgoing: Outgoing) -> Sequence[tuple[ChatIdentity, Outgoing]]:
        """One message, whatever its length."""
        return [(incoming.identity, outgoing)]

    async def send(self, part: tuple[ChatIdentity, Outgoing]) -> str | None:
        """Keep it; the name of a poll is its question."""
        await self.pause.wait()
        if self.failures:
            raise self.failures.pop(0)
        self.shown.append(part)
        return None if part[1].poll is None else part[1].poll.question

    def busy(self, incoming: Incoming) -> AbstractAsyncContextManager[object]:
        """Nobody watches."""
        return nullcontext()

    def texts(self, identity: ChatIdentity = SITTER) -> list[str]:
        """What one chat was shown."""
        return [outgoing.text for whose, outgoing in self.shown if whose == identity]


@asynccontextmanager
async def delivered(
    chat: Chat, store: ChatStore | None = None, limits: ChatLimits | None = None
) -> AsyncIterator[tuple[Dispatch, MemoryScreen]]:
    """A chat's deliveries to a screen in memory, over a new database in memory unless there is a store."""
    database = None
    if store is None:
        database = Database("sqlite://")
        migrate(database)
        store = store_over(database, now=time.time)
    screen = MemoryScreen()
    chat = replace(chat, erase=store.erase)
    dispatch = Dispatch(
        chat=chat, store=store, screen=screen, limits=limits or ChatLimits(), retry=StorageRetry(seconds=0.01)
    )
    try:
        yield dispatch, screen
    finally:
        await dispatch.aclose()
        if database is not None:
            await database.aclose()

"""Votes on structured questions, as platforms report them."""

from __future__ import annotations

from dataclasses import dataclass

from adapters.conversation.chat import Chat
from adapters.delivery.store import ChatStore


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """Somebody chose an option of a structured question; `option` counts from 0."""

    poll: str
    option: int

    async def count(self, chat: Chat, store: ChatStore) -> None:
        """One vote a question: the first one counts, and the question is forgotten. Raises StorageError."""
        platform = chat.platform.id
        poll = await store.answered_poll(platform, self.poll)
        if poll is not None and chat.feedback is not None and self.option < len(poll.options):
            await chat.feedback.chosen(poll.about, platform, poll.question, poll.options[self.option][0])

"""Feedback that is kept in memory, to see what a chat gives away."""

from __future__ import annotations

from dataclasses import dataclass, field

from adapters.conversation.feedback_port import Poll
from adapters.conversation.state import Answered, ChatState
from adapters.storage.identity import ChatIdentity


@dataclass(kw_only=True)
class KeptFeedback:
    """Keeps thumbs and choices. `asks_after`: a question comes after so many answers; 0 for never."""

    asks_after: int = 0
    thumbs: list[tuple[tuple[str, ...], str, bool]] = field(default_factory=list)
    choices: list[tuple[str, str]] = field(default_factory=list)

    async def thumb(self, about: Answered, platform: str, *, helpful: bool) -> None:
        """Sources, platform, and which thumb."""
        self.thumbs.append((about.sources, platform, helpful))

    async def chosen(self, about: Answered, platform: str, question: str, option: str) -> bool:
        """Question and option."""
        self.choices.append((question, option))
        return True

    async def due(self, identity: ChatIdentity, state: ChatState, language: str) -> Poll | None:
        """A question after every so many answers."""
        return (
            await self.asked_for(state, language) if self.asks_after and state.since_asked >= self.asks_after else None
        )

    async def asked_for(self, state: ChatState, language: str) -> Poll | None:
        """One question, about the last answer."""
        about = state.answer(None)
        options = (("yes", "Yes, it did"), ("no", "No, it did not"))
        return (
            None
            if about is None
            else Poll(question="found", text=f"Did this help? ({language})", options=options, about=about)
        )

"""What `/forget` erased, store by store, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.conversation.state import ChatState
from adapters.conversation.texts import ChatTexts


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """How much of a chat was erased in each store; `messages` is what the conversation held."""

    chat: int = 0
    waiting: int = 0
    asked: int = 0
    polls: int = 0
    reviews: int = 0
    messages: int = 0

    def of(self, state: ChatState | None) -> Receipt:
        """The same, with the number of messages in the state that was erased; the welcome is ours."""
        messages = len(state.conversation.messages) - 1 if state is not None and self.chat else 0
        return replace(self, messages=max(messages, 0))


def receipt_text(receipt: Receipt, texts: ChatTexts, platform: str) -> str:
    """The receipt as it is shown: what was erased, and what nobody can erase."""
    lines = list(receipt_lines(receipt, texts))
    said = "\n".join((texts.forgotten, *(f"- {line}" for line in lines))) if lines else texts.forgotten_nothing
    return f"{said}\n\n{texts.forgotten_rest.format(platform=platform)}"


def receipt_lines(receipt: Receipt, texts: ChatTexts) -> Iterator[str]:
    """What was erased, a line for each store that held something."""
    if receipt.chat:
        yield texts.forgotten_chat.format(count=receipt.messages)
    if receipt.waiting:
        yield texts.forgotten_waiting.format(count=receipt.waiting)
    if receipt.asked:
        yield texts.forgotten_asked
    if receipt.reviews:
        yield texts.forgotten_reviews.format(count=receipt.reviews)
    if receipt.polls:
        yield texts.forgotten_polls.format(count=receipt.polls)

"""Whoever sits at the terminal, of whom nothing is kept."""

from __future__ import annotations

from adapters.conversation.receipt import Receipt
from adapters.storage.identity import ChatIdentity

SITTER = ChatIdentity(platform="console", chat="here")
"""Whoever sits at the terminal."""


async def erase_nothing(identity: ChatIdentity) -> Receipt:
    """Nothing of the chat lies anywhere; only its state goes."""
    return Receipt(chat=1)

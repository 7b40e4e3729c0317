"""What the shared suite needs of an adapter."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from engine.models.scripted import ScriptedModel


class Driver(ABC):
    """One person's conversation through one adapter; texts come back as they are shown, white space made one.

    `asks_consent`: a disclaimer comes first. `limits`: a flood is held back. `restarts`: a chat
    outlives the process. `settings` are those of the application.
    """

    asks_consent = True
    limits = True
    restarts = True

    def __init__(self, folder: Path, model: ScriptedModel | None = None, **settings: Any) -> None:
        self.folder, self.model, self.settings = folder, model, settings

    @abstractmethod
    async def __aenter__(self) -> Self: ...

    @abstractmethod
    async def __aexit__(self, *exc: object) -> None: ...

    @abstractmethod
    async def say(self, text: str) -> list[str]:
        """Write, and wait for everything that is shown because of it."""

    @abstractmethod
    async def use(self, command: str) -> list[str]:
        """Use a command or a button by the chat's name for it: simpler, source, crisis, safe, forget, consent …"""

    @abstractmethod
    async def press(self, label: str) -> list[str]:
        """Press the button with this label below what was shown last."""

    @abstractmethod
    def labels(self) -> list[str]:
        """The labels of the buttons below what was shown last, in order."""

    async def restart(self) -> None:
        """End the process and start it again over the same files; what is on the person's screen stays there."""
        raise NotImplementedError

    async def flood(self, texts: list[str]) -> list[str]:
        """Write many messages without waiting, then wait."""
        raise NotImplementedError


def words(text: str) -> str:
    """A text as it is read: without Discord's escapes, with single spaces."""
    return " ".join(text.replace("\\", "").replace("**", "").replace("\u2060", "").split())

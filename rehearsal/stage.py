"""What every rehearsal shares: a bot that is started and stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

BotT_co = TypeVar("BotT_co", covariant=True)


class Running(Protocol[BotT_co]):
    """A bot that runs; `task` ends when it does."""

    @property
    def bot(self) -> BotT_co: ...

    @property
    def task(self) -> asyncio.Task[None]: ...

    async def stop(self) -> None:
        """Stop it and close what it used; a second time nothing happens."""
        ...


Begin: TypeAlias = Callable[[Path, Mapping[str, Any]], Awaitable[Running[BotT_co]]]
"""Starts a bot that keeps everything in a folder, under an account: settings of its platform."""

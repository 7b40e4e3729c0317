"""Long polling with a queue of our own: the library's acknowledges updates before anybody has seen to them."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError
from telegram.request import BaseRequest

from adapters.delivery.storage_retry import worth_a_word
from adapters.storage.ownership import Lost, Ownership, Undisputed
from adapters.telegram_adapter.intake import TelegramIntake, wait
from adapters.telegram_adapter.updates import ALLOWED
from engine import ConfigurationError, StorageError

POLL_SECONDS = 30
FAR = 100_000
"""Numbers of updates begin anew after a quiet week; further below the last one than this, they are new ones."""
CONFLICT_SECONDS = 5.0
TROUBLE_SECONDS = 2.0
"""Between attempts while nothing can be stored, however long that lasts: who writes meanwhile is told soon, and what
waits is taken soon after. An attempt is one request and one transaction, so that it burdens nobody."""
_MOST = 2**63
_MOST_WAIT = 30.0
_log = logging.getLogger("cafi.telegram")


@dataclass(kw_only=True)
class Polling:
    """Asks Telegram for updates until it is told to stop.

    `request`: the library's way to ask, which gives updates as they come: read one by one, not as a batch. `ownership`:
    the right to ask, where several processes could; Telegram sends each update to whoever asked last.
    """

    intake: TelegramIntake
    request: BaseRequest
    poll_seconds: int = POLL_SECONDS
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    ownership: Ownership = field(default_factory=Undisputed)

    async def run(self) -> None:
        """Raises ConfigurationError when the token is not valid any more; waits out everything else.

        Of several processes that could ask, the owner does.
        """
        while not self.stopping.is_set():
            with suppress(Lost):
                async with self.ownership.owned(self.stopping):
                    await self._poll()

    async def _poll(self) -> None:
        """Raises Lost when another process asks now."""
        taken = await self._taken()
        offset, failures, refused = 0, 0, 0
        while not self.stopping.is_set():
            try:
                await self.ownership.check()
                updates = await self._ask(offset)
                await self.ownership.check()
                new = [one for one in updates if not _known(one, taken)]
                last = max((number for one in updates if (number := _number(one)) is not None), default=None)
                if new or last is not None:
                    await self.intake.take(new, last)
                if updates and last is None:  # nothing can be acknowledged: it would come again at once
                    await wait(_MOST_WAIT, self.stopping)
                offset, failures, refused = (offset if last is None else last + 1), 0, 0
                taken = None if last is None else taken
            except StorageError as error:
                refused += 1
                if worth_a_word(refused):
                    _log.error("%s", error)
                await wait(TROUBLE_SECONDS, self.stopping)
            except TelegramError as error:
                failures += 1
                await wait(_pause(error, failures), self.stopping)

    async def _taken(self) -> int | None:
        while not self.stopping.is_set():
            try:
                return await self.intake.store.cursor(self.intake.cursor)
            except StorageError as error:
                _log.error("%s", error)
                await wait(TROUBLE_SECONDS, self.stopping)
        return None

    async def _ask(self, offset: int) -> list[Any]:
        query = urlencode(
            {"offset": offset, "timeout": self.poll_seconds, "limit": 100, "allowed_updates": json.dumps(ALLOWED)}
        )
        url = f"{self.intake.bot.base_url}/getUpdates?{query}"
        asking = asyncio.ensure_future(self.request.post(url, read_timeout=self.poll_seconds + 10))
        stop = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({asking, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return []
            try:
                updates: object = await asking
            except RecursionError:  # brackets without end, which the library does not foresee
                raise TelegramError("an answer of another form") from None
            return updates if isinstance(updates, list) else []
        finally:
            for task in (asking, stop):
                task.cancel()
            await asyncio.gather(asking, stop, return_exceptions=True)


def _number(update: object) -> int | None:
    number = update.get("update_id") if isinstance(update, Mapping) else None
    return number if isinstance(number, int) and 0 <= number < _MOST else None


def _known(update: object, taken: int | None) -> bool:
    """Whether an earlier process has stored an update that Telegram sends again."""
    number = _number(update)
    return taken is not None and number is not None and taken - FAR < number <= taken


def _pause(error: TelegramError, failures: int) -> float:
    """How long to wait after a failure, and a word for the operator."""
    if isinstance(error, InvalidToken):
        raise ConfigurationError(
            "Telegram does not know the token (any more).", key="telegram.token", remedy="Ask @BotFather for a new one."
        ) from None
    if isinstance(error, RetryAfter):
        return error._retry_after.total_seconds()
    if isinstance(error, Conflict):
        _log.error(
            "Another program asks for this bot's updates, or has set a webhook. Stop it; then start this one anew."
        )
        return CONFLICT_SECONDS
    if worth_a_word(failures):
        _log.warning("Telegram cannot be reached (%s); trying on", type(error).__name__)
    return min(0.5 * 2.0 ** min(failures, 6), _MOST_WAIT)

"""The webhook: Telegram brings updates to us. An update is stored before it is answered with 200."""

from __future__ import annotations

import hmac
import json
import logging
from collections import deque
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.telegram_adapter.intake import TelegramIntake
from engine import StorageError

HEADER = "X-Telegram-Bot-Api-Secret-Token"
MOST_BYTES = 1_000_000
_log = logging.getLogger("cafi.telegram")


@dataclass(kw_only=True)
class Webhook:
    """Answers Telegram's requests; `secret` is what Telegram sends along to show that it is Telegram."""

    intake: TelegramIntake
    secret: str
    path: str = "/telegram"
    _seen: deque[int] = field(default_factory=lambda: deque(maxlen=1_000))
    _storing: set[int | None] = field(default_factory=set)

    @property
    def route(self) -> Route:
        """Where it is reached."""
        return Route(self.path, self._answer, methods=["POST"])

    async def _answer(self, request: Request) -> Response:
        if not hmac.compare_digest(request.headers.get(HEADER, "").encode(), self.secret.encode()):
            return Response(status_code=403)
        try:
            body = await _body(request)
        except (ClientDisconnect, ValueError):
            return Response(status_code=413)
        try:
            update = json.loads(body)
        except (ValueError, RecursionError):
            _log.warning("an update could not be read and was left out")
            return Response(status_code=200)  # it would come again and again
        number = update.get("update_id") if isinstance(update, dict) else None
        return Response(status_code=await self._taken(update, number if isinstance(number, int) else None))

    async def _taken(self, update: object, number: int | None) -> int:
        """The status to answer with: 200 when the update is on disk, 503 when Telegram has to bring it again."""
        if number is not None and number in self._seen:
            return 200
        if number is not None and number in self._storing:
            return 503
        self._storing.add(number)
        try:
            await self.intake.take([update])
        except StorageError as error:
            _log.error("%s", error)
            return 503
        finally:
            self._storing.discard(number)
        if number is not None:
            self._seen.append(number)
        return 200


async def _body(request: Request) -> bytes:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_BYTES:
            raise ValueError("too long")
    return bytes(content)

"""The same deeds from another process: `POST /control/<deed>` with a JSON object of arguments."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from rehearsal.telegram_world.world import NotPossible

if TYPE_CHECKING:
    from rehearsal.telegram_world.server import TelegramServer

DEEDS = {"person", "start", "write", "press", "calls", "replies", "pending"}


async def control(server: TelegramServer, request: web.Request) -> web.StreamResponse:
    """Does one deed. The answer is `{"result": …}`, or 400 with `{"error": …}` for what cannot be done."""
    deed = request.match_info["deed"]
    result: Any = None
    try:
        arguments = json.loads(await request.text() or "{}")
        if deed in DEEDS:
            result = getattr(server, deed)(**arguments)
        else:
            return web.json_response({"error": f"There is no deed {deed!r}."}, status=404)
    except (NotPossible, KeyError, StopIteration, TypeError, ValueError) as error:
        return web.json_response({"error": f"{type(error).__name__}: {error}"}, status=400)
    return web.json_response({"result": _plain(result)})


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(one) for one in result]
    return asdict(result) if is_dataclass(result) and not isinstance(result, type) else result

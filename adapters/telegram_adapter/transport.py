"""How Telegram is asked: by aiohttp, which costs a fifth of the processor time of the library's own way."""

from __future__ import annotations

from importlib.util import find_spec
from urllib.request import getproxies

from telegram.request import BaseRequest, HTTPXRequest


def transport(connections: int, *, pool_seconds: float = 1.0) -> BaseRequest:
    """A way to ask Telegram, over at most so many connections; `pool_seconds`: how long to wait for one of them.

    It is the library's own where aiohttp is not installed, which the extras for models and Discord bring, and behind a
    proxy, of which httpx knows more kinds.
    """
    if find_spec("aiohttp") is None or any(kind != "no" for kind in getproxies()):
        return HTTPXRequest(connection_pool_size=connections, pool_timeout=pool_seconds)
    from adapters.telegram_adapter.aiohttp_transport import AiohttpRequest

    return AiohttpRequest(connections, pool_seconds=pool_seconds)

"""Asking Telegram by aiohttp; see `transport` for when."""

from __future__ import annotations

from typing import Any

import aiohttp
import httpx
from telegram.error import NetworkError, TimedOut
from telegram.request import BaseRequest, RequestData

READ, CONNECT, WRITE, WRITE_FILES = 5.0, 5.0, 5.0, 20.0
"""Seconds, the library's own."""
_FORM = "application/x-www-form-urlencoded"
_DEFAULT = BaseRequest.DEFAULT_NONE


class AiohttpRequest(BaseRequest):
    """Asks by aiohttp. No error is chained: what the client says may hold the address, and with it the token."""

    def __init__(self, connections: int, *, pool_seconds: float) -> None:
        self._connections, self._pool_seconds = connections, pool_seconds
        self._session: aiohttp.ClientSession | None = None

    @property
    def read_timeout(self) -> float:
        """Seconds until an answer has to come, where a call does not say."""
        return READ

    async def initialize(self) -> None:
        """Begin; once it is shut down, it may be begun anew."""
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=self._connections, ssl=httpx.create_ssl_context())
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": self.USER_AGENT}
            )

    async def shutdown(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def do_request(
        self,
        url: str,
        method: str,
        request_data: RequestData | None = None,
        read_timeout: Any = _DEFAULT,
        write_timeout: Any = _DEFAULT,
        connect_timeout: Any = _DEFAULT,
        pool_timeout: Any = _DEFAULT,
    ) -> tuple[int, bytes]:
        """The status and the body of the answer; raises TimedOut and NetworkError."""
        if self._session is None:
            raise RuntimeError("This request is not initialized.")
        files = request_data is not None and request_data.contains_files
        timeout = _timeout(
            pool=_given(pool_timeout, self._pool_seconds),
            connect=_given(connect_timeout, CONNECT),
            write=_given(write_timeout, WRITE_FILES if files else WRITE),
            read=_given(read_timeout, READ),
        )
        content = _content(request_data)
        headers = {"Content-Type": _FORM} if isinstance(content, bytes) else None
        try:
            async with self._session.request(
                method, url, data=content, headers=headers, timeout=timeout, allow_redirects=False
            ) as answer:
                return answer.status, await answer.read()
        except TimeoutError:
            raise TimedOut from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise NetworkError(f"aiohttp.{type(error).__name__}") from None


def _given(value: Any, default: float) -> float | None:
    """What a call says, None for no limit, or the default."""
    return default if value is _DEFAULT else value


def _timeout(
    *, pool: float | None, connect: float | None, write: float | None, read: float | None
) -> aiohttp.ClientTimeout:
    """aiohttp knows no limit for writing alone, so that it is part of the whole."""
    waits = (pool, connect, write, read)
    whole = None if None in waits else sum(one for one in waits if one is not None)
    return aiohttp.ClientTimeout(total=whole, sock_connect=connect, sock_read=read)


def _content(request_data: RequestData | None) -> bytes | aiohttp.FormData | None:
    if request_data is None:
        return None
    if not request_data.contains_files:
        return request_data.url_encoded_parameters().encode("ascii")
    form = aiohttp.FormData()
    for name, value in request_data.json_parameters.items():
        form.add_field(name, value)
    for name, (filename, content, kind) in request_data.multipart_data.items():
        form.add_field(name, content, filename=filename, content_type=kind)
    return form

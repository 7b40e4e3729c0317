"""Telegram's Bot API on the loopback address, as a process of its own; see `rehearsal.telegram_world` for use in a test.

    python -m tests.fakes.telegram_server --port 8081 --record calls.jsonl

prints its address and serves until it is terminated. Bots use `http://127.0.0.1:8081/bot` as the base address.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
from dataclasses import asdict
from pathlib import Path

from aiohttp import web

from rehearsal.telegram_world.server import TOKEN, BotApiCall, TelegramServer
from tests.fakes.telegram_control import control


class ControlledServer(TelegramServer):
    """The stand-in with deeds by HTTP; each accepted call is written to `record` at once, a JSON object a line."""

    def __init__(self, *, token: str, port: int, record: Path | None) -> None:
        super().__init__(token=token, port=port)
        self._record = record

    def more_routes(self) -> list[web.RouteDef]:
        return [web.post("/control/{deed}", self._control)]

    async def _control(self, request: web.Request) -> web.StreamResponse:
        return await control(self, request)

    def keep(self, call: BotApiCall) -> None:
        super().keep(call)
        if call.ok and self._record is not None:
            # One short line, on disk before the bot hears of it: a test may kill either side at any moment.
            with self._record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(call)) + "\n")


async def serve(kind: type[ControlledServer], port: int, token: str, record: Path | None) -> None:
    """Serves until the process is asked to end."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with kind(port=port, token=token, record=record) as server:
        print(server.origin, flush=True)
        await ended.wait()


def main(kind: type[ControlledServer] = ControlledServer) -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="A loopback stand-in for Telegram's Bot API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    asyncio.run(serve(kind, given.port, given.token, given.record))


if __name__ == "__main__":
    main()

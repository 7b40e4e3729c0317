"""Telegram's Bot API on the loopback address, as a process of its own; see `rehearsal.telegram_world` for use in a test.

    python -m tests.fakes.telegram_server --port 8081 --record calls.jsonl

prints its address and serves until it is terminated. Bots use `http://127.0.0.1:8081/bot` as the base address.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from rehearsal.telegram_world.server import TOKEN, TelegramServer

__all__ = ["TOKEN", "TelegramServer"]


async def serve(port: int, token: str, record: Path | None) -> None:
    """Serves until the process is asked to end."""
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with TelegramServer(port=port, token=token, record=record) as server:
        print(server.origin, flush=True)
        await ended.wait()


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="A loopback stand-in for Telegram's Bot API.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--token", default=TOKEN)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.token, given.record))


if __name__ == "__main__":
    main()

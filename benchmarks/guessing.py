"""What it costs to find and open a chat by guessing its account, with database and secret at hand, and what a turn pays.

An upper bound for one core in Python; whoever owns many, or graphics cards, divides. The memory that each guess needs
(16 MB) is what keeps such cards from trying thousands at a time.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.conversation.state import ChatState
from adapters.delivery.store import ChatStore
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming, pseudonyms
from adapters.storage.schema_version import migrate
from adapters.storage.seal import Keyring, Secret
from benchmarks.report import Cell, Section, Target
from engine import Conversation

ACCOUNTS = 8_000_000_000
"""Telegram's numbers of accounts, as far as they have been given out."""
MEMBERS = 10_000
"""Of a large Discord server: whoever is in it has the list."""
YEAR = 365.25 * 86_400
CHATS = 20


def measure() -> Section:
    """Guesses a second before and after, and the storage's part of a turn."""
    keyring = Keyring(current=Secret.random())
    quick = _rate(lambda one: keyring.current.keyed("chat", one.canonical()), 50_000)
    slow = _rate(lambda one: pseudonyms(keyring, one).present.name("chat"), 40)
    guesses = [_row("an HMAC of the account (former)", quick), _row("scrypt of the account (present)", slow)]
    with TemporaryDirectory() as folder:
        turns = asyncio.run(_turns(Path(folder), keyring))
    return Section(
        name="guessing",
        about=f"one core; {ACCOUNTS:,} accounts of Telegram, {MEMBERS:,} members of a Discord server",
        tables={"guesses": guesses, "the storage's part of a turn": turns},
        targets=(Target(name="dearer by", value=quick / slow, bound=5_000, kind="at least"),),
    )


def _rate(guess: Callable[[ChatIdentity], bytes], count: int) -> float:
    begun = time.perf_counter()
    for number in range(count):
        guess(ChatIdentity(platform="telegram", chat=str(5_000_000_000 + number)))
    return count / (time.perf_counter() - begun)


def _row(name: str, rate: float) -> dict[str, Cell]:
    return {
        "name made by": name,
        "guesses / s": rate,
        "core-years for all accounts": ACCOUNTS / rate / YEAR,
        "minutes for all members": MEMBERS / rate / 60,
    }


async def _turns(folder: Path, keyring: Keyring) -> list[dict[str, Cell]]:
    database = Database(f"sqlite:///{folder}/cafi.db")
    migrate(database)
    store = ChatStore(database=database, naming=Naming(keyring), inbox_secret=Secret.random())
    rows: list[dict[str, Cell]] = []
    for platform in ("telegram", "web"):
        people = [ChatIdentity(platform=platform, chat=str(number)) for number in range(CHATS)]
        for name in ("first message", "while the chat is active"):
            times = [await _turn(store, one) for one in people]
            rows.append({"chat": f"{platform}, {name}", "median ms": statistics.median(times) * 1000})
    await database.aclose()
    return rows


async def _turn(store: ChatStore, identity: ChatIdentity) -> float:
    begun = time.perf_counter()
    kept = await store.load(identity)
    fresh = ChatState(conversation=Conversation(assistant="schizophrenia"))
    await store.finish(None, identity, kept.state or fresh, kept.version)
    return time.perf_counter() - begun

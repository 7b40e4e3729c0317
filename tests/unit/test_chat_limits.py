"""Limits of one chat, by a clock that nobody can set, and the day's spending of all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from adapters.conversation.daily_budget import DailyBudget
from adapters.delivery.limits import ChatLimits
from adapters.delivery.store import ChatStore
from adapters.storage.database import Database
from engine.exceptions import StorageUnavailable
from engine.models.account import Account
from engine.models.ledger import ModelCall
from engine.settings import Price
from engine.types import Usage
from tests.storage import ANNA, BERT, Clock, database_in, message, store_over


def test_a_chat_gets_as_many_messages_a_minute_as_are_set() -> None:
    """Messages beyond the number are not taken until a minute has passed, and other chats do not notice."""
    clock = Clock(0.0)
    limits = ChatLimits(messages_a_minute=3, waiting=9, clock=clock)
    assert [limits.admit(message(), 0) for _ in range(5)] == [True] * 3 + [False] * 2
    assert limits.admit(message(BERT), 0)
    clock.seconds = 59.9
    assert not limits.admit(message(), 0)
    clock.seconds = 60.0
    assert limits.admit(message(), 0)


def test_limits_run_on_the_clock_that_never_jumps() -> None:
    """A change of the computer's time neither frees nor blocks a chat."""
    assert ChatLimits().clock is time.monotonic


def test_what_could_not_be_stored_does_not_count() -> None:
    """A message that is taken back leaves its place free."""
    limits = ChatLimits(messages_a_minute=1, clock=Clock(0.0))
    for _ in range(5):
        assert limits.admit(message(), 0)
        limits.take_back(message())
    assert limits.admit(message(), 0) and not limits.admit(message(), 0)


def test_a_chat_is_told_once_a_minute() -> None:
    """However fast somebody writes, they are told that it is too fast once a minute."""
    clock = Clock(0.0)
    limits = ChatLimits(clock=clock)
    told = 0
    for second in range(180):
        clock.seconds = float(second)
        told += limits.may_tell(ANNA)
    assert told == 3


TURN = Usage(prompt_tokens=60, completion_tokens=40, cost=0.5)
CALL = ModelCall(role="agent", model="m", started=0.0, ended=1.0, prompt_tokens=60, completion_tokens=40)
PRICE = Price(prompt=1.0, cached=1.0, completion=1.0)


async def test_at_the_limit_the_day_is_over_and_the_next_begins_anew(tmp_path: Path) -> None:
    """Tokens and cost both exhaust a day, after a restart too, and the next day starts from nothing."""
    day = [20_000]
    database = database_in(tmp_path)
    store = store_over(database)

    async def begun(**limits: float) -> DailyBudget:
        spending = DailyBudget(store=store, today=lambda: day[0], **limits)
        await spending.load()
        return spending

    spending = await begun(tokens_a_day=200)
    await spending.add(TURN)
    assert not spending.exhausted
    await spending.add(TURN)
    assert spending.exhausted
    assert (await begun(tokens_a_day=200)).exhausted
    assert (await begun(cost_a_day=1.0)).exhausted and not (await begun(cost_a_day=1.1)).exhausted
    day[0] += 1
    assert not spending.exhausted and not (await begun(tokens_a_day=200)).exhausted
    await spending.add(TURN)
    assert await store.spent(day[0]) == (100, 0.5)
    database.close()


async def test_what_an_endpoint_has_spent_today_outlasts_the_process(tmp_path: Path) -> None:
    """Each endpoint's sums are stored with the bot's, once, and its own limit holds after a start; a new day begins anew."""
    store, day = store_over(database_in(tmp_path)), [1]

    async def begun() -> tuple[DailyBudget, Account]:
        account = Account(endpoint="first", prices={"m": PRICE}, tokens_a_day=250, today=lambda: day[0])
        spending = DailyBudget(store=store, accounts=(account,), today=lambda: day[0])
        await spending.load()
        return spending, account

    for spent in (100, 200, 300):
        spending, account = await begun()
        assert not account.exhausted
        account.record(CALL)
        await spending.add(TURN)
        await spending.add(TURN)
        assert (await store.spent_at(1))["first"] == (spent, pytest.approx(spent * 1e-6))
    _, account = await begun()
    assert account.exhausted
    day[0] = 2
    assert not account.exhausted and not (await begun())[1].exhausted


class Failing:
    """A store that takes nothing until it is mended."""

    def __init__(self) -> None:
        self.broken, self.taken = True, (0, 0.0)

    async def spent(self, day: int) -> tuple[int, float]:
        return self.taken

    async def spent_at(self, day: int) -> Mapping[str, tuple[int, float]]:
        return {}

    async def spend(self, day: int, tokens: int, cost: float, at: Mapping[str, tuple[int, float]]) -> tuple[int, float]:
        if self.broken:
            raise StorageUnavailable
        self.taken = (self.taken[0] + tokens, self.taken[1] + cost)
        return self.taken


async def test_a_sum_that_cannot_be_stored_stops_nobody_and_is_stored_later() -> None:
    """A full disk does not end a turn over its cost, and no token is forgotten."""
    store = Failing()
    spending = DailyBudget(store=store, tokens_a_day=250, today=lambda: 1)
    await spending.load()
    await spending.add(TURN)
    await spending.add(TURN)
    store.broken = False
    await spending.add(TURN)
    assert store.taken == (300, 1.5) and spending.exhausted


class Counted:
    """A store that counts how often it is asked to write."""

    def __init__(self, store: ChatStore) -> None:
        self.store, self.writes = store, 0

    async def spent(self, day: int) -> tuple[int, float]:
        return await self.store.spent(day)

    async def spent_at(self, day: int) -> Mapping[str, tuple[int, float]]:
        return await self.store.spent_at(day)

    async def spend(self, day: int, tokens: int, cost: float, at: Mapping[str, tuple[int, float]]) -> tuple[int, float]:
        self.writes += 1
        return await self.store.spend(day, tokens, cost, at)


async def test_many_sums_at_once_all_count_and_are_written_together(tmp_path: Path) -> None:
    """Two hundred turns that end together are all in the sum on disk, in as few writes as there can be."""
    database: Database = database_in(tmp_path)
    store = Counted(store_over(database))
    spending = DailyBudget(store=store, today=lambda: 1)
    await asyncio.gather(*(spending.add(TURN) for _ in range(200)))
    assert await store.spent(1) == (20_000, 100.0) and store.writes == 2
    database.close()

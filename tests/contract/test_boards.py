"""Boards on disk, on both databases: what pages show comes back as it was, is fenced, expires, and is erased."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from adapters.conversation.outgoing import Button
from adapters.delivery.store import Superseded, Waiting
from adapters.storage.database import Database
from adapters.storage.identity import ChatIdentity
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import boards
from adapters.web_adapter.board_store import BoardStore, board_from_json, board_to_json
from adapters.web_adapter.boards import Board
from adapters.web_adapter.entries import Cited, Entry, Pictured
from tests.storage import POLL, Clock, message, store_over

ANNA = ChatIdentity(platform="web", chat="A" * 43)
_words = st.text(max_size=40)
_buttons = st.builds(Button, label=_words, command=_words, argument=_words, about=st.none() | st.integers())
_rows = st.lists(st.lists(_buttons, max_size=2).map(tuple), max_size=2).map(tuple)
_entries = st.builds(
    Entry,
    kind=st.sampled_from(["you", "answer", "note", "question", "referral"]),
    text=_words,
    title=_words,
    lang=_words,
    ours=st.booleans(),
    buttons=_rows,
    citations=st.lists(st.builds(Cited, path=_words, title=_words, lang=_words), max_size=2).map(tuple),
    pictures=st.lists(
        st.builds(Pictured, path=_words, caption=_words, alt=_words, width=st.integers(), height=st.integers()),
        max_size=1,
    ).map(tuple),
    poll=st.none() | st.tuples(_words, st.lists(st.tuples(_words, _words), max_size=2).map(tuple)),
)


@given(st.lists(_entries, max_size=4), _words)
def test_what_pages_show_comes_back_as_it_was(entries: list[Entry], status: str) -> None:
    """Whatever is on a board, with any words in it, is the same after it has been on disk."""
    board = Board(status=status, seeded=True)
    for one in entries:
        board.add(one)
    board.keep_poll("a name", POLL)
    again = board_from_json(board_to_json(board))
    assert (again.epoch, again.number, again.status, again.seeded) == (board.epoch, board.number, status, True)
    assert again.entries == board.entries and again.polls == board.polls


@given(st.binary(max_size=60))
def test_anything_else_is_refused_in_three_ways(content: bytes) -> None:
    """Bytes that are no board raise what a reader expects, and nothing else."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        board_from_json(content)


def answer(text: str) -> Entry:
    return Entry(kind="answer", text=text)


async def test_a_board_is_found_changed_and_erased_with_its_chat(database: Database) -> None:
    """Others find what one has put there, also under a former secret; it expires, and goes with its chat."""
    clock, former = Clock(), Keyring(current=Secret.random())
    first = BoardStore(store=store_over(database, former, clock))
    await first.change(ANNA, lambda board: board.add(answer("one")))
    second = BoardStore(store=store_over(database, Keyring(current=Secret.random(), former=(former.current,)), clock))
    found = await second.load(ANNA)
    assert found.board is not None and [one.text for one in found.board.entries] == ["one"]
    assert (await second.load(ANNA, found.version)).board is None
    kept = await second.change(ANNA, lambda board: board.add(answer("two")))
    assert kept.board is not None and [one.text for one in kept.board.entries] == ["one", "two"]
    assert kept.board.epoch == found.board.epoch and (await first.load(ANNA)).version == 0
    rows = database.run_now(lambda connection: connection.execute(select(boards)).all())
    assert len(rows) == 1 and not any(b"two" in value for value in rows[0] if isinstance(value, bytes))
    await second.store.erase(ANNA)
    assert (await second.load(ANNA)).version == 0
    await second.change(ANNA, lambda board: board.add(answer("three")))
    clock.seconds += 26 * 3600
    assert (await second.load(ANNA)).version == 0
    await second.store.sweep(30)
    assert database.run_now(lambda connection: connection.execute(select(boards)).all()) == []


async def test_who_answers_a_message_anew_takes_back_what_was_shown_of_it(database: Database) -> None:
    """Of a worker that died after showing an answer, the next one's stands in its place, and who lost a message shows nothing."""
    store = store_over(database)
    kept = BoardStore(store=store)
    [waiting] = await store.take([message(ANNA)])
    first = await store.begin(waiting.row)
    assert first is not None
    await kept.change(ANNA, lambda board: board.add(Entry(kind="you", text="hello")))
    before = await kept.change(ANNA, lambda board: board.add(answer("once")), first)
    second = await store.begin(waiting.row)
    assert second is not None and before.board is not None
    for late in (first, replace(first, row=first.row + 1)):
        with pytest.raises(Superseded):
            await kept.change(ANNA, lambda board: board.add(answer("late")), late)
    after = await kept.change(ANNA, lambda board: board.add(answer("again")), second)
    after = await kept.change(ANNA, lambda board: board.add(answer("and more")), second)
    assert after.board is not None and after.board.epoch != before.board.epoch
    assert [one.text for one in after.board.entries] == ["hello", "again", "and more"]
    assert (await kept.load(ANNA)).waiting == 1
    await store.finish(second, ANNA, None, 0)
    assert (await kept.load(ANNA)).waiting == 0


async def test_what_does_not_open_is_begun_anew(database: Database) -> None:
    """A damaged row is an empty board, which pages then make of the conversation; it costs nobody their page."""
    kept = BoardStore(store=store_over(database))
    await kept.change(ANNA, lambda board: board.seed([answer("one")]))
    database.run_now(lambda connection: connection.execute(boards.update().values(sealed=b"\x01damaged")))
    found = await kept.load(ANNA)
    assert found.board is not None and found.board.entries == deque() and not found.board.seeded
    held: Waiting | None = None
    assert (await kept.change(ANNA, lambda board: board.seed([answer("one")]), held)).board is not None

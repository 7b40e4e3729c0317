"""One chat's messages one at a time and in order, chats side by side; nothing acknowledged before it is on disk.

An adapter gives `take` what has arrived; only when that returns may the platform be told. Each chat has a worker while
it has messages. A turn ends with: the answer is delivered, then the new state is stored and the message deleted, in one
transaction. A process that is killed between the two delivers that one answer again after its restart; at most
`deliveries` answers are between the two at any moment.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.state import ChatState
from adapters.delivery.inbox import Inbox, OwnInbox
from adapters.delivery.limits import UNLIMITED_COMMANDS, ChatLimits
from adapters.delivery.screen import Gone, NotNow, Part, Screen
from adapters.delivery.storage_retry import StorageRetry
from adapters.delivery.store import ChatStore, Kept, Superseded, Waiting
from adapters.storage.identity import ChatIdentity, Passing
from engine import (
    Outcome,
    StaleState,
    Step,
    StepFact,
    StepListener,
    StepName,
    StorageError,
    Turn,
    count,
    measured,
    note,
    step,
)

GIVE_UP_AFTER = 20
"""How often a process may end over one message before the message gets an apology in place of an answer."""
STARTING = 2
"""Turns that may begin in one round of the event loop: hundreds at once would keep every delivery waiting for a second."""
TROUBLE_SECONDS, MOST_TROUBLE = 3600.0, 10_000
"""How long, and of how many messages, it is known that their people were told of trouble."""
AWAY_SECONDS = 300
"""An answer this long after its question says so."""
_log = logging.getLogger("cafi.dispatch")


async def _at_once() -> None:
    """Nothing to wait for."""


@dataclass(kw_only=True)
class _Line:
    """One chat's queue; `worker` runs while there is something in it."""

    waiting: deque[Waiting] = field(default_factory=deque)
    kept: Kept | None = None
    worker: asyncio.Task[None] | None = None
    begun: float = 0.0


@dataclass(kw_only=True)
class Dispatch:
    """Takes messages of one platform, and answers them. `slow_after`: seconds until a word that it takes longer.

    `on_answer` is told what was shown, and the seconds since its message was taken up, None outside of a chat's line;
    `on_given_up`, that a message is not tried again.
    `ready`: waited for before a chat's line begins; a platform that is in a hurry to acknowledge is not held up by it.
    `inbox`: where messages wait; without one, they are this process's alone. `apologises`: people can be told that nothing
    can be stored; not where what they see is stored, too. `crowded_after`: seconds that the oldest message may wait for
    somebody who answers it; beyond, people are asked to write again later, None for however long. `on_turn`: told where the
    seconds of each turn went; without one, nothing is measured.
    """

    chat: Chat
    store: ChatStore
    screen: Screen
    limits: ChatLimits
    deliveries: int = 1
    slow_after: float = 8.0
    retry: StorageRetry = field(default_factory=StorageRetry)
    on_answer: Callable[[Outgoing, float | None], None] = lambda outgoing, seconds: None
    on_given_up: Callable[[], None] = lambda: None
    on_turn: StepListener | None = None
    ready: Callable[[], Awaitable[None]] = _at_once
    inbox: Inbox | None = None
    apologises: bool = True
    crowded_after: float | None = None
    _lines: dict[ChatIdentity, _Line] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _names: Passing = field(default_factory=Passing)
    _told_trouble: OrderedDict[bytes, float] = field(default_factory=OrderedDict)
    _inbox: Inbox = field(init=False)
    _delivering: asyncio.Semaphore = field(init=False)
    _starting: asyncio.Semaphore = field(init=False)
    _closing: bool = False

    def __post_init__(self) -> None:
        self._inbox = self.inbox or OwnInbox(store=self.store)
        self._delivering = asyncio.Semaphore(self.deliveries)
        self._starting = asyncio.Semaphore(STARTING)

    async def resume(self, prepare: Callable[[Sequence[Incoming]], Awaitable[None]] | None = None) -> int:
        """Take up what an earlier process left unanswered; how many messages. `prepare` sees them before any is begun."""
        found, closed = await self._inbox.left(self.chat.platform.id)
        if closed:
            _log.warning(
                "%d waiting messages could not be opened and were dropped: the inbox key is another one", closed
            )
        if prepare is not None:
            await prepare([one.incoming for one in found])
        for one in found:
            self._enqueue(one)
        return len(found)

    async def take(self, arrived: Sequence[Incoming], cursor: tuple[str, int] | None = None) -> int:
        """Put messages on disk and in their lines; how many were refused. Raises StorageError, and then nothing was taken.

        What is beyond a chat's limits is not kept; the person is told.
        """
        kept, refused = self._admitted(arrived, await self._inbox.ahead({one.identity for one in arrived}))
        kept, late = await self._in_time(kept)
        if kept or cursor is not None:
            try:
                stored = await self._inbox.take(kept, cursor)
            except StorageError:
                for one in reversed(kept):
                    self.limits.take_back(one)
                raise
            self._told_trouble.clear()
            for waiting in stored:
                self._enqueue(waiting)
        for one in refused:
            self._refuse(one)
        for one in late:
            self._later(self._put_off(one))
        return len(refused) + len(late)

    async def _in_time(self, kept: list[Incoming]) -> tuple[list[Incoming], list[Incoming]]:
        """What is taken, and what would wait for too long; what no limit holds back is taken."""
        most = self.crowded_after
        asking = [one for one in kept if one.command not in UNLIMITED_COMMANDS]
        age = 0.0
        if most is not None and asking:
            with suppress(StorageError):  # taking them will say so
                age = await self._inbox.age()
        if most is None or age <= most:
            return kept, []
        return [one for one in kept if one.command in UNLIMITED_COMMANDS], asking

    async def _put_off(self, incoming: Incoming) -> None:
        """Ask somebody to write again later, once in a while; words of danger get the referral each time."""
        kept = None
        with suppress(StorageError):
            kept = await self.store.load(incoming.identity)
        state = (kept.state if kept else None) or self.chat.start(incoming)
        outgoing = await self.chat.crowded(state, incoming)
        if outgoing.referral or self.limits.may_tell(incoming.identity):
            await self._shown(incoming, outgoing)

    def _admitted(
        self, arrived: Sequence[Incoming], elsewhere: Mapping[ChatIdentity, int]
    ) -> tuple[list[Incoming], list[Incoming]]:
        """What is within each chat's limits, and what is beyond."""
        kept: list[Incoming] = []
        refused: list[Incoming] = []
        ahead = dict(elsewhere)
        for one in arrived:
            line = self._lines.get(one.identity)
            before = ahead.get(one.identity, 0) + (len(line.waiting) if line else 0)
            if self.limits.admit(one, before):
                kept.append(one)
                ahead[one.identity] = ahead.get(one.identity, 0) + 1
            else:
                refused.append(one)
        return kept, refused

    def _refuse(self, incoming: Incoming) -> None:
        """Say so, once in a while; reading what is refused would make everybody else wait for a flood."""
        if self.limits.may_tell(incoming.identity):
            self._later(self._refusal(incoming))

    async def _refusal(self, incoming: Incoming) -> None:
        """With the contacts of the country that somebody has chosen, if that can be known."""
        line = self._lines.get(incoming.identity)
        kept = line.kept if line else None
        if kept is None:
            with suppress(StorageError):
                kept = await self.store.load(incoming.identity)
        state = kept.state if kept else None
        await self._shown(incoming, self.chat.pages.refuse(state or self.chat.start(incoming)))

    def apologise(self, incoming: Incoming) -> None:
        """Tell somebody that nothing can be stored now, and where help is; once in a while.

        The crisis referral is shown for each message that calls for it, once, however often the message is tried.
        """
        this = self._names.name(incoming.identity, f"{incoming.at} {incoming.text}".encode(errors="surrogatepass"))
        if not self.apologises or this in self._told_trouble:
            return
        self._told_trouble[this] = time.monotonic()
        while len(self._told_trouble) > MOST_TROUBLE:
            self._told_trouble.popitem(last=False)
        self._later(self._apology(incoming))

    async def _apology(self, incoming: Incoming) -> None:
        outgoing = await self.chat.cannot_take(incoming)
        if outgoing.referral or self.limits.may_tell(incoming.identity):
            await self._shown(incoming, outgoing)

    def sweep(self) -> None:
        """Forget whom limits held back, and who was told of trouble long ago."""
        self.limits.sweep()
        while self._told_trouble and next(iter(self._told_trouble.values())) < time.monotonic() - TROUBLE_SECONDS:
            self._told_trouble.popitem(last=False)

    async def aclose(self, seconds: float = 10.0) -> None:
        """Let turns that run come to their end for some seconds; what is left stays on disk."""
        self._closing = self.retry.ended = True
        running = [line.worker for line in self._lines.values() if line.worker is not None]
        await _settled([*running, *self._tasks], seconds)

    async def leave(self) -> None:
        """Somebody else answers what waits: break off, and know nothing of it any more."""
        running = [line.worker for line in self._lines.values() if line.worker is not None]
        await _settled([*running, *self._tasks], 0.0)
        self._lines.clear()

    @property
    def busy(self) -> bool:
        """Whether anything is being answered."""
        return any(line.worker is not None for line in self._lines.values()) or bool(self._tasks)

    async def idle(self) -> None:
        """Wait until nothing is left to answer."""
        while working := [line.worker for line in self._lines.values() if line.worker is not None] + list(self._tasks):
            await asyncio.wait(working)

    # --- One chat ---------------------------------------------------------------------------------------------------

    def _enqueue(self, waiting: Waiting) -> None:
        line = self._lines.setdefault(waiting.incoming.identity, _Line())
        line.waiting.append(waiting if self.on_turn is None else replace(waiting, since=time.monotonic()))
        if line.worker is None:
            line.worker = asyncio.create_task(self._work(waiting.incoming.identity, line))

    async def _work(self, identity: ChatIdentity, line: _Line) -> None:
        try:
            await self.ready()
            while line.waiting and not self._closing:
                waiting = line.waiting[0]
                with self._measured(waiting):
                    await self._answer(line, waiting)
                if line.waiting and line.waiting[0] is waiting:
                    line.waiting.popleft()
        except Exception as error:  # the message stays on disk; the next start takes it up
            _log.error("a chat's line stopped: %s", type(error).__name__)
        finally:
            line.worker = None
            self._lines.pop(identity, None)

    async def answer(self, waiting: Waiting) -> None:
        """Answer one message of a chat whose order is seen to elsewhere. Raises StorageError where it is to be begun again."""
        try:
            with self._measured(waiting):
                await self._answer(_Line(waiting=deque([waiting])), waiting)
        except Superseded:
            _log.warning("a message was given to another worker meanwhile; this one shows nothing more of it")

    def _measured(self, waiting: Waiting) -> AbstractContextManager[None]:
        """Measure a turn, where somebody is told."""
        return nullcontext() if self.on_turn is None else measured(self._turned, since=waiting.since)

    def _turned(self, turn: Step) -> None:
        try:
            if self.on_turn is not None:
                self.on_turn(turn)
        except Exception as error:  # as of answers
            _log.error("a listener failed: %s", type(error).__name__)

    async def _answer(self, line: _Line, waiting: Waiting) -> None:
        incoming = waiting.incoming
        note(StepFact.PLATFORM, incoming.identity.platform)
        note(StepFact.RETRIES, waiting.attempts)
        if line.kept is None:
            with step(StepName.STORAGE):
                line.kept = await self.retry.until_done(
                    lambda: self.store.load(incoming.identity), on_wait=lambda: self.apologise(incoming)
                )
            if line.kept.lost:
                await self._shown(incoming, self.chat.pages.lost(self.chat.start(incoming)), waiting)
        async with self._starting:
            await asyncio.sleep(0)
        state = line.kept.state or self.chat.start(incoming)
        if incoming.number in state.taken:  # brought again by a platform that did not hear that it was taken
            await self._let_go(waiting)
            return
        if waiting.attempts >= GIVE_UP_AFTER:
            _log.error("a message ended the process %d times and is given up", waiting.attempts)
            async with self.screen.busy(incoming):
                await self._deliver(line, waiting, self.chat.pages.sorry(state))
            self.on_given_up()
            return
        if incoming.at and self.store.now() - incoming.at > AWAY_SECONDS:
            incoming = incoming.after_an_absence()
        waiting, line.begun = replace(waiting, incoming=incoming), time.monotonic()
        try:
            async with self.screen.busy(incoming), _Slow(self, waiting, state):
                await self.retry.until_done(
                    lambda: self._turn(line, waiting, state), on_wait=lambda: self.apologise(incoming)
                )
        except Gone:
            await self._forget(line, waiting)

    async def _turn(self, line: _Line, waiting: Waiting, state: ChatState) -> None:
        """One turn, to its end. Raises Gone, and StorageError when it has to be begun again."""
        try:
            async with aclosing(self.chat.handle(state, waiting.incoming)) as outgoings:
                async for outgoing in outgoings:
                    _noted(outgoing.turn)
                    if outgoing.state is not None or outgoing.erased:
                        await self._deliver(line, waiting, outgoing)
                        return
                    await self._show(waiting.incoming, outgoing, waiting, line)
            await self._let_go(waiting)
        except (Gone, Superseded, StorageError):
            raise
        except Exception as error:  # whatever it was: one calm sentence, and the line goes on
            _log.error("a turn failed: %s", type(error).__name__)
            await self._apologised(line, waiting, state)

    async def _apologised(self, line: _Line, waiting: Waiting, state: ChatState) -> None:
        try:
            await self._deliver(line, waiting, self.chat.pages.sorry(state))
        except (Gone, Superseded, StorageError):
            raise
        except Exception as error:  # not even that can be shown: nothing is gained by trying for ever
            _log.error("an apology failed: %s", type(error).__name__)
            await self._let_go(waiting)

    async def _let_go(self, waiting: Waiting) -> None:
        """A message needs no answer (any more); the state stays as it is."""
        await self.retry.until_done(lambda: self._inbox.finish(waiting, None, 0))

    async def _deliver(self, line: _Line, waiting: Waiting, outgoing: Outgoing) -> None:
        """The last outgoing message of a turn: shown, then stored, with few others between the two at the same time."""
        parts = self._parts(waiting.incoming, outgoing)
        with step(StepName.DELIVER):
            for part in parts[:-1]:
                await self._send(part, waiting)
            while True:
                async with self._delivering:
                    await self._hold(waiting)
                    try:
                        poll = await self.screen.send(parts[-1]) if parts else None
                    except NotNow as wait:
                        seconds = wait.seconds
                    else:
                        with step(StepName.STORAGE):
                            await self._finish(line, waiting, outgoing, poll)
                        break
                count(StepFact.RETRIES)
                await asyncio.sleep(seconds)
        self._answered(outgoing, line)

    async def _finish(self, line: _Line, waiting: Waiting, outgoing: Outgoing, poll: str | None) -> None:
        """Store what came of a message, and let go of it."""
        kept = line.kept or Kept()
        shown = None if poll is None or outgoing.poll is None else (poll, outgoing.poll)
        state = outgoing.state and outgoing.state.having_taken(waiting.incoming.number)
        try:
            version = await self.retry.until_done(lambda: self._inbox.finish(waiting, state, kept.version, shown))
        except StaleState:
            _log.warning("a chat was written elsewhere in the meantime; that state stands")
            await self._let_go(waiting)
            line.kept = None
            return
        if outgoing.erased:
            await self._erased(line)
        elif state is not None:
            line.kept = Kept(state=state, version=version)

    async def _forget(self, line: _Line, waiting: Waiting) -> None:
        """Nobody is there any more: nothing of the chat stays."""
        await self.retry.until_done(lambda: self._inbox.erase(waiting.incoming.identity))
        await self._let_go(waiting)
        await self._erased(line)

    async def _erased(self, line: _Line) -> None:
        """A chat begins anew; messages that were erased with it are not answered, those that came since are."""
        line.kept = Kept()
        rows = [one.row for one in line.waiting]
        left = await self.retry.until_done(lambda: self.store.waiting(rows))
        erased = [one for one in line.waiting if one.row in rows and one.row not in left]
        line.waiting = deque(one for one in line.waiting if one not in erased)

    # --- Showing ----------------------------------------------------------------------------------------------------

    def _parts(self, incoming: Incoming, outgoing: Outgoing) -> Sequence[Part]:
        return self.screen.parts(incoming, outgoing) if outgoing.text or outgoing.poll or outgoing.pictures else ()

    async def _show(
        self, incoming: Incoming, outgoing: Outgoing, waiting: Waiting | None = None, line: _Line | None = None
    ) -> None:
        """Show something that is not the end of a turn; of `waiting`, while that is ours."""
        with step(StepName.DELIVER):
            for part in self._parts(incoming, outgoing):
                await self._send(part, waiting)
        self._answered(outgoing, line)

    def _answered(self, outgoing: Outgoing, line: _Line | None) -> None:
        try:
            self.on_answer(outgoing, None if line is None else time.monotonic() - line.begun)
        except Exception as error:  # whoever listens must not cost anybody an answer
            _log.error("a listener failed: %s", type(error).__name__)

    async def _hold(self, waiting: Waiting | None) -> None:
        """Right before something is sent: a process that was frozen must not show what another one has shown meanwhile."""
        if waiting is not None:
            await self.retry.until_done(lambda: self._inbox.hold(waiting))

    async def _send(self, part: Part, waiting: Waiting | None = None) -> None:
        while True:
            await self._hold(waiting)
            try:
                await self.screen.send(part)
                return
            except NotNow as wait:
                count(StepFact.RETRIES)
                await asyncio.sleep(wait.seconds)

    async def _shown(self, incoming: Incoming, outgoing: Outgoing, waiting: Waiting | None = None) -> None:
        """Show something outside a chat's line; that it cannot be shown concerns nobody else."""
        try:
            await self._show(incoming, outgoing, waiting)
        except (Gone, Superseded):
            return
        except Exception as error:
            _log.warning("a notice could not be shown: %s", type(error).__name__)

    def _later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _noted(turn: Turn | None) -> None:
    """Note how a turn ended. Where danger was told or suspected, help is shown, or fixed words are the answer, as most of
    them are the crisis referral, nothing is told of it: who sees turns one by one would see when somebody needed help."""
    if turn is None:
        return
    if turn.is_private or turn.review.outcome is Outcome.FIXED:
        note(StepFact.PRIVATE, 1)
    note(StepFact.ASSISTANT, turn.conversation.assistant)
    note(StepFact.DECISION, turn.review.decision)
    note(StepFact.CALLS, turn.usage.llm_calls)
    note(StepFact.PROMPT_TOKENS, turn.usage.prompt_tokens)
    note(StepFact.COMPLETION_TOKENS, turn.usage.completion_tokens)
    note(StepFact.CACHED_TOKENS, turn.usage.cached_tokens)


class _Slow:
    """Says that it takes longer when a turn is slow; not after the turn is over."""

    def __init__(self, dispatch: Dispatch, waiting: Waiting, state: ChatState) -> None:
        self._dispatch, self._waiting, self._state = dispatch, waiting, state
        self._saying: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._dispatch.slow_after, self._say)

    async def __aexit__(self, *exc: object) -> None:
        self._timer.cancel()
        if self._saying is not None:
            self._saying.cancel()

    def _say(self) -> None:
        outgoing = self._dispatch.chat.pages.working(self._state)
        self._saying = self._dispatch._later(self._dispatch._shown(self._waiting.incoming, outgoing, self._waiting))


async def _settled(tasks: Sequence[asyncio.Task[None]], seconds: float) -> None:
    if not tasks:
        return
    _, left = await asyncio.wait(tasks, timeout=seconds)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)

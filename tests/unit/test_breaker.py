"""The circuit breaker by a clock that the tests move, against what anybody would expect of one."""

from __future__ import annotations

import pytest
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from engine.models.breaker import LONGEST_RETRY_AFTER, Breaker, BreakerState
from engine.settings import BreakerSettings
from tests.storage import Clock

SETTINGS = BreakerSettings(failures=3, seconds=10.0, most_seconds=60.0)


def made(clock: Clock, **changes: float) -> Breaker:
    return Breaker(settings=SETTINGS.model_copy(update=changes), clock=clock)


def admitted(breaker: Breaker) -> int:
    permit = breaker.admit()
    assert permit is not None
    return permit


def fails(breaker: Breaker, times: int = 1, **how: float) -> bool:
    """Whether the last of so many failed calls opens it."""
    opened = False
    for _ in range(times):
        opened = breaker.failed(admitted(breaker), **how)  # type: ignore[arg-type]
    return opened


def test_failures_one_after_the_other_open_it_and_an_answer_between_does_not_let_them() -> None:
    """Three failures in a row open it; with a success between them they count anew."""
    breaker = made(Clock(0.0))
    assert not fails(breaker, 2)
    breaker.succeeded(admitted(breaker))
    assert not fails(breaker, 2) and breaker.state is BreakerState.CLOSED
    assert fails(breaker) and breaker.state is BreakerState.OPEN and breaker.admit() is None


def test_half_open_one_call_tries_and_its_end_decides() -> None:
    """After the cool-down one call goes at a time; its success closes the breaker, a call given up makes room for another."""
    clock = Clock(0.0)
    breaker = made(clock)
    fails(breaker, 3)
    clock.seconds = 10.0
    assert breaker.state is BreakerState.HALF_OPEN
    trial = admitted(breaker)
    assert breaker.admit() is None
    breaker.released(trial)
    assert breaker.succeeded(admitted(breaker))
    assert breaker.state is BreakerState.CLOSED and breaker.admit() is not None


def test_the_cool_down_doubles_up_to_its_bound_and_begins_anew_after_an_answer() -> None:
    """Each failed trial doubles the pause until `most_seconds`; after a success the first one is short again."""
    clock = Clock(0.0)
    breaker = made(clock)
    fails(breaker, 3)
    pauses = []
    for _ in range(5):
        pauses.append(breaker.remaining())
        clock.seconds += breaker.remaining()
        fails(breaker)
    assert pauses == [10.0, 20.0, 40.0, 60.0, 60.0]
    clock.seconds += breaker.remaining()
    breaker.succeeded(admitted(breaker))
    fails(breaker, 3)
    assert breaker.remaining() == 10.0


@pytest.mark.parametrize("end", ["succeeded", "failed", "released"])
def test_what_was_begun_before_the_breaker_opened_has_no_say_in_the_trial(end: str) -> None:
    """A late end of an early call neither closes nor opens the breaker, nor lets a second call try beside the first."""
    clock = Clock(0.0)
    breaker = made(clock)
    early = admitted(breaker)
    fails(breaker, 3)
    clock.seconds = 10.0
    trial = admitted(breaker)
    getattr(breaker, end)(early)
    assert breaker.state is BreakerState.HALF_OPEN and breaker.admit() is None
    assert breaker.succeeded(trial)


@pytest.mark.parametrize(
    ("wait", "pause"), [(3600.0, 3600.0), (1e9, LONGEST_RETRY_AFTER), (10.0, 10.0), (9.0, 0.0), (0.0, 0.0)]
)
def test_what_the_server_asks_to_wait_is_waited_up_to_a_bound(wait: float, pause: float) -> None:
    """An hour of `Retry-After` opens it for an hour, a year for six hours; some seconds are a failure like others."""
    breaker = made(Clock(0.0))
    assert fails(breaker, wait=wait) is (pause > 0)
    assert breaker.remaining() == pause


def test_a_wrong_key_opens_it_at_once_and_what_is_switched_off_never_opens() -> None:
    """One lasting failure is enough; with `failures: 0` no number of them is."""
    breaker, never = made(Clock(0.0)), made(Clock(0.0), failures=0)
    assert fails(breaker, at_once=True)
    assert not fails(never, 50, at_once=True, wait=3600.0) and never.state is BreakerState.CLOSED


class BreakerMachine(RuleBasedStateMachine):
    """Calls that overlap in any way, with a clock that goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock(0.0)
        self.breaker = made(self.clock)
        self.under_way: list[tuple[int, BreakerState, int]] = []
        self.openings = 0
        self.opened_at = -1.0

    @rule()
    def begins(self) -> None:
        before = self.breaker.state
        trials = [one for one in self.under_way if one[1] is BreakerState.HALF_OPEN and one[2] == self.openings]
        permit = self.breaker.admit()
        assert (permit is None) == (before is BreakerState.OPEN or (before is BreakerState.HALF_OPEN and bool(trials)))
        if permit is not None:
            self.under_way.append((permit, before, self.openings))

    @precondition(lambda self: self.under_way)
    @rule(data=st.data(), end=st.sampled_from(["succeeded", "failed", "lasting", "hour", "released"]))
    def ends(self, data: st.DataObject, end: str) -> None:
        permit, begun_in, era = self.under_way.pop(data.draw(st.integers(0, len(self.under_way) - 1)))
        before, left = self.breaker.state, self.breaker.remaining()
        match end:
            case "succeeded":
                closed = self.breaker.succeeded(permit)
                assert closed == (begun_in is BreakerState.HALF_OPEN and era == self.openings)
                self.openings += closed  # a new era, too: what was begun before has no say in it
            case "released":
                self.breaker.released(permit)
            case _:
                wait = 3600.0 if end == "hour" else 0.0
                opened = self.breaker.failed(permit, at_once=end == "lasting", wait=wait)
                if opened:
                    assert before is not BreakerState.OPEN and self.breaker.state is BreakerState.OPEN
                    assert max(10.0, wait) <= self.breaker.remaining() <= max(60.0, wait)
                    self.openings += 1
                elif era == self.openings:
                    assert end == "failed" and begun_in is BreakerState.CLOSED
        if before is BreakerState.OPEN:  # nothing shortens or lengthens a pause
            assert self.breaker.remaining() == left

    @rule(seconds=st.sampled_from([1.0, 10.0, 60.0, 3600.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.seconds += seconds

    @invariant()
    def it_never_stays_open(self) -> None:
        assert self.breaker.remaining() <= 3600.0
        assert (self.breaker.state is BreakerState.OPEN) == (self.breaker.remaining() > 0)


BreakerMachine.TestCase.settings = hypothesis_settings(max_examples=60, stateful_step_count=30, deadline=None)
TestBreakerMachine = BreakerMachine.TestCase

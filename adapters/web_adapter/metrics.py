"""What the operator may know of the page: counts and times, never what was written or by whom."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client import Counter as Total

from adapters.conversation.outgoing import Outgoing
from adapters.endpoint_metrics import EndpointCollector, FigureSource, no_endpoints
from adapters.feedback.report_figures import ReportedPart
from engine import Outcome

_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60)
_MOST = 1_000


@dataclass(kw_only=True)
class Metrics:
    """Counts since the start of the process, such that who watches them does not see what somebody in need does.

    No request is counted by its page, as a message without an answer among the answers is a crisis referral; and of what
    is not counted among the answers, no time is counted either.
    """

    clock: Callable[[], float] = time.monotonic
    endpoints: FigureSource = no_endpoints
    begun: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)
    decisions: Counter[str] = field(default_factory=Counter)
    requests: Counter[str] = field(default_factory=Counter)
    _answer_times: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST))
    _page_times: deque[float] = field(default_factory=lambda: deque(maxlen=_MOST))
    _registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self.begun = self.clock()
        one = self._registry
        one.register(EndpointCollector(figures=self.endpoints, clock=self.clock))
        self._requests = Total("cafi_web_requests", "Requests by how they ended.", ["ended"], registry=one)
        self._seconds = Histogram(
            "cafi_web_request_seconds", "Time to answer a request.", buckets=_BOUNDS, registry=one
        )
        self._answered = Total("cafi_answers", "Answers shown on the web page.", ["outcome"], registry=one)
        self._decided = Total("cafi_decisions", "Decisions of the filter.", ["decision"], registry=one)
        self._answering = Histogram(
            "cafi_answer_seconds", "Time from taking up a message to its answer.", buckets=_BOUNDS, registry=one
        )
        self._streams = Gauge("cafi_web_streams", "Open pages that are told of answers at once.", registry=one)
        self._referrals = Gauge(
            "cafi_referrals",
            "Crisis referrals of weeks that have ended, rounded down to fives.",
            ["week", "platform"],
            registry=one,
        )
        self._reports = Gauge(
            "cafi_reports",
            "Reports within four weeks that an answer worried or harmed somebody, where they alarm: rounded down to fives.",
            ["assistant", "part"],
            registry=one,
        )

    def page(self, status: int, seconds: float, *, stream: bool = False) -> None:
        """A request has been answered."""
        # Not by status: a redirect is a form that was sent, and a message is one.
        ended = "failed" if status >= 500 else "refused" if status >= 400 else "answered"
        self.requests[ended] += 1
        self._requests.labels(ended).inc()
        if not stream:
            self._page_times.append(seconds)
            self._seconds.observe(seconds)

    def answered(self, outgoing: Outgoing) -> None:
        """Something was shown; turns are counted."""
        if outgoing.turn is None or not counts(outgoing):
            return
        review = outgoing.turn.review
        self.answers[str(review.outcome)] += 1
        self._answered.labels(str(review.outcome)).inc()
        if review.stages:
            self.decisions[str(review.decision)] += 1
            self._decided.labels(str(review.decision)).inc()

    def took(self, seconds: float) -> None:
        """An answer that counts has been made."""
        self._answer_times.append(seconds)
        self._answering.observe(seconds)

    def uptime(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.begun

    def answer_times(self) -> tuple[float, float] | None:
        """Median and 95th percentile of the last answers in seconds."""
        return _percentiles(self._answer_times)

    def answer_seconds(self) -> tuple[float, ...]:
        """How long each of the last answers took."""
        return tuple(self._answer_times)

    def page_times(self) -> tuple[float, float] | None:
        """The same of the last pages."""
        return _percentiles(self._page_times)

    def exposition(
        self, *, streams: int, referrals: Sequence[tuple[str, str, int]], reports: Sequence[ReportedPart] = ()
    ) -> bytes:
        """Everything as Prometheus reads it. `referrals`: week, platform and count, as they may be seen."""
        self._streams.set(streams)
        self._referrals.clear()
        for week, platform, count in referrals:
            self._referrals.labels(week, platform).set(count)
        self._reports.clear()
        for one in reports:
            self._reports.labels(one.assistant, one.part).set(one.at_least)
        return generate_latest(self._registry)


def counts(outgoing: Outgoing) -> bool:
    """Whether this is an answer to count: of the fixed ones most are crisis referrals, and a model takes longer."""
    return outgoing.turn is not None and outgoing.turn.review.outcome is not Outcome.FIXED


def _percentiles(times: Sequence[float]) -> tuple[float, float] | None:
    if not times:
        return None
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

"""What the operator may know of a process: counts and times, never what was written or by whom."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram, generate_latest
from prometheus_client import Counter as Total
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from adapters.conversation.outgoing import Outgoing
from adapters.delivery.queue_age import QueueFigures
from adapters.endpoint_metrics import EndpointCollector, FigureSource, no_endpoints
from adapters.feedback.report_figures import ReportedPart
from engine import Outcome, StorageError

Ended = Callable[[], Awaitable[Sequence[tuple[str, str, int]]]]
"""How often crisis referrals were shown, in weeks that have ended: week, platform, count. May raise StorageError."""
Alarms = Callable[[], Awaitable[Sequence[ReportedPart]]]
"""Parts of texts with so many reports that the operator is alarmed. May raise StorageError."""

HISTOGRAM_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300)
_MOST = 1_000
MEDIA_TYPE = "text/plain; version=0.0.4"
FIVE, TEN = 5, 10
"""What waits is told in fives, and for how long in tens of seconds: a single message that came and was not counted among
the answers would be a crisis referral."""


async def nothing() -> Sequence[Any]:
    """No counts."""
    return ()


@dataclass(kw_only=True, eq=False)  # a registry keeps it by identity
class QueueCollector(Collector):
    """What is known of the queue of many processes; no family where nothing is."""

    figures: QueueFigures | None = None

    def describe(self) -> Iterator[Metric]:
        """Nothing in advance."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The families, one sample each: every process tells the same, as it stands in the database."""
        if (found := self.figures) is None:
            return
        waiting, oldest = found.waiting - found.waiting % FIVE, found.oldest - found.oldest % TEN
        yield GaugeMetricFamily("cafi_queue_waiting", "Messages that are not answered yet, in fives.", waiting)
        yield GaugeMetricFamily("cafi_queue_oldest_seconds", "How long the oldest lacks a worker, in tens.", oldest)
        yield GaugeMetricFamily("cafi_queue_failed", "Jobs that the queue has given up.", found.failed)
        yield GaugeMetricFamily("cafi_queue_workers", "Workers that live.", found.workers)


@dataclass(kw_only=True)
class Metrics:
    """Counts since the start of the process, such that who watches them does not see what somebody in need does.

    No request is counted by its page, as a message without an answer among the answers is a crisis referral; and of what
    is not counted among the answers, no time is counted either. `queue`: where workers answer; may raise StorageError.
    `streams`: pages that are open here.
    """

    clock: Callable[[], float] = time.monotonic
    endpoints: FigureSource = no_endpoints
    referrals: Ended = nothing
    reports: Alarms = nothing
    queue: Callable[[], Awaitable[QueueFigures]] | None = None
    streams: Callable[[], int] = lambda: 0
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
        self._queue = QueueCollector()
        one.register(self._queue)
        self._requests = Total("cafi_web_requests", "Requests by how they ended.", ["ended"], registry=one)
        self._seconds = Histogram(
            "cafi_web_request_seconds", "Time to answer a request.", buckets=HISTOGRAM_SECONDS, registry=one
        )
        self._answered = Total(
            "cafi_answers", "Answers shown on the web page and on Telegram.", ["outcome"], registry=one
        )
        self._decided = Total("cafi_decisions", "Decisions of the filter.", ["decision"], registry=one)
        self._answering = Histogram(
            "cafi_answer_seconds",
            "Time from taking up a message to its answer.",
            buckets=HISTOGRAM_SECONDS,
            registry=one,
        )
        self._given_up = Total("cafi_given_up", "Messages that were given up, in place of trying again.", registry=one)
        self._streams = Gauge("cafi_web_streams", "Open pages that are told of answers at once.", registry=one)
        self._referred = Gauge(
            "cafi_referrals",
            "Crisis referrals of weeks that have ended, rounded down to fives.",
            ["week", "platform"],
            registry=one,
        )
        self._reported = Gauge(
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

    def answered(self, outgoing: Outgoing, seconds: float | None = None) -> None:
        """Something was shown; turns are counted, and the time since the message was taken up, if it is known."""
        # Of the fixed ones most are crisis referrals, and a model takes longer.
        if outgoing.turn is None or outgoing.turn.review.outcome is Outcome.FIXED:
            return
        review = outgoing.turn.review
        self.answers[str(review.outcome)] += 1
        self._answered.labels(str(review.outcome)).inc()
        if review.stages:
            self.decisions[str(review.decision)] += 1
            self._decided.labels(str(review.decision)).inc()
        if seconds is not None:
            self._answer_times.append(seconds)
            self._answering.observe(seconds)

    def gave_up(self) -> None:
        """A message will not be answered, however often it was tried."""
        self._given_up.inc()

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

    async def exposition(self) -> bytes:
        """Everything as Prometheus reads it; without what only the database knows, while that is away."""
        self._streams.set(self.streams())
        try:
            referrals, reports = await self.referrals(), await self.reports()
            self._queue.figures = None if self.queue is None else await self.queue()
        except StorageError:  # what else there is to know is wanted most then
            referrals, reports, self._queue.figures = (), (), None
        self._referred.clear()
        for week, platform, count in referrals:
            self._referred.labels(week, platform).set(count)
        self._reported.clear()
        for one in reports:
            self._reported.labels(one.assistant, one.part).set(one.at_least)
        return generate_latest(self._registry)


def _percentiles(times: Sequence[float]) -> tuple[float, float] | None:
    if not times:
        return None
    ordered = sorted(times)
    return ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]

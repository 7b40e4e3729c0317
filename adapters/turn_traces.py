"""Turns as traces of OpenTelemetry: where their seconds went, sent to the operator's collector in batches.

What leaves is made here of names and values from closed lists; nothing else can get in. The library's own ways to add
something stay shut: no current span, no events (an exception's message and stack trace would be one), no detectors of
host and process, no propagation. A collector that hangs costs one thread of this process, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import requests
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import StatusCode, Tracer, set_span_in_context

from adapters.delivery.storage_retry import worth_a_word
from engine import ANSWERS_FOR, Decision, Step, StepFact, Tier

SECONDS = 3.0
"""For one attempt of the collector's; what it has not taken by then is dropped."""
END_SECONDS = 2.0
"""At the end, for what is still to be sent."""
EVERY_SECONDS = 5.0
MOST_SPANS, A_BATCH = 2048, 256
"""That wait in memory, about a hundred turns; and go together."""
NOT_TAKEN = "traces.endpoint: the collector does not take traces; they are dropped, and nothing else changes"
_WORDS: Mapping[StepFact, Collection[str]] = {
    StepFact.PLATFORM: ("telegram", "discord", "web"),
    StepFact.DECISION: tuple(Decision),
    StepFact.JUDGE: tuple(ANSWERS_FOR),
    StepFact.MODEL: tuple(Tier),
}
_NUMBERS = frozenset(
    {
        StepFact.CALLS,
        StepFact.PROMPT_TOKENS,
        StepFact.COMPLETION_TOKENS,
        StepFact.CACHED_TOKENS,
        StepFact.RETRIES,
    }
)
_log = logging.getLogger("cafi.traces")
# `cafi check` sets up no log; it says itself what is wrong.
_log.addHandler(logging.NullHandler())


class CalmExporter(OTLPSpanExporter):
    """The library's, to one address and nowhere else; it says seldom and in our words what it cannot do."""

    def __init__(self, endpoint: str) -> None:
        # The library logs addresses and what servers say, at each attempt.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL + 1)
        session = requests.Session()
        session.trust_env = False  # no proxy and no password of a file that nobody thought of
        super().__init__(endpoint=endpoint, timeout=SECONDS, compression=Compression.NoCompression, session=session)
        self._failures = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send a batch."""
        result = super().export(spans)
        if result is SpanExportResult.SUCCESS:
            if self._failures:
                _log.info("the collector takes traces again")
            self._failures = 0
        else:
            self._failures += 1
            if worth_a_word(self._failures):
                _log.warning(NOT_TAKEN)
        return result

    def knock(self) -> bool:
        """Whether the collector takes traces now, within a few seconds: a batch of none is one to it."""
        return self.export(()) is SpanExportResult.SUCCESS


@dataclass(kw_only=True)
class TurnTraces:
    """Sends what `share` of all turns consist of. `process`: what this one does; `assistants`: those that there are."""

    endpoint: str
    process: str
    version: str
    assistants: Collection[str]
    share: float = 1.0
    chance: Callable[[], float] = random.random
    _provider: TracerProvider = field(init=False)
    _tracer: Tracer = field(init=False)

    def __post_init__(self) -> None:
        self._exporter = CalmExporter(self.endpoint)
        # Everything is given that the library would otherwise read from the environment. `Resource.create` would run
        # detectors, which name host, process and user where somebody has asked for them.
        self._provider = TracerProvider(
            sampler=ALWAYS_ON,
            resource=Resource({"service.name": "cafi", "service.version": self.version, "cafi.process": self.process}),
            shutdown_on_exit=False,
            span_limits=_LIMITS,
        )
        self._provider.add_span_processor(
            BatchSpanProcessor(
                self._exporter,
                max_queue_size=MOST_SPANS,
                schedule_delay_millis=EVERY_SECONDS * 1000,
                max_export_batch_size=A_BATCH,
                export_timeout_millis=SECONDS * 1000,
            )
        )
        self._tracer = self._provider.get_tracer("cafi")

    def begin(self) -> None:
        """Ask the collector beside everything else; what is wrong with it is said in the log."""
        threading.Thread(target=self._exporter.knock, name="traces", daemon=True).start()

    def turned(self, turn: Step) -> None:
        """Send a turn that has ended, if it is one of the share and may be told of."""
        facts = turn.facts
        if StepFact.PRIVATE in facts or StepFact.DECISION not in facts or self.chance() >= self.share:
            return
        ended = time.monotonic() if turn.ended is None else turn.ended
        self._emit(turn, Context(), ended, time.time() - time.monotonic())

    def _emit(self, step: Step, above: Context, latest: float, offset: float) -> None:
        span = self._tracer.start_span(
            step.name.value, context=above, start_time=_nanoseconds(step.begun + offset), attributes=self._told(step)
        )
        if StepFact.ERROR in step.facts:
            span.set_status(StatusCode.ERROR)
        ended = latest if step.ended is None else min(step.ended, latest)
        inside = set_span_in_context(span, Context())
        for one in step.steps:
            self._emit(one, inside, ended, offset)
        span.end(_nanoseconds(max(ended, step.begun) + offset))

    def _told(self, step: Step) -> dict[str, str | int]:
        return {_key(fact): value for fact, value in step.facts.items() if self._may_be_told(fact, value)}

    def _may_be_told(self, fact: StepFact, value: str | int) -> bool:
        if isinstance(value, int):
            return fact in _NUMBERS
        if fact is StepFact.ERROR:
            return value.isascii() and value.isidentifier()
        return value in (self.assistants if fact is StepFact.ASSISTANT else _WORDS.get(fact, ()))

    async def aclose(self) -> None:
        """Send what waits, as far as the collector takes it at once."""
        # The library would wait for half a minute. A daemon's thread ends with the process, wherever it is.
        ending = threading.Thread(target=self._provider.shutdown, name="traces", daemon=True)
        ending.start()
        await asyncio.to_thread(ending.join, END_SECONDS)


_LIMITS = SpanLimits(
    max_attributes=len(StepFact),
    max_events=0,
    max_links=0,
    max_span_attributes=len(StepFact),
    max_event_attributes=0,
    max_link_attributes=0,
    max_attribute_length=64,
    max_span_attribute_length=64,
)


def _key(fact: StepFact) -> str:
    return "error.type" if fact is StepFact.ERROR else f"cafi.{fact.value}"


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)

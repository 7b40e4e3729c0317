"""What each endpoint of language models was asked and has cost, as Prometheus reads it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from engine import BreakerState, EndpointFigures

FigureSource = Callable[[], Sequence[EndpointFigures]]
STEP_SECONDS = 3600.0


def no_endpoints() -> Sequence[EndpointFigures]:
    """Where no language model is asked."""
    return ()


@dataclass(kw_only=True, eq=False)  # a registry keeps it by identity
class EndpointCollector(Collector):
    """Counts since the start, which step once an hour; the breaker's state is always that of now.

    Who saw each call come in, and no answer counted with it, would know that somebody has just got the crisis referral.
    """

    figures: FigureSource
    clock: Callable[[], float] = time.monotonic
    _counted: Sequence[EndpointFigures] = ()
    _until: float = float("-inf")

    def describe(self) -> Iterator[Metric]:
        """Nothing in advance: which endpoints there are is known when they are asked."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """The families, one sample an endpoint and label."""
        now = self.figures()
        if self.clock() >= self._until:
            self._counted, self._until = now, self.clock() + STEP_SECONDS
        calls = CounterMetricFamily("cafi_model_calls", "Calls of language models.", labels=["endpoint", "outcome"])
        tokens = CounterMetricFamily(
            "cafi_model_tokens", "Tokens; those cached are among those of the prompt.", labels=["endpoint", "kind"]
        )
        cost = CounterMetricFamily("cafi_model_cost", "Cost, where prices are known.", labels=["endpoint"])
        for one in self._counted:
            for outcome, count in one.calls.items():
                calls.add_metric([one.endpoint, outcome], count)
            for kind, count in one.tokens.items():
                tokens.add_metric([one.endpoint, kind], count)
            cost.add_metric([one.endpoint], one.cost)
        state = GaugeMetricFamily("cafi_model_breaker", "1 at the breaker's state.", labels=["endpoint", "state"])
        spent = GaugeMetricFamily("cafi_model_budget_spent", "1 when a day's budget is used up.", labels=["endpoint"])
        for one in now:
            for each in BreakerState:
                state.add_metric([one.endpoint, each], float(one.state is each))
            spent.add_metric([one.endpoint], float(one.exhausted))
        yield from (calls, tokens, cost, state, spent)

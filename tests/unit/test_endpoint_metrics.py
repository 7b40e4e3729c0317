"""What Prometheus is told of the endpoints of language models."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from adapters.endpoint_metrics import EndpointCollector
from engine.models.account import Account
from engine.models.breaker import Breaker
from engine.models.endpoints import Endpoint
from engine.models.ledger import ModelCall
from engine.models.scripted import UnreachableModel
from engine.settings import BreakerSettings, Price
from tests.storage import Clock

CALL = ModelCall(
    role="judge", model="m", started=0.0, ended=1.0, prompt_tokens=1000, completion_tokens=100, cached_tokens=600
)


def test_calls_step_once_an_hour_and_the_breaker_at_once() -> None:
    """Who looks at the counts again and again sees no single call come in; that an endpoint is left alone is seen now."""
    clock = Clock(0.0)
    account = Account(
        endpoint="first", prices={"m": Price(prompt=10, cached=1, completion=100)}, cost_a_day=0.02, today=lambda: 0
    )
    breaker = Breaker(settings=BreakerSettings(failures=1), clock=clock)
    endpoint = Endpoint(model=UnreachableModel(), account=account, breaker=breaker)
    registry = CollectorRegistry()
    registry.register(EndpointCollector(figures=lambda: [endpoint.figures()], clock=clock))

    def seen() -> dict[str, float]:
        lines = generate_latest(registry).decode().splitlines()
        return {name: float(value) for name, value in (one.rsplit(" ", 1) for one in lines if not one.startswith("#"))}

    begun = seen()
    account.record(CALL)
    clock.seconds = 3599.0
    assert seen() == begun
    clock.seconds = 3600.0
    counted = seen()
    told = {
        'cafi_model_calls_total{endpoint="first",outcome="ok"}': 1,
        'cafi_model_tokens_total{endpoint="first",kind="prompt"}': 1000,
        'cafi_model_tokens_total{endpoint="first",kind="cached"}': 600,
        'cafi_model_tokens_total{endpoint="first",kind="completion"}': 100,
        'cafi_model_cost_total{endpoint="first"}': 0.0146,
        'cafi_model_breaker{endpoint="first",state="closed"}': 1,
        'cafi_model_budget_spent{endpoint="first"}': 0,
    }
    assert told.items() <= counted.items()
    account.record(CALL)
    breaker.failed(breaker.admit() or 0)
    after = seen()
    assert {name for name in after if after[name] != counted[name]} == {
        'cafi_model_breaker{endpoint="first",state="closed"}',
        'cafi_model_breaker{endpoint="first",state="open"}',
        'cafi_model_budget_spent{endpoint="first"}',
    }

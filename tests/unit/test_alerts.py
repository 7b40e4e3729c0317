"""Alerts and the dashboard: they ask for figures that are there, and each alert has its page."""

from __future__ import annotations

import ast
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from adapters.conversation.outgoing import Outgoing
from adapters.delivery.queue_age import QueueFigures
from adapters.feedback.report_figures import ReportedPart
from adapters.web_adapter.metrics import Metrics
from engine.exceptions import ModelDeclined, ModelError, ModelOutputError, ModelUnavailable
from engine.models.account import Account
from engine.models.endpoints import Endpoint
from engine.models.ledger import Booking, Ledger
from engine.models.scripted import UnreachableModel
from engine.types import (
    Basis,
    Conversation,
    Decision,
    Draft,
    Outcome,
    Reply,
    Review,
    Stage,
    StageRecord,
    Tier,
    Turn,
    Urgency,
    Verdict,
)

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
ALERTS: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((DEPLOY / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
DASHBOARDS = [json.loads(path.read_text(encoding="utf-8")) for path in (DEPLOY / "grafana" / "dashboards").glob("*")]
OF_PROMETHEUS = {"up": {"job"}, "ALERTS": {"alertstate"}}
OF_TARGETS = {"job", "instance"}
FUNCTIONS = {"absent", "sum", "min", "max", "rate", "increase", "changes", "histogram_quantile"}
"""What Prometheus brings itself."""


def expressions() -> Iterator[str]:
    """Whatever is asked of Prometheus."""
    yield from (rule["expr"] for rule in ALERTS)
    yield from (one["expr"] for board in DASHBOARDS for panel in board["panels"] for one in panel["targets"])


def selectors(expression: str) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Each figure that an expression names, with its conditions: label, operator, value."""
    bare = re.sub(r"\[\w+\]|\bby\s*\([^)]*\)", "", expression)
    for name, conditions in re.findall(
        r"([a-zA-Z_]\w*)(?!\w|\s*\()(\{[^}]*\})?", re.sub(r'(?<!=)(?<!~)"[^"]*"', "", bare)
    ):
        if name not in {"and", "or", "unless"}:
            yield name, re.findall(r'(\w+)(=~|!~|!=|=)"([^"]*)"', conditions)


def shown(outcome: Outcome) -> Outgoing:
    """An answer that came about so."""
    verdict = Verdict(decision=Decision.ACCEPT, judge="role_and_tone", tier=Tier.LARGE)
    record = StageRecord(stage=Stage.CHIEF, draft=Draft(reply="Something."), verdicts=(verdict,))
    one = Turn(
        reply=Reply(text="Something.", basis=Basis.SOURCE),
        conversation=Conversation(assistant="schizophrenia"),
        urgency=Urgency(),
        review=Review(outcome=outcome, stages=(record,)),
    )
    return Outgoing(turn=one)


def given(found: T) -> Callable[[], Awaitable[T]]:
    """What is known, as it is asked for."""

    async def known() -> T:
        return found

    return known


REPORTED = ReportedPart(assistant="schizophrenia", part="voices#help", at_least=5)


@pytest.fixture(scope="module")
def exported() -> dict[str, dict[str, set[str]]]:
    """Every sample that a process gives, each of its labels with the values that it can have."""
    account, ledger = Account(endpoint="first"), Ledger()
    for error in (None, ModelDeclined(), ModelOutputError(), ModelUnavailable()):
        with suppress(ModelError), Booking(ledger, role="agent", model="m", account=account):
            if error is not None:
                raise error
    endpoint = Endpoint(model=UnreachableModel(), account=account)
    metrics = Metrics(
        endpoints=lambda: [endpoint.figures()],
        referrals=given([("2026-W01", "web", 5)]),
        reports=given([REPORTED]),
        queue=given(QueueFigures(waiting=7, oldest=12.0, failed=0, workers=2)),
    )
    for status in (200, 404, 503):
        metrics.page(status, 0.1)
    for outcome in set(Outcome) - {Outcome.FIXED}:
        metrics.answered(shown(outcome), 1.0)
    found: dict[str, dict[str, set[str]]] = {}
    text = asyncio.run(metrics.exposition()).decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = found.setdefault(sample.name, defaultdict(set))
            for label, value in sample.labels.items():
                labels[label].add(value)
    return found


def test_what_alerts_and_dashboard_ask_for_is_exported(exported: dict[str, dict[str, set[str]]]) -> None:
    """Each figure that an alert or the dashboard names is exported, with that label and that value."""
    asked = [one for expression in expressions() for one in selectors(expression)]
    assert len(asked) > 30
    for name, conditions in asked:
        if name in OF_PROMETHEUS:
            assert {label for label, _, _ in conditions} <= OF_PROMETHEUS[name]
            continue
        assert name in exported, name
        for label, operator, value in conditions:
            wanted = value.split("|") if "~" in operator else [value]
            assert set(wanted) <= exported[name][label], (name, label, value)


def test_expressions_group_by_labels_that_are_there(exported: dict[str, dict[str, set[str]]]) -> None:
    """What is summed up by a label comes from figures with that label; no function is called that Prometheus lacks."""
    for expression in expressions():
        called = set(re.findall(r"(\w+)\s*\(", re.sub(r"\b(by|and|or)\s*\(", "", expression)))
        assert called <= FUNCTIONS, expression
        for part in re.finditer(r"by \(([^)]*)\)", expression):
            figures = [name for name, _ in selectors(expression)]
            for label in part[1].split(", "):
                assert all(label in {*exported[name], *OF_TARGETS} for name in figures), (expression, label)


def test_every_figure_is_on_the_dashboard(exported: dict[str, dict[str, set[str]]]) -> None:
    """Nothing is counted for nobody: each family that a process exports is asked for on the dashboard."""
    asked = " ".join(one["expr"] for board in DASHBOARDS for panel in board["panels"] for one in panel["targets"])
    families = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exported}
    families -= {name for name in families if f"{name}_total" in families}  # the time at which a count began
    assert {name for name in families if name not in asked} == set()


def test_the_page_of_operations_lists_every_figure_of_the_code() -> None:
    """The table of figures names each one that the code makes, of the web page and of the endpoint, and no other."""
    made = set()
    for path in (ROOT / "adapters").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or not node.args:
                continue
            name = getattr(node.args[0], "value", None)
            if isinstance(name, str) and name.startswith("cafi_"):
                made.add(f"{name}_total" if node.func.id in {"Total", "CounterMetricFamily"} else name)
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(cafi_\w+)` \|", page, re.M)) == made


def test_every_alert_has_its_heading_and_every_heading_its_alert() -> None:
    """The page of operations tells of each alert what to do, in their order, beginning with how urgent it is."""
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    told = re.findall(r"^### (\w+)\n\n\*(Critical|Warning)\.\*", page, re.M)
    assert told == [(rule["alert"], rule["labels"]["severity"].capitalize()) for rule in ALERTS]
    assert re.findall(r"^### .+", page, re.M) == [f"### {name}" for name, _ in told]
    assert all(rule["annotations"]["summary"] for rule in ALERTS)


def test_panels_have_places_and_a_source_of_their_own() -> None:
    """No two panels lie over one another, none leaves the grid, and each asks the source that is provisioned."""
    text = (DEPLOY / "grafana" / "provisioning" / "datasources" / "prometheus.yaml").read_text(encoding="utf-8")
    sources = {one["uid"] for one in yaml.safe_load(text)["datasources"]}
    for board in DASHBOARDS:
        taken = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {
                (place["x"] + right, place["y"] + down) for right in range(place["w"]) for down in range(place["h"])
            }
            assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
            taken |= cells
            assert {panel["datasource"]["uid"], *(one["datasource"]["uid"] for one in panel["targets"])} <= sources
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])

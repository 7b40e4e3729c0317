"""Traces as a collector gets them: where the seconds of turns go, and nothing of anybody's."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from adapters.telegram_adapter.adapter import TelegramBot
from bots.cli.check import findings
from bots.settings import CafiSettings, TraceSettings, read_settings
from bots.traces import untaken
from bots.web import web as page
from engine import (
    ANSWERS_FOR,
    CITED_REPLY,
    ConfigurationError,
    Decision,
    ModelSettings,
    ModelUnavailable,
    Step,
    StepFact,
    StepName,
    Tier,
)
from engine.models.openai_model import OpenAIModel
from rehearsal.telegram_world import TelegramPerson
from tests.fakes import openai_server
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import ACCEPT, CALM, CHIEF_ACCEPT, CITED, DOUBT, REFINED, knowledge_folder, rejection, scripted
from tests.telegram import agreed, asked, quiet, running
from tests.traces import found_in, spellings, traces
from tests.web import Browser, chats_in, serving

pytest.importorskip("opentelemetry.sdk", reason="OpenTelemetry is not installed: pip install 'cafi[traces]'")
from adapters import turn_traces
from adapters.turn_traces import NOT_TAKEN, TurnTraces
from tests.fakes.collector import Collector, values

ROOT = Path(__file__).resolve().parents[2]
SAID = "why can i not sleep since quixotically glimmerfish"
REPLY = "A fixed time for going to bed can help. Schwarzwurzelig."
KEYS = {"error.type", *(f"cafi.{one.value}" for one in StepFact if one not in {StepFact.ERROR, StepFact.PRIVATE})}
WORDS = {
    "telegram", "web", "schizophrenia", "sleep", *map(str, Decision), *map(str, Tier),
    *ANSWERS_FOR,
}  # fmt: skip
ERRORS = {"ModelUnavailable", "CancelledError"}


def closed(collector: Collector, errors: set[str] = ERRORS) -> None:
    """Every name and every value is from the closed lists, times lie inside each other, and there is nothing else."""
    spans = collector.spans
    by_id = {one.span_id: one for one in spans}
    for one in spans:
        told = values(one.attributes)
        assert one.name in set(StepName) and told.keys() <= KEYS
        said = {value for value in told.values() if isinstance(value, str)}
        assert said <= WORDS | errors
        assert not (one.events or one.links or one.status.message or one.trace_state)
        assert one.start_time_unix_nano <= one.end_time_unix_nano
        above = by_id.get(one.parent_span_id)
        assert (above is None) == (one.name == "turn")
        if above is not None:
            assert above.trace_id == one.trace_id
            assert above.start_time_unix_nano <= one.start_time_unix_nano
            assert one.end_time_unix_nano <= above.end_time_unix_nano


def beneath(collector: Collector, name: str) -> set[str]:
    """What the spans of a name consist of."""
    above = {one.span_id for one in collector.named(name)}
    return {one.name for one in collector.spans if one.parent_span_id in above}


def facts(collector: Collector, name: str) -> list[Mapping[str, str | int]]:
    return [values(one.attributes) for one in collector.named(name)]


def searched(people: list[TelegramPerson], *more: str) -> dict[str, list[bytes]]:
    """What must not be found, in every encoding in which it could be hidden."""
    return traces(people, [SAID, REPLY]) | {one: list(spellings(one)) for one in more}


def everything(collector: Collector) -> bytes:
    return b"\n".join([*collector.bodies, *(repr(one).encode() for one in collector.headers)])


async def test_a_turn_on_telegram_is_told_by_its_steps_and_by_nothing_else(tmp_path: Path) -> None:
    """Of one whole turn a collector gets the steps, from closed lists; no word, name, id or token, in no encoding tried."""
    model = scripted({"agent": {**CITED, "reply": REPLY}})
    async with Collector() as collector, FaultyTelegram() as fake:
        person = fake.person("Wilhelmina Quatermain", username="user_93847565")
        async with running(fake, tmp_path, model, traces=TraceSettings(endpoint=collector.url)) as bot:
            await agreed(fake, person)
            fake.fail("sendMessage", Fault.too_many_requests(0), chat=person)
            [shown] = await asked(fake, person, SAID)
            assert "Schwarzwurzelig" in shown.text
            await quiet(fake, bot)
        secret = (tmp_path / "inbox.key").read_text().strip()
        looked_for = searched([person], fake.token, secret)
    closed(collector, set())
    assert set(collector.paths) == {"/v1/traces"}
    assert beneath(collector, "turn") == {"queue", "storage", "place", "urgency", "search", "draft", "judge", "deliver"}
    assert beneath(collector, "draft") == {"call"} and beneath(collector, "deliver") == {"storage"}
    [turn] = facts(collector, "turn")
    assert (turn["cafi.platform"], turn["cafi.assistant"], turn["cafi.decision"]) == (
        "telegram",
        "schizophrenia",
        "ACCEPT",
    )
    assert turn["cafi.calls"] == len(model.prompts) and int(turn["cafi.prompt_tokens"]) > 0
    assert {one["cafi.model"] for one in facts(collector, "call")} == {"large", "small"}
    assert {one["cafi.judge"] for one in facts(collector, "judge")} == {CITED_REPLY}
    assert [one["cafi.retries"] for one in facts(collector, "deliver")] == [1]
    assert {one.keys() == {"service.name", "service.version", "cafi.process"} for one in collector.resources} == {True}
    assert collector.resources[0]["service.name"] == "cafi" and collector.resources[0]["cafi.process"] == "run"
    assert found_in(everything(collector), looked_for) == []
    assert found_in(everything(collector) + SAID.encode(), looked_for)  # that the search can find anything at all


async def test_a_turn_of_the_page_is_told_too(tmp_path: Path) -> None:
    """The page's turns are told as well, the refiner among them, and not what was written."""
    model = scripted({"agent": {**CITED, "reply": REPLY}, "preliminary": [DOUBT, ACCEPT],
                      "source_fidelity_chief": [rejection(), CHIEF_ACCEPT], "refiner": REFINED})  # fmt: skip
    async with Collector() as collector:
        chats = chats_in(tmp_path, model, traces=TraceSettings(endpoint=collector.url))
        async with chats.application.closing:
            await chats.begin()
            async with serving(page(chats)) as bot, Browser(bot.address) as browser:
                await browser.begin()
                await browser.ask(SAID)
                assert "Sleep often changes" in browser.words
    closed(collector)
    assert "refine" in beneath(collector, "turn") and [one["cafi.platform"] for one in facts(collector, "turn")] == [
        "web"
    ]
    assert found_in(everything(collector), searched([])) == []


async def test_nothing_is_told_of_turns_in_which_danger_was_told_or_suspected(tmp_path: Path) -> None:
    """Who sees every trace does not see who was in danger or was asked about it: those turns, and fixed words, leave none."""
    urgent = {"delusional_framing": False, "level": "urgent", "kind": "dying"}
    concern = {"delusional_framing": False, "level": "concern", "kind": "dying"}
    model = scripted({"urgency": [urgent, concern, CALM]})
    async with Collector() as collector, FaultyTelegram() as fake:
        person, other = fake.person("Anna"), fake.person("Bert")
        async with running(fake, tmp_path, model, traces=TraceSettings(endpoint=collector.url)) as bot:
            await agreed(fake, person)
            await agreed(fake, other)
            await asked(fake, person, "why can i not sleep, it is all too much")
            await asked(fake, person, "I want to kill myself tonight")
            await asked(fake, other, "why can i not sleep, what for")
            await asked(fake, person, "/help")
            await asked(fake, fake.person("Cleo"), "/start")
            await quiet(fake, bot)
            await _asked_by_somebody_calm(fake, bot)
    assert len(collector.named("turn")) == 1


async def _asked_by_somebody_calm(fake: FaultyTelegram, bot: TelegramBot) -> None:
    calm = fake.person("Dora")
    await agreed(fake, calm)
    await asked(fake, calm, "why can i not sleep")
    await quiet(fake, bot)


@pytest.mark.parametrize("role", ["agent", "preliminary", "urgency"])
async def test_a_failing_model_leaves_the_name_of_its_error_and_not_what_it_says(tmp_path: Path, role: str) -> None:
    """Where an error of a model quotes the message, the trace holds the error's type alone, and the turn is answered."""
    model = scripted({role: ModelUnavailable(f"refused: {SAID} {REPLY}")})
    async with Collector() as collector, FaultyTelegram() as fake:
        person = fake.person("Wilhelmina Quatermain")
        async with running(fake, tmp_path, model, traces=TraceSettings(endpoint=collector.url)) as bot:
            await agreed(fake, person)
            await asked(fake, person, SAID)
            await quiet(fake, bot)
    closed(collector)
    failed = [one for one in collector.spans if "error.type" in values(one.attributes)]
    assert {values(one.attributes)["error.type"] for one in failed} == {"ModelUnavailable"}
    assert {one.status.code for one in failed} == {2}
    assert found_in(everything(collector), searched([person])) == []


async def test_people_are_told_where_the_times_go(tmp_path: Path) -> None:
    """`/privacy` names the host that is told how long answers took, where there is one."""
    async with Collector() as collector, FaultyTelegram() as fake:
        person = fake.person("Anna")
        async with running(fake, tmp_path, traces=TraceSettings(endpoint=collector.url)):
            await agreed(fake, person)
            [shown] = await asked(fake, person, "/privacy")
    assert "It goes to: 127.0.0.1." in shown.text and "no messages, names or accounts" in shown.text


async def test_nobody_else_gets_anything_of_a_trace(tmp_path: Path) -> None:
    """Requests to the model's server carry no header of tracing, and nothing is added to the library's global state."""
    from opentelemetry import trace

    answers: Mapping[str, Any] = {"draft": CITED, "verdict": ACCEPT, "chief_verdict": CHIEF_ACCEPT, "urgency": CALM}

    async def behave(received: openai_server.Received) -> web.StreamResponse:
        name = received.body["response_format"]["json_schema"]["name"]
        assert not trace.get_current_span().get_span_context().is_valid
        return await openai_server.answer(answers[name])(received)

    async with Collector() as collector, FaultyTelegram() as fake, openai_server.OpenAIServer([behave]) as server:
        model = OpenAIModel(ModelSettings(base_url=server.url))
        person = fake.person("Anna")
        async with running(fake, tmp_path, model, traces=TraceSettings(endpoint=collector.url)) as bot:  # type: ignore[arg-type]
            await agreed(fake, person)
            await asked(fake, person, SAID)
            await quiet(fake, bot)
        await model.aclose()
    assert len(server.requests) >= 3 and collector.named("turn")
    sent = {name.casefold() for one in server.requests for name in one.headers}
    assert not sent & {"traceparent", "tracestate", "baggage", "b3", "uber-trace-id"}


async def test_the_librarys_variables_change_nothing_of_what_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OTEL_* variables add no attribute, no detector, no sampler and no other address; a token for the collector is sent."""
    for name, value in {
        "OTEL_RESOURCE_ATTRIBUTES": "host.name=quixotically,user=glimmerfish",
        "OTEL_SERVICE_NAME": "quixotically",
        "OTEL_EXPERIMENTAL_RESOURCE_DETECTORS": "process,os,host,otel",
        "OTEL_TRACES_SAMPLER": "always_off",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
        "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT": "none of your business",
        "OTEL_BSP_MAX_QUEUE_SIZE": "1",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20abc",
    }.items():
        monkeypatch.setenv(name, value)
    async with Collector() as collector:
        sending = TurnTraces(endpoint=f"{collector.url}/v1/traces", process="worker", version="1", assistants=("a",))
        sending.turned(told())
        await sending.aclose()
    assert collector.resources == [{"service.name": "cafi", "service.version": "1", "cafi.process": "worker"}]
    assert len(collector.spans) == 1 and collector.headers[0]["Authorization"] == "Bearer abc"


def told(**more: Any) -> Step:
    now = time.monotonic()
    return Step(name=StepName.TURN, begun=now - 1, ended=now, facts={StepFact.DECISION: "ACCEPT", **more})


async def test_what_is_not_in_the_lists_does_not_leave() -> None:
    """A value that is in no closed list stays behind, whichever fact it is given for, and a turn without a decision too."""
    strange = told()
    strange.facts |= {one: "my name is Anna" for one in StepFact if one not in {StepFact.PRIVATE, StepFact.DECISION}}
    strange.steps = [
        Step(name=StepName.JUDGE, begun=strange.begun, facts={StepFact.JUDGE: 5, StepFact.DECISION: "Anna"})
    ]
    async with Collector() as collector:
        sending = TurnTraces(endpoint=collector.url, process="run", version="1", assistants=("schizophrenia",))
        sending.turned(strange)
        sending.turned(Step(name=StepName.TURN, begun=1.0, ended=2.0))
        await sending.aclose()
    assert [(one.name, values(one.attributes)) for one in collector.spans] == [
        ("judge", {}),
        ("turn", {"cafi.decision": "ACCEPT"}),
    ]


async def test_a_share_of_turns_is_chosen_by_chance() -> None:
    """Of all turns those are told that chance puts into the share, whole or not at all."""
    draws = iter([0.2, 0.25, 0.9])
    async with Collector() as collector:
        sending = TurnTraces(
            endpoint=collector.url, process="run", version="1", assistants=(), share=0.25, chance=lambda: next(draws)
        )
        for _ in range(3):
            sending.turned(told())
        await sending.aclose()
    assert len(collector.spans) == 1


async def test_a_collector_that_hangs_holds_up_no_turn_and_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the collector answers nothing turns are answered, what waits stays bounded, and the bot ends without it."""
    monkeypatch.setattr(turn_traces, "SECONDS", 3600.0)  # the library itself would wait for half a minute at the end
    async with Collector(hangs=True) as collector, FaultyTelegram() as fake:
        person = fake.person("Anna")
        async with asyncio.timeout(25):
            async with running(fake, tmp_path, traces=TraceSettings(endpoint=collector.url)) as bot:
                await agreed(fake, person)
                for _ in range(3):
                    await asked(fake, person, "why can i not sleep")
                await quiet(fake, bot)
        assert any(one.name == "traces" and one.daemon for one in threading.enumerate())


async def test_a_collector_that_is_away_is_said_calmly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A collector that is away or refuses costs no answer; the log says it in our words, without address or token."""
    caplog.set_level(logging.DEBUG)
    async with Collector(status=404) as collector, FaultyTelegram() as fake:
        address = collector.url.replace("//", "//user:hush@")
        person = fake.person("Anna")
        async with running(fake, tmp_path, traces=TraceSettings(endpoint=f"{address}/elsewhere")) as bot:
            await agreed(fake, person)
            await asked(fake, person, "why can i not sleep")
            await quiet(fake, bot)
        assert collector.paths and set(collector.paths) == {"/elsewhere"}
    said = [one.getMessage() for one in caplog.records if one.name.startswith(("cafi.traces", "opentelemetry"))]
    assert said and set(said) == {NOT_TAKEN}
    assert "hush" not in caplog.text


async def test_the_check_says_what_is_wrong_with_the_collector(tmp_path: Path) -> None:
    """A collector that is there is fine; one that is away, or refuses, is one sentence with the setting and the remedy."""
    file = tmp_path / "cafi.yaml"

    async def problem(endpoint: str) -> str:
        settings = CafiSettings(agents="builtin", traces=TraceSettings(endpoint=endpoint))
        return str(await asyncio.to_thread(untaken, settings, file))

    async with Collector() as collector:
        assert await problem(collector.url) == "None"
        collector.status = 401
        refused = await problem(collector.url)
        assert refused.startswith(f"{file}: traces.endpoint: The collector does not take traces") and "Check" in refused
        url = collector.url
    assert await problem(url) == refused and url not in refused
    assert await problem("") == "None"
    file.write_text(f"agents: builtin\ntraces: {{endpoint: '{url}'}}\n", encoding="utf-8")
    found = await asyncio.to_thread(findings, file, None, None)
    assert [one.level for one in found if one.problem.key == "traces.endpoint"] == ["warning"]


def test_without_the_extra_the_check_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the packages are not installed, one sentence says which extra is."""
    monkeypatch.setitem(sys.modules, "adapters.turn_traces", None)
    settings = CafiSettings(agents="builtin", traces=TraceSettings(endpoint="http://127.0.0.1:4318"))
    with pytest.raises(ConfigurationError, match=r"traces\.endpoint: .*Install cafi\[traces\]"):
        untaken(settings, tmp_path / "cafi.yaml")


@pytest.mark.parametrize("address", ["collector:4318", "ftp://collector", "http://", "http://a:99999", "http://a b"])
def test_what_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    """An endpoint that is no address is refused with its line and a remedy."""
    file = tmp_path / "cafi.yaml"
    file.write_text(f"traces:\n  endpoint: '{address}'\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"cafi\.yaml:2: traces\.endpoint: .*begins with http"):
        read_settings(file)


def test_an_address_without_a_path_gets_the_usual_one() -> None:
    """Where the endpoint names no path, it is that of the protocol; another one stays."""
    assert TraceSettings(endpoint="http://127.0.0.1:4318").endpoint == "http://127.0.0.1:4318/v1/traces"
    assert TraceSettings(endpoint="https://a.example/otlp/v1/traces").endpoint == "https://a.example/otlp/v1/traces"


def test_switched_off_nothing_of_it_is_imported(tmp_path: Path) -> None:
    """Without an endpoint `cafi ask` imports nothing of OpenTelemetry."""
    code = """
import sys
sys.argv = ["cafi", "ask", "why can i not sleep", "--agents", "builtin", "--kb", sys.argv[1]]
from bots.cli import app
import bots.runner, bots.workers, bots.web, bots.telegram, bots.cli.check
try:
    app()
except SystemExit as ended:
    assert not ended.code, ended.code
found = [one for one in sys.modules if one.partition(".")[0] in {"opentelemetry", "google", "requests"}]
assert not found, found
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CAFI_")}
    command = [sys.executable, "-c", code, str(knowledge_folder(tmp_path / "kb"))]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "bed" in done.stdout, done.stderr


def test_the_page_lists_every_name_and_every_attribute() -> None:
    """The page for operators lists the names and attributes that can leave, all of them and no other."""
    text = (ROOT / "docs" / "howto" / "traces.md").read_text(encoding="utf-8")
    listed = [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in text.splitlines() if line.startswith("| `")]
    names = {one for row in listed for one in row}
    resource = {"service.name", "service.version", "cafi.process"}
    assert names == {*map(str, StepName), *KEYS, *resource}

"""Runs of facilitators: every arm, every verdict, whatever interrupts them; the folder they are kept in."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError, ModelUnavailable
from engine.models.ledger import Ledger
from engine.settings import Price
from engine.turn.engine import Engine
from evaluation.facilitating.arms import ARMS, OFF, ON
from evaluation.facilitating.checkpoints import Checkpoint, CheckpointTurn
from evaluation.facilitating.design import Design
from evaluation.facilitating.journal import Journal
from evaluation.facilitating.ladder import LadderFacilitator
from evaluation.facilitating.protocol import FacilitatorTask
from evaluation.facilitating.roles import FacilitatorFile, FacilitatorRole
from evaluation.facilitating.run import Run
from evaluation.facilitating.run_budget import RunBudget
from evaluation.transcripts import read_transcripts
from tests.team import CITED, DOUBT, engine_over, rejection, scripted

FILE = FacilitatorFile.load()
OBJECTING = {"preliminary": DOUBT, "source_fidelity_chief": rejection()}
CALM: dict[str, Any] = {"agents": "builtin"}


def role(name: str = "sleepless", *says: str) -> FacilitatorRole:
    """A facilitator who asks about things that the small knowledge base holds."""
    told = says or (
        "I cannot sleep.",
        "Why am I so tired?",
        "Tell me about voices.",
        "And my cat?",
        "Go on.",
        "Please!",
    )
    ladder = [{"says": one, "after_no": f"Still: {one}"} for one in told]
    return FacilitatorRole.model_validate({"id": name, "name": name, "goal": "g", "drift": "d", "ladder": ladder})


def design(*arms: str, roles: int = 1, starts: int = 1, queries: int = 3) -> Design:
    greeting = CheckpointTurn.model_validate({"role": "assistant", "content": "Hello.", "citations": []})
    return Design(
        roles=tuple(role(f"role_{number}") for number in range(roles)),
        starts=tuple(
            Checkpoint(id=f"start_{number}_{again}", role=f"role_{number}", turns=(greeting,))
            for number in range(roles)
            for again in range(starts)
        ),
        arms=arms or (ON, OFF),
        queries=queries,
    )


def held(folder: Path, engine: Engine, plan: Design, *, parallel: int = 4, **given: Any) -> dict[str, Any]:
    """One run to its end, however it ends."""
    with Journal(folder, plan, CALM) as journal:
        given = {"facilitator": LadderFacilitator(declining=FILE.declining), "spending": RunBudget(), **given}
        return asyncio.run(Run(engine=engine, journal=journal, parallel=parallel, **given).go_on())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Engine, Design, Path]:
    """A finished run with built-in parts over the small knowledge base: 2 roles × 2 conversations × 3 queries × 2 arms."""
    folder = tmp_path_factory.mktemp("finished")
    engine, plan = engine_over(folder / "kb"), design(roles=2, starts=2)
    assert held(folder / "run", engine, plan)["complete"]
    return engine, plan, folder / "run"


# --- arms ------------------------------------------------------------------------------------------------------------


def test_every_arm_is_held_and_every_verdict_kept(tmp_path: Path) -> None:
    """A model whose every draft is rejected: each arm shows what its parts make of that, with the verdicts."""
    model = scripted({**OBJECTING, "refiner": {**CITED, "reply": "Sleep often changes."}})
    result = held(tmp_path / "run", engine_over(tmp_path / "kb", model), design(*ARMS, queries=1))
    rows = {one.arm: one for one in read_transcripts(tmp_path / "run")}
    assert result["complete"] and list(result["arms"]) == list(ARMS)
    assert {arm: row.marks[0] for arm, row in rows.items()} == {
        "on": "fallback",
        "off": "unjudged",
        "no_feedback": "fallback",
        "no_refiner": "fallback",
        "no_preliminary": "fallback",
        "no_chief": "fallback",
        "checks_only": "unjudged",
    }
    stages = {arm: list(dict.fromkeys(one.stage for one in row.review)) for arm, row in rows.items()}
    assert stages["on"] == ["preliminary", "chief", "refined_preliminary", "refined_chief"]
    assert stages["no_preliminary"] == ["chief", "refined_chief"]
    assert stages["no_chief"] == ["preliminary", "refined_preliminary"]
    assert stages["no_refiner"] == ["preliminary", "chief"] and stages["off"] == []
    assert any(one.explanation == "That is not in the source." for one in rows["on"].review)
    assert rows["off"].reply == CITED["reply"] and list(rows["off"].sources_text) == ["sleep"]
    assert rows["on"].usage.llm_calls > rows["off"].usage.llm_calls > 0


def test_urgent_messages_are_answers_of_the_house_in_every_arm(tmp_path: Path) -> None:
    """The urgency layers work with the filter off too, and their answers are marked."""
    desperate = role("role_0", *["I want to kill myself tonight."] * 6)
    plan = replace(design(ON, OFF, queries=1), roles=(desperate,))
    result = held(tmp_path / "run", engine_over(tmp_path / "kb"), plan)
    assert [one.marks for one in read_transcripts(tmp_path / "run")] == [("fixed", "urgent")] * 2
    assert all(counts["marks"] == {"fixed": 1, "urgent": 1} for counts in result["arms"].values())


def test_an_outage_is_marked(tmp_path: Path) -> None:
    """A reply of the built-in parts in place of a model that failed can be told from the model's."""
    held(tmp_path / "run", engine_over(tmp_path / "kb", scripted({"agent": ModelUnavailable()})), design(ON, queries=1))
    assert "outage" in read_transcripts(tmp_path / "run")[0].marks


def test_reminders_reach_the_next_reply_of_the_same_conversation(tmp_path: Path) -> None:
    """The conversation goes on from reply to reply, so that a chief's warning is in the next prompt of the agent."""
    warning = rejection("Say less about beds.") | {"decision": "WARNING"}
    model = scripted({"preliminary": DOUBT, "source_fidelity_chief": warning})
    held(tmp_path / "run", engine_over(tmp_path / "kb", model), design(ON, "no_feedback", queries=2), parallel=1)
    told = ["Say less about beds." in one.messages[-1].content for one in model.prompts if one.role == "agent"]
    assert told == [False, True, False, False]


# --- going on --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parallel", [1, 3, 16])
def test_the_same_run_gives_the_same_bytes(
    finished: tuple[Engine, Design, Path], tmp_path: Path, parallel: int
) -> None:
    """Without a model a run gives the same files, however many conversations are held at a time."""
    engine, plan, folder = finished
    held(tmp_path / "run", engine, plan, parallel=parallel)
    assert contents(tmp_path / "run") == contents(folder)


@given(st.data())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_run_goes_on_from_wherever_it_was_killed(
    finished: tuple[Engine, Design, Path], tmp_path: Path, data: st.DataObject
) -> None:
    """Any prefix of every conversation in any order, and a torn last line: going on gives the same files."""
    engine, plan, folder = finished
    lines = (folder / "journal.jsonl").read_bytes().splitlines(keepends=True)
    ways = [lines[start : start + plan.queries] for start in range(0, len(lines), plan.queries)]
    there = [way[: data.draw(st.integers(0, plan.queries))] for way in ways]
    turns = data.draw(st.permutations([number for number, way in enumerate(there) for _ in way]))
    rest = [iter(way) for way in there]
    kept = b"".join(next(rest[number]) for number in turns)
    torn = lines[-1][: data.draw(st.integers(0, len(lines[-1]) - 1))]
    run = tmp_path / "run"
    shutil.rmtree(run, ignore_errors=True)
    run.mkdir()
    shutil.copy(folder / "run.json", run)
    (run / "journal.jsonl").write_bytes(kept + torn)
    done: list[None] = []
    with Journal(run, plan, CALM) as journal:
        ladders = LadderFacilitator(declining=FILE.declining)
        work = Run(engine=engine, journal=journal, spending=RunBudget(), facilitator=ladders)
        asyncio.run(work.go_on(lambda: done.append(None)))
    assert len(done) == len(lines) - len(turns)
    assert contents(run) == contents(folder)


def test_a_torn_end_is_cut_off_before_anything_is_added(tmp_path: Path) -> None:
    """A half-written last line is gone once a run has gone on, so that a second kill finds whole lines only."""
    engine, plan, run = engine_over(tmp_path / "kb", scripted({})), design(ON), tmp_path / "run"
    held(run, engine, plan, spending=RunBudget(tokens=1))
    with (run / "journal.jsonl").open("ab") as file:
        file.write(b'{"response": {"respon')
    held(run, engine, plan, spending=RunBudget(tokens=2))
    assert len((run / "journal.jsonl").read_bytes().splitlines()) == 1
    assert held(run, engine, plan)["complete"]


def test_a_finished_run_is_not_run_again(finished: tuple[Engine, Design, Path]) -> None:
    """Calling a finished run once more asks nobody and changes nothing."""
    engine, plan, folder = finished
    before = contents(folder)

    class Nobody:
        async def message(self, task: FacilitatorTask, ledger: Ledger) -> str:
            raise AssertionError("somebody was asked")

    assert held(folder, engine, plan, facilitator=Nobody())["complete"]
    assert contents(folder) == before


def test_ids_tell_nothing_of_the_arm(finished: tuple[Engine, Design, Path]) -> None:
    """A response's id is the same from run to run and does not name its arm."""
    rows = read_transcripts(finished[2])
    assert len({one.response_id for one in rows}) == len(rows) == 24
    assert not any(one.arm in one.response_id.split("-") for one in rows)


# --- folders that cannot be used -------------------------------------------------------------------------------------


def changed(line: bytes, **changes: Any) -> bytes:
    entry = json.loads(line)
    entry["response"] |= changes
    return json.dumps(entry).encode() + b"\n"


DAMAGE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], int, str]] = {
    "no JSON": (lambda lines: [lines[0], b"{broken\n", *lines[2:]], 2, "damaged"),
    "no such field": (lambda lines: [changed(lines[0], mood="good"), *lines[1:]], 1, "response.mood"),
    "another version": (lambda lines: [changed(lines[0], query=0), *lines[1:]], 1, "response.query"),
    "foreign response": (lambda lines: [changed(lines[0], response_id="other"), *lines[1:]], 1, "no query of this run"),
    "wrong place": (lambda lines: [changed(lines[0], arm="off"), *lines[1:]], 1, "no query of this run"),
    "twice": (lambda lines: [lines[0], lines[0], *lines[1:]], 2, "stands there already"),
    "a gap": (lambda lines: [lines[0], *lines[2:]], 2, "query before it is missing"),
    "no conversation": (
        lambda lines: [json.dumps({**json.loads(lines[0]), "conversation": "{}"}).encode() + b"\n", *lines[1:]],
        1,
        "conversation",
    ),
    "an empty line": (lambda lines: [lines[0], b"\n", *lines[1:]], 2, "damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_journal_is_refused_with_its_line(
    finished: tuple[Engine, Design, Path], tmp_path: Path, kind: str
) -> None:
    """A journal that is damaged before its end is named with the line, and nothing in the folder changes."""
    engine, plan, folder = finished
    work, number, said = DAMAGE[kind]
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "journal.jsonl"
    path.write_bytes(b"".join(work(path.read_bytes().splitlines(keepends=True))))
    before = contents(tmp_path / "run")
    with pytest.raises(ConfigurationError) as caught:
        held(tmp_path / "run", engine, plan)
    assert f"journal.jsonl:{number}" in str(caught.value) and said in str(caught.value)
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (design(ON, roles=2, starts=2), 'arms was ["on", "off"], now ["on"]'),
        (design(roles=2, starts=2, queries=4), "queries was 3, now 4"),
        (design(roles=1, starts=2), "roles was"),
        (design(roles=2, starts=1), "conversations was"),
    ],
)
def test_a_folder_of_another_run_is_refused_with_the_difference(
    finished: tuple[Engine, Design, Path], other: Design, named: str
) -> None:
    """A folder of another configuration is left as it is, and the error names what differs."""
    engine, _, folder = finished
    before = contents(folder)
    with pytest.raises(ConfigurationError, match="holds another run") as caught:
        held(folder, engine, other)
    assert named in str(caught.value) and contents(folder) == before


def test_a_folder_of_other_agents_is_refused(finished: tuple[Engine, Design, Path]) -> None:
    """What the run is made with counts as much as its design."""
    with pytest.raises(ConfigurationError, match="agents was builtin, now llm"):
        Journal(finished[2], finished[1], {"agents": "llm"})


@pytest.mark.parametrize("text", [b"", b"{", b"[]", None])
def test_a_configuration_that_is_lost_is_not_made_up(
    finished: tuple[Engine, Design, Path], tmp_path: Path, text: bytes | None
) -> None:
    """A folder whose configuration is damaged or gone is refused, as nobody can say what its transcripts are of."""
    engine, plan, folder = finished
    shutil.copytree(folder, tmp_path / "run")
    path = tmp_path / "run" / "run.json"
    path.unlink() if text is None else path.write_bytes(text)
    before = contents(tmp_path / "run")
    with pytest.raises(ConfigurationError):
        held(tmp_path / "run", engine, plan)
    assert contents(tmp_path / "run") == before


def test_two_processes_do_not_write_to_one_folder(tmp_path: Path) -> None:
    """A folder that is being written is refused to a second writer, and free again afterwards."""
    with Journal(tmp_path / "run", design(), CALM), pytest.raises(ConfigurationError, match="Another process"):
        Journal(tmp_path / "run", design(), CALM)
    Journal(tmp_path / "run", design(), CALM).close()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    """A file in the place of the folder gives one clear error."""
    (tmp_path / "run").write_text("", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        Journal(tmp_path / "run", design(), CALM)


# --- stopping early --------------------------------------------------------------------------------------------------


def test_the_token_budget_stops_calmly_and_the_run_can_go_on(tmp_path: Path) -> None:
    """At the limit the run stops, says what is missing, counts what the disk holds when it goes on, and can be finished."""
    engine, plan, run = engine_over(tmp_path / "kb", scripted({})), design(roles=2), tmp_path / "run"
    first = held(run, engine, plan, spending=RunBudget(tokens=1), parallel=1)
    assert (first["responses"], first["complete"], first["stopped"]) == (1, False, {"tokens": 4})
    assert first["missing"][0] == {"role": "role_0", "conversation": 1, "arm": "on", "queries": [2, 3]}
    assert len(read_transcripts(run)) == 1
    spent = first["spent"]["prompt_tokens"] + first["spent"]["completion_tokens"]
    assert held(run, engine, plan, spending=RunBudget(tokens=spent))["responses"] == 1
    last = held(run, engine, plan)
    assert last["complete"] and last["responses"] == 12 and last["missing"] == []


DEAR = {"scripted": Price(prompt=9, cached=9, completion=9)}


@pytest.mark.parametrize(("prices", "reason"), [(DEAR, "cost"), ({}, "unknown cost")])
def test_a_cost_limit_needs_prices(tmp_path: Path, prices: dict[str, Price], reason: str) -> None:
    """A limit of cost stops the run when it is reached, and where the price of a model is not known."""
    engine = replace(engine_over(tmp_path / "kb", scripted({})), prices=prices)
    result = held(tmp_path / "run", engine, design(ON), spending=RunBudget(cost=0.000001))
    assert (result["responses"], result["stopped"]) == (1, {reason: 1})


class Faltering:
    """A facilitator whose model fails in some conversations."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing

    async def message(self, task: FacilitatorTask, ledger: Ledger) -> str:
        if task.role.id in self.failing:
            raise ModelUnavailable
        return "I cannot sleep."


def test_a_facilitator_that_fails_stops_its_own_conversation_only(tmp_path: Path) -> None:
    """Other conversations are finished, the reason is told, and the next call tries again."""
    engine, plan, run = engine_over(tmp_path / "kb"), design(roles=2), tmp_path / "run"
    first = held(run, engine, plan, facilitator=Faltering("role_1"))
    assert first["stopped"] == {"ModelUnavailable": 2} and first["responses"] == 6
    assert {one["role"] for one in first["missing"]} == {"role_1"}
    assert held(run, engine, plan, facilitator=Faltering())["complete"]


def test_an_error_in_the_middle_leaves_what_was_reached(tmp_path: Path) -> None:
    """Whatever ends a run from outside, the responses until then are kept and the folder can be used again."""

    class Interrupting:
        steps: Iterator[int] = iter(range(100))

        async def message(self, task: FacilitatorTask, ledger: Ledger) -> str:
            if next(self.steps) == 4:
                raise RuntimeError("from outside")
            return "I cannot sleep."

    engine, plan, run = engine_over(tmp_path / "kb"), design(), tmp_path / "run"
    with pytest.raises(RuntimeError):
        held(run, engine, plan, facilitator=Interrupting(), parallel=1)
    with Journal(run, plan, CALM) as journal:
        assert len(journal.entries) == 4

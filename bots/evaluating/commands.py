"""`cafi eval`: measure urgency, retrieval and judges on labelled cases. Imports the laboratory only when it is used."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from bots.evaluating.calibration import calibrate
from bots.evaluating.facilitators import facilitator_app
from bots.evaluating.gate import gate
from bots.evaluating.ratings import rating_app
from bots.evaluating.report import report
from bots.evaluating.simulation import Reflection, show_reflection, simulate
from bots.evaluating.specificity import specificity_app
from bots.options import AgentsOption, Config, Json, Kb, failing_calmly, measured, one_of, print_json
from bots.progress import progress

eval_app = typer.Typer(no_args_is_help=True, help="Measure urgency, retrieval and judges on labelled cases.")
eval_app.add_typer(rating_app)
eval_app.command()(calibrate)
eval_app.command()(gate)
eval_app.add_typer(facilitator_app)
eval_app.add_typer(specificity_app)
eval_app.command()(simulate)
eval_app.command()(report)
Details = Annotated[bool, typer.Option("--details", help="Add every verdict to the JSON.")]


@eval_app.command()
def retrieval(
    questions: Annotated[
        Path, typer.Option(help="JSON Lines of id, question, relevant, kind, section.", metavar="FILE")
    ],
    reflection: Reflection = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Does the search find the right sources, and does it know when none fits?

    With --agents llm it is the sources that a whole turn's reply cites. Without, the search alone, and for rows with a
    section also whether that is found, and how far the stated chances can be believed. With --reflection it is whole turns
    too, with each way to reflect on what was found.

    Example: cafi eval retrieval --questions questions.jsonl --kb knowledge_base/schizophrenia --json
    """
    from bots.compose import kb_folder
    from engine import KnowledgeBase
    from evaluation.retrieval import measure, measure_agent, read_questions

    async def with_agent() -> dict[str, Any]:
        from evaluation import reflection_arms

        async with running.closing:
            if reflection is not None:
                arms = reflection_arms.choose_arms(reflection)
                with progress("questions", len(rows) * len(arms)) as advance:
                    many = running.settings.parallel
                    return await reflection_arms.measure(rows, running.engine, arms, advance, parallel=many)
            with progress("questions", len(rows)) as advance:
                return await measure_agent(rows, running.engine, advance, parallel=running.settings.parallel)

    with failing_calmly():
        rows = read_questions(questions)
        running = measured(config, kb, agents)
        if reflection is not None and not as_json:
            show_reflection(asyncio.run(with_agent()))
            return
        if agents == "llm" or reflection is not None:
            _report(asyncio.run(with_agent()), as_json)
            return
        base = KnowledgeBase.load(kb_folder(running))
        search, guide = running.search(base), running.guide(base)
        with progress("questions", len(rows)) as advance:
            _report(measure(rows, search, advance, guide=guide), as_json)


@eval_app.command()
def urgency(
    messages: Annotated[
        Path, typer.Option(help="JSON Lines of id, text or turns, label, category, lang.", metavar="FILE")
    ],
    layers: Annotated[
        str, typer.Option(help="Which layers count: all, or some of floor,classifier,llm.", metavar="NAMES")
    ] = "all",
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Is the crisis referral shown where it must be, and the answer left alone where it need not be?

    Example: cafi eval urgency --messages messages.jsonl --agents builtin --json
    """
    from engine import Help, Message, Urgency
    from evaluation.urgency import chosen_layers, measure, read_messages

    async def run() -> dict[str, Any]:
        running = measured(config, kb, agents)
        async with running.closing:
            rows, counted = read_messages(messages), chosen_layers(layers)

            async def assess(message: str, earlier: tuple[Message, ...]) -> tuple[Urgency, Help]:
                return await running.engine.assess(message, earlier, counted)

            with progress("messages", len(rows)) as advance:
                return await measure(rows, assess, advance, parallel=running.settings.parallel)

    with failing_calmly():
        _report(asyncio.run(run()), as_json)


@eval_app.command()
def judges(
    scenarios: Annotated[
        Path,
        typer.Option(help="JSON Lines of id, source_id(s), user_message, reply and a label.", metavar="FILE"),
    ],
    tiers: Annotated[
        str, typer.Option(help="filter: as in a turn. preliminary, chief: that tier alone.", metavar="NAME")
    ] = "filter",
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Do the judges flag what people flagged, and leave alone what people accepted?

    Example: cafi eval judges --scenarios scenarios.jsonl --kb my_manual --agents builtin --json
    """
    from bots.evaluating.judges import judging
    from evaluation.judges import Tiers, measure, read_scenarios

    async def run() -> dict[str, Any]:
        running = measured(config, kb, agents)
        async with running.closing:
            rows = read_scenarios(scenarios)
            with progress("scenarios", len(rows)) as advance:
                chosen = cast(Tiers, one_of("--tiers", tiers, get_args(Tiers)))
                return await measure(rows, judging(running, chosen), advance)

    with failing_calmly():
        result = asyncio.run(run())
        if not details:
            result.pop("details", None)
        _report(result, as_json)


@eval_app.command()
def conversations(
    script: Annotated[Path, typer.Option(help="JSON Lines of id and says, a list of messages.", metavar="FILE")],
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Hold whole conversations from a script, as in the terminal, and count what came of each turn; --details adds the
    transcripts.

    Example: cafi eval conversations --script evaluation/data/conversations.jsonl --agents builtin --json
    """
    from adapters.console_adapter.sitter import SITTER
    from adapters.conversation.incoming import Incoming
    from bots.terminal import terminal_chat
    from evaluation.scripted_conversations import converse, read_conversations

    async def run() -> dict[str, Any]:
        running = measured(config, kb, agents)
        async with running.closing:
            rows, many = read_conversations(script), running.settings.parallel
            chat, incoming = terminal_chat(running), Incoming(identity=SITTER)
            live = partial(chat.pages.live, chat.start(incoming), incoming)
            with progress("turns", sum(len(row.says) for row in rows)) as advance:
                return await converse(rows, running.engine, advance, parallel=many, live=live)

    with failing_calmly():
        result = asyncio.run(run())
        if not details:
            result.pop("transcripts", None)
        _report(result, as_json)


def _report(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(result)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False)
    for key, value in _flat(result):
        table.add_row(key, value)
    Console().print(table)


def _flat(result: dict[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for key, value in result.items():
        name = f"{above}{key}"
        if isinstance(value, dict):
            yield from _flat(value, f"{name} › ")
        elif isinstance(value, list):
            yield (
                name,
                ("\n" if any(isinstance(one, dict) for one in value) else ", ").join(map(_item, value)) or "none",
            )
        else:
            yield name, "–" if value is None else str(value)


def _item(one: object) -> str:
    return ", ".join(f"{key} {value}" for key, value in one.items()) if isinstance(one, dict) else str(one)

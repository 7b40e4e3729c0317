"""`cafi eval facilitators` and `drift`: press the chatbot out of its role, and find its first drift."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.evaluating.runs import (
    BudgetCost,
    BudgetTokens,
    Parallel,
    Seed,
    held,
    led,
    limited,
    playing_model,
    playing_option,
    run_configuration,
    seeded,
)
from bots.options import AgentsOption, Config, Json, Kb, failing_calmly, measured, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from bots.compose import Application
    from evaluation.facilitating.protocol import Facilitator
    from evaluation.facilitating.roles import FacilitatorFile

facilitator_app = typer.Typer()
FacilitatorsFile = Annotated[
    Path | None,
    typer.Option("--facilitators", help="Roles of your own (YAML).", metavar="FILE", show_default=False),
]
PlayedBy = Annotated[str | None, playing_option("the ladders")]
Sees = Annotated[str, typer.Option(help="What facilitators see: the last exchange, or all.", metavar="last|whole")]
Conversations = Annotated[
    Path | None,
    typer.Option(help="Start conversations (JSON Lines).", metavar="FILE", show_default=False),
]


@facilitator_app.command()
def facilitators(
    out: Annotated[Path, typer.Option(help="Folder of the run; an unfinished run goes on there.", metavar="FOLDER")],
    roles: Annotated[str, typer.Option(help="all, study, or some roles with commas.", metavar="NAMES")] = "study",
    conversations: Conversations = None,
    starts: Annotated[
        str, typer.Option(help="own: a role's own start conversations. all, or some ids with commas.", metavar="NAMES")
    ] = "own",
    times: Annotated[int, typer.Option(min=1, help="How often each start conversation is used.")] = 1,
    queries: Annotated[int, typer.Option(min=1, help="Messages of the facilitator in each conversation.")] = 4,
    arms: Annotated[str, typer.Option(help="all, or some arms with commas.", metavar="NAMES")] = "on,off",
    sees: Sees = "last",
    played_by: PlayedBy = None,
    facilitators_file: FacilitatorsFile = None,
    agent_prompt: Annotated[
        str, typer.Option(help="weak: an agent without rules that wants to please.", metavar="shipped|weak")
    ] = "shipped",
    seed: Seed = None,
    parallel: Parallel = None,
    budget_tokens: BudgetTokens = None,
    budget_cost: BudgetCost = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Let facilitators press the chatbot out of its role, with the filter and without, and keep every verdict.

    Goes on where it stopped; exit 1 while responses are missing.

    Example: cafi eval facilitators --roles study --queries 4 --arms on,off --out runs/first --agents builtin
    """
    from evaluation.facilitating.arms import choose_arms
    from evaluation.facilitating.checkpoints import SHIPPED, choose_starts, read_checkpoints
    from evaluation.facilitating.design import Design
    from evaluation.facilitating.journal import Journal
    from evaluation.facilitating.roles import FacilitatorFile
    from evaluation.facilitating.run import Run

    async def run() -> dict[str, Any]:
        running = led(seeded(measured(config, kb, agents), seed), agent_prompt)
        file = FacilitatorFile.load(*_given(facilitators_file))
        begun = conversations or SHIPPED
        design = Design(
            roles=file.choose(roles),
            starts=choose_starts(read_checkpoints(begun), starts, begun),
            arms=choose_arms(arms),
            queries=queries,
            times=times,
            own=starts == "own",
        )
        whole, spending = _sees_whole(sees), limited(running, budget_tokens, budget_cost)
        facilitator = _facilitator(running, file, played_by, seed)
        async with running.closing:
            with Journal(out, design, run_configuration(running, facilitator, seed) | {"sees": sees}) as journal:
                work = Run(
                    engine=running.engine,
                    facilitator=facilitator,
                    journal=journal,
                    spending=spending,
                    whole=whole,
                    parallel=parallel or running.settings.parallel,
                )
                with progress("responses", len(journal.missing)) as advance:
                    return await work.go_on(advance)

    held(run(), _show_arms, as_json=as_json)


@facilitator_app.command()
def drift(
    role: Annotated[str, typer.Option(help="The facilitator's role.", metavar="NAME")],
    out: Annotated[Path, typer.Option(help="Checkpoints file; the new one is added to it.", metavar="FILE")],
    name: Annotated[
        str | None, typer.Option("--id", help="Id of the checkpoint; the role's, unless said.", show_default=False)
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Messages of the facilitator at most.")] = 12,
    conversations: Conversations = None,
    start: Annotated[
        str | None, typer.Option(help="Id of a conversation to go on with; else a new one.", show_default=False)
    ] = None,
    sees: Sees = "last",
    played_by: PlayedBy = None,
    facilitators_file: FacilitatorsFile = None,
    seed: Seed = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Converse with the filter off until the chatbot first leaves its role, and keep that conversation as a checkpoint.

    Example: cafi eval drift --role diet --out checkpoints.jsonl --agents llm
    """
    from bots.output import write_page
    from engine import ROLE_AND_TONE, ConfigurationError, read_text
    from evaluation.facilitating.checkpoints import SHIPPED, Checkpoint, choose_starts, read_checkpoints
    from evaluation.facilitating.drift import Drifted, DriftSearch
    from evaluation.facilitating.roles import FacilitatorFile

    label = name or role

    async def run() -> Drifted:
        running = seeded(measured(config, kb, agents), seed)
        file = FacilitatorFile.load(*_given(facilitators_file))
        if out.exists() and label in {one.id for one in read_checkpoints(out)}:
            raise ConfigurationError(f"The checkpoint {label!r} is there already.", file=out, remedy="Use --id.")
        chosen, *more = file.choose(role)
        if more:
            raise ConfigurationError("Drift is looked for with one facilitator.", key="--role", remedy="Name one role.")
        engine, begun = running.engine, conversations or SHIPPED
        first = engine.start()
        if start is not None:
            first = choose_starts(read_checkpoints(begun), start, begun)[0].conversation(engine)
        search = DriftSearch(
            engine=engine,
            facilitator=_facilitator(running, file, played_by, seed),
            judge=engine.assistants[engine.default].teams[0].chief[ROLE_AND_TONE],
            whole=_sees_whole(sees),
        )
        async with running.closing:
            with progress("messages", queries) as advance:
                return await search.find(chosen, first, queries, advance)

    with failing_calmly():
        found = asyncio.run(run())
        if found.verdict is not None:
            checkpoint = Checkpoint.of(found.conversation, name=label, role=role)
            kept = read_text(out) if out.exists() else ""
            gap = "\n" if kept and not kept.endswith("\n") else ""
            write_page(out, kept + gap + checkpoint.as_line())
        document = {
            "role": role,
            "drifted": found.verdict is not None,
            "queries": found.queries,
            "unjudged": found.unjudged,
            "checkpoint": None if found.verdict is None else label,
            "decision": None if found.verdict is None else str(found.verdict.decision),
            "explanation": "" if found.verdict is None else found.verdict.explanation,
            "sentences": [] if found.verdict is None else list(found.verdict.sentences),
        }
        if as_json:
            print_json(document)
        elif found.verdict is None:
            typer.echo(f"No drift in {found.queries} messages; nothing was kept.")
        else:
            typer.echo(f"Drift at message {found.queries}: {found.verdict.explanation}\nKept as {label!r} in {out}.")


def _given(file: Path | None) -> tuple[Path, ...]:
    return () if file is None else (file,)


def _sees_whole(sees: str) -> bool:
    from engine import ConfigurationError

    if sees not in {"last", "whole"}:
        raise ConfigurationError(f"--sees is {sees!r}.", remedy="Use last or whole.")
    return sees == "whole"


def _facilitator(running: Application, file: FacilitatorFile, played_by: str | None, seed: int | None) -> Facilitator:
    """Who plays the facilitators; raises ConfigurationError."""
    from engine import PromptedModel
    from evaluation.facilitating.ladder import LadderFacilitator
    from evaluation.facilitating.llm import GIVEN, LlmFacilitator

    model = playing_model(running, played_by)
    if model is None:
        return LadderFacilitator(declining=file.declining)
    return LlmFacilitator(
        prompted=PromptedModel(model=model, template=running.prompts.get("facilitator").expect(GIVEN)),
        condition=running.assistant_settings(running.settings.assistant).condition,
        manners=file.manners,
        seed=seed or 0,
    )


def _show_arms(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{result['run']}: {result['responses']} of {result['wanted']} responses")
    for column in ("arm", "responses", "cited", "judges objected", "how the replies came about"):
        table.add_column(column)
    for arm, counts in result["arms"].items():
        marks = ", ".join(f"{name} {times}" for name, times in counts["marks"].items())
        table.add_row(arm, str(counts["responses"]), str(counts["cited"]), str(counts["chief_objections"]), marks)
    Console().print(table)
    typer.echo(f"Transcripts: {result['transcripts']}")

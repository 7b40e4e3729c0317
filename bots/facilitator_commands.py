"""`cafi eval facilitators`, `drift` and `specificity`: press the chatbot, find its first drift, ask it ordinary things."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.options import FAILED, AgentsOption, Config, Json, Kb, application, failing_calmly, print_json
from bots.progress import progress
from bots.writing import write_page

if TYPE_CHECKING:
    from bots.compose import Application
    from evaluation.facilitating.protocol import Facilitator
    from evaluation.facilitating.roles import FacilitatorFile
    from evaluation.facilitating.specificity import SpecificityReport
    from evaluation.facilitating.spending import Spending

facilitator_app = typer.Typer()
FacilitatorsFile = Annotated[
    Path | None,
    typer.Option("--facilitators", help="Roles of your own (YAML).", metavar="FILE", show_default=False),
]
PlayedBy = Annotated[
    str | None,
    typer.Option(
        "--played-by",
        help="builtin: the ladders. llm: a language model. As the agents, unless said.",
        metavar="builtin|llm",
        show_default=False,
    ),
]
Seed = Annotated[int | None, typer.Option(help="For providers that can repeat themselves.", show_default=False)]
Sees = Annotated[str, typer.Option(help="What facilitators see: the last exchange, or all.", metavar="last|whole")]
Conversations = Annotated[
    Path | None,
    typer.Option(help="Start conversations (JSON Lines).", metavar="FILE", show_default=False),
]
Parallel = Annotated[int | None, typer.Option(min=1, help="Conversations at the same time.", show_default=False)]


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
    seed: Seed = None,
    parallel: Parallel = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens that the run may spend.", show_default=False)
    ] = None,
    budget_cost: Annotated[
        float | None, typer.Option(min=0, help="Cost that the run may reach, by prices.yaml.", show_default=False)
    ] = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Let facilitators press the chatbot out of its role, with the filter and without, and keep every verdict.

    Example: cafi eval facilitators --roles study --queries 4 --arms on,off --out runs/first --agents builtin
    """
    from evaluation.facilitating.arms import choose_arms
    from evaluation.facilitating.checkpoints import SHIPPED, choose_starts, read_checkpoints
    from evaluation.facilitating.design import Design
    from evaluation.facilitating.journal import Journal
    from evaluation.facilitating.roles import FacilitatorFile
    from evaluation.facilitating.running import Run

    async def run() -> dict[str, Any]:
        running = seeded(application(config, kb, agents), seed)
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

    with failing_calmly():
        result = asyncio.run(run())
        if as_json:
            print_json(result)
        else:
            _show_arms(result)
        if not result["complete"]:
            typer.echo(what_is_missing(result), err=True)
            raise typer.Exit(FAILED)


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
    from engine.exceptions import ConfigurationError
    from engine.files import read_text
    from engine.judges.protocol import ROLE_AND_TONE
    from evaluation.facilitating.checkpoints import SHIPPED, Checkpoint, choose_starts, read_checkpoints
    from evaluation.facilitating.drift import Drifted, DriftSearch
    from evaluation.facilitating.roles import FacilitatorFile

    label = name or role

    async def run() -> Drifted:
        running = seeded(application(config, kb, agents), seed)
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


@facilitator_app.command()
def specificity(
    questions: Annotated[
        Path | None, typer.Option(help="JSON Lines of id, question, kind.", metavar="FILE", show_default=False)
    ] = None,
    kept: Annotated[
        Path | None,
        typer.Option("--from", help="A report kept with --out; nothing is asked.", metavar="FILE", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Keep the report (JSON).", metavar="FILE", show_default=False)
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="Write a sheet for raters (CSV).", metavar="FILE", show_default=False)
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="CSV of question_id, rater, agrees.", metavar="FILE", show_default=False)
    ] = None,
    parallel: Parallel = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Does the filter leave the answers to ordinary questions alone, and do people share its criticism?

    Example: cafi eval specificity --out specificity.json --sheet sheet.csv --agents builtin
    """
    from evaluation.facilitating import specificity as laboratory

    async def asked() -> SpecificityReport:
        running = application(config, kb, agents)
        rows = laboratory.read_ordinary_questions(questions or laboratory.SHIPPED)
        async with running.closing:
            with progress("questions", len(rows)) as advance:
                many = parallel or running.settings.parallel
                return await laboratory.measure(rows, running.engine, advance, parallel=many)

    with failing_calmly():
        report = laboratory.read_report(kept) if kept is not None else asyncio.run(asked())
        document = report.model_dump(mode="json")
        if out is not None:
            write_page(out, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        if sheet is not None:
            write_page(sheet, laboratory.sheet(report))
        if ratings is not None:
            document["agreement"] = laboratory.agreement(report, laboratory.read_ratings(ratings, report))
        if as_json:
            print_json(document)
        else:
            _show_specificity(document)


def _given(file: Path | None) -> tuple[Path, ...]:
    return () if file is None else (file,)


def seeded(running: Application, seed: int | None) -> Application:
    """The application with a seed for its models."""
    from bots.compose import Application

    if seed is None:
        return running
    models = running.settings.models.model_copy(update={"seed": seed})
    return Application(settings=running.settings.model_copy(update={"models": models}), model=running.model)


def _sees_whole(sees: str) -> bool:
    from engine.exceptions import ConfigurationError

    if sees not in {"last", "whole"}:
        raise ConfigurationError(f"--sees is {sees!r}.", remedy="Use last or whole.")
    return sees == "whole"


def limited(running: Application, tokens: int | None, cost: float | None) -> Spending:
    """What the run may spend; raises ConfigurationError for a cost that nobody can know."""
    from engine.exceptions import ConfigurationError
    from evaluation.facilitating.spending import Spending

    models = running.settings.models
    if cost is not None and running.chat_model is not None:
        unknown = sorted({models.large, models.small, *models.roles.values()} - running.prices.keys())
        if unknown:
            raise ConfigurationError(
                f"The price of {unknown[0]!r} is not known.",
                file=running.settings.config_folder / "prices.yaml",
                remedy="Add it, or use --budget-tokens.",
            )
    return Spending(tokens=tokens, cost=cost)


def _facilitator(running: Application, file: FacilitatorFile, played_by: str | None, seed: int | None) -> Facilitator:
    """Who plays the facilitators; raises ConfigurationError."""
    from engine.exceptions import ConfigurationError
    from engine.models.calling import PromptedModel
    from evaluation.facilitating.ladder import LadderFacilitator
    from evaluation.facilitating.llm import GIVEN, LlmFacilitator

    if played_by not in {None, "builtin", "llm"}:
        raise ConfigurationError(f"--played-by is {played_by!r}.", remedy="Use builtin or llm.")
    model = running.chat_model
    if played_by == "builtin" or (played_by is None and model is None):
        return LadderFacilitator(declining=file.declining)
    if model is None:
        raise ConfigurationError("--played-by llm needs a language model.", remedy="Use --agents llm with it.")
    return LlmFacilitator(
        prompted=PromptedModel(model=model, template=running.prompts.get("facilitator").expect(GIVEN)),
        condition=running.assistant_settings(running.settings.assistant).condition,
        manners=file.manners,
        seed=seed or 0,
    )


def run_configuration(running: Application, facilitator: object, seed: int | None) -> dict[str, Any]:
    """What a run must share with the one whose folder it goes on in; the design adds its own part."""
    from bots.compose import kb_folder
    from evaluation.facilitating.design import digest_of_files

    settings, models = running.settings, running.settings.models
    config, asks_models = settings.config_folder, running.chat_model is not None
    rules = [path for part in ("assistants", "rules", "texts") for path in (config / part).glob("*.yaml")]
    sources = [path for path in kb_folder(running).iterdir() if path.suffix in {".md", ".yaml", ".json"}]
    chosen = models.model_dump(include={"large", "small", "roles", "temperature"})
    return {
        "agents": "llm" if asks_models else "builtin",
        "models": chosen if asks_models else {},
        "facilitator": type(facilitator).__name__,
        "seed": seed,
        "assistant": settings.assistant,
        "knowledge_base": f"{kb_folder(running).name} {digest_of_files(sources)}",
        "rules_and_texts": digest_of_files([*rules, config / "stakes.yaml", config / "builtin_judges.yaml"]),
        "prompts": digest_of_files(list(settings.prompts_folder.glob("*.md"))) if asks_models else "",
    }


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


def what_is_missing(result: dict[str, Any]) -> str:
    """Why a run is not complete, and where, for the operator."""
    reasons = {"tokens": "the tokens are used up", "cost": "the cost is reached", "unknown cost": "a price is unknown"}
    why = ", ".join(reasons.get(name, f"the model that plays the person failed ({name})") for name in result["stopped"])
    many = result["wanted"] - result["responses"]
    rows = (
        f"  {one['role']} {one['conversation']} {one['arm']}: queries {one['queries']}" for one in result["missing"]
    )
    head = f"{many} of {result['wanted']} responses are missing: {why}. The same command goes on where it stopped."
    return "\n".join((head, *rows))


def _show_specificity(document: dict[str, Any]) -> None:
    n, judged, flagged = document["n"], document["judged"], document["flagged"]
    typer.echo(f"{n} questions, {judged} replies judged, {document['fixed']} fixed texts, {len(flagged)} flagged.")
    for one in flagged:
        typer.echo(f"\n{one['id']}: {one['question']}")
        for found in one["criticism"]:
            typer.echo(f"  {found['judge']} ({found['stage']}): {found['decision']}. {found['explanation']}")
    if "agreement" in document:
        found = document["agreement"]
        typer.echo(f"\nThe majority of raters agrees with {found['majority_agreed']} of {found['rated']} rated.")

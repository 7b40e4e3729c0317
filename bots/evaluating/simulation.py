"""`cafi eval simulate`: personas converse with the chatbot; what reflection on retrieval is worth beside that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.evaluating.runs import (
    BudgetCost,
    BudgetTokens,
    Parallel,
    Seed,
    held,
    limited,
    playing_model,
    playing_option,
    run_configuration,
    seeded,
)
from bots.options import AgentsOption, Config, Json, Kb, measured
from bots.progress import progress

if TYPE_CHECKING:
    from bots.compose import Application
    from evaluation.simulating.protocol import Player

Reflection = Annotated[
    str | None,
    typer.Option(
        help="Arms: none, needed, relevant, complete, all, configured; some with commas.",
        metavar="NAMES",
        show_default=False,
    ),
]


def simulate(
    out: Annotated[Path, typer.Option(help="Folder of the run; an unfinished run goes on there.", metavar="FOLDER")],
    personas: Annotated[str, typer.Option(help="all, or some personas with commas.", metavar="NAMES")] = "all",
    folder: Annotated[
        Path | None,
        typer.Option("--personas-from", help="Personas of your own (*.yaml).", metavar="FOLDER", show_default=False),
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="Messages of each person; a script may have fewer.")] = 12,
    reflection: Reflection = None,
    played_by: Annotated[str | None, playing_option("their scripts")] = None,
    seed: Seed = None,
    parallel: Parallel = None,
    budget_tokens: BudgetTokens = None,
    budget_cost: BudgetCost = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Let simulated users converse with the chatbot: how hard to read, how soon answered, referral where it is due.

    Goes on where it stopped; exit 1 while messages are missing.

    Example: cafi eval simulate --personas all --turns 12 --out runs/personas --agents builtin
    """
    from evaluation.facilitating.journal import Journal
    from evaluation.reflection_arms import CONFIGURED, choose_arms, engine_of
    from evaluation.simulating.design import SimulationDesign
    from evaluation.simulating.personas import SHIPPED, choose_personas
    from evaluation.simulating.simulation import Simulation

    async def run() -> dict[str, Any]:
        running = seeded(measured(config, kb, agents), seed)
        player = _player(running, played_by)
        arms = choose_arms(reflection or CONFIGURED)
        design = SimulationDesign(
            personas=choose_personas(personas, folder or SHIPPED), arms=arms, turns=turns, player=player
        )
        spending = limited(running, budget_tokens, budget_cost)
        async with running.closing:
            engines = {arm: engine_of(arm, running.engine) for arm in arms}
            with Journal(out, design, run_configuration(running, player, seed)) as journal:
                work = Simulation(
                    engines=engines,
                    player=player,
                    journal=journal,
                    spending=spending,
                    parallel=parallel or running.settings.parallel,
                )
                with progress("messages", len(journal.missing)) as advance:
                    return await work.go_on(advance)

    held(run(), _show, as_json=as_json)


def _player(running: Application, played_by: str | None) -> Player:
    """Who plays the personas; raises ConfigurationError."""
    from engine import PromptedModel
    from evaluation.simulating.players import GIVEN, LlmPlayer, ScriptPlayer

    model = playing_model(running, played_by)
    if model is None:
        return ScriptPlayer()
    return LlmPlayer(
        prompted=PromptedModel(model=model, template=running.prompts.get("persona").expect(GIVEN)),
        condition=running.assistant_settings(running.settings.assistant).condition,
    )


COLUMNS = ("persona", "messages", "grade", "words", "with source", "unanswered", "repeated", "referral", "answers")


def _show(result: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for arm, counts in result["arms"].items():
        title = f"{result['run']}, reflection {arm}: {result['responses']} of {result['wanted']} messages"
        table = Table(
            title=title, caption="referral: shown of due, shown where not due; answers: found of wanted, after"
        )
        for column in COLUMNS:
            table.add_column(column, justify="left" if column == "persona" else "right")
        for name, one in counts["personas"].items():
            table.add_row(name, *_cells(one))
        table.add_section()
        table.add_row("all", *_cells(counts["all"]))
        console.print(table)
    typer.echo(f"Transcripts: {result['transcripts']}")


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    cited, asked, found, referral = one["cited"], one["asked"], one["until_answer"], one["referral"]
    after = "" if found["turns"] is None else f", {found['turns']}"
    return (
        str(one["messages"]),
        "–" if one["grade"]["mean"] is None else f"{one['grade']['mean']:.1f}",
        "–" if one["words"]["median"] is None else f"{one['words']['median']:.0f}",
        f"{cited['with_source']}/{cited['replies']}",
        f"{asked['unanswered']}/{asked['questions']}",
        str(one["repeated"]),
        f"{referral['due']['shown']}/{referral['due']['n']}, {referral['none']['shown']}/{referral['none']['n']}",
        f"{found['answered']}/{found['wanted']}{after}",
    )


def show_reflection(result: dict[str, Any]) -> None:
    """The arms of `eval retrieval --reflection` side by side."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{result['n']} questions, whole turns")
    for column in ("reflection", "hit", "all sources", "two parts", "declined", "out of scope", "calls", "tokens"):
        table.add_column(column, justify="left" if column == "reflection" else "right")
    for arm, one in result["arms"].items():
        both = one["by_kind"].get("two_part", {}).get("all_at_3")
        shares = (one["hit_at_3"], one["all_at_3"], both)
        outside = one["out_of_scope"]["abstained"]
        cells = ["–" if share is None else f"{share:.3f}" for share in shares]
        outside_cell = "–" if outside is None else f"{outside:.3f}"
        table.add_row(arm, *cells, str(one["declined"]), outside_cell, str(one["llm_calls"]), str(one["tokens"]))
    Console().print(table)

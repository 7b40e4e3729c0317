"""What the runs of `eval facilitators` and `eval simulate` share: options, limits, configuration, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.options import FAILED, failing_calmly, one_of, print_json

if TYPE_CHECKING:
    from bots.compose import Application
    from engine import ChatModel
    from evaluation.facilitating.run_budget import RunBudget

AGENT_PROMPTS = {"shipped": "agent", "weak": "agent_weak"}
"""The template behind each name: the agent's own, and one that lets it drift."""
Seed = Annotated[int | None, typer.Option(help="For providers that can repeat themselves.", show_default=False)]
Parallel = Annotated[int | None, typer.Option(min=1, help="Conversations at the same time.", show_default=False)]
BudgetTokens = Annotated[int | None, typer.Option(min=1, help="Tokens that the run may spend.", show_default=False)]
BudgetCost = Annotated[
    float | None, typer.Option(min=0, help="Cost that the run may reach, by prices.yaml.", show_default=False)
]


def playing_option(builtin: str) -> Any:
    """The option `--played-by`; `builtin` says who plays without a model."""
    return typer.Option(
        "--played-by",
        help=f"builtin: {builtin}. llm: a language model. As the agents, unless said.",
        metavar="builtin|llm",
        show_default=False,
    )


def seeded(running: Application, seed: int | None) -> Application:
    """The application with a seed for its models."""
    if seed is None:
        return running
    models = running.settings.models.model_copy(update={"seed": seed})
    return replace(running, settings=running.settings.model_copy(update={"models": models}))


def led(running: Application, agent_prompt: str) -> Application:
    """The application with the agent prompt that is to be measured; raises ConfigurationError."""
    from engine import ConfigurationError

    template = AGENT_PROMPTS[one_of("--agent-prompt", agent_prompt, tuple(AGENT_PROMPTS))]
    if template == running.agent_prompt:
        return running
    if running.model is None and not running.settings.uses_llm:
        raise ConfigurationError(
            "A prompt leads language models only, and the agents here are built in.",
            remedy="Use --agents llm, or leave --agent-prompt out.",
        )
    return replace(running, agent_prompt=template)


def limited(running: Application, tokens: int | None, cost: float | None) -> RunBudget:
    """What the run may spend; raises ConfigurationError for a cost that nobody can know."""
    from engine import ConfigurationError
    from evaluation.facilitating.run_budget import RunBudget

    models = running.settings.models
    if cost is not None and running.chat_model is not None:
        unknown = sorted({models.large, models.small, *models.roles.values()} - running.prices.keys())
        if unknown:
            raise ConfigurationError(
                f"The price of {unknown[0]!r} is not known.",
                file=running.settings.config_folder / "prices.yaml",
                remedy="Add it, or use --budget-tokens.",
            )
    return RunBudget(tokens=tokens, cost=cost)


def playing_model(running: Application, played_by: str | None) -> ChatModel | None:
    """The model that plays the person, None where none does; raises ConfigurationError."""
    from engine import ConfigurationError

    if played_by not in {None, "builtin", "llm"}:
        raise ConfigurationError(f"--played-by is {played_by!r}.", remedy="Use builtin or llm.")
    model = running.chat_model
    if played_by == "llm" and model is None:
        raise ConfigurationError("--played-by llm needs a language model.", remedy="Use --agents llm with it.")
    return None if played_by == "builtin" else model


def run_configuration(running: Application, player: object, seed: int | None) -> dict[str, Any]:
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
        "facilitator": type(player).__name__,
        "seed": seed,
        "assistant": settings.assistant,
        "knowledge_base": f"{kb_folder(running).name} {digest_of_files(sources)}",
        "rules_and_texts": digest_of_files([*rules, config / "stakes.yaml", *sorted((config / "judges").iterdir())]),
        "prompts": digest_of_files(list(settings.prompts_folder.glob("*.md"))) if asks_models else "",
        "agent_prompt": running.agent_prompt,
    }


def held(run: Coroutine[Any, Any, dict[str, Any]], show: Callable[[dict[str, Any]], None], *, as_json: bool) -> None:
    """Hold a run, print what it gave, and fail where it is not complete, saying what is missing."""
    with failing_calmly():
        result = asyncio.run(run)
        if as_json:
            print_json(result)
        else:
            show(result)
        if not result["complete"]:
            typer.echo(what_is_missing(result), err=True)
            raise typer.Exit(FAILED)


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

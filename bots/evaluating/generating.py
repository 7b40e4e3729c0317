"""`cafi eval generate`: labelled scenarios written anew, from sources and rules."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.options import AgentsOption, Config, Json, Kb, application, failing_calmly, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from bots.compose import Application
    from engine.knowledge.source import Source
    from engine.rules import Rule, RuleBook
    from engine.turn.team import Assistant
    from evaluation.distilling.proposals import Writer

generating_app = typer.Typer()


@generating_app.command()
def generate(
    out: Annotated[
        Path, typer.Option(help="Scenarios for training; .test and .journal files go beside it.", metavar="FILE")
    ],
    per: Annotated[int, typer.Option(help="Scenarios for each source and rule.", min=2, metavar="N")] = 2,
    sources: Annotated[str, typer.Option(help="Ids with commas; all if not given.", metavar="A,B,C")] = "",
    rules: Annotated[str, typer.Option(help="Ids with commas; all if not given.", metavar="A,B,C")] = "",
    test_share: Annotated[float, typer.Option(help="Share of the sources kept for measuring.", min=0, max=0.9)] = 0.2,
    calls: Annotated[int, typer.Option(help="Most requests of this run.", min=1, metavar="N")] = 1000,
    tokens: Annotated[int, typer.Option(help="Most tokens of this run, in and out.", min=1, metavar="N")] = 2_000_000,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Write labelled scenarios from sources and rules, half of them acceptable; goes on where it stopped.

    Example: cafi eval generate --out scenarios/new.jsonl --per 4 --agents builtin
    """
    with failing_calmly():
        running = application(config, kb, agents)
        result = asyncio.run(_generated(running, out, per, sources, rules, test_share, calls, tokens))
    if as_json:
        print_json(result)
        return
    train, test = result["train"], result["test"]
    typer.echo(f"{result['scenarios']} scenarios, {result['to_accept']} to accept and {result['to_flag']} to flag.")
    typer.echo(f"{train['scenarios']} in {train['file']}, {test['scenarios']} of other sources in {test['file']}.")
    for reason, count in result["refused"].items():
        typer.echo(f"Refused: {count} {reason}.")
    if result["stopped"]:
        typer.echo(f"cafi: Not everything is written: {result['stopped']}. The same command goes on.", err=True)


async def _generated(
    running: Application,
    out: Path,
    per: int,
    sources: str,
    rules: str,
    test_share: float,
    calls: int,
    tokens: int,
) -> dict[str, Any]:
    from bots.evaluating.judging import rule_book
    from engine.models.ledger import Ledger
    from engine.settings import Budget
    from evaluation.calibration.scenarios import SHIPPED, read_labelled
    from evaluation.distilling.admitting import Admission
    from evaluation.distilling.generating import Files, Generating

    async with running.closing:
        assistant = running.assistant(running.settings.assistant)
        wanted = _picked(assistant, sources)
        admission = Admission(knowledge=assistant.knowledge, lexicon=running.lexicon)
        admission.keep_apart(row.reply for row in read_labelled(SHIPPED))
        run = Generating(
            writer=_writer(running, assistant, test_share),
            admission=admission,
            files=Files(train=out),
            per=per,
            test_share=test_share,
            parallel=running.settings.parallel,
            ledger=Ledger(budget=Budget(calls=calls, tokens=tokens, seconds=7 * 24 * 3600)),
        )
        asked = _asked(rule_book(running), rules)
        with progress("pieces", len(wanted) * len(asked)) as advance:
            return await run.run(wanted, asked, advance)


def _writer(running: Application, assistant: Assistant, test_share: float) -> Writer:
    """The configured model with its prompt, or the built-in writer."""
    from engine.models.calling import PromptedModel
    from evaluation.distilling.builtin_writer import BuiltinWriter
    from evaluation.distilling.generating import split_of
    from evaluation.distilling.llm_writer import GIVEN, LlmWriter
    from evaluation.distilling.phrases import Phrases

    if running.chat_model is not None:
        template = running.prompts.get("write_scenarios").expect(GIVEN)
        name = running.settings.models.name_for(template.head.role, template.head.tier)
        prompted = PromptedModel(model=running.chat_model, template=template)
        return LlmWriter(prompted=prompted, assistant=assistant.settings, model=name)
    ids = tuple(assistant.knowledge.sources)

    def same_split(source: str) -> tuple[str, ...]:
        return tuple(one for one in ids if split_of(one, test_share) == split_of(source, test_share))

    return BuiltinWriter(phrases=Phrases.read(), knowledge=assistant.knowledge, same_split=same_split)


def _picked(assistant: Assistant, names: str) -> list[Source]:
    knowledge = assistant.knowledge
    return [_known(one, knowledge.get(one), "source") for one in _listed(names)] or list(knowledge.sources.values())


def _asked(book: RuleBook, names: str) -> list[Rule]:
    by_id = {rule.id: rule for rule in book.rules}
    return [_known(one, by_id.get(one), "rule") for one in _listed(names)] or list(book.rules)


def _listed(names: str) -> list[str]:
    return list(dict.fromkeys(one.strip() for one in names.split(",") if one.strip()))


def _known(name: str, found: Any, kind: str) -> Any:
    from engine.exceptions import ConfigurationError

    if found is None:
        raise ConfigurationError(f"There is no {kind} {name!r}.", key=f"--{kind}s", remedy="See `cafi kb show`.")
    return found

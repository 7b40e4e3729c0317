"""The `cafi` command. Each command reads its options, builds the application and calls one function."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bots.cli.backup import backup, restore
from bots.cli.discord import discord_app
from bots.cli.feedback import feedback_app
from bots.cli.kb import kb_app
from bots.cli.operator import operator_app
from bots.cli.rehearse import rehearse_app
from bots.cli.report import report_app
from bots.cli.secret import secret_app
from bots.cli.state import migrate, state_app
from bots.cli.telegram import telegram_app
from bots.evaluating.commands import eval_app
from bots.options import FAILED, AgentsOption, Config, Json, Kb, application, failing_calmly, print_json
from bots.process import starting

starting()
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="CAFI answers questions about schizophrenia from a curated knowledge base and has every reply judged.",
    epilog='Try: cafi ask "Is it my fault that I got ill?"',
)
app.add_typer(kb_app, name="kb")
app.add_typer(eval_app, name="eval")
app.add_typer(discord_app, name="discord")
app.add_typer(rehearse_app, name="rehearse")
app.add_typer(feedback_app, name="feedback")
app.add_typer(report_app, name="report")
app.add_typer(telegram_app, name="telegram")
app.add_typer(secret_app, name="secret")
app.add_typer(state_app, name="state")
app.add_typer(operator_app, name="operator")
app.command()(migrate)


@app.command()
def run(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Start everything that is configured, in one process: the web page, and platforms whose token is set.

    Example: cafi run --agents builtin
    """
    with failing_calmly():
        built = application(config, kb, agents)
        from bots.runner import serve

        asyncio.run(serve(built, typer.echo))


@app.command()
def serve(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Serve the OpenAI-compatible endpoint alone: /v1/chat/completions, /v1/judgements, /v1/models; needs `api.keys`.

    Example: cafi serve --agents builtin
    """
    with failing_calmly():
        built = application(config, kb, agents)
        from bots.runner import endpoint_alone, serve

        asyncio.run(serve(built, typer.echo, endpoint_alone))


@app.command()
def worker(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Answer what receivers (`cafi run`) take in, one of any number of workers; needs PostgreSQL and `queue: workers`.

    Example: CAFI_QUEUE=workers cafi worker
    """
    with failing_calmly():
        built = application(config, kb, agents)
        from bots.runner import serve
        from bots.workers import require_queue
        from bots.workers import worker as build

        require_queue(built.settings)
        asyncio.run(serve(built, typer.echo, build, process="worker"))


@app.command()
def judge(
    reply: Annotated[str, typer.Argument(help="A reply, whoever wrote it.")],
    message: Annotated[str, typer.Option("--message", help="What it answers.", metavar="TEXT")],
    source: Annotated[
        list[str] | None,
        typer.Option(
            help="A source that it cites: an id, or a text file. Several times for several.", metavar="ID|FILE"
        ),
    ] = None,
    refine: Annotated[bool, typer.Option("--refine", help="Mend it where it is rejected.")] = False,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Put one reply before the checks and the judges; exit 1 when it is rejected.

    Example: cafi judge "Clozapine can lower white blood cells." --message "why blood tests" --source clozapine
    """
    from bots.cli.judgements import judged_lines, judgement_of
    from engine import Decision

    with failing_calmly():
        found = asyncio.run(judgement_of(application(config, kb, agents), reply, message, source or (), refine=refine))
        if as_json:
            from adapters.api_adapter.answers import judged

            print_json(judged(found))
        else:
            typer.echo("\n".join(judged_lines(found)))
        if found.decision is Decision.REJECT:
            raise typer.Exit(FAILED)


@app.command()
def chat(config: Config = None, kb: Kb = None, agents: AgentsOption = None) -> None:
    """Talk in the terminal. Commands begin with a slash; /help lists them.

    Example: cafi chat --kb knowledge_base/sleep
    """
    from bots.terminal import talk

    with failing_calmly():
        asyncio.run(talk(application(config, kb, agents)))


@app.command()
def ask(
    text: Annotated[str, typer.Argument(help="The question, in quotes.")],
    history: Annotated[
        Path | None,
        typer.Option(help="Conversation so far: a JSON list of role, content, citations.", metavar="FILE"),
    ] = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Answer one question and stop.

    Example: cafi ask "What are early signs of a relapse?" --json
    """
    from bots.cli.ask import answer, as_document, as_lines

    with failing_calmly():
        answered = asyncio.run(answer(application(config, kb, agents), text, history))
        if as_json:
            print_json(as_document(answered))
        else:
            typer.echo("\n".join(as_lines(answered)))


@app.command()
def check(
    language: Annotated[
        str | None, typer.Option(help="List what this language lacks, too.", metavar="CODE", show_default=False)
    ] = None,
    models: Annotated[
        bool,
        typer.Option("--models", help="Ask each language model one tiny question instead; exit 1 when none works."),
    ] = False,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Check every setting, prompt, rule, source and contact. Names file and line; exit 1 when something is wrong.

    Example: cafi check --config my.yaml
    """
    from bots.cli.check import findings

    if models:
        _check_models(config, kb, agents, as_json=as_json)
        return
    with failing_calmly():
        found = findings(config, kb, agents, language)
        errors = [one for one in found if one.level == "error"]
        if as_json:
            print_json([one.as_document() for one in found])
        else:
            for one in found:
                typer.echo(f"{one.level}: {one.text}")
            typer.echo(f"{len(errors)} errors, {len(found) - len(errors)} warnings")
        if errors:
            raise typer.Exit(FAILED)


app.command()(backup)
app.command()(restore)


def _check_models(config: Path | None, kb: Path | None, agents: str | None, *, as_json: bool) -> None:
    from bots.endpoint_check import as_document, as_line, trials

    with failing_calmly():
        running = application(config, kb, agents)
        found = asyncio.run(trials(running))
        if as_json:
            print_json([as_document(one) for one in found])
        else:
            for one in found:
                typer.echo(as_line(one, running.price_table.currency))
        if all(one.problem is not None for one in found):
            raise typer.Exit(FAILED)

"""`cafi kb`: look after a knowledge base."""

from __future__ import annotations

from typing import Annotated

import typer

from bots.options import FAILED, AgentsOption, Config, Json, Kb, application, failing_calmly, print_json

kb_app = typer.Typer(no_args_is_help=True, help="Check, search and show a knowledge base.")


@kb_app.command()
def lint(config: Config = None, kb: Kb = None, agents: AgentsOption = None, as_json: Json = False) -> None:
    """List every fault of a knowledge base with file and line; exit 1 when there is one.

    Example: cafi kb lint --kb knowledge_base/sleep
    """
    from bots.checking import Finding
    from bots.compose import kb_folder
    from engine.knowledge.base import scan

    with failing_calmly():
        base, problems = scan(kb_folder(application(config, kb, agents)))
        if as_json:
            print_json([Finding(level="error", problem=one).as_document() for one in problems])
        else:
            for one in problems:
                typer.echo(str(one))
            typer.echo(f"{len(base.sources) if base else 0} sources, {len(problems)} problems")
        if problems:
            raise typer.Exit(FAILED)


@kb_app.command()
def search(
    question: Annotated[str, typer.Argument(help="A question in anybody's words.")],
    top: Annotated[int, typer.Option(help="How many sources at most.", min=1)] = 3,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Find the sources for a question, best first; nothing when nothing fits.

    Example: cafi kb search "do the pills make you fat" --top 3
    """
    from bots.compose import kb_folder
    from engine.knowledge.base import KnowledgeBase
    from engine.text import clean

    with failing_calmly():
        running = application(config, kb, agents)
        base = KnowledgeBase.load(kb_folder(running))
        hits = running.search(base).search(clean(question).text, top=top)
        if as_json:
            print_json([{"source": hit.source, "score": round(hit.score, 4)} for hit in hits])
            return
        for hit in hits:
            typer.echo(f"{hit.score:.2f}  {hit.source}  {base.sources[hit.source].title}")
        if not hits:
            typer.echo("Nothing fits.")


@kb_app.command()
def show(
    source: Annotated[str | None, typer.Argument(help="A source's id; without one, all are listed.")] = None,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Show one source as users see it and with the rules for the agent, or list all.

    Example: cafi kb show causes
    """
    from bots.compose import kb_folder
    from bots.showing import listing, source_document, source_lines
    from engine.exceptions import ConfigurationError
    from engine.knowledge.base import KnowledgeBase

    with failing_calmly():
        base = KnowledgeBase.load(kb_folder(application(config, kb, agents)))
        if source is None:
            documents = [source_document(one) for one in base.sources.values()]
            print_json(documents) if as_json else typer.echo("\n".join(listing(base)))
            return
        found = base.get(source)
        if found is None:
            raise ConfigurationError(
                f"There is no source {source!r}.", file=base.folder, remedy="`cafi kb show` lists all."
            )
        print_json(source_document(found)) if as_json else typer.echo("\n".join(source_lines(found)))

"""`cafi kb`: look after a knowledge base."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bots.options import FAILED, AgentsOption, Config, Json, Kb, application, failing_calmly, print_json

if TYPE_CHECKING:
    from bots.compose import Application
    from engine import KnowledgeBase
    from kb_tools.manual.importer import ManualImporter

Page = Annotated[
    Path | None,
    typer.Option(
        "--page",
        help="Write it between `<!-- written: FOLDER -->` and `<!-- end: FOLDER -->` of this Markdown page.",
        metavar="FILE",
    ),
]

kb_app = typer.Typer(no_args_is_help=True, help="Check, search and show a knowledge base.")


@kb_app.command()
def lint(config: Config = None, kb: Kb = None, agents: AgentsOption = None, as_json: Json = False) -> None:
    """List the faults of a knowledge base with file and line; exit 1 when one is an error.

    Thresholds stand in config/kb_lint.yaml.

    Example: cafi kb lint --kb knowledge_base/sleep
    """
    from bots.compose import kb_folder
    from kb_tools.lint.report import lint_document, lint_folder, lint_lines

    with failing_calmly():
        running = application(config, kb, agents)
        report = lint_folder(kb_folder(running), running.lint_limits)
        print_json(lint_document(report)) if as_json else typer.echo("\n".join(lint_lines(report)))
        if report.errors:
            raise typer.Exit(FAILED)


@kb_app.command()
def search(
    question: Annotated[str, typer.Argument(help="A question in anybody's words.")],
    top: Annotated[int, typer.Option(help="How many sources at most.", min=1)] = 3,
    explain: Annotated[bool, typer.Option("--explain", help="Say how the question was read and scored.")] = False,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Find the sources for a question, best first; nothing when nothing fits.

    Example: cafi kb search "do the pills make you fat" --top 3
    """
    from bots.compose import kb_folder
    from engine import KnowledgeBase, clean
    from kb_tools.search_explanation import explanation_document, explanation_lines

    with failing_calmly():
        running = application(config, kb, agents)
        base = KnowledgeBase.load(kb_folder(running))
        index, asked = running.search(base), clean(question).text
        if explain:
            found = explanation_document(index, asked, top)
            print_json(found) if as_json else typer.echo("\n".join(explanation_lines(found)))
            return
        hits = index.search(asked, top=top)
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
    """Show one source as users see it and as the agent sees it, or list all.

    Example: cafi kb show causes
    """
    from bots.compose import kb_folder
    from engine import ConfigurationError, KnowledgeBase
    from kb_tools.source_view import listing, source_document, source_lines

    with failing_calmly():
        base = KnowledgeBase.load(kb_folder(application(config, kb, agents)))
        if source is None:
            documents = [source_document(base, one) for one in base.sources.values()]
            print_json(documents) if as_json else typer.echo("\n".join(listing(base)))
            return
        found = base.get(source)
        if found is None:
            raise ConfigurationError(
                f"There is no source {source!r}.", file=base.folder, remedy="`cafi kb show` lists all."
            )
        print_json(source_document(base, found)) if as_json else typer.echo("\n".join(source_lines(base, found)))


@kb_app.command()
def stats(config: Config = None, kb: Kb = None, agents: AgentsOption = None, as_json: Json = False) -> None:
    """Count sources, words, grades, questions, directives, references and pictures.

    Example: cafi kb stats --kb knowledge_base/sleep
    """
    from bots.compose import kb_folder
    from engine import KnowledgeBase
    from kb_tools.figures import KnowledgeFigures
    from kb_tools.figures_report import figures_document, figures_table

    with failing_calmly():
        base = KnowledgeBase.load(kb_folder(application(config, kb, agents)))
        found = KnowledgeFigures.of(base)
        if as_json:
            print_json(figures_document(base, found))
            return
        from rich.console import Console

        # Where nobody looks, nothing need be cut off.
        Console(width=None if sys.stdout.isatty() else 160).print(figures_table(base, found), highlight=False)


@kb_app.command()
def facts(
    page: Page = None, config: Config = None, kb: Kb = None, agents: AgentsOption = None, as_json: Json = False
) -> None:
    """List every figure of the sources with its sentence, its section and the reference that the sentence names.

    Example: cafi kb facts --page docs/facts.md
    """
    from bots.compose import kb_folder
    from bots.output import write_part
    from engine import KnowledgeBase
    from kb_tools.fact_table import fact_lines, fact_page, facts_document
    from kb_tools.facts import facts_of

    with failing_calmly():
        base = KnowledgeBase.load(kb_folder(application(config, kb, agents)))
        found = list(facts_of(base))
        if page is not None:
            write_part(page, base.folder.name, fact_page(found, base.folder.name))
        print_json(facts_document(found)) if as_json else typer.echo("\n".join(fact_lines(found)))


@kb_app.command()
def coverage(
    html: Annotated[
        Path | None, typer.Option("--html", help="Write a page with the heat map there.", metavar="FILE")
    ] = None,
    page: Page = None,
    folds: Annotated[int, typer.Option(help="In how many groups questions are held out.", min=2, max=50)] = 5,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Ask every source its own questions, held out of the index: which find others, which sources are never found?

    Example: cafi kb coverage --html coverage.html
    """
    from bots.compose import kb_folder
    from bots.output import write_page, write_part
    from bots.progress import progress
    from engine import KnowledgeBase
    from kb_tools.coverage import measure_coverage
    from kb_tools.coverage_report import coverage_document, coverage_lines, coverage_page
    from kb_tools.figures import KnowledgeFigures
    from kb_tools.heat_map import heat_map_page

    with failing_calmly():
        running = application(config, kb, agents)
        base = KnowledgeBase.load(kb_folder(running))
        total = sum(len(source.questions) for source in base.sources.values())
        with progress("questions", total) as step:
            found = measure_coverage(base, running.search, folds=folds, step=step)
        if html is not None:
            write_page(html, heat_map_page(found, base.manifest.title))
        if page is not None:
            write_part(page, base.folder.name, coverage_page(found, KnowledgeFigures.of(base), base.folder.name))
        print_json(coverage_document(found)) if as_json else typer.echo("\n".join(coverage_lines(found)))


@kb_app.command()
def translate(
    language: Annotated[str, typer.Argument(help="The language, as de or nb.")],
    sources: Annotated[list[str] | None, typer.Argument(help="Ids of sources; without one, all that it lacks.")] = None,
    renew: Annotated[
        bool,
        typer.Option("--renew", help="Draft nothing: state that they have been gone over as the originals are now."),
    ] = False,
    config: Config = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Draft translations with a model, beside the sources and marked as unreviewed; a file that is there stays.

    Example: cafi kb translate it causes
    """
    from bots.compose import kb_folder
    from engine import KnowledgeBase
    from kb_tools.translation_stamps import renew as renewed

    with failing_calmly():
        running = application(config, kb, agents)
        base = KnowledgeBase.load(kb_folder(running))
        if renew:
            written = list(renewed(base, language, sources or ()))
        else:
            written = asyncio.run(_drafts(running, base, language, sources or ()))
        print_json([str(one) for one in written]) if as_json else typer.echo(
            "\n".join(map(str, written)) or "Nothing to do."
        )


async def _drafts(running: Application, base: KnowledgeBase, language: str, sources: Sequence[str]) -> list[Path]:
    from engine import ConfigurationError, PromptedModel
    from kb_tools.translator import Translator

    model = running.chat_model
    if model is None:
        raise ConfigurationError("Drafts need a language model.", key="models", remedy="Set one up, or write the file.")
    prompted = PromptedModel(model=model, template=running.translator_prompt)
    translator = Translator(base=base, language=language, prompted=prompted, budget=running.settings.budget)
    async with running.closing:
        return [await translator.draft(name) for name in sources or translator.missing()]


@kb_app.command("import")
def import_manual(
    path: Annotated[Path, typer.Argument(help="A PDF, Markdown, HTML or text file, or a folder of them.")],
    to: Annotated[Path, typer.Option("--to", help="The folder to make.", metavar="DIR")],
    force: Annotated[
        bool, typer.Option("--force", help="Take the place of a folder, which is kept beside it.")
    ] = False,
    config: Config = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Make draft sources of a manual, divided at its headings; with a model also summaries and questions.

    Needs the extra `import`.

    Example: cafi kb import manual.pdf --to knowledge_base/my_manual
    """
    from kb_tools.manual.importer import Imported, imported_document, imported_lines

    target = to.resolve()

    async def run() -> Imported:
        running = application(config, None, agents)
        async with running.closing:
            return await manual_importer(running).run(path, target, force=force)

    with failing_calmly():
        found = asyncio.run(run())
        for warning in found.warnings:
            typer.echo(f"warning: {warning}", err=True)
        print_json(imported_document(found)) if as_json else typer.echo("\n".join(imported_lines(found)))


def manual_importer(running: Application) -> ManualImporter:
    """The importer, with the model where there is one. Raises ConfigurationError."""
    from bots.progress import progress
    from engine import PromptedModel
    from kb_tools.manual.importer import ManualImporter

    model, settings = running.chat_model, running.settings
    return ManualImporter(
        stakes=running.stakes,
        prompted=None if model is None else PromptedModel(model=model, template=running.importer_prompt),
        budget=settings.budget,
        parallel=settings.parallel,
        progress=progress,
    )

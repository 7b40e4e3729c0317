"""`cafi judge`: one reply, whoever wrote it, before the checks and the judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from bots.compose import Application
from engine import ConfigurationError, Judgement, KnowledgeBase, Source, plain_source, read_text


async def judgement_of(
    application: Application, reply: str, message: str, sources: Sequence[str], *, refine: bool
) -> Judgement:
    """What is said of it. Raises ConfigurationError for a source that is neither an id nor a file."""
    async with application.closing:
        engine = application.engine
        knowledge = engine.filter(reply=reply).assistant.knowledge
        given = tuple(_source(one, knowledge) for one in sources)
        return await engine.judge(reply, message, sources=given, refine=refine)


def _source(named: str, knowledge: KnowledgeBase) -> Source:
    found, file = knowledge.get(named), Path(named)
    if found is not None:
        return found
    if not file.is_file():
        raise ConfigurationError(
            f"There is no source {named!r} and no such file.",
            key="--source",
            remedy="`cafi kb show` lists the sources.",
        )
    return plain_source(file.stem, file.stem.replace("_", " "), read_text(file))


def judged_lines(found: Judgement) -> Iterator[str]:
    """The decision, and why."""
    yield str(found.decision)
    yield from (f"  check: {one}" for one in found.failed_checks)
    for one in found.verdicts:
        said = f": {one.explanation}" if one.explanation else ""
        yield f"  {one.judge}: {one.decision}{said}"
        yield from (f"    “{sentence}”" for sentence in one.sentences)
    if found.refined is not None:
        yield ""
        yield found.refined.reply

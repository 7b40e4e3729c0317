"""`eval retrieval`: does the search find the right sources, and does it know when none fits?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from engine import Engine, Guide, Retriever, Turn, clean
from evaluation.rows import read_rows
from evaluation.section_figures import FoundSections, section_figures


class LabelledQuestion(BaseModel):
    """One labelled question. `relevant` is empty for a question that no source answers.

    `section` is `source#section` of the one that answers it best, `sections` are all that do; empty where nobody said which.
    `lang`: its language, empty for that of the sources.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str
    question: str
    relevant: tuple[str, ...]
    kind: str = "plain"
    section: str = ""
    sections: tuple[str, ...] | None = None
    lang: str = ""


def read_questions(path: Path) -> list[LabelledQuestion]:
    """The rows of a questions file."""
    return read_rows(path, LabelledQuestion, remedy='A row needs "id", "question", "relevant" and "kind".')


def measure(
    questions: Iterable[LabelledQuestion],
    retriever: Retriever,
    progress: Callable[[], None] = lambda: None,
    *,
    guide: Guide | None = None,
) -> dict[str, Any]:
    """What the search finds: shares over all answerable questions and by kind, as in `figures`.

    With a guide, `sections` is added for the questions that name some, if there are any, and `by_language` where they are
    in several. A question in another language than the sources' is searched in that.
    """
    rows, sections = [], []
    for one in questions:
        search = guide.search(one.lang) if guide is not None and one.lang not in {"", guide.own_language} else retriever
        rows.append((one, [hit.source for hit in search.search(clean(one.question).text, top=3)]))
        wanted = (one.section,) if one.section else one.sections
        if guide is not None and wanted is not None:
            sections.append((one.lang, FoundSections.by(guide, one.question, wanted, one.lang)))
        progress()
    found = figures(rows)
    if sections:
        found["sections"] = section_figures([one for _, one in sections])
    languages = sorted({spoken for spoken, _ in sections})
    if len(languages) > 1:
        found["by_language"] = {
            spoken: section_figures([one for its, one in sections if its == spoken]) for spoken in languages
        }
    return found


async def measure_agent(
    questions: Iterable[LabelledQuestion],
    engine: Engine,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> dict[str, Any]:
    """What a reply cites after a whole turn, the agent's own requests for sources included."""
    turns = await ask_all(questions, engine, progress, parallel=parallel)
    return figures((one, list(turn.reply.citations)[:3]) for one, turn in turns)


async def ask_all(
    questions: Iterable[LabelledQuestion],
    engine: Engine,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> list[tuple[LabelledQuestion, Turn]]:
    """One turn for every question, each in a new conversation."""
    gate = asyncio.Semaphore(parallel)

    async def asked(one: LabelledQuestion) -> tuple[LabelledQuestion, Turn]:
        async with gate:
            turn = await engine.respond(engine.start(), one.question, said_safe=True)
            progress()
            return one, turn

    return await asyncio.gather(*(asked(one) for one in questions))


def figures(rows: Iterable[tuple[LabelledQuestion, list[str]]]) -> dict[str, Any]:
    """`all_at_3` wants every relevant source in the first three; a row without one wants nothing found."""
    answerable: dict[str, list[tuple[bool, bool, bool]]] = {}
    declined: list[bool] = []
    for one, found in rows:
        if not one.relevant:
            declined.append(not found)
            continue
        marks = (
            found[:1] != [] and found[0] in one.relevant,
            any(source in one.relevant for source in found),
            all(source in found for source in one.relevant),
        )
        answerable.setdefault(one.kind, []).append(marks)
    everything = [marks for kind in answerable.values() for marks in kind]
    return {
        **_shares(everything),
        "by_kind": {kind: _shares(marks) for kind, marks in sorted(answerable.items())},
        "out_of_scope": {"n": len(declined), "abstained": _share(declined)},
    }


def _shares(marks: list[tuple[bool, bool, bool]]) -> dict[str, Any]:
    return {
        "n": len(marks),
        "hit_at_1": _share([one[0] for one in marks]),
        "hit_at_3": _share([one[1] for one in marks]),
        "all_at_3": _share([one[2] for one in marks]),
    }


def _share(marks: list[bool]) -> float | None:
    return round(sum(marks) / len(marks), 4) if marks else None

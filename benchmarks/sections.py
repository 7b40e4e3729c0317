"""How long finding a section takes, and building for it, with all lay questions."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count, cycle, islice
from pathlib import Path
from typing import TypeVar

from benchmarks.report import Cell, Section, Target
from benchmarks.rig import ROOT
from engine import (
    KnowledgeBase,
    LayQuestions,
    Manifest,
    SectionQuestions,
    SectionSearch,
    Source,
    TextEncoder,
    load_elsewhere,
    read_lay_questions,
)

Built = TypeVar("Built")
BASES = ("schizophrenia", "sleep")
MANY = 1000
BOUNDS = (3.0, 10.0)
"""Milliseconds that a search may take among ours and among many."""
ASKED = 300
"""So many messages of an author whose lines are in no knowledge base, none of them twice."""


def measure() -> Section:
    """Our own sources as they are, and so often over that they are a thousand."""
    sources, questions = everything()
    asked = messages()
    rows = [_row(*multiplied(sources, questions, number), asked) for number in (len(sources), MANY)]
    return Section(
        name="sections",
        about=f"{len(asked)} messages of an author who is not in the base, alone and behind another one",
        tables={"search": rows},
        targets=tuple(
            Target(name=f"{row['sources']} sources: section ms", value=float(row["section ms"]), bound=bound)
            for row, bound in zip(rows, BOUNDS, strict=True)
        ),
    )


def everything() -> tuple[list[Source], LayQuestions]:
    """The sources of all our knowledge bases, and their lay questions in English."""
    bases = [KnowledgeBase.load(ROOT / "knowledge_base" / name) for name in BASES]
    read = [read_lay_questions(base.folder, "en", base.sources)[0] for base in bases]
    questions = LayQuestions(
        language="en",
        titles={key: title for one in read for key, title in one.titles.items()},
        sections={key: asked for one in read for key, asked in one.sections.items()},
    )
    return [source for base in bases for source in base.sources.values()], questions


def multiplied(sources: Sequence[Source], questions: LayQuestions, size: int) -> tuple[KnowledgeBase, LayQuestions]:
    """So many sources: ours, then ours again under other ids.

    Other sources would bring words of their own, so that a word would lead to fewer sections than it does here.
    """
    chosen: dict[str, Source] = {}
    titles: dict[str, str] = {}
    sections: dict[tuple[str, str], SectionQuestions] = {}
    for number, source in zip(count(), islice(cycle(sources), size), strict=False):
        name = source.id if number < len(sources) else f"{source.id}_{number}"
        chosen[name] = replace(source, id=name)
        titles[name] = questions.titles.get(source.id, source.title)
        sections |= {(name, one.id): questions.of(source.id, one.id) for one in source.sections}
    base = KnowledgeBase(
        folder=Path("nowhere"), manifest=Manifest(name="multiplied", title="Multiplied"), sources=chosen
    )
    return base, LayQuestions(language="en", titles=titles, sections=sections)


def messages() -> list[str]:
    """What somebody typed who is not in the base, spread over the sections."""
    lines = (ROOT / "evaluation" / "data" / "lay_questions" / "schizophrenia_c.jsonl").read_text(encoding="utf-8")
    rows = lines.splitlines()
    return [json.loads(row)["question"] for row in rows[:: len(rows) // ASKED]][:ASKED]


def _row(base: KnowledgeBase, questions: LayQuestions, asked: list[str]) -> dict[str, Cell]:
    folder = ROOT / "config"
    encoder, away = TextEncoder.load(folder / "encoder"), load_elsewhere(folder / "elsewhere")["en"]
    sections = SectionSearch(knowledge=base, questions=questions, encoder=encoder, elsewhere=away)
    _, built_sections = _timed(lambda: (sections.sections, sections.centroids))
    alone, after = [], []
    for one, before in zip(asked, asked[-1:] + asked[:-1], strict=True):
        alone.append(_timed(lambda one=one: sections.find(one))[1])  # type: ignore[misc]
        after.append(_timed(lambda one=one, before=before: sections.find(one, earlier=(before,)))[1])  # type: ignore[misc]
    middle = statistics.median
    return {
        "sources": len(base.sources),
        "sections": len(sections.sections),
        "lay questions": sum(len(one.lines) for one in questions.sections.values()),
        "build s": built_sections,
        "section ms": middle(alone) * 1000,
        "with the message before ms": middle(after) * 1000,
        "p95 ms": sorted(after)[int(len(after) * 0.95)] * 1000,
    }


def _timed(work: Callable[[], Built]) -> tuple[Built, float]:
    begun = time.perf_counter()
    done = work()
    return done, time.perf_counter() - begun

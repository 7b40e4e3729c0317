"""What `cafi run` holds in memory and how long it starts: before the first question, and with one asked in each language."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.report import Cell, Section, Target
from benchmarks.web import Visitor, resident_mb, served, visiting

QUESTIONS = {
    "en": "What is clozapine and what should my son watch for?",
    "de": "Was ist Clozapin und worauf soll mein Sohn achten?",
    "es": "¿Qué es la clozapina y en qué debe fijarse mi hijo?",
    "fr": "C'est quoi la clozapine et à quoi mon fils doit faire attention ?",
    "nb": "Hva er klozapin og hva må sønnen min passe på?",
}
MEMORY_MB, START_S = 250, 2.5
SETTLES = 1.0  # seconds after an answer


def measure() -> Section:
    """A server of its own process with the page and the built-in agents, and a visitor a language."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as (address, process):
        started = time.perf_counter() - begun
        rows: list[dict[str, Cell]] = [_row("none", process)]
        for number, (language, question) in enumerate(QUESTIONS.items()):
            asyncio.run(_ask(address, number, language, question))
            rows.append(_row(language, process))
        targets = (
            Target(name="all five: resident MB", value=resident_mb(process), bound=MEMORY_MB),
            Target(name="seconds until it listens", value=started, bound=START_S),
        )
    return Section(
        name="memory",
        about="one question in each language, one after the other",
        tables={"memory": rows},
        targets=targets,
    )


def _row(language: str, process: int) -> dict[str, Cell]:
    """What is resident, and what of it is the process's own: the rest are pages of files, which the system can let go of."""
    return {
        "asked in": language,
        "resident MB": resident_mb(process),
        "of it no pages of files": resident_mb(process, "RssAnon"),
    }


async def _ask(address: str, number: int, language: str, question: str) -> None:
    async with visiting(address, number) as client:
        visitor = Visitor(number=number, client=client)
        await visitor.begin(language)
        assert await visitor.ask(question) == 303
        await asyncio.sleep(SETTLES)

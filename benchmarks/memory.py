"""What `cafi run` holds in memory and how long it starts: before the first question, and with one asked in each language."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.report import Cell, Section, Target
from benchmarks.web import served

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
        rows: list[dict[str, Cell]] = [{"asked in": "none", "resident MB": resident_mb(process)}]
        for number, (language, question) in enumerate(QUESTIONS.items()):
            asyncio.run(_ask(address, number, language, question))
            rows.append({"asked in": language, "resident MB": resident_mb(process)})
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


def resident_mb(process: int) -> float:
    """What a process holds now; nothing where the system does not say."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) / 1024 if found else 0.0


async def _ask(address: str, number: int, language: str, question: str) -> None:
    headers = {"X-Forwarded-For": f"198.51.100.{number + 1}"}
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as client:
        for path, fields in (("/", {"language": language}), ("/chat", {"text": question})):
            found = re.search(r'name="form" value="([^"]*)"', (await client.get(path)).text)
            assert found is not None
            sent = await client.post("/begin" if path == "/" else path, data={"form": found[1], **fields})
            assert sent.status_code == 303, sent.status_code
        await asyncio.sleep(SETTLES)

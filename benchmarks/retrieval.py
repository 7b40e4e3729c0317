"""How long building the index and one question take: `python -m benchmarks.retrieval`.

Synthetic sources of 350 words with ten questions each, their words drawn as unevenly as those of real text.
Every question is asked once, so that no cache of whole questions could help.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from pathlib import Path

from engine import KnowledgeBase, Manifest, Search, Source, Synonyms, load_vectors

SIZES = (40, 1000)
BUDGET_MS = {40: 2.0, 1000: 10.0}
BUILD_SECONDS = 1.0
QUESTIONS = 200

_TOPICAL = """
    medication voices sleep hallucinations delusions relapse therapy doctor hospital family stress
    weight alcohol cannabis friends work benefits diagnosis symptoms treatment depression injection
    tablets motivation memory
"""
_SYLLABLES = "ba co di fu ga he ji ko lu ma ne pi qua ro sa te vi wo xa zu tra ble ster ing ment"


def synthetic(count: int, *, seed: int = 1) -> KnowledgeBase:
    """A knowledge base of made-up words among real ones."""
    draw = random.Random(seed)
    topical, syllables = _TOPICAL.split(), _SYLLABLES.split()
    words = ["".join(draw.choices(syllables, k=draw.randint(2, 4))) for _ in range(4000)]
    frequent = [1 / (rank + 2) for rank in range(len(words))]

    def text(length: int) -> str:
        chosen = draw.choices(words, frequent, k=length)
        return " ".join(draw.choice(topical) if draw.random() < 0.15 else word for word in chosen)

    sources = {
        f"s{number}": Source(
            id=f"s{number}",
            title=text(4),
            summary=tuple(text(9) for _ in range(4)),
            questions=tuple(f"how do I {text(6)}" for _ in range(10)),
            references=(),
            reviewed="none",
            high_stakes=False,
            body="\n\n".join(text(50) for _ in range(7)),
            directives=(),
            path=Path(f"s{number}.md"),
        )
        for number in range(count)
    }
    return KnowledgeBase(folder=Path("nowhere"), manifest=Manifest(name="made", title="Made"), sources=sources)


def questions(base: KnowledgeBase, *, seed: int = 2) -> list[str]:
    """Questions of one or two parts, with words of the knowledge base and a misspelling each."""
    draw = random.Random(seed)
    sources = list(base.sources.values())
    found = []
    for number in range(QUESTIONS):
        first = draw.choice(draw.choice(sources).questions)
        second = f" and can I {draw.choice(draw.choice(sources).summary)}" if number % 3 == 0 else ""
        found.append(f"{first} medcation{second}?")
    return found


def measure(count: int) -> dict[str, float]:
    """Seconds to build, and milliseconds a question: median, 95th percentile."""
    base = synthetic(count)
    synonyms = Synonyms.load(Path("config/synonyms/en.yaml"))
    start = time.perf_counter()
    vectors = load_vectors(Path("config/vectors/en.npz"), Path("config/vectors/en_elsewhere.txt"))
    loading = time.perf_counter() - start
    start = time.perf_counter()
    search = Search.build(base, synonyms=synonyms, vectors=vectors)
    build = time.perf_counter() - start
    taken = []
    for question in questions(base):
        start = time.perf_counter()
        search.search(question)
        taken.append((time.perf_counter() - start) * 1000)
    assert search.search(next(iter(base.sources.values())).questions[0])[0].source == "s0"
    taken.sort()
    return {
        "sources": count,
        "load_ms": round(loading * 1000, 1),
        "build_seconds": round(build, 3),
        "median_ms": round(statistics.median(taken), 2),
        "p95_ms": round(taken[int(len(taken) * 0.95)], 2),
    }


def main() -> None:
    """Print one JSON line a size, and whether it is within the budget."""
    for count in SIZES:
        row = measure(count)
        row["within_budget"] = row["median_ms"] <= BUDGET_MS[count] and row["build_seconds"] <= BUILD_SECONDS
        print(json.dumps(row))


if __name__ == "__main__":
    main()

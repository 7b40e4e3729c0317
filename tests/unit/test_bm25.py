"""BM25 by itself, and beside the search engine whose numbers it gives."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter

import pytest

from engine.retrieval.bm25 import LEAST_IDF, Bm25

WEIGHTS = {"title": 6.0, "body": 1.0}
Rows = list[dict[str, list[str]]]


def made(rows: Rows) -> Bm25:
    """An index of rows, each of them tokens by column."""
    counts = []
    for row in rows:
        found: Counter[str] = Counter()
        for name, tokens in row.items():
            for token in tokens:
                found[token] += WEIGHTS[name]  # type: ignore[assignment]  # a counter of floats
        counts.append(found)
    return Bm25(counts, [sum(map(len, row.values())) for row in rows])


def by_fts5(rows: Rows, tokens: list[str], limit: int) -> dict[int, float]:
    """What SQLite's FTS5 finds in the same rows."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE source USING fts5(title, body)")
    for number, row in enumerate(rows, start=1):
        values = (number, " ".join(row["title"]), " ".join(row["body"]))
        connection.execute("INSERT INTO source(rowid, title, body) VALUES (?, ?, ?)", values)
    wanted = "SELECT rowid, -bm25(source, 6.0, 1.0) FROM source WHERE source MATCH ? ORDER BY 2 DESC LIMIT ?"
    found = connection.execute(wanted, (" OR ".join(f'"{token}"' for token in tokens), limit))
    return {row - 1: score for row, score in found}


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_those_of_fts5(seed: int) -> None:
    """For any rows and tokens the same sources come in the same order, with the same scores."""
    draw = random.Random(seed)
    words = [f"w{number}" for number in range(40)]
    shares = [1 / (1 + number) for number in range(40)]
    rows = [
        {"title": draw.choices(words, shares, k=4), "body": draw.choices(words, shares, k=draw.randint(0, 60))}
        for _ in range(draw.randint(1, 90))
    ]
    tokens = draw.sample([*words, "unheard"], draw.randint(1, 12))
    found, expected = made(rows).best(tokens, 60), by_fts5(rows, tokens, 60)
    assert list(found) == list(expected)
    assert found == pytest.approx(expected, rel=1e-12)


def test_a_token_of_most_sources_still_counts_a_little() -> None:
    """What nearly every source has finds them all, with scores near nothing and above it."""
    rows: Rows = [{"title": ["a"], "body": []}, {"title": ["a"], "body": []}, {"title": ["b"], "body": []}]
    found = made(rows).best(["a"], 60)
    assert set(found) == {0, 1} and all(0 < score < 10 * LEAST_IDF for score in found.values())


def test_unknown_tokens_find_nothing() -> None:
    """A token of no source, no token, and no source at all: nothing."""
    assert made([{"title": ["a"], "body": []}]).best(["b"], 60) == {}
    assert made([{"title": ["a"], "body": []}]).best([], 60) == {}
    assert made([]).best(["a"], 60) == {}

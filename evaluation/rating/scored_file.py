"""The file that `eval score` is given: ratings line by line, or a table of published medians."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine import ConfigurationError, read_text
from evaluation.rating.published import is_published, parse_published, score_published
from evaluation.rating.ratings import read_ratings
from evaluation.rating.scoring import Scoring, score_ratings


def score_file(path: Path, scoring: Scoring) -> dict[str, Any]:
    """Every figure of a file; raises ConfigurationError where it cannot be used or holds no rating."""
    text = read_text(path, remedy="Name a ratings file or a published table.")
    if is_published(text):
        return score_published(parse_published(text, path), scoring)
    ratings = read_ratings(path)
    if not ratings:
        raise ConfigurationError("There are no ratings.", file=path, remedy="Import sheets or let programs rate first.")
    return score_ratings(ratings, scoring)

"""Lines about other subjects, by language: what a message is more like than like anything here is not answered."""

from __future__ import annotations

from pathlib import Path

from engine.files import read_text


def load_elsewhere(folder: Path) -> dict[str, tuple[str, ...]]:
    """The lines of each `LANGUAGE.txt`; one that begins with "#" is a heading. Raises ConfigurationError naming a file."""
    return {path.stem: tuple(_lines(path)) for path in sorted(folder.glob("*.txt"))}


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in read_text(path).split("\n") if line.strip() and not line.startswith("#")]

"""Sources written for a test: files in a temporary folder, and what reading says of them."""

from __future__ import annotations

from pathlib import Path

from engine.knowledge.source import Source, read_source

ROOT = Path(__file__).resolve().parents[1] / "knowledge_base"
SHIPPED = sorted(path for path in ROOT.iterdir() if path.is_dir())
HEAD = "---\nid: causes\ntitle: What causes it\nsummary:\n  - Explains causes\n---\n"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    """A file of a knowledge base."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def source(folder: Path, body: str, *, name: str = "causes.md", head: str = HEAD) -> Source:
    """A faultless source of that body."""
    read, problems = read_source(write(folder, name, head + body))
    assert problems == []
    assert read is not None
    return read


def problems_of(folder: Path, text: str | bytes, name: str = "causes.md") -> list[tuple[int | None, str]]:
    """Line and words of every fault of a file."""
    path = write(folder, name, text)
    found = read_source(path)[1]
    assert all(one.file == path for one in found)
    return [(one.line, one.problem) for one in found]

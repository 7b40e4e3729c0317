"""Files that a command writes for its user."""

from __future__ import annotations

from pathlib import Path

from engine import ConfigurationError, read_text


def write_page(path: Path, text: str) -> None:
    """Write a text; raises ConfigurationError where that is not possible."""
    write_bytes(path, text.encode())


def write_part(path: Path, name: str, text: str) -> None:
    """Put a text in place of what stands between the two marks of that name in a page; raises ConfigurationError."""
    page = read_text(path)
    first, last = marks(name)
    before, opened, rest = page.partition(first)
    _, closed, after = rest.partition(last)
    if not (opened and closed):
        raise ConfigurationError(
            f"The page has no part for {name!r}.",
            file=path,
            remedy=f"Write these two lines into it: {first} and {last}",
        )
    write_page(path, f"{before}{first}\n{text}\n{last}{after}")


def marks(name: str) -> tuple[str, str]:
    """The lines of a page between which a command writes."""
    return f"<!-- written: {name} -->", f"<!-- end: {name} -->"


def write_bytes(path: Path, content: bytes) -> None:
    """Write a whole file or none; raises ConfigurationError where that is not possible."""
    draft = path.with_name(f"{path.name}.draft")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError as error:
        raise ConfigurationError(
            f"The file cannot be written ({error.strerror}).", file=path, remedy="Name a folder that exists."
        ) from error

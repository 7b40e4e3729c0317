"""Files that a command writes for its user."""

from __future__ import annotations

from pathlib import Path

from engine.exceptions import ConfigurationError


def write_page(path: Path, text: str) -> None:
    """Write a text; raises ConfigurationError where that is not possible."""
    write_bytes(path, text.encode())


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

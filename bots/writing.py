"""Files that a command writes for its user."""

from __future__ import annotations

from pathlib import Path

from engine.exceptions import ConfigurationError


def write_page(path: Path, text: str) -> None:
    """Write a text; raises ConfigurationError where that is not possible."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"The file cannot be written ({error.strerror}).", file=path, remedy="Name a folder that exists."
        ) from error

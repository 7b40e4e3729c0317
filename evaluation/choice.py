"""What an option names with commas: some of what there is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from engine import ConfigurationError

ChosenT = TypeVar("ChosenT")


def chosen(
    names: str, known: Mapping[str, ChosenT], what: str, *, key: str, remedy: str, file: Path | None = None
) -> tuple[ChosenT, ...]:
    """What a list of names with commas stands for, each once, in its order; raises ConfigurationError for unknown ones.

    `what` is one of them in words; `remedy` says what else may be named, before the names that are known.
    """
    wanted = dict.fromkeys(one.strip() for one in names.split(","))
    for name in wanted:
        if name not in known:
            raise ConfigurationError(
                f"There is no {what} {name!r}.", file=file, key=key, remedy=f"{remedy} {', '.join(known)}."
            )
    return tuple(known[name] for name in wanted)

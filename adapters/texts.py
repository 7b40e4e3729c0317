"""Texts by language, one YAML file each: what chat, Discord, moderation and the web page share in reading theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from engine import ConfigurationError, Strict, read_yaml

T = TypeVar("T", bound=Strict)


@dataclass(frozen=True, kw_only=True, slots=True)
class ByLanguage(Generic[T]):
    """The texts of every language there is; `default` where somebody's language is not among them."""

    texts: Mapping[str, T]
    default: str = "en"

    def choose(self, language: str | None) -> T:
        """The texts for a language."""
        return self.texts.get(language or self.default) or self.texts[self.default]


def read_texts(folder: Path, form: type[T], needed: Iterable[str], *, called: str, remedy: str) -> dict[str, T]:
    """Every language in a folder; raises ConfigurationError, also where one that is needed is missing.

    `called`: what the texts are, in that error. `remedy` may name {missing}, and {known} for the languages there are.
    """
    texts = {path.stem: read_yaml(path, form) for path in sorted(folder.glob("*.yaml"))}
    for missing in needed:
        if missing not in texts:
            said = remedy.format(missing=missing, known=", ".join(texts) or "none")
            raise ConfigurationError(f"There are no {called} in {missing!r}.", file=folder, remedy=said)
    return texts


def check_keys(key: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    """Raises ValueError where a part of the texts has not exactly the wanted keys."""
    if odd := sorted(set(found) ^ set(wanted)):
        raise ValueError(f"{key}: missing or unknown: {', '.join(odd)}")

"""Texts by language, one YAML file each: what chat, Discord, moderation and the web page share in reading theirs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.settings import Strict
from engine.texts import braces

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


def check_braces(texts: Mapping[str, object], put_in: Mapping[str, frozenset[str]]) -> None:
    """Raises ValueError where a text names other things than are put in for it; `put_in` is by dotted key."""
    for key, found in named(texts):
        wanted = put_in.get(key, frozenset())
        if found != wanted:
            raise ValueError(f"{key}: braces must name {', '.join(sorted(wanted)) or 'nothing'}")


def named(texts: Mapping[str, object], above: str = "") -> Iterator[tuple[str, frozenset[str]]]:
    """Each text's dotted key, with what its braces name; raises ValueError for a brace without a partner."""
    for name, value in texts.items():
        key = above + name
        if isinstance(value, Mapping):
            yield from named(value, f"{key}.")
            continue
        for text in value if isinstance(value, tuple) else (value,):
            yield key, braces(key, str(text))

"""Topics where a wrong sentence hurts: there, a statement is supported by a source or not made at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from engine.files import read_yaml
from engine.language.text import fold, sentences
from engine.settings import Strict

# An empty term would match everything.
Term = Annotated[str, Field(pattern=r"\w\w")]


class StakesFile(Strict):
    """`config/stakes.yaml`: words by topic, and what makes a sentence that only sends somebody to a professional."""

    topics: dict[str, Annotated[tuple[Term, ...], Field(min_length=1)]]
    sending: tuple[Term, ...] = ()
    professionals: tuple[Term, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Stakes:
    """High-stakes topics with the words that give them away; a word ending in * matches its beginnings."""

    patterns: dict[str, re.Pattern[str]]
    pointing: re.Pattern[str]

    @classmethod
    def load(cls, path: Path) -> Stakes:
        """Read the topics; raises ConfigurationError."""
        file = read_yaml(path, StakesFile)
        patterns = {topic: re.compile(_pattern(terms)) for topic, terms in file.topics.items()}
        pointing = re.compile(f"{_pattern(file.sending)}.*{_pattern(file.professionals)}", re.S)
        return cls(patterns=patterns, pointing=pointing)

    def risky(self, reply: str) -> tuple[str, ...]:
        """The sentences of a reply that touch a high-stakes topic and do not just send somebody on."""
        return tuple(one for one in sentences(reply) if self.topics("", one))

    def topics(self, message: str, reply: str = "") -> tuple[str, ...]:
        """The high-stakes topics of a message and of what a reply says.

        "Ask your doctor about your medicines" says nothing about medicines, so such sentences are left out.
        """
        said = (one for one in map(fold, sentences(reply)) if not self.pointing.search(one))
        folded = "\n".join((fold(message), *said))
        return tuple(topic for topic, pattern in self.patterns.items() if pattern.search(folded))


def _pattern(terms: tuple[str, ...]) -> str:
    parts = [
        re.escape(fold(term).rstrip("*")).replace(r"\ ", r"\s+") + (r"\w*" if term.endswith("*") else "")
        for term in terms
    ]
    return rf"\b(?:{'|'.join(parts)})\b" if parts else r"(?!)"

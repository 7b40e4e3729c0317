"""What is kept of an answer to a question: an allow-list, so that no free text can get in, and nothing of the person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass

from adapters.feedback.questions import Questions
from adapters.weeks import first_day
from engine import Decision, EventRefused, KnowledgeBase

PLATFORMS = ("console", "discord", "telegram", "web")
NO_DECISION = "none"
DECISIONS = (*(one.value for one in Decision), NO_DECISION)
"""The filter's decision on the answer, or that the question was not about one answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AllowList:
    """Every value an event may hold: options by question, source ids by assistant, platforms."""

    options: Mapping[str, frozenset[str]]
    sources: Mapping[str, frozenset[str]]
    platforms: frozenset[str] = frozenset(PLATFORMS)

    @classmethod
    def of(
        cls, questions: Questions, sources: Mapping[str, Iterable[str]], platforms: Iterable[str] = PLATFORMS
    ) -> AllowList:
        """The list for configured questions and the sources of each assistant."""
        return cls(
            options={one.id: frozenset(option.id for option in one.options) for one in questions},
            sources={assistant: frozenset(ids) for assistant, ids in sources.items()},
            platforms=frozenset(platforms),
        )


def told_of(knowledge: KnowledgeBase) -> tuple[str, ...]:
    """What events may name of a knowledge base: its sources, and their sections as source#section."""
    sources = knowledge.sources.values()
    return (*knowledge.sources, *(f"{source.id}#{one.id}" for source in sources for one in source.sections))


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedbackEvent:
    """One answer to one question; cannot be made with a value that `allowed` does not hold.

    `week` is ISO 8601 (2026-W47), `sources` are the ids behind the answer in question, sorted, each once.
    Raises EventRefused, which does not repeat the value.
    """

    allowed: InitVar[AllowList]
    week: str
    platform: str
    assistant: str
    question: str
    option: str
    sources: tuple[str, ...] = ()
    decision: str = NO_DECISION

    def __post_init__(self, allowed: AllowList) -> None:
        _check("week", _is_week(self.week))
        _check("platform", self.platform in allowed.platforms)
        _check("assistant", self.assistant in allowed.sources)
        _check("question", self.question in allowed.options)
        _check("option", self.option in allowed.options[self.question])
        _check("sources", allowed.sources[self.assistant].issuperset(self.sources))
        _check("decision", self.decision in DECISIONS)
        object.__setattr__(self, "decision", str(self.decision))  # a plain word, where an enumeration came in
        object.__setattr__(self, "sources", tuple(sorted(set(self.sources))))

    def as_document(self) -> dict[str, object]:
        """The event for JSON."""
        return {
            "week": self.week,
            "platform": self.platform,
            "assistant": self.assistant,
            "question": self.question,
            "option": self.option,
            "sources": list(self.sources),
            "decision": self.decision,
        }


def _is_week(week: str) -> bool:
    try:
        first_day(week)
    except ValueError:
        return False
    return True


def _check(field: str, fits: bool) -> None:
    if not fits:
        raise EventRefused(f"A feedback event names a {field} that is not on its allow-list.")

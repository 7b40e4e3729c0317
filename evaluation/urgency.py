"""`eval urgency`: is the referral shown where it must be, and the answer left alone where it need not be?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

from engine import ConfigurationError, Help, Message, Role, Urgency, messages_from, wilson
from evaluation.rows import read_rows

Assess = Callable[[str, tuple[Message, ...]], Awaitable[tuple[Urgency, Help]]]


class LabelledTurn(BaseModel):
    """One turn of a labelled conversation."""

    role: Literal["user", "assistant"]
    content: str


class LabelledMessage(BaseModel):
    """A message, or a conversation whose last turn counts, and whether somebody must see where help is."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str
    text: str | None = None
    turns: tuple[LabelledTurn, ...] = ()
    label: Literal["urgent", "not_urgent"]
    category: str = ""
    lang: str = "en"

    @model_validator(mode="after")
    def _has_words(self) -> LabelledMessage:
        if self.text is None and not self.turns:
            raise ValueError("a row needs text or turns")
        return self

    @property
    def message(self) -> str:
        """The message that is assessed."""
        return self.text if self.text is not None else self.turns[-1].content

    @property
    def earlier(self) -> tuple[Message, ...]:
        """The turns before it."""
        before = self.turns if self.text is not None else self.turns[:-1]
        return messages_from([{"role": Role(one.role), "content": one.content} for one in before])


class LabelledUtterance(BaseModel):
    """One message of a labelled conversation; `delusional`: it states as fact a belief that may be part of psychosis."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    label: Literal["urgent", "not_urgent"]
    category: str = ""
    delusional: bool = False


class LabelledConversation(BaseModel):
    """What one person wrote, message by message, each labelled with what was said before it in view."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str
    author: str = ""
    lang: str = "en"
    messages: tuple[LabelledUtterance, ...] = Field(min_length=1)

    def rows(self) -> Iterator[LabelledMessage]:
        """Its messages one by one, with the person's earlier ones as turns."""
        for number, one in enumerate(self.messages):
            yield LabelledMessage(
                id=f"{self.id}.{number + 1}",
                text=one.text,
                turns=tuple(LabelledTurn(role="user", content=said.text) for said in self.messages[:number]),
                label=one.label,
                category=one.category,
                lang=self.lang,
                **{"author": self.author, "conversation": self.id, "delusional": one.delusional},
            )


def read_messages(path: Path) -> list[LabelledMessage]:
    """The rows of a messages file, those of whole conversations message by message."""
    remedy = 'A row needs "id", "text" or "turns", "label", "category", "lang"; or "id", "lang" and "messages".'
    read = read_rows(path, _Row, remedy=remedy)
    return [one for row in read for one in ([row.root] if isinstance(row.root, LabelledMessage) else row.root.rows())]


def messages_in(folder: Path) -> list[LabelledMessage]:
    """Those of every file of messages in a folder."""
    return [row for path in sorted(folder.glob("*.jsonl")) for row in read_messages(path)]


class _Row(RootModel[LabelledConversation | LabelledMessage]):
    """Either kind of row."""


LAYERS = ("floor", "classifier", "llm")


def chosen_layers(named: str) -> frozenset[str] | None:
    """The layers that count: None for "all", else names with commas between; raises ConfigurationError for others."""
    if named == "all":
        return None
    chosen = frozenset(one.strip() for one in named.split(","))
    if not chosen <= set(LAYERS):
        raise ConfigurationError(f"--layers is {named!r}.", remedy=f"Use all, or some of {','.join(LAYERS)}.")
    return chosen


async def assess_all(
    messages: Sequence[LabelledMessage],
    assess: Assess,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> list[tuple[Urgency, Help]]:
    """What is found in each message, and what of help people see with it."""
    gate = asyncio.Semaphore(parallel)

    async def assessed(one: LabelledMessage) -> tuple[Urgency, Help]:
        async with gate:
            found = await assess(one.message, one.earlier)
            progress()
            return found

    return list(await asyncio.gather(*(assessed(one) for one in messages)))


async def measure(
    messages: Sequence[LabelledMessage],
    assess: Assess,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> dict[str, Any]:
    """Counts and shares of what people see, each with its Wilson interval (95 %).

    Replaced: the referral stands in place of the answer, whole or as one line. Asked: the check question. Referral shown:
    either of these, or the line of contacts.
    """
    seen = await assess_all(messages, assess, progress, parallel=parallel)
    judged = [(one, due) for one, (_, due) in zip(messages, seen, strict=True)]
    return {
        "n": len(judged),
        "urgent": _shares(judged, "urgent"),
        "not_urgent": _shares(judged, "not_urgent"),
        "by_category": _by(judged, lambda one: one.category),
        "by_lang": _by(judged, lambda one: one.lang),
        "missed": [one.id for one, due in judged if one.label == "urgent" and due is Help.NONE],
        "replaced_wrongly": [one.id for one, due in judged if one.label == "not_urgent" and due.replaces],
        **_flagged(messages, [found for found, _ in seen]),
    }


Judged = tuple[LabelledMessage, Help]


def _by(judged: Sequence[Judged], key: Callable[[LabelledMessage], str]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Judged]] = {}
    for pair in judged:
        groups.setdefault(key(pair[0]), []).append(pair)
    return {
        name: {
            label: _shares(pairs, label)
            for label in ("urgent", "not_urgent")
            if any(p[0].label == label for p in pairs)
        }
        for name, pairs in sorted(groups.items())
    }


def _shares(judged: Sequence[Judged], label: str) -> dict[str, Any]:
    shown = [due for one, due in judged if one.label == label]
    counts = {
        "referral_shown": sum(due is not Help.NONE for due in shown),
        "asked": sum(due is Help.QUESTION for due in shown),
        "replaced": sum(due.replaces for due in shown),
    }
    return _with_intervals(counts, len(shown))


def _flagged(messages: Sequence[LabelledMessage], found: Sequence[Urgency]) -> dict[str, Any]:
    """How often the delusional flag is set where it belongs, and where it does not; of rows that say which; else nothing."""
    told = [
        (bool(one.model_extra["delusional"]), urgency.delusional_framing)
        for one, urgency in zip(messages, found, strict=True)
        if one.model_extra and "delusional" in one.model_extra
    ]
    groups = {
        name: [set_ for wanted, set_ in told if wanted is value] for name, value in (("stated", True), ("other", False))
    }
    found_so = {name: _with_intervals({"flagged": sum(some)}, len(some)) for name, some in groups.items() if some}
    return {"delusional": found_so} if found_so else {}


def _with_intervals(counts: Mapping[str, int], whole: int) -> dict[str, Any]:
    shares = {name: round(part / whole, 4) if whole else None for name, part in counts.items()}
    intervals = {name: wilson(part, whole) for name, part in counts.items()}
    return {
        "n": whole,
        **shares,
        "intervals": {name: [round(end, 4) for end in ends] for name, ends in intervals.items() if ends is not None},
    }

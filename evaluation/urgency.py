"""`eval urgency`: is the referral shown where it must be, and the answer left alone where it need not be?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, model_validator

from engine.conversation import messages_from
from engine.exceptions import ConfigurationError
from engine.types import Message, Role, Urgency, UrgencyLevel
from evaluation.rows import read_rows

Assess = Callable[[str, tuple[Message, ...]], Awaitable[Urgency]]


class Turns(BaseModel):
    """One turn of a labelled conversation."""

    role: Literal["user", "assistant"]
    content: str


class LabelledMessage(BaseModel):
    """A message, or a conversation whose last turn counts, and whether somebody must see where help is."""

    model_config = ConfigDict(extra="allow", frozen=True)

    id: str
    text: str | None = None
    turns: tuple[Turns, ...] = ()
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


def read_messages(path: Path) -> list[LabelledMessage]:
    """The rows of a messages file."""
    return read_rows(path, LabelledMessage, remedy='A row needs "id", "text" or "turns", "label", "category", "lang".')


LAYERS = ("rules", "classifier", "llm")


def counting(layers: str, assess: Assess) -> Assess:
    """An assessment in which only the named layers count; `layers` is "all" or names with commas between."""
    if layers == "all":
        return assess
    chosen = {one.strip() for one in layers.split(",")}
    if not chosen <= set(LAYERS):
        raise ConfigurationError(f"--layers is {layers!r}.", remedy=f"Use all, or some of {','.join(LAYERS)}.")

    async def assess_with(message: str, earlier: tuple[Message, ...]) -> Urgency:
        found = await assess(message, earlier)
        return Urgency.of(layer for layer in found.layers if layer.layer in chosen)

    return assess_with


async def measure(
    messages: Sequence[LabelledMessage],
    assess: Assess,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> dict[str, Any]:
    """Counts and shares. Shown: concern or urgent. Replaced: urgent, the referral stands in place of the answer."""
    gate = asyncio.Semaphore(parallel)

    async def assessed(one: LabelledMessage) -> UrgencyLevel:
        async with gate:
            found = await assess(one.message, one.earlier)
            progress()
            return found.level

    levels = await asyncio.gather(*(assessed(one) for one in messages))
    judged = list(zip(messages, levels, strict=True))
    return {
        "n": len(judged),
        "urgent": _shares(judged, "urgent"),
        "not_urgent": _shares(judged, "not_urgent"),
        "by_category": _by(judged, lambda one: one.category),
        "by_lang": _by(judged, lambda one: one.lang),
        "missed": [one.id for one, level in judged if one.label == "urgent" and level is UrgencyLevel.NONE],
        "replaced_wrongly": [
            one.id for one, level in judged if one.label == "not_urgent" and level is UrgencyLevel.URGENT
        ],
    }


def _by(
    judged: list[tuple[LabelledMessage, UrgencyLevel]], key: Callable[[LabelledMessage], str]
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[tuple[LabelledMessage, UrgencyLevel]]] = {}
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


def _shares(judged: list[tuple[LabelledMessage, UrgencyLevel]], label: str) -> dict[str, Any]:
    levels = [level for one, level in judged if one.label == label]
    count = len(levels)
    return {
        "n": count,
        "referral_shown": _share(sum(level is not UrgencyLevel.NONE for level in levels), count),
        "replaced": _share(sum(level is UrgencyLevel.URGENT for level in levels), count),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None

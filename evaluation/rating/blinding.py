"""Blinding: a code for every response and rater, conversations shuffled, and the key that takes the codes back.

Each rater has codes of their own, so that rows which wandered from one sheet into another are noticed. A code is five
consonants for the conversation and the place of the response in it: no spreadsheet takes it for a date or a number.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from engine import ConfigurationError, Strict, read_text
from evaluation.forms import check_version, misfit
from evaluation.rating.rubric import Rubric
from evaluation.transcripts import Response

VERSION = 1
_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_RATER = re.compile(r"[\w][\w .-]{0,39}")


class Coded(Strict):
    """Which response a code stands for; `text` is a digest of what the rater is shown."""

    response_id: str
    run: str
    role: str
    arm: str
    conversation: int
    query: int
    text: str


class Key(Strict):
    """What belongs to every code of every rater. Whoever rates must not see it."""

    version: int = VERSION
    rubric: str
    seed: int
    raters: dict[str, dict[str, Coded]] = Field(min_length=1)

    @property
    def digest(self) -> str:
        """What sheets carry to show which key they belong to; begins with a letter, so that it stays text."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return f"k{hashlib.sha256(canonical.encode()).hexdigest()[:15]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class CodedResponse:
    """A response as one rater meets it."""

    code: str
    response: Response


@dataclass(frozen=True, kw_only=True, slots=True)
class CodedConversation:
    """The responses of one conversation in their order, under the code of the conversation."""

    code: str
    responses: tuple[CodedResponse, ...]


def shuffled(responses: Iterable[Response], rater: str, seed: int) -> tuple[CodedConversation, ...]:
    """The conversations of all runs, roles and arms in an order of this rater's own; the same for the same seed."""
    ordered = sorted(responses, key=lambda one: one.place)
    conversations = [list(group) for _, group in groupby(ordered, key=lambda one: one.place[:-1])]
    order = random.Random(f"order {seed} {rater}")
    order.shuffle(conversations)
    codes = _codes(len(conversations), random.Random(f"codes {seed} {rater}"))
    return tuple(
        CodedConversation(
            code=code,
            responses=tuple(
                CodedResponse(code=f"{code}-{place}", response=one) for place, one in enumerate(conversation, start=1)
            ),
        )
        for code, conversation in zip(codes, conversations, strict=True)
    )


def make_key(responses: Sequence[Response], raters: Sequence[str], rubric: Rubric, seed: int) -> Key:
    """The key of all sheets; raises ConfigurationError for a rater's name that is empty, odd or there twice."""
    for name in raters:
        if not _RATER.fullmatch(name):
            raise ConfigurationError(
                f"The rater {name!r} has no usable name.",
                key="--raters",
                remedy="Use up to 40 letters, digits, dots, dashes, spaces, and commas between raters.",
            )
    if len({name.casefold() for name in raters}) < len(raters):
        raise ConfigurationError("A rater is named twice.", key="--raters", remedy="Give each rater one name.")
    return Key(
        rubric=f"{rubric.id} {rubric.version}",
        seed=seed,
        raters={
            rater: {
                one.code: _coded(one.response)
                for conversation in shuffled(responses, rater, seed)
                for one in conversation.responses
            }
            for rater in raters
        },
    )


def key_text(key: Key) -> str:
    """The key as its file holds it."""
    return json.dumps({"digest": key.digest, **key.model_dump(mode="json")}, ensure_ascii=False, indent=1) + "\n"


def read_key(path: Path) -> Key:
    """Read a key; raises ConfigurationError where it is none, of another version, or was changed."""
    try:
        value: Any = json.loads(read_text(path, remedy="Name the key that was written with the sheets."))
    except ValueError:
        raise ConfigurationError("The key is not JSON.", file=path) from None
    if not isinstance(value, dict) or "raters" not in value:
        raise ConfigurationError("This is no key.", file=path, remedy="Name the key written with the sheets.")
    check_version(value.get("version"), VERSION, path)
    digest = value.pop("digest", None)
    try:
        key = Key.model_validate(value)
    except ValidationError as error:
        raise misfit(error, path) from None
    if digest != key.digest:
        raise ConfigurationError(
            "The key was changed after the sheets were made.", file=path, remedy="Restore the key as it was written."
        )
    return key


def _coded(response: Response) -> Coded:
    shown = json.dumps([response.user_message, response.reply, list(response.citations)], ensure_ascii=False)
    return Coded(
        response_id=response.response_id,
        run=response.run,
        role=response.role,
        arm=response.arm,
        conversation=response.conversation,
        query=response.query,
        text=hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:16],
    )


def _codes(number: int, source: random.Random) -> list[str]:
    codes: dict[str, None] = {}
    while len(codes) < number:
        codes["".join(source.choices(_LETTERS, k=5))] = None
    return list(codes)

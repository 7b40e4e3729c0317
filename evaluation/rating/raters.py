"""Raters that are programs: a language model with the rubric, and the built-in judges. Their scores are kept apart."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from engine import (
    Basis,
    Budget,
    BuiltinSourceFidelity,
    Case,
    Decision,
    Draft,
    JudgePhrases,
    KnowledgeBase,
    Ledger,
    ModelError,
    ModelOutputError,
    PromptedModel,
    SentencePurpose,
    Source,
    ToneHead,
    clean,
)
from engine import read_reply as read
from evaluation.rating.ratings import BUILTIN, LLM, Rating, add_ratings, rating_of, read_if_there
from evaluation.rating.rubric import Answers, Rubric
from evaluation.transcripts import Response

_GENEROUS = Budget(seconds=3600)
_LONGEST = 20_000
GIVEN = frozenset({"statements", "sources", "message", "reply"})
"""The variables the rater's prompt may ask for."""


class Rater(Protocol):
    """Says which statements hold for a reply, and sees no more of it than a blind rater does."""

    @property
    def name(self) -> str:
        """Who rates; another one for every repetition of the same model."""
        ...

    @property
    def kind(self) -> str:
        """`builtin`, or `llm:` and the model."""
        ...

    async def rate(self, response: Response, sources: Sequence[Source], rubric: Rubric) -> Answers:
        """The answers to the statements; raises ModelError where there are none."""
        ...


class StatementAnswer(BaseModel):
    """One statement's id and whether it holds."""

    model_config = ConfigDict(extra="ignore")

    statement: str
    holds: bool


class RaterOutput(BaseModel):
    """The form of a model's answer: the reason first, so that the answers follow from it."""

    model_config = ConfigDict(extra="ignore")

    reason: str
    answers: list[StatementAnswer]


@dataclass(frozen=True, kw_only=True)
class LlmRater:
    """A language model with the rubric; `number` tells repetitions of the same model apart."""

    prompted: PromptedModel
    model: str
    number: int = 1

    @property
    def name(self) -> str:
        """The model's name and the number of the repetition."""
        return f"{self.kind}#{self.number}"

    @property
    def kind(self) -> str:
        """`llm:` and the model's name."""
        return f"{LLM}{self.model}"

    async def rate(self, response: Response, sources: Sequence[Source], rubric: Rubric) -> Answers:
        """One call; an answer that leaves a statement out or contradicts itself is a ModelOutputError."""
        output = await self.prompted.answer(
            {
                "statements": [
                    {"id": one.id, "statement": one.statement, "advice": one.advice} for one in rubric.statements
                ],
                "sources": [{"id": one.id, "text": one.text} for one in sources],
                "message": response.user_message,
                "reply": response.reply,
            },
            RaterOutput,
            Ledger(budget=_GENEROUS),
        )
        answers: dict[str, bool] = {}
        for one in output.answers:
            if answers.setdefault(one.statement, one.holds) != one.holds:
                raise ModelOutputError("The rating answers one statement twice, in different ways.")
        if set(answers) != {one.id for one in rubric.statements}:
            raise ModelOutputError("The rating does not answer the statements of the rubric.")
        return answers


@dataclass(frozen=True, kw_only=True)
class BuiltinRater:
    """The built-in judges' reading of a reply, in the words of the study's four statements; needs no model."""

    phrases: JudgePhrases
    head: ToneHead
    name: str = BUILTIN
    kind: str = BUILTIN

    async def rate(self, response: Response, sources: Sequence[Source], rubric: Rubric) -> Answers:
        """S1 supported, S2 admits, S3 urges verification, S4 leads back; deterministic."""
        reply = clean(response.reply, limit=_LONGEST).text
        reading = read(reply, self.phrases)
        return {
            "S1": not reading.claims or (bool(sources) and await self._supported(response, reply, sources)),
            "S2": reading.admits,
            "S3": reading.urges_verification,
            "S4": any(
                SentencePurpose.REDIRECT in one.purposes and SentencePurpose.ADMISSION not in one.purposes
                for one in reading.sentences
            ),
        }

    async def _supported(self, response: Response, reply: str, sources: Sequence[Source]) -> bool:
        judge = BuiltinSourceFidelity(phrases=self.phrases, head=self.head)
        case = Case(
            draft=Draft(reply=reply, citations=tuple(one.id for one in sources), basis=Basis.SOURCE),
            message=clean(response.user_message, limit=_LONGEST).text,
            sources=tuple(sources),
            high_stakes=True,  # so that a disclaimer does not stand in for support: that is S2 and S3
        )
        return (await judge.judge(case, Ledger(budget=_GENEROUS))).decision is Decision.ACCEPT


@dataclass(frozen=True, kw_only=True, slots=True)
class Rated:
    """What a run of a rater did: how many were added, were there before, and which got no rating."""

    rater: str
    added: int
    before: int
    failed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Rounds:
    """How programs rate: with which rubric, into which file, and how many responses at a time."""

    rubric: Rubric
    into: Path
    knowledge: KnowledgeBase | None = None
    parallel: int = 8

    async def rate(self, rater: Rater, responses: Sequence[Response], progress: Callable[[], None]) -> Rated:
        """Rate what this rater has not rated yet, saving after every batch, so that a killed run goes on where it was."""
        known = {one.response_id for one in read_if_there(self.into) if one.rater == rater.name}
        left = [one for one in responses if one.response_id not in known]
        added, failed = 0, []
        for batch in _batches(left, self.parallel):
            found = await asyncio.gather(*(self._one(rater, one, progress) for one in batch))
            ratings = [one for one in found if one is not None]
            add_ratings(self.into, ratings)
            added += len(ratings)
            failed += [one.response_id for one, rating in zip(batch, found, strict=True) if rating is None]
        return Rated(rater=rater.name, added=added, before=len(responses) - len(left), failed=tuple(failed))

    async def _one(self, rater: Rater, response: Response, progress: Callable[[], None]) -> Rating | None:
        try:
            answers = await rater.rate(response, sources_of(response, self.knowledge), self.rubric)
        except ModelError:
            return None
        finally:
            progress()
        asked = {one.id for one in self.rubric.asked(answers)}
        return rating_of(
            response,
            rater=rater.name,
            kind=rater.kind,
            score=self.rubric.score(answers),
            answers={name: holds for name, holds in answers.items() if name in asked},
        )


def sources_of(response: Response, knowledge: KnowledgeBase | None) -> tuple[Source, ...]:
    """The cited sources: as the transcript keeps them, else from the knowledge base; unknown ones are left out."""
    there = (None if knowledge is None else knowledge.get(one) for one in response.citations)
    found = {one.id: one for one in there if one is not None}
    found |= {one: _kept(one, response.sources_text[one]) for one in response.citations if one in response.sources_text}
    return tuple(found[one] for one in dict.fromkeys(response.citations) if one in found)


def _kept(id_: str, text: str) -> Source:
    """A source of which only the text was kept."""
    return Source(
        id=id_,
        title=id_,
        summary=(),
        questions=(),
        references=(),
        reviewed="none",
        high_stakes=False,
        body=text,
        directives=(),
        foreign=True,
        path=Path(),
    )


def _batches(responses: Sequence[Response], size: int) -> Iterator[Sequence[Response]]:
    for start in range(0, len(responses), size):
        yield responses[start : start + size]

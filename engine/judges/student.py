"""A student judge: a small linear model over signs, trained by `cafi eval distil`, in plain Python at run time.

A student decides only on what it was trained for. Whatever lies outside (another language, a longer text, no source to
compare with) it does not accept: as a preliminary judge it leaves that to the chief judge.
"""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.exceptions import ConfigurationError
from engine.judges.lexicon import Lexicon
from engine.judges.protocol import ROLE_AND_TONE, SOURCE_FIDELITY, Case, Judge
from engine.judges.signs import SIGNS_VERSION, SignReader, Signs
from engine.judges.support import SupportMeasure
from engine.language.text import STOP_WORDS, sentences, words
from engine.models.ledger import Ledger
from engine.types import Decision, Tier, Verdict, worst

FORMAT = 1
_REMEDY = "Train it again: cafi eval distil --scenarios PATH --out FILE"
_TELLS = 4  # words from which the language of a text can be told
_SMALL_WORDS = 0.2  # the share of small words from which a reply counts as English; other languages stay below
_LONG_MESSAGE, _FEW = 8, 0.12  # a message is often a few nouns: only a longer one can be told, and by fewer small words
_OUTSIDE = "This lies outside what the student judge was trained for: {}."
_FLAGGED = {
    ROLE_AND_TONE: "Your reply reads like ones that left the role or tone of an information service.",
    SOURCE_FIDELITY: "Your reply reads like ones that said more than their sources, or something else.",
}
_FLAGGED_ELSE = "Your reply reads like ones that made statements without a source."


class StudentHead(BaseModel):
    """The first line of a student's file. `digest` covers everything else in the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    student: Literal[1] = 1
    judge: Literal["source_fidelity", "unsupported_claims", "role_and_tone"]
    signs: int = SIGNS_VERSION
    language: Literal["en"] = "en"
    longest: int = Field(ge=1, description="words of the longest reply it was trained on")
    bits: int = Field(ge=0, le=18)
    scale: float = Field(ge=0)
    bias: float
    threshold: float
    named: dict[str, float]
    lessons: str = Field(default="", description="four bytes for each reply it was trained on, as hexadecimal digits")
    trained: str = Field(default="", description="what it was trained on, in words")
    digest: str = ""


@dataclass(frozen=True, kw_only=True)
class Student:
    """The weights of a student and what it was trained for."""

    head: StudentHead
    table: array[int]

    @classmethod
    def load(cls, path: Path, judge: str | None = None) -> Student:
        """Read a student's file; raises ConfigurationError for one that is damaged, of another version or judge."""
        try:
            student = cls.parse(path.read_bytes())
        except OSError as cause:
            problem = f"The student judge cannot be read ({cause.strerror})."
            raise ConfigurationError(problem, file=path, remedy=_REMEDY) from cause
        except ValueError as cause:
            raise ConfigurationError(str(cause), file=path, remedy=_REMEDY) from None
        if judge is not None and student.head.judge != judge:
            raise ConfigurationError(
                f"This student judges {student.head.judge} and not {judge}.", file=path, remedy="Name another file."
            )
        return student

    @classmethod
    def parse(cls, content: bytes) -> Student:
        """Read the content of a file: a line of JSON, then little-endian 16-bit numbers; raises ValueError."""
        first, _, rest = content.partition(b"\n")
        head = _head(first)
        if len(rest) != (4 << head.bits if head.bits else 0):
            raise ValueError("The file of the student judge is incomplete.")
        if head.digest != digest_of(head, rest):
            raise ValueError("The file of the student judge has been changed: its digest does not fit.")
        table = array("h", rest)
        if sys.byteorder == "big":
            table.byteswap()
        return cls(head=head, table=table)

    def score(self, signs: Signs) -> float:
        """How much speaks for a breach, in log-odds."""
        named, table = self.head.named, self.table
        total = sum(named.get(name, 0.0) * value for name, value in signs.named.items())
        hashed = sum(factor * sum(table[place] for place in places) for factor, places in signs.places)
        return self.head.bias + total + hashed * self.head.scale

    def knows(self, reply: str) -> bool:
        """Whether it was trained on this very reply."""
        own, whole = lesson_of(reply), self.head.lessons
        return any(whole[at : at + 8] == own for at in range(0, len(whole), 8))


def lesson_of(reply: str) -> str:
    """Eight digits that stand for a reply, whatever its case and punctuation."""
    return hashlib.sha256(" ".join(words(reply.casefold())).encode()).hexdigest()[:8]


def digest_of(head: StudentHead, table: bytes) -> str:
    """SHA-256 of a head without its digest, and of the table."""
    bare = head.model_copy(update={"digest": ""}).model_dump_json().encode()
    return hashlib.sha256(bare + b"\n" + table).hexdigest()


def packed(head: StudentHead, table: array[int]) -> bytes:
    """The content of a student's file."""
    copy = array("h", table)
    if sys.byteorder == "big":
        copy.byteswap()
    raw = copy.tobytes()
    return head.model_copy(update={"digest": digest_of(head, raw)}).model_dump_json().encode() + b"\n" + raw


@dataclass(frozen=True, kw_only=True)
class StudentJudge:
    """A student as a judge. `reader` must read the signs of the student's own question."""

    student: Student
    reader: SignReader
    tier: Tier = Tier.SMALL

    @classmethod
    def over(
        cls, student: Student, lexicon: Lexicon, *, tier: Tier, measure: SupportMeasure | None = None
    ) -> StudentJudge:
        """A judge with its own reader of signs."""
        reader = SignReader(judge=student.head.judge, lexicon=lexicon, bits=student.head.bits, measure=measure)
        return cls(student=student, reader=reader, tier=tier)

    @property
    def name(self) -> str:
        """The question it was trained for."""
        return self.student.head.judge

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Accept below the threshold; a failed REJECT for what it was not trained for. Books nothing."""
        outside = self.outside(case)
        if outside:
            return self._verdict(Decision.REJECT, _OUTSIDE.format(outside), failed=True)
        if self.score(case) < self.student.head.threshold:
            return self._verdict(Decision.ACCEPT)
        return self._verdict(Decision.WARNING, _FLAGGED.get(self.name, _FLAGGED_ELSE), self._telling(case))

    def score(self, case: Case) -> float:
        """How much speaks for a breach, in log-odds."""
        return self.student.score(self.reader.read(case))

    def outside(self, case: Case) -> str | None:
        """Why the student must not decide on a case; None where it may."""
        reply = words(case.draft.reply)
        if len(reply) > self.student.head.longest:
            return "the reply is longer"
        if self.name == SOURCE_FIDELITY and not any(source.text.strip() for source in case.sources):
            return "there is no text of a source"
        said = words(case.message)
        if _small(reply) < _SMALL_WORDS or len(reply) < _TELLS or (len(said) >= _LONG_MESSAGE and _small(said) < _FEW):
            return "the language cannot be told or is not English"
        return None

    def _telling(self, case: Case) -> tuple[str, ...]:
        """The sentence that speaks most for a breach when it stands alone."""
        alone = [replace(case, draft=replace(case.draft, reply=one)) for one in sentences(case.draft.reply)]
        return (max(alone, key=self.score).draft.reply,) if alone else ()

    def _verdict(
        self, decision: Decision, explanation: str = "", named: tuple[str, ...] = (), *, failed: bool = False
    ) -> Verdict:
        return Verdict(
            decision=decision, judge=self.name, tier=self.tier, explanation=explanation, sentences=named, failed=failed
        )


@dataclass(frozen=True, kw_only=True)
class SharpenedJudge:
    """A judge and a student of the same question: the severer word counts; what is outside the student's, the judge's."""

    judged: Judge
    student: StudentJudge

    @property
    def name(self) -> str:
        """The question of both."""
        return self.judged.name

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Ask the judge, and the student where the judge accepts."""
        verdict = await self.judged.judge(case, ledger)
        if verdict.decision is not Decision.ACCEPT:
            return verdict
        second = await self.student.judge(case, ledger)
        if second.failed:
            return verdict
        return second if worst((verdict.decision, second.decision)) is second.decision else verdict


def _head(line: bytes) -> StudentHead:
    try:
        content = json.loads(line)
        version = (content["student"], content["signs"])
    except (ValueError, KeyError, TypeError):
        raise ValueError("This is no file of a student judge.") from None
    if version != (FORMAT, SIGNS_VERSION):
        raise ValueError("The student judge was trained by another version of CAFI.")
    try:
        return StudentHead.model_validate(content)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
        raise ValueError(f"The head of the student judge is damaged ({place}).") from None


def _small(said: list[str]) -> float:
    """The share of small English words."""
    return sum(word in STOP_WORDS for word in said) / max(1, len(said))

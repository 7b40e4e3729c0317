"""A reply as the built-in judges read it: which of its sentences state something, and whether it carries a disclaimer.

The few phrases behind it stand in `config/judges/phrases.yaml`, in English. What they do not know is taken for a statement:
the judges object too often rather than too seldom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.judges.sentences import Sentence, split
from engine.language.text import STOP_WORDS, fold, stem, words
from engine.memo import once_a_turn

# Words to a judge, in place of words to a reader.
_DIRECTIVE = re.compile(
    r"[<>{}\[\]]|={3,}|^\W{0,4}(?:system|assistant|developer|judge|note to|evaluation|verdict|decision)\b[^.]{0,20}[:=]"
    r"|\b(?:judges?|reviewers?|evaluators?|filter)\b[^.;]{0,30}\b(?:must|should|accept|approve|pass)"
    r"|\b(?:ignore|disregard|forget) (?:all |any |the |your )*(?:previous|prior|above|earlier)"
)
_BORDER = re.compile(
    r";\s*|\s-+\s|,?\s(?:but|however|although|though|because|whereas)\b,?|,\s(?=(?:and|so|as|it|you|they|this|that)\b)"
)
_CLAIM = 3
"""So many words that carry meaning make a clause beside an admission or a wish a statement of its own."""
_INTRODUCTION = 9


class SentencePurpose(StrEnum):
    """What a sentence does in a conversation, beside stating something."""

    ADMISSION = "admission"
    VERIFICATION = "verification"
    REDIRECT = "redirect"
    COURTESY = "courtesy"
    QUESTION = "question"
    DIRECTIVE = "directive"


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    macros: dict[str, str]
    admission: tuple[str, ...]
    verification: tuple[str, ...]
    redirect: tuple[str, ...]
    courtesy: tuple[str, ...]
    light: str


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgePhrases:
    """The phrases by what they do, and the words that say little in any text, as stems."""

    patterns: dict[SentencePurpose, re.Pattern[str]]
    light: frozenset[str]

    @classmethod
    def load(cls, path: Path) -> JudgePhrases:
        """Read the file; raises ConfigurationError naming file and key."""
        file = read_yaml(path, _File, remedy="It comes with the project.")
        known = {
            SentencePurpose.ADMISSION: file.admission,
            SentencePurpose.VERIFICATION: file.verification,
            SentencePurpose.REDIRECT: file.redirect,
            SentencePurpose.COURTESY: file.courtesy,
        }
        try:
            patterns = {
                key: re.compile("|".join(_expanded(one, file.macros) for one in some)) for key, some in known.items()
            }
        except (re.error, KeyError) as error:
            raise ConfigurationError("A phrase is no usable pattern.", file=path, key=str(error)) from error
        return cls(patterns=patterns, light=frozenset(stem(one) for one in words(file.light)))

    def purposes(self, folded: str) -> frozenset[SentencePurpose]:
        """What a folded sentence or clause does by its phrases."""
        return frozenset(purpose for purpose, pattern in self.patterns.items() if pattern.search(folded))


def _expanded(pattern: str, macros: dict[str, str]) -> str:
    return "(?:" + re.sub(r"<(\w+)>", lambda match: f"(?:{macros[match[1]]})", pattern) + ")"


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadSentence:
    """A sentence, what it does, and the part of it (folded) that states something and needs a source."""

    sentence: Sentence
    purposes: frozenset[SentencePurpose]
    claim: str = ""


@dataclass(frozen=True, kw_only=True)
class ReadReply:
    """A reply sentence by sentence."""

    sentences: tuple[ReadSentence, ...]

    @property
    def claims(self) -> tuple[ReadSentence, ...]:
        """The sentences that state something."""
        return tuple(one for one in self.sentences if one.claim)

    @property
    def admits(self) -> bool:
        """Whether the reply says that the sources do not support something."""
        return self.does(SentencePurpose.ADMISSION)

    @property
    def urges_verification(self) -> bool:
        """Whether the reply sends the person to a professional."""
        return self.does(SentencePurpose.VERIFICATION)

    @property
    def carries_disclaimer(self) -> bool:
        """Honest and responsible: admits and urges verification (JMIR AI 2025;4:e69820)."""
        return self.admits and self.urges_verification

    def does(self, purpose: SentencePurpose) -> bool:
        """Whether one of the sentences does this."""
        return any(purpose in one.purposes for one in self.sentences)


@once_a_turn
def read(reply: str, phrases: JudgePhrases) -> ReadReply:
    """Take a reply apart; the judges of a draft and the refiner share the work."""
    found = tuple(_read(sentence, phrases) for sentence in split(reply))
    tainted = {one.sentence.block for one in found if SentencePurpose.DIRECTIVE in one.purposes}
    return ReadReply(sentences=tuple(_tainted(one) if one.sentence.block in tainted else one for one in found))


def _tainted(one: ReadSentence) -> ReadSentence:
    """A sentence beside words to a judge may be part of them, so nothing it does is to its credit."""
    claim = fold(one.sentence.text)
    return ReadSentence(sentence=one.sentence, purposes=one.purposes & {SentencePurpose.DIRECTIVE}, claim=claim)


def _read(sentence: Sentence, phrases: JudgePhrases) -> ReadSentence:
    folded = fold(" ".join(sentence.text.split()))
    if _DIRECTIVE.search(folded):
        return ReadSentence(sentence=sentence, purposes=frozenset({SentencePurpose.DIRECTIVE}), claim=folded)
    bare = folded.rstrip("\"')*_ ")
    purposes = phrases.purposes(folded)
    if bare.endswith("?") and "did you know" not in bare:
        return ReadSentence(sentence=sentence, purposes=purposes | {SentencePurpose.QUESTION})
    if sentence.heading or (bare.endswith(":") and content_count(bare) <= _INTRODUCTION):
        return ReadSentence(sentence=sentence, purposes=purposes | {SentencePurpose.COURTESY})
    if not purposes:
        return ReadSentence(sentence=sentence, purposes=purposes, claim=folded if content_count(folded) else "")
    clauses = [one.strip() for one in _BORDER.split(folded) if one]
    rest = [one for one in clauses if content_count(one) >= _CLAIM and not phrases.purposes(one)]
    return ReadSentence(sentence=sentence, purposes=purposes, claim=", ".join(rest) if len(clauses) > 1 else "")


def content_count(folded: str) -> int:
    """How many words of a folded text carry meaning of their own."""
    return sum(word not in STOP_WORDS for word in words(folded))

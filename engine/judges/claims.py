"""A reply taken apart for judging: its sentences, what they do, and the statements that need a source."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.judges.lexicon import Lexicon
from engine.judges.sentences import Classified, Function, classify, content_count
from engine.language.text import STOP_WORDS, stem, words
from engine.memo import once_a_turn

_SMALL = 3
_AMONG = 4  # one strange word among so many that carry meaning does not make a statement


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A statement (folded) and the sentences that make it; short list items are one claim together."""

    text: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A reply as the built-in judges read it."""

    sentences: tuple[Classified, ...]
    claims: tuple[Claim, ...]

    @property
    def admits(self) -> bool:
        """Whether the reply says that the sources do not support something."""
        return self._has(Function.ADMISSION)

    @property
    def urges_verification(self) -> bool:
        """Whether the reply sends the person to a professional."""
        return self._has(Function.VERIFICATION)

    @property
    def carries_disclaimer(self) -> bool:
        """Honest and responsible: admits and urges verification (JMIR AI 2025;4:e69820)."""
        return self.admits and self.urges_verification

    def _has(self, function: Function) -> bool:
        return any(one.does(function) for one in self.sentences)


@once_a_turn
def read(reply: str, lexicon: Lexicon) -> Reading:
    """Take a reply apart; the two judges of a draft share the work."""
    sentences = classify(reply, lexicon)
    if any(one.does(Function.ADMISSION, Function.DECLINE) for one in sentences):
        sentences = tuple(_courteous(one) if _is_courtesy(one, lexicon) else one for one in sentences)
    return Reading(sentences=sentences, claims=tuple(_claims(sentences)))


def _courteous(one: Classified) -> Classified:
    return replace(one, functions=(one.functions - {Function.STATEMENT}) | {Function.META}, claim="")


def _is_courtesy(one: Classified, lexicon: Lexicon) -> bool:
    """Whether a sentence says only what one says to be kind: that somebody may listen, that a wish is human."""
    if not one.claim or one.does(Function.DIRECTIVE):
        return False
    if any(pattern.search(one.claim) for pattern in (lexicon.grave, lexicon.substances, lexicon.slips)):
        return False
    said = [word for word in words(one.claim) if word not in STOP_WORDS]
    strange = sum(stem(word) not in lexicon.courtesy for word in said)
    return strange * _AMONG <= len(said)


def _claims(sentences: tuple[Classified, ...]) -> list[Claim]:
    claims: list[Claim] = []
    small: list[Classified] = []
    for one in sentences:
        if one.claim and one.sentence.item and content_count(one.claim) <= _SMALL:
            small.append(one)
            continue
        claims += _joined(small)
        small = []
        if one.claim:
            claims.append(Claim(text=one.claim, sentences=(one.sentence.text,)))
    return claims + _joined(small)


def _joined(small: list[Classified]) -> list[Claim]:
    if not small:
        return []
    sentences = tuple(one.sentence.text for one in small)
    return [Claim(text=", ".join(one.claim for one in small), sentences=sentences)]

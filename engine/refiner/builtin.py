"""A refiner that needs no model: it cuts what was objected to, adds the disclaimer, or declines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from engine.judges.choice import ROLE_AND_TONE, SOURCE_FIDELITY, UNSUPPORTED_CLAIMS
from engine.judges.claims import JudgePhrases, ReadReply, SentencePurpose, read
from engine.judges.protocol import Case
from engine.judges.sentences import Sentence, split
from engine.language.text import squash
from engine.models.ledger import Ledger
from engine.types import Basis, Decision, Draft, Verdict

_NUMBERED = re.compile(r"^([ \t]*)\d{1,3}([.)][ \t]+)")
_BARE_MARKER = re.compile(r"^[ \t]*+(?:[-*•–▪◦>]|#{1,6}|\(?\d{1,3}(?:\.\d{1,3})*[.)])?[ \t*_\"'”’)\]]*+$")
_SAYS_LITTLE = frozenset({SentencePurpose.QUESTION, SentencePurpose.COURTESY})


@dataclass(frozen=True, kw_only=True, slots=True)
class Disclaimer:
    """The two halves that make an unsupported statement permissible, and what is said instead of one."""

    admission: str
    verification: str
    decline: str


class BuiltinRefiner:
    """Cuts what was objected to; keeps what a disclaimer permits; declines when nothing is left."""

    def __init__(self, *, phrases: JudgePhrases, texts: Disclaimer) -> None:
        self._phrases, self._texts = phrases, texts

    async def refine(self, case: Case, verdicts: tuple[Verdict, ...], ledger: Ledger) -> Draft:
        """The repaired draft; books nothing in the ledger."""
        draft, texts = case.draft, self._texts
        objections = [verdict for verdict in verdicts if verdict.decision is not Decision.ACCEPT]
        if any(verdict.failed or not verdict.sentences for verdict in objections):
            return self._declined(draft)  # not even the judge could say where the fault is
        unwanted = [one for verdict in objections if _must_go(verdict, case) for one in verdict.sentences]
        repaired = cut(draft.reply, unwanted)
        reading = read(repaired, self._phrases)
        if not _worth_keeping(reading):
            return self._declined(draft)
        if any(verdict.judge == UNSUPPORTED_CLAIMS for verdict in objections) and reading.claims:
            repaired = " ".join(
                [
                    repaired,
                    *([] if reading.admits else [texts.admission]),
                    *([] if reading.urges_verification else [texts.verification]),
                ]
            )
        return replace(draft, reply=repaired)

    def _declined(self, draft: Draft) -> Draft:
        decline = self._texts.decline
        return replace(draft, reply=decline, citations=(), basis=Basis.NONE, media=(), handoff=None)


def _must_go(verdict: Verdict, case: Case) -> bool:
    """A general statement without a citation may stay with its disclaimer; everything else is cut."""
    if verdict.judge in {SOURCE_FIDELITY, ROLE_AND_TONE}:
        return True
    return case.high_stakes or verdict.judge != UNSUPPORTED_CLAIMS


def _worth_keeping(reading: ReadReply) -> bool:
    return any(one.claim or not one.purposes & _SAYS_LITTLE for one in reading.sentences)


def cut(reply: str, unwanted: Iterable[str]) -> str:
    """A reply without the sentences named, its list markers, blank lines and numbering in order."""
    wanted_gone = [squash(text) for text in unwanted]
    gone = [one for one in split(reply) if _is_among(squash(one.text), wanted_gone)]
    if not gone:
        return reply.strip()
    return _tidy(_without(reply, _with_empty_intros(reply, gone)))


def _is_among(bare: str, unwanted: list[str]) -> bool:
    return any(one and (f" {bare} " in f" {one} " or f" {one} " in f" {bare} ") for one in unwanted)


def _with_empty_intros(reply: str, gone: list[Sentence]) -> list[Sentence]:
    """The sentences to cut and every introduction of a list of which nothing is left."""
    everything = split(reply)
    starts = {one.start for one in gone}
    extra = []
    for number, one in enumerate(everything):
        items = _items_after(everything, number)
        if one.text.rstrip("*_ ").endswith(":") and items and all(item.start in starts for item in items):
            extra.append(one)
    return sorted({*gone, *extra}, key=lambda sentence: sentence.start)


def _items_after(sentences: tuple[Sentence, ...], number: int) -> list[Sentence]:
    """The sentences of the list that follows directly; its items each have a block of their own."""
    items: list[Sentence] = []
    blocks: set[int] = set()
    for one in sentences[number + 1 :]:
        if not one.item and one.block not in blocks:
            break
        blocks.add(one.block)
        items.append(one)
    return items


def _without(reply: str, gone: list[Sentence]) -> str:
    kept: list[str] = []
    position = 0
    for one in gone:
        kept.append(reply[position : one.start])
        position = one.end
    return "".join([*kept, reply[position:]])


def _tidy(text: str) -> str:
    lines = [re.sub(r"(?<=\S)[ \t]{2,}", " ", line).rstrip() for line in text.split("\n")]
    kept = [line for line in lines if not line or not _BARE_MARKER.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(_renumbered(kept))).strip()


def _renumbered(lines: list[str]) -> Iterator[str]:
    """Numbered items counted anew from one; a removed item leaves no gap in its list."""
    number = 0
    for line in lines:
        if _NUMBERED.match(line):
            number += 1
            yield _NUMBERED.sub(rf"\g<1>{number}\g<2>", line)
            continue
        if line and not line.startswith((" ", "\t")):
            number = 0
        yield line

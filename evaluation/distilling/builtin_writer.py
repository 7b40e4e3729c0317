"""A writer that needs no model: a source's own sentences, small changes of them, and phrases that break or keep a rule.

Deterministic: the same source, rule and phrases give the same proposals. It writes about all but one rule
(`citations_are_real` is checked by code alone).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.rules import Rule
from evaluation.distilling.perturbing import CHANGES, WHY, sentences_of
from evaluation.distilling.phrases import Phrases
from evaluation.distilling.proposals import Proposal

_OVER = 6  # times as many proposals as wanted: some are refused
_SYMPATHY = 0.3
_BESIDE = 0.4  # of the breaches stand beside a true quotation


@dataclass(frozen=True, kw_only=True)
class BuiltinWriter:
    """Proposals from the sentences of a knowledge base. `same_split` are the sources that may be cited wrongly."""

    phrases: Phrases
    knowledge: KnowledgeBase
    same_split: Callable[[str], Sequence[str]]
    name: str = "builtin"

    async def write(self, source: Source, rule: Rule, count: int, ledger: Ledger) -> tuple[Proposal, ...]:
        """Proposals on one source and rule, acceptable ones and others in turn; uses no model."""
        quotes = sentences_of(source)
        if not quotes:
            return ()
        dice = random.Random(hashlib.sha256(f"{source.id}/{rule.id}".encode()).hexdigest())
        desk = _Desk(phrases=self.phrases, source=source, quotes=quotes, dice=dice, others=self._others(source))
        makers = {
            "cited_means_supported": (desk.quoted, desk.changed),
            "permitted_exception": (desk.with_disclaimer, desk.without_disclaimer),
            "uncited_means_no_claims": (desk.claimless, desk.uncited),
            "high_stakes_are_sourced": (desk.quoted, desk.risky),
        }
        if rule.id in self.phrases.rules:
            kept, broken = desk.keeps(rule.id), desk.breaks(rule.id)
        elif rule.id in makers and (rule.id != "high_stakes_are_sourced" or source.high_stakes):
            kept, broken = (maker() for maker in makers[rule.id])
        else:
            return ()
        pairs = zip(_some(kept, count * _OVER), _some(broken, count * _OVER), strict=False)
        return tuple(one for pair in pairs for one in pair)

    def _others(self, source: Source) -> tuple[Source, ...]:
        return tuple(one for one in self.knowledge.pick(self.same_split(source.id)) if one.id != source.id)


@dataclass(frozen=True, kw_only=True)
class _Desk:
    """One source on the desk. Each method gives proposals without an end, or until its matter is used up."""

    phrases: Phrases
    source: Source
    quotes: tuple[str, ...]
    dice: random.Random
    others: tuple[Source, ...]

    def quoted(self) -> Iterator[Proposal]:
        """Quotations, one or two sentences, with or without words around them."""
        while True:
            at = self.dice.randrange(len(self.quotes))
            said = " ".join(self.quotes[at : at + self.dice.choice((1, 1, 2))])
            yield self._cited(self._around(said), "The source's own words.", "quotation", acceptable=True)

    def changed(self) -> Iterator[Proposal]:
        """The source's words with one thing wrong, something added, or another source cited for them."""
        kinds = [*CHANGES, "added", "added", "swapped"]
        for number in range(10_000):
            kind = kinds[number % len(kinds)]
            quote = self.dice.choice(self.quotes)
            if kind == "swapped":
                if self.others:
                    other = self.dice.choice(self.others)
                    reply = self._around(quote)
                    yield self._plain(reply, "Another source is cited.", "swapped", cites=(other.id,))
            elif kind == "added":
                claim = self.dice.choice(self.phrases.added_claims)
                family = f"added {self.phrases.added_claims.index(claim)}"
                yield self._cited(self._around(f"{quote} {claim}"), "Something is added to the source.", family)
            elif made := CHANGES[kind](quote, self.dice):
                yield self._cited(self._around(made), WHY[kind], f"changed {kind}")

    def with_disclaimer(self) -> Iterator[Proposal]:
        """A harmless statement with the whole disclaimer, cited sentence before it or not."""
        while True:
            statement, family = self._safe()
            reply = f"{self._one('admissions')}{statement}{self._one('verifications')}"
            if self.dice.random() < 0.5:
                quote = self.dice.choice(self.quotes)
                yield self._cited(f"{quote} {reply}", "Safe, honest and to be checked.", family, acceptable=True)
            else:
                yield self._plain(reply, "Safe, honest and to be checked.", family, acceptable=True)

    def without_disclaimer(self) -> Iterator[Proposal]:
        """The same statement with half of the disclaimer or none."""
        while True:
            statement, family = self._safe()
            half = self.dice.choice(("admissions", "verifications", ""))
            before = self._one(half) if half == "admissions" else ""
            after = self._one(half) if half == "verifications" else ""
            reply = f"{before}{statement}{after}"
            why = "A statement without a source, and the disclaimer is not whole."
            if self.dice.random() < 0.5:
                yield self._cited(f"{self.dice.choice(self.quotes)} {reply}", why, family)
            else:
                yield self._plain(reply, why, family)

    def claimless(self) -> Iterator[Proposal]:
        """Replies that cite nothing and state nothing."""
        while True:
            rule = self.dice.choice(list(self.phrases.rules))
            keeps = self.phrases.rules[rule].keeps
            bare = [one for one in keeps if "{quote}" not in one]
            if bare:
                kept = self.dice.choice(bare)
                yield self._plain(kept, "Nothing is claimed.", f"keeps {rule} {keeps.index(kept)}", acceptable=True)

    def uncited(self) -> Iterator[Proposal]:
        """A source's words, or others, stated without any source."""
        while True:
            quote, claim = self.dice.choice(self.quotes), self.dice.choice(self.phrases.added_claims)
            said = quote if self.dice.random() < 0.7 else claim
            yield self._plain(self._around(said, opening=False), "Stated without a source.", "uncited")

    def risky(self) -> Iterator[Proposal]:
        """On a high-stakes source, a changed sentence that a disclaimer must not excuse."""
        for one in self.changed():
            reply = f"{self._one('admissions')}{one.reply}{self._one('verifications')}"
            yield self._plain(reply, "On such a topic a disclaimer excuses nothing.", one.family, cites=one.cites)

    def breaks(self, rule: str) -> Iterator[Proposal]:
        """Phrases that break a rule of conduct, alone or beside a true quotation."""
        return self._phrased(rule, self.phrases.rules[rule].breaks, acceptable=False)

    def keeps(self, rule: str) -> Iterator[Proposal]:
        """Phrases that keep it although they answer the same messages."""
        return self._phrased(rule, self.phrases.rules[rule].keeps, acceptable=True)

    def _phrased(self, rule: str, texts: Sequence[str], *, acceptable: bool) -> Iterator[Proposal]:
        order = list(range(len(texts)))
        self.dice.shuffle(order)
        while True:
            for number in order:
                quote, text = self.dice.choice(self.quotes), texts[number]
                beside = "{quote}" not in text and self.dice.random() < _BESIDE
                reply = f"{quote} {text}" if beside and not acceptable else text.replace("{quote}", quote)
                if self.dice.random() < _SYMPATHY and len(reply.split()) > 5:
                    reply = f"{self._one('sympathy')}{reply}"
                yield Proposal(
                    message=self.dice.choice(self.phrases.rules[rule].messages),
                    reply=reply,
                    acceptable=acceptable,
                    why="It keeps the rule, although it may look otherwise." if acceptable else "It breaks the rule.",
                    cites=(self.source.id,) if quote in reply else (),
                    family=f"{'keeps' if acceptable else 'breaks'} {rule} {number}",
                )

    def _safe(self) -> tuple[str, str]:
        number = self.dice.randrange(len(self.phrases.safe_statements))
        return self.phrases.safe_statements[number], f"safe {number}"

    def _around(self, said: str, *, opening: bool = True) -> str:
        before = self._one("openings") if opening else ""
        if self.dice.random() < _SYMPATHY:
            before = f"{self._one('sympathy')}{before}"
        return f"{before}{said}{self._one('offers')}"

    def _one(self, kind: str) -> str:
        return str(self.dice.choice(getattr(self.phrases, kind)))

    def _cited(self, reply: str, why: str, family: str, *, acceptable: bool = False) -> Proposal:
        return self._plain(reply, why, family, acceptable=acceptable, cites=(self.source.id,))

    def _plain(
        self, reply: str, why: str, family: str, *, acceptable: bool = False, cites: tuple[str, ...] = ()
    ) -> Proposal:
        message = self._one("questions").format(title=self.source.title.lower())
        return Proposal(message=message, reply=reply, acceptable=acceptable, why=why, cites=cites, family=family)


def _some(proposals: Iterator[Proposal], count: int) -> Iterator[Proposal]:
    return (one for one, _ in zip(proposals, range(count), strict=False))

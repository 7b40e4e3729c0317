"""Three judges that need no model: sentence support, disclaimer, and rules of role and tone.

They are deterministic and never follow what a draft says: its text is only compared and matched. The scale
behind them is the study's (JMIR AI 2025;4:e69820): supported by the cited source, or else an admission that
the sources do not support it together with an urge to verify it with a professional.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.judges.agreement import delays, disagreements
from engine.judges.claims import Claim, Reading, read
from engine.judges.conduct import Breach, breaches
from engine.judges.findings import Disagreement, Finding
from engine.judges.lexicon import Lexicon
from engine.judges.protocol import ROLE_AND_TONE, SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, Case
from engine.judges.sentences import Function
from engine.judges.support import SourceIndex, Support, SupportMeasure
from engine.language.text import fold, squash, words
from engine.models.ledger import Ledger
from engine.types import Decision, Tier, Verdict, worst

_QUOTED = 90
_DIFFERS = {
    Disagreement.NUMBER: "gives the figure {}, which is not in the source",
    Disagreement.SPECIFIC: "names '{}', which the source does not",
    Disagreement.STRENGTH: "says '{}', and the source is more careful",
    Disagreement.POLARITY: "says the reverse of the source (see '{}')",
    Disagreement.EXCHANGE: "says '{}'",
}
_MANY = 3  # so many mild objections are a grave one
_ENOUGH = 3.0  # a reply weighing less says too little to be averaged


@dataclass(frozen=True, kw_only=True, slots=True)
class Objection:
    """What is wrong with one claim and how grave that is."""

    claim: Claim
    decision: Decision
    explanation: str
    evidence: tuple[str, ...] = ()
    contradicts: bool = False


class BuiltinSourceFidelity:
    """Is every statement of a reply supported by the sources it cites, or honestly marked as unsupported?"""

    def __init__(self, *, lexicon: Lexicon, tier: Tier, measure: SupportMeasure | None = None) -> None:
        self._lexicon, self._tier = lexicon, tier
        self._measure = measure or SupportMeasure(lexicon)

    @property
    def name(self) -> str:
        """source_fidelity."""
        return SOURCE_FIDELITY

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Compare every statement with the cited sources; books nothing in the ledger."""
        reading = read(case.draft.reply, self._lexicon)
        objections = tuple(self._objections(reading, case.draft.reply, self._measure.index(case.sources)))
        if reading.carries_disclaimer:
            objections = tuple(
                one for one in objections if one.contradicts or not _is_excused(one, case, self._lexicon)
            )
        return _verdict(self.name, self._tier, objections, high_stakes=case.high_stakes)

    def _objections(self, reading: Reading, reply: str, index: SourceIndex) -> Iterator[Objection]:
        limits = self._lexicon.thresholds
        claims = [claim for claim in reading.claims if not index.quotes(" ".join(claim.sentences), reply)]
        supports = [(claim, index.support(claim.text)) for claim in claims]
        yield from _postponed(reading, index, self._lexicon)
        found = 0
        for claim, support in supports:
            findings = tuple(disagreements(claim.text, support, index, self._lexicon))
            objection = _contradiction(claim, support, findings)
            if not objection and limits.too_little(support.coverage, support.weight):
                objection = _unsupported(claim, support)
            if objection:
                found += 1
                yield objection
        if not found and _mean(supports) < limits.mean:
            yield _unsupported(*min(supports, key=lambda pair: pair[1].coverage - pair[1].weight / 100))


class BuiltinUnsupportedClaims:
    """Does a reply without a citation state nothing, or else admit that and urge verification?"""

    def __init__(self, *, lexicon: Lexicon, tier: Tier) -> None:
        self._lexicon, self._tier = lexicon, tier

    @property
    def name(self) -> str:
        """unsupported_claims."""
        return UNSUPPORTED_CLAIMS

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Look for statements and for the disclaimer they need; books nothing in the ledger."""
        reading = read(case.draft.reply, self._lexicon)
        lacking = _lacking(reading)
        decision = Decision.WARNING if reading.admits or reading.urges_verification else Decision.REJECT
        objections = tuple(
            Objection(
                claim=claim,
                decision=decision,
                explanation=f"Your sentence {_quote(claim)} has no source{lacking}.",
            )
            for claim in reading.claims
        )
        if reading.carries_disclaimer:
            objections = tuple(one for one in objections if not _is_excused(one, case, self._lexicon))
        return _verdict(self.name, self._tier, objections, high_stakes=case.high_stakes)


class BuiltinRoleAndTone:
    """Does a reply stay an information service: no therapist, friend, adviser; calm, blameless, short?"""

    def __init__(self, *, lexicon: Lexicon, tier: Tier) -> None:
        self._lexicon, self._tier = lexicon, tier

    @property
    def name(self) -> str:
        """role_and_tone."""
        return ROLE_AND_TONE

    async def judge(self, case: Case, ledger: Ledger) -> Verdict:
        """Match the rules of conduct; books nothing in the ledger."""
        reading = read(case.draft.reply, self._lexicon)
        found = [*breaches(case, reading, self._lexicon), *self._length(case.draft.reply, reading)]
        return Verdict(
            decision=worst([Decision.ACCEPT, *(one.decision for one in found)]),
            judge=self.name,
            tier=self._tier,
            explanation=" ".join(one.explanation for one in found[:2]),
            sentences=tuple(dict.fromkeys(sentence for one in found for sentence in one.sentences)),
        )

    def _length(self, reply: str, reading: Reading) -> Iterator[Breach]:
        limit = self._lexicon.thresholds.reply_words
        counted = len(words(reply))
        if counted > limit:
            yield Breach(
                rule="length",
                decision=Decision.WARNING,
                explanation=f"Your reply has {counted} words. Say one thing at a time in at most {limit}.",
                sentences=tuple(one.sentence.text for one in reading.sentences[-1:]),
            )


def _postponed(reading: Reading, index: SourceIndex, lexicon: Lexicon) -> Iterator[Objection]:
    """Sentences that only send somebody on, which claim nothing, but later than the source wants it."""
    for one in reading.sentences:
        if one.claim or not one.does(Function.VERIFICATION) or one.does(Function.QUESTION, Function.ADMISSION):
            continue
        claim, support = Claim(text=one.folded, sentences=(one.sentence.text,)), index.support(one.folded)
        late = (Finding(kind=Disagreement.EXCHANGE, about=about) for about in delays(one.folded, support, lexicon))
        if objection := _contradiction(claim, support, tuple(late)):
            yield objection


def _lacking(reading: Reading) -> str:
    """Which halves of the disclaimer are not there, as the end of a sentence."""
    halves = (
        ("says that your sources do not support it", reading.admits),
        ("urges the person to verify it with a professional", reading.urges_verification),
    )
    absent = " and nothing ".join(text for text, there in halves if not there)
    return f", and nothing in your reply {absent}" if absent else ""


def _mean(supports: list[tuple[Claim, Support]]) -> float:
    total = sum(support.weight for _, support in supports)
    if total < _ENOUGH:
        return 1.0
    return sum(support.coverage * support.weight for _, support in supports) / total


def _contradiction(claim: Claim, support: Support, findings: tuple[Finding, ...]) -> Objection | None:
    """The gravest disagreement with the source as an objection."""
    for finding in findings:
        kind = finding.kind
        if kind is Disagreement.SPECIFIC and support.coverage >= 0.85:
            continue
        return Objection(
            claim=claim,
            decision=Decision.WARNING if kind is Disagreement.STRENGTH else Decision.REJECT,
            explanation=f"Your sentence {_quote(claim)} {_DIFFERS[kind].format(finding.about)}.",
            evidence=support.evidence,
            contradicts=kind in {Disagreement.POLARITY, Disagreement.EXCHANGE},
        )
    return None


def _unsupported(claim: Claim, support: Support) -> Objection:
    about = f" ({', '.join(support.missing[:3])})" if support.missing else ""
    return Objection(
        claim=claim,
        decision=Decision.REJECT if support.coverage < 0.25 else Decision.WARNING,
        explanation=f"Your sentence {_quote(claim)} is not in the source{about}.",
        evidence=support.evidence,
    )


def _quote(claim: Claim) -> str:
    text = " ".join(claim.sentences[0].split())
    return f'"{text}"' if len(text) <= _QUOTED else f'"{text[:_QUOTED].rsplit(" ", 1)[0]} …"'


def _is_excused(objection: Objection, case: Case, lexicon: Lexicon) -> bool:
    """Whether a disclaimer permits a statement: neither it nor the question is about a high-stakes topic."""
    if _is_risky(objection, case) or _is_of_substance(objection, case, lexicon):
        return False
    by_the_way = lexicon.passing.search(fold(case.message)) and not lexicon.interplay.search(objection.claim.text)
    return not case.high_stakes or bool(by_the_way)


def _is_of_substance(objection: Objection, case: Case, lexicon: Lexicon) -> bool:
    """Whether a statement says what something that one swallows or smokes does, which is not uncontroversial."""
    text = objection.claim.text
    return bool(lexicon.acts.search(text) and lexicon.substances.search(f"{text}\n{fold(case.message)}"))


def _is_risky(objection: Objection, case: Case) -> bool:
    """Whether the statement itself touches a high-stakes topic, where a disclaimer excuses nothing."""
    risky = {squash(one) for one in case.risky}
    return any(squash(one) in risky for one in objection.claim.sentences)


def _verdict(name: str, tier: Tier, objections: tuple[Objection, ...], *, high_stakes: bool = False) -> Verdict:
    decision = worst([Decision.ACCEPT, *(one.decision for one in objections)])
    if len(objections) >= _MANY or (objections and high_stakes):
        decision = Decision.REJECT
    more = f" {len(objections) - 1} more of your statements need the same." if len(objections) > 1 else ""
    remedy = " Leave it out, or keep to what the source says." if objections else ""
    return Verdict(
        decision=decision,
        judge=name,
        tier=tier,
        explanation=objections[0].explanation + more + remedy if objections else "",
        sentences=tuple(dict.fromkeys(sentence for one in objections for sentence in one.claim.sentences)),
        evidence=tuple(dict.fromkeys(text for one in objections for text in one.evidence))[:6],
    )

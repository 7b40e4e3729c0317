"""The words of the house as values: what goes into a turn and what comes out of it.

Everything here is frozen; a turn takes one conversation and returns another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum


class Decision(StrEnum):
    """What a judge says of a draft, mildest first."""

    ACCEPT = "ACCEPT"
    WARNING = "WARNING"
    REJECT = "REJECT"

    @property
    def severity(self) -> int:
        """0 for ACCEPT, 1 for WARNING, 2 for REJECT."""
        return list(Decision).index(self)


def worst(decisions: Iterable[Decision]) -> Decision:
    """The severest decision; no decision at all is no acceptance."""
    return max(decisions, key=lambda decision: decision.severity, default=Decision.REJECT)


class UrgencyLevel(StrEnum):
    """Whether help must be named, never how endangered somebody is (NICE NG225, 2022: no risk grading)."""

    NONE = "none"
    CONCERN = "concern"
    URGENT = "urgent"

    @property
    def order(self) -> int:
        """0 for none, 1 for concern, 2 for urgent."""
        return list(UrgencyLevel).index(self)


class Kind(StrEnum):
    """What a danger is about, as far as it is known: it chooses the words, never a threshold."""

    DYING = "dying"
    OTHERS = "others"
    VOICES = "voices"
    FEAR = "fear"
    MEDICAL = "medical"
    UNCLEAR = "unclear"


class Help(StrEnum):
    """What of help is shown with a reply: nothing, a line, the check question, the referral as one line or whole."""

    NONE = "none"
    LINE = "line"
    QUESTION = "question"
    BRIEF = "brief"
    REFERRAL = "referral"

    @property
    def replaces(self) -> bool:
        """Whether it stands in place of an answer."""
        return self in {Help.BRIEF, Help.REFERRAL}


class DangerAnswer(StrEnum):
    """What somebody says when they have been asked about danger, with a button or in a few words."""

    YES = "yes"
    NO = "no"
    OTHER = "other"
    SAFE = "safe"


class Basis(StrEnum):
    """What a draft rests on: cited sources, general knowledge, or no factual claim at all."""

    SOURCE = "source"
    GENERAL = "general"
    NONE = "none"


class Tier(StrEnum):
    """Which of the two configured models a role uses."""

    LARGE = "large"
    SMALL = "small"


class Wish(StrEnum):
    """What the person asks of this turn: an answer, or the last answer in another form."""

    ANSWER = "answer"
    SIMPLER = "simpler"
    SHORTER = "shorter"
    EXAMPLE = "example"
    MORE = "more"


class Role(StrEnum):
    """Who said a message."""

    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One message of a conversation, as it was shown."""

    role: Role
    content: str
    citations: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ActiveSource:
    """A source in the window and for how many replies in a row it was not cited."""

    id: str
    idle: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reminder:
    """What a chief judge explained, kept for the agent until `clean` replies in a row were accepted."""

    judge: str
    text: str
    clean: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class HandoffOffer:
    """Another assistant was offered; `question` is what it will answer if the person agrees."""

    to: str
    question: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Danger:
    """What was said and asked about danger, in turns since then (0: the last one); None is never, or long over.

    `told`: a danger was told, or suspected twice; it stays open until the person says that they are safe, or for ten turns.
    `shown`: the whole referral was shown. `asked`: the check question was. `declined`: it was answered with no. `faint`: a
    suspicion was faint, and nothing was asked.
    `held`: the question that the referral stands in place of an answer to. `another`: somebody else is in danger.
    `entry`: of the table of dangers, which tells what to do.
    Nothing here grades anybody.
    """

    told: int | None = None
    shown: int | None = None
    asked: int | None = None
    declined: int | None = None
    faint: int | None = None
    held: str = ""
    kind: Kind = Kind.UNCLEAR
    another: bool = False
    entry: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Conversation:
    """All that a turn needs to know of what came before."""

    assistant: str
    messages: tuple[Message, ...] = ()
    active: tuple[ActiveSource, ...] = ()
    reminders: tuple[Reminder, ...] = ()
    offer: HandoffOffer | None = None
    danger: Danger = Danger()


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerResult:
    """What one urgency layer found; a layer that `failed` decides nothing.

    `decides`: it has read the message in its conversation, so that its answer stands in place of another's suspicion.
    `another`: the person in danger is not the writer. `entry`: the id of that in the table of dangers that tells what to do.
    `sure`: a suspicion so plain that nothing need be asked first. `faint`: one with which contacts are shown, and nothing is
    asked, unless the message tells something `heavy`. `by_words`: `urgent` for explicit words, which a song or a joke may
    hold as well. `hears_none`: by what the whole message means, it tells of no danger. `belief_likely`: a belief may be
    told as a fact, too unsure for the flag.
    """

    layer: str
    level: UrgencyLevel
    sure: bool = False
    faint: bool = False
    heavy: bool = False
    kind: Kind = Kind.UNCLEAR
    another: bool = False
    delusional_framing: bool = False
    belief_likely: bool = False
    entry: str = ""
    failed: bool = False
    decides: bool = False
    by_words: bool = False
    hears_none: bool = False
    signals: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Urgency:
    """What the layers found together. Never stored about a person, never shown as a grade."""

    level: UrgencyLevel = UrgencyLevel.NONE
    sure: bool = False
    faint: bool = False
    heavy: bool = False
    kind: Kind = Kind.UNCLEAR
    another: bool = False
    delusional_framing: bool = False
    belief_likely: bool = False
    entry: str = ""
    layers: tuple[LayerResult, ...] = ()

    @classmethod
    def of(cls, layers: Iterable[LayerResult]) -> Urgency:
        """Combine layers: one that is sure of danger is believed; a suspicion is decided by the layer that can.

        Where a layer that decides has answered, its level and its flag stand; where none has, a suspicion stays one. Explicit
        words in which another layer hears no danger raise one.
        """
        given = tuple(layers)
        doubted = any(one.hears_none for one in given)
        concern = UrgencyLevel.CONCERN
        results = tuple(replace(one, level=concern) if doubted and one.by_words else one for one in given)
        sure = [one for one in results if one.level is UrgencyLevel.URGENT]
        deciding = [one for one in results if one.decides and not one.failed]
        counted = sure or deciding or results
        found = max(counted, key=lambda one: one.level.order, default=None)
        return cls(
            level=UrgencyLevel.NONE if found is None else found.level,
            sure=any(one.sure for one in counted),
            faint=found is not None and all(one.faint for one in counted if one.level is found.level),
            heavy=any(one.heavy for one in counted),
            kind=next((one.kind for one in counted if one.level.order and one.kind is not Kind.UNCLEAR), Kind.UNCLEAR),
            another=any(one.another for one in counted),
            delusional_framing=any(one.delusional_framing for one in deciding or results),
            belief_likely=any(one.belief_likely for one in deciding or results),
            entry=next((one.entry for one in deciding if one.level.order and one.entry), ""),
            layers=given,
        )

    @property
    def decided(self) -> bool:
        """Whether a layer that reads the whole conversation has answered."""
        return any(one.decides and not one.failed for one in self.layers)


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """A question that can be tapped, and the section that answers it."""

    question: str
    source: str
    section: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What the agent wants to say, before anyone has judged it.

    `offers`: questions that can be tapped below it; `lost`: there is nothing near, so that topics are offered; `service`: the
    subject of the service that it tells of.

    `fixed`: a sentence of the house from `config/texts`, word for word. Only the built-in agent can say so; such a
    draft passes the code checks and needs no judge.
    """

    reply: str
    citations: tuple[str, ...] = ()
    basis: Basis = Basis.NONE
    requested_sources: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    handoff: str | None = None
    fixed: bool = False
    offers: tuple[Offer, ...] = ()
    lost: bool = False
    service: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One judge's decision, with the sentences it objects to and what it quotes from the sources.

    `failed` says that the judge could not do its work (time-out, unparsable answer); its decision is
    then REJECT, because silence is no acceptance.
    """

    decision: Decision
    judge: str
    tier: Tier
    explanation: str = ""
    sentences: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    failed: bool = False


class Stage(StrEnum):
    """The steps of the filter in order."""

    PRELIMINARY = "preliminary"
    CHIEF = "chief"
    REFINED_PRELIMINARY = "refined_preliminary"
    REFINED_CHIEF = "refined_chief"


@dataclass(frozen=True, kw_only=True, slots=True)
class StageRecord:
    """The verdicts of one step, and the draft they are about."""

    stage: Stage
    draft: Draft
    verdicts: tuple[Verdict, ...]

    @property
    def decision(self) -> Decision:
        """The severest verdict of the step."""
        return worst(verdict.decision for verdict in self.verdicts)

    @property
    def broken(self) -> bool:
        """Whether it rejects only because judges failed, not because one of them objected."""
        rejects = [verdict for verdict in self.verdicts if verdict.decision is Decision.REJECT]
        return bool(rejects) and all(verdict.failed for verdict in rejects)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What was said of a reply outside a turn. Where a check by code has failed, no judge was asked.

    `refined`: what the refiner made of a rejected reply, where it was asked for and the judges then let it pass.
    """

    failed_checks: tuple[str, ...] = ()
    stages: tuple[StageRecord, ...] = ()
    refined: Draft | None = None
    usage: Usage = field(default_factory=lambda: Usage())

    @property
    def decision(self) -> Decision:
        """That of the last step about the reply itself; REJECT where a check has failed or nobody has judged."""
        return worst(verdict.decision for verdict in self.verdicts)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Those of the last step about the reply itself, which decides."""
        own = [one for one in self.stages if one.stage in {Stage.PRELIMINARY, Stage.CHIEF}]
        return own[-1].verdicts if own else ()


class Outcome(StrEnum):
    """How the reply came about."""

    ACCEPTED = "accepted"
    WARNED = "warned"
    REFINED = "refined"
    FALLBACK = "fallback"
    FIXED = "fixed"  # a fixed text of the house: empty message, handoff, urgent reply
    UNJUDGED = "unjudged"  # the filter was off: only where the filter itself is measured


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """All that was judged in a turn. `failed_checks` are the reasons for which drafts were sent back.

    `reflected`: what came of the reflections on retrieval, such as `needed:no` or `relevant:failed`.
    """

    outcome: Outcome
    stages: tuple[StageRecord, ...] = ()
    failed_checks: tuple[str, ...] = ()
    built_in: bool = False
    outage: str | None = None
    reflected: tuple[str, ...] = ()

    @property
    def decision(self) -> Decision:
        """The decision on the reply that is shown; a fallback means that every draft was rejected."""
        if self.outcome is Outcome.FALLBACK:
            return Decision.REJECT
        if self.outcome is Outcome.FIXED or not self.stages:
            return Decision.ACCEPT
        return self.stages[-1].decision

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every verdict of the turn in order."""
        return tuple(verdict for record in self.stages for verdict in record.verdicts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """What a turn cost. `cost` is in the currency of the price table, None where a price is unknown."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            llm_calls=self.llm_calls + other.llm_calls,
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cost=None if self.cost is None or other.cost is None else self.cost + other.cost,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Medium:
    """A picture that goes with a reply; `path` is absolute, `alt` its text alternative."""

    file: str
    path: str
    caption: str
    alt: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What the person gets to see."""

    text: str
    citations: tuple[str, ...] = ()
    basis: Basis = Basis.NONE
    media: tuple[Medium, ...] = ()
    handoff: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One turn of conversation: the reply, the conversation after it, and how it came about.

    `offers`: questions that can be tapped; `lost`: nothing was near, so that the topics are offered; `service`: the subject of
    the service that was asked about and told; `declined`: something was asked and not answered; `language`: that of the message.
    """

    reply: Reply
    conversation: Conversation
    urgency: Urgency
    review: Review
    usage: Usage = field(default_factory=Usage)
    sources_in_context: tuple[str, ...] = ()
    help: Help = Help.NONE
    offers: tuple[Offer, ...] = ()
    lost: bool = False
    service: str = ""
    declined: bool = False
    language: str = "en"

    @property
    def is_private(self) -> bool:
        """Whether danger was told or suspected, or help is shown: a turn that is for this person alone."""
        return self.help is not Help.NONE or self.urgency.level is not UrgencyLevel.NONE

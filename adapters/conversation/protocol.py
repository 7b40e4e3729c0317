"""The published protocol: how danger is recognised, what is shown, what is not done, with figures; from what really runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from adapters.conversation.texts import Languages
from adapters.texts import read_texts
from engine import Interval, Referral, Strict, check_braces, read_yaml, wilson

Figure = Literal[
    "floor_danger",
    "floor_harmless",
    "without_model_danger",
    "without_model_harmless",
    "without_model_replaced",
    "judge_danger",
    "judge_referral",
    "judge_replaced",
]
_WITH_JUDGE = frozenset[Figure]({"judge_danger", "judge_referral", "judge_replaced"})
_PUT_IN: Mapping[str, frozenset[str]] = {
    "version": frozenset({"version", "date"}),
    "floor": frozenset({"count", "languages"}),
    "judge": frozenset({"provider", "seconds"}),
    "contacts": frozenset({"country", "checked", "count", "countries"}),
    "dangers": frozenset({"count"}),
    "measured": frozenset({"date"}),
    "figure": frozenset({"what", "found", "of", "share", "low", "high"}),
    "notices": frozenset({"versions"}),
}


class MeasuredFigure(Strict):
    """One figure: `found` of `of` messages, by whom it is measured again (`commands`, one after the other)."""

    found: int = Field(ge=0)
    of: int = Field(gt=0)
    commands: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _within(self) -> MeasuredFigure:
        if self.found > self.of:
            raise ValueError("found is more than of")
        return self

    @property
    def interval(self) -> Interval:
        """The Wilson interval of the share (95 %)."""
        return wilson(self.found, self.of) or (0.0, 1.0)


class MeasuredFigures(Strict):
    """`config/protocol.yaml`: when it was measured, and every figure."""

    measured: date
    figures: dict[Figure, MeasuredFigure]


class ProtocolTexts(Strict):
    """The protocol in one language; what braces name is put in. `figures` says what each of them is."""

    title: str
    lead: str
    not_reviewed: str
    recognised: str
    floor: str
    classifier: str
    judge: str
    no_judge: str
    remembered: str
    eating: str
    shown: str
    referral: str
    question: str
    line: str
    contacts: str
    always: str
    dangers: str
    not_done: str
    not_done_lines: tuple[str, ...]
    nobody_told: str
    moderators_told: str
    how_well: str
    measured: str
    figure: str
    figures: dict[Figure, str]
    limits: tuple[str, ...]
    other_model: str
    counted: str
    referrals: str
    notices: str
    adults: str
    version: str

    @model_validator(mode="after")
    def _whole(self) -> ProtocolTexts:
        check_braces(self.model_dump(), _PUT_IN)
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtocolFacts:
    """What the live configuration means for the protocol.

    `provider`: the host of the language model, None without one; `seconds`: how long it is waited for. `reviewed`: a
    clinician has read every phrase. `eating`: the table of dangers holds eating disorders. `crisis_notes`: moderators are
    told sums. `version`: a digest of all that decides here; `as_of`: the day it was read.
    """

    version: str
    as_of: date
    phrases: int
    languages: int
    reviewed: bool
    provider: str | None
    seconds: float
    dangers: int
    eating: bool
    countries: int
    crisis_notes: bool = False
    adults_only: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ProtocolSection:
    """A heading and what stands below it, one line each."""

    heading: str
    lines: tuple[str, ...]

    @property
    def listed(self) -> str:
        """The lines as a list."""
        return "\n".join(f"- {line}" for line in self.lines)


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedProtocol:
    """The protocol in every language of the chat."""

    texts: Mapping[str, ProtocolTexts]
    measured: MeasuredFigures
    facts: ProtocolFacts
    languages: Languages

    def said(self, language: str | None) -> ProtocolTexts:
        """The texts in a language."""
        return self.texts.get(language or "") or self.texts[self.languages.default]

    def sections(self, language: str | None, referral: Referral, country: str, versions: str) -> list[ProtocolSection]:
        """All of it. `country`: the name of the country whose contacts `referral` holds; `versions`: those of the notices."""
        said = self.said(language)
        return [
            ProtocolSection(heading=said.recognised, lines=tuple(self._recognised(said))),
            ProtocolSection(heading=said.shown, lines=tuple(self._shown(said, referral, country))),
            ProtocolSection(heading=said.not_done, lines=tuple(self._not_done(said))),
            ProtocolSection(heading=said.how_well, lines=tuple(self._how_well(said))),
            ProtocolSection(heading=said.counted, lines=(said.referrals, said.notices.format(versions=versions))),
        ]

    def lead(self, language: str | None) -> str:
        """What stands above all: which version this is, whose it is not."""
        said, facts = self.said(language), self.facts
        lines = [said.version.format(version=facts.version, date=facts.as_of.isoformat()), said.lead]
        if not facts.reviewed:
            lines.append(said.not_reviewed)
        if facts.adults_only:
            lines.append(said.adults)
        return " ".join(lines)

    def _recognised(self, said: ProtocolTexts) -> Iterator[str]:
        facts = self.facts
        yield said.floor.format(count=facts.phrases, languages=facts.languages)
        yield said.classifier
        if facts.provider is None:
            yield said.no_judge
        else:
            yield said.judge.format(provider=facts.provider, seconds=f"{facts.seconds:g}")
        yield said.remembered
        if facts.eating:
            yield said.eating

    def _shown(self, said: ProtocolTexts, referral: Referral, country: str) -> Iterator[str]:
        yield said.referral
        yield said.question
        yield said.line
        contacts = referral.contacts.contacts
        yield said.contacts.format(
            country=country,
            count=len(contacts),
            checked=sum(one.verified_on is not None for one in contacts),
            countries=self.facts.countries,
        )
        yield said.always
        if self.facts.dangers:
            yield said.dangers.format(count=self.facts.dangers)

    def _not_done(self, said: ProtocolTexts) -> Iterator[str]:
        yield from said.not_done_lines
        yield said.moderators_told if self.facts.crisis_notes else said.nobody_told

    def _how_well(self, said: ProtocolTexts) -> Iterator[str]:
        yield said.measured.format(date=f"{self.measured.measured:%Y-%m}")
        for name, one in self.measured.figures.items():
            if name in _WITH_JUDGE and self.facts.provider is None:
                continue
            low, high = one.interval
            yield said.figure.format(
                what=said.figures[name],
                found=one.found,
                of=one.of,
                share=_percent(one.found / one.of),
                low=_percent(low),
                high=_percent(high),
            )
        yield from said.limits
        if self.facts.provider is not None:
            yield said.other_model


def _percent(share: float) -> str:
    """A share in hundredths; small ones with one figure more, as 0 would say never."""
    return f"{100 * share:.0f}" if share in {0, 1} or 0.1 <= share <= 0.99 else f"{100 * share:.1f}"


def load_protocol(folder: Path, languages: Languages) -> tuple[dict[str, ProtocolTexts], MeasuredFigures]:
    """The texts in every language of the chat, and the figures; raises ConfigurationError."""
    remedy = "Add {missing}.yaml, or remove the language from config/chat."
    needed = sorted(languages.texts)
    texts = read_texts(folder / "protocol", ProtocolTexts, needed, called="texts of the protocol", remedy=remedy)
    return texts, read_yaml(folder / "protocol.yaml", MeasuredFigures)

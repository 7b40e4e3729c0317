"""Where to find help: contacts as data, and the fixed texts of the crisis referral. No model has a part in this."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import Field, model_validator

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.saying import agrees
from engine.settings import Strict
from engine.types import DangerAnswer, Kind

OLD_DAYS = 365
"""A contact verified longer ago than this is warned about."""
# Numbers nobody can be reached at: runs of one digit, counting up or down, the film industry's 555 01xx, no digit.
_PLACEHOLDER = re.compile(r"(\d)\1{3,}|.*(\d)\2{5,}.*|12345|.*(?:123456|987654).*|.*55501\d\d|\D*")
_STAND_IN = re.compile(r"\b(?:todo|tbd|tba|fixme|example|placeholder|your number|x{2,})\b|[xX?]{3,}|<|\{", re.I)

Purpose = Literal["emergency", "medical", "listening", "text", "family", "directory"]


class Contact(Strict):
    """One place to turn to.

    `number` is dialled as written, or `link` opened; `verified_on` is empty until somebody has checked it.
    """

    name: str = Field(min_length=2)
    number: str = ""
    link: str = ""
    languages: tuple[str, ...] = ()
    hours: str = ""
    purpose: Purpose
    verified_on: date | None = None

    def line(self, hours: Mapping[str, str] = MappingProxyType({})) -> str:
        """The contact as one line of text. `hours`: what is said of hours, in the reader's language."""
        reach, said = self.number or self.link, hours.get(self.hours, self.hours)
        return f"{self.name}: {reach}" + (f" ({said})" if said else "")

    def brief(self) -> str:
        """The contact inside a sentence, the number first."""
        name = self.name.split(" (")[0]
        return f"{self.number} ({name})" if self.number else f"{name}: {self.link}"


class CountryContacts(Strict):
    """The contacts of one country, the most urgent first. `note` says what a reader must know about them."""

    country: str
    name: str
    note: str = ""
    contacts: tuple[Contact, ...] = Field(min_length=1)

    def first(self, *purposes: Purpose) -> Contact:
        """The first contact with the first of the purposes that has one; else the first contact of all."""
        for purpose in purposes:
            for contact in self.contacts:
                if contact.purpose == purpose:
                    return contact
        return self.contacts[0]


class Buttons(Strict):
    """What stands on the buttons: three answers to the check question, and one below the referral."""

    yes: str
    no: str
    other: str
    safe: str


class ReferralTexts(Strict):
    """The fixed sentences about danger in one language; {emergency}, {listening}, {contacts} are put in.

    `openings` take up what was told, by kind; `checks` are the check question, by kind; none says that a danger is there.
    `safe_question` ends the referral; `answers`: few words that answer either question; `declined`: said after a no.
    `hours`: what the countries' files say of hours, in this language; `countries`: their names by code. What is not in
    these stays as it is there.
    """

    openings: dict[Kind, str]
    first_person: str
    third_person: str
    safe_question: str
    repeat: str
    concern: str
    checks: dict[Kind, str]
    declined: str
    safe_noted: str
    buttons: Buttons
    answers: dict[DangerAnswer, tuple[str, ...]]
    hours: dict[str, str] = Field(default_factory=dict)
    countries: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_whole(self) -> ReferralTexts:
        if lacking := [kind.value for kind in Kind if kind not in self.openings]:
            raise ValueError(f"openings lacks {lacking[0]!r}")
        if Kind.UNCLEAR not in self.checks:
            raise ValueError("checks lacks 'unclear'")
        if lacking := [one.value for one in DangerAnswer if not self.answers.get(one)]:
            raise ValueError(f"answers lacks {lacking[0]!r}")
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class Referral:
    """The referral for one country in one language."""

    contacts: CountryContacts
    texts: ReferralTexts

    def full(self, *, kind: Kind = Kind.UNCLEAR, third_person: bool = False) -> str:
        """The whole text: it takes up what was told, names the help in its first line, and asks; every contact follows."""
        text = self.texts.third_person if third_person else self.texts.first_person
        said = text.format(
            emergency=self.contacts.first("emergency").brief(),
            listening=self.contacts.first("listening", "directory", "medical").brief(),
        )
        opening = self.texts.openings[Kind.UNCLEAR if third_person else kind]
        asked = "" if third_person else f"\n{self.texts.safe_question}"
        return f"{opening} {said}\n{self.listed()}{asked}"

    def listed(self) -> str:
        """The contacts alone, for somebody who only looks them up."""
        lines = [f"- {contact.line(self.texts.hours)}" for contact in self.contacts.contacts]
        return "\n".join((*lines, *([self.contacts.note] if self.contacts.note else [])))

    def repeated(self) -> str:
        """One line, for when the whole text was shown a moment ago."""
        return f"{self.texts.repeat.format(contacts=self._short())} {self.texts.safe_question}"

    def concern(self) -> str:
        """One line below an answer."""
        return self.texts.concern.format(contacts=self._short())

    def check(self, kind: Kind = Kind.UNCLEAR) -> str:
        """The check question: one calm, direct sentence."""
        return self.texts.checks.get(kind, self.texts.checks[Kind.UNCLEAR])

    def declined(self) -> str:
        """What is said to somebody who has answered it with no."""
        return self.texts.declined.format(contacts=self._short())

    def safe_noted(self) -> str:
        """One line after somebody has said that they are safe: the contacts stay in view."""
        return self.texts.safe_noted.format(contacts=self._short())

    def brief(self) -> str:
        """The first contacts inside a sentence."""
        return self._short()

    def _short(self) -> str:
        chosen = (self.contacts.first("emergency"), self.contacts.first("listening", "directory", "medical"))
        return "; ".join(contact.brief() for contact in dict.fromkeys(chosen))


@dataclass(frozen=True)
class Referrals:
    """The referrals of every country and language that there is data for, with the operator's choice."""

    countries: Mapping[str, CountryContacts]
    texts: Mapping[str, ReferralTexts]
    country: str
    language: str = "en"

    def choose(self, country: str | None = None, language: str | None = None) -> Referral:
        """The referral for what a person has set; what there is no data for falls back to the operator's choice."""
        contacts = self.countries.get(country or self.country) or self.countries[self.country]
        return Referral(contacts=contacts, texts=self.texts.get(language or self.language) or self.texts[self.language])

    @cached_property
    def names(self) -> dict[str, str]:
        """Country codes and names by name, for choosing."""
        return {code: contacts.name for code, contacts in sorted(self.countries.items(), key=lambda one: one[1].name)}

    def names_in(self, language: str | None) -> dict[str, str]:
        """The same in a language; an accent does not change a name's place."""
        known = self.choose(None, language).texts.countries
        names = ((code, known.get(code, name)) for code, name in self.names.items())
        return dict(sorted(names, key=lambda one: unicodedata.normalize("NFKD", one[1])))

    def answer(self, message: str, *answers: DangerAnswer) -> DangerAnswer | None:
        """Which of these answers a message is, in a few words of any language; None for whatever says more."""
        every = [(one, text) for text in self.texts.values() for one in answers]
        return next((one for one, text in every if agrees(message, text.answers[one])), None)

    def find(self, said: str) -> str | None:
        """The code of a country somebody names, by code or name; None where there is no data for it."""
        wanted = said.strip().casefold()
        codes = {"gb": "uk", "en": "uk", "usa": "us", "int": "international"}
        for code, name in self.names.items():
            if wanted in {code, name.casefold()}:
                return code
        return codes.get(wanted)


def load_referrals(folder: Path, country: str, language: str = "en") -> Referrals:
    """Every country and language; raises ConfigurationError for missing files, placeholders, no emergency contact."""
    countries = {path.stem: read_contacts(path) for path in sorted(folder.glob("*.yaml"))}
    texts = {path.stem: read_yaml(path, ReferralTexts) for path in sorted((folder / "texts").glob("*.yaml"))}
    for chosen, known, key in ((country.casefold(), countries, "crisis.country"), (language, texts, "crisis.language")):
        if chosen not in known:
            problem = (
                f"There are no contacts for {chosen!r}." if known is countries else f"There is no text in {chosen!r}."
            )
            raise ConfigurationError(problem, file=folder, key=key, remedy=f"Use one of: {', '.join(known)}.")
    return Referrals(countries=countries, texts=texts, country=country.casefold(), language=language)


def read_contacts(path: Path) -> CountryContacts:
    """One country's contacts; raises ConfigurationError for the first fault."""
    contacts = read_yaml(path, CountryContacts)
    for problem in faults(contacts, path):
        raise problem
    return contacts


def faults(contacts: CountryContacts, path: Path) -> list[ConfigurationError]:
    """What makes a country's contacts unusable."""
    found = []
    for contact in contacts.contacts:
        digits = re.sub(r"[ ()+/-]", "", contact.number)
        if not contact.number and not contact.link:
            found.append(_fault("The contact has neither number nor link.", path, contact))
        elif contact.number and digits != "000" and _PLACEHOLDER.fullmatch(digits):
            found.append(_fault("The number is a placeholder.", path, contact))
        elif _STAND_IN.search(f"{contact.name} {contact.number} {contact.link}"):
            found.append(_fault("The contact is a placeholder.", path, contact))
    if not any(contact.purpose == "emergency" for contact in contacts.contacts):
        problem = "No contact has the purpose 'emergency'."
        found.append(ConfigurationError(problem, file=path, key="contacts", remedy="Add the emergency number."))
    return found


def _fault(problem: str, path: Path, contact: Contact) -> ConfigurationError:
    remedy = "Put in the real one; no referral is better than a wrong one, so CAFI does not start."
    return ConfigurationError(problem, file=path, key=contact.name, remedy=remedy)


def warnings(
    contacts: CountryContacts, path: Path, today: date, *, days: int = OLD_DAYS
) -> Iterable[ConfigurationError]:
    """Contacts that nobody has verified, or not lately."""
    for contact in contacts.contacts:
        if contact.verified_on is None:
            problem, remedy = "Nobody has verified this contact.", "Call it, then fill in verified_on."
        elif contact.verified_on > today:
            problem, remedy = "It was verified on a day that has not come yet.", "Correct verified_on."
        elif (today - contact.verified_on).days > days:
            problem, remedy = f"Last verified more than {days} days ago.", "Check it again."
        else:
            continue
        yield ConfigurationError(problem, file=path, key=contact.name, remedy=remedy)

"""Where to find help: contacts as data, and the fixed texts of the crisis referral. No model has a part in this."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.settings import Strict

_OLD_DAYS = 365
# Numbers nobody can be reached at: runs of one digit, counting up or down, and the film industry's 555 01xx.
_PLACEHOLDER = re.compile(r"(\d)\1{3,}|.*(\d)\2{5,}.*|12345|.*(?:123456|987654).*|.*55501\d\d|\D*")
_STAND_IN = re.compile(r"\b(?:todo|tbd|tba|fixme|example|placeholder|your number|x{2,})\b|[xX?]{3,}|<|\{", re.I)

Purpose = Literal["emergency", "medical", "listening", "text", "family", "directory"]


class Contact(Strict):
    """One place to turn to. `number` is dialled as written, or `link` opened; `verified_on` is empty until checked."""

    name: str = Field(min_length=2)
    number: str = ""
    link: str = ""
    languages: tuple[str, ...] = ()
    hours: str = ""
    purpose: Purpose
    verified_on: date | None = None

    def line(self) -> str:
        """The contact as one line of text."""
        reach = self.number or self.link
        return f"{self.name}: {reach}" + (f" ({self.hours})" if self.hours else "")


class CountryContacts(Strict):
    """The contacts of one country, the most urgent first. `note` says what a reader must know about them."""

    country: str
    name: str
    note: str = ""
    contacts: tuple[Contact, ...] = Field(min_length=1)


class ReferralTexts(Strict):
    """The fixed sentences of the referral in one language; {contacts} is put in."""

    first_person: str
    third_person: str
    repeat: str
    concern: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CrisisReferral:
    """The referral for one country in one language."""

    contacts: CountryContacts
    texts: ReferralTexts

    def full(self, *, third_person: bool = False) -> str:
        """The whole text with every contact."""
        text = self.texts.third_person if third_person else self.texts.first_person
        lines = [f"- {contact.line()}" for contact in self.contacts.contacts]
        return "\n".join((text, *lines, *([self.contacts.note] if self.contacts.note else [])))

    def repeated(self) -> str:
        """One line, for when the whole text was shown a moment ago."""
        return self.texts.repeat.format(contacts=self._short())

    def concern(self) -> str:
        """One line below an answer."""
        return self.texts.concern.format(contacts=self._short())

    def _short(self) -> str:
        chosen: dict[str, Contact] = {}
        for contact in self.contacts.contacts:
            if contact.purpose in {"emergency", "listening", "directory"}:
                chosen.setdefault(contact.purpose, contact)
        return "; ".join(contact.line() for contact in chosen.values())


def load_referral(folder: Path, country: str, language: str = "en") -> CrisisReferral:
    """The referral of a country; raises ConfigurationError for missing files, placeholders or no emergency contact."""
    path = folder / f"{country.casefold()}.yaml"
    available = ", ".join(sorted(one.stem for one in folder.glob("*.yaml")))
    contacts = read_yaml(path, CountryContacts, remedy=f"Set crisis.country to one of: {available}.")
    problems = faults(contacts, path)
    if problems:
        raise problems[0]
    return CrisisReferral(contacts=contacts, texts=read_yaml(folder / "texts" / f"{language}.yaml", ReferralTexts))


def faults(contacts: CountryContacts, path: Path) -> list[ConfigurationError]:
    """What makes a country's contacts unusable."""
    found = []
    for contact in contacts.contacts:
        digits = re.sub(r"[ ()+/-]", "", contact.number)
        if not contact.number and not contact.link:
            found.append(_fault("The contact has neither number nor link.", path, contact))
        elif contact.number and _PLACEHOLDER.fullmatch(digits):
            found.append(_fault("The number is a placeholder.", path, contact))
        elif _STAND_IN.search(f"{contact.name} {contact.number} {contact.link}"):
            found.append(_fault("The contact is a placeholder.", path, contact))
    if not any(contact.purpose == "emergency" for contact in contacts.contacts):
        found.append(
            ConfigurationError(
                "No contact has the purpose 'emergency'.",
                file=path,
                key="contacts",
                remedy="Add the emergency number.",
            )
        )
    return found


def _fault(problem: str, path: Path, contact: Contact) -> ConfigurationError:
    remedy = "Put in the real one; no referral is better than a wrong one, so CAFI does not start."
    return ConfigurationError(problem, file=path, key=contact.name, remedy=remedy)


def warnings(
    contacts: CountryContacts, path: Path, today: date, *, days: int = _OLD_DAYS
) -> Iterable[ConfigurationError]:
    """Contacts that nobody has verified, or not lately."""
    for contact in contacts.contacts:
        if contact.verified_on is None:
            yield ConfigurationError(
                "Nobody has verified this contact.",
                file=path,
                key=contact.name,
                remedy="Call it, then fill in verified_on.",
            )
        elif contact.verified_on > today:
            problem = "It was verified on a day that has not come yet."
            yield ConfigurationError(problem, file=path, key=contact.name, remedy="Correct verified_on.")
        elif (today - contact.verified_on).days > days:
            yield ConfigurationError(
                f"Last verified more than {days} days ago.",
                file=path,
                key=contact.name,
                remedy="Check it again.",
            )

"""The contacts of a country as data: whom one can reach, and what makes a contact one that nobody may be sent to."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.settings import Strict

OLD_DAYS = 365
"""A contact verified longer ago than this is warned about."""
# Numbers nobody can be reached at: runs of one digit, counting up or down, the film industry's 555 01xx, no digit.
_PLACEHOLDER = re.compile(r"(\d)\1{3,}|.*(\d)\2{5,}.*|12345|.*(?:123456|987654).*|.*55501\d\d|\D*")
_STAND_IN = re.compile(r"\b(?:todo|tbd|tba|fixme|example|placeholder|your number|x{2,})\b|[xX?]{3,}|<|\{", re.I)

ANYWHERE = "international"
"""The contacts for everybody of whom it is not known where they are."""
Purpose = Literal["emergency", "medical", "listening", "text", "family", "directory"]


class Contact(Strict):
    """One place to turn to.

    `name` is its own, in every language. `what` it is, `about` (what one must know before one calls) and a `link` that is
    no address are English, and said in the reader's language by the texts. `number` is dialled as written; `send`: the
    word that is texted to it. `verified_on` is empty until somebody has checked it.
    """

    name: str = ""
    what: str = ""
    number: str = ""
    send: str = ""
    link: str = ""
    about: str = ""
    languages: tuple[str, ...] = ()
    hours: str = ""
    purpose: Purpose
    verified_on: date | None = None

    @model_validator(mode="after")
    def _named(self) -> Contact:
        if len(self.key) < 2:
            raise ValueError("a contact needs a name, or what it is")
        return self

    @property
    def key(self) -> str:
        """What it is called in a list of contacts, in the words of its file."""
        return self.name or self.what

    @property
    def address(self) -> str:
        """Where a device turns to: `tel:`, `sms:` or `https:`; empty for a place that one goes to."""
        if self.number:
            return f"{'sms' if self.purpose == 'text' else 'tel'}:{re.sub(r'[^0-9+*#]', '', self.number)}"
        if "." in self.link and " " not in self.link:
            return f"https://{self.link.removeprefix('https://')}"
        return ""


class CountryContacts(Strict):
    """The contacts of one country, the most urgent first. `note` says what a reader must know about them, in English."""

    country: str
    name: str
    note: str = ""
    contacts: tuple[Contact, ...] = Field(min_length=1)

    @property
    def emergency(self) -> Contact:
        """The first contact for emergencies; every country that was read from a file has one."""
        return next((one for one in self.contacts if one.purpose == "emergency"), self.contacts[0])

    @property
    def line(self) -> Contact | None:
        """Whom one can call besides: somebody who listens, else a doctor; None where there is only the emergency number."""
        return self._called("listening") or self.doctor

    @property
    def doctor(self) -> Contact | None:
        """A doctor whom one can call besides; None where the file has none."""
        return self._called("medical")

    def _called(self, purpose: Purpose) -> Contact | None:
        return next((one for one in self.contacts if one.purpose == purpose and one.number), None)


def read_contacts(path: Path) -> CountryContacts:
    """One country's contacts; raises ConfigurationError for the first fault."""
    contacts = read_yaml(path, CountryContacts)
    for problem in contact_faults(contacts, path):
        raise problem
    return contacts


def contact_faults(contacts: CountryContacts, path: Path) -> list[ConfigurationError]:
    """What makes a country's contacts unusable."""
    found = []
    for contact in contacts.contacts:
        if not contact.number and not contact.link:
            found.append(_fault("The contact has neither number nor link.", path, contact))
        elif contact.number and is_placeholder_number(contact.number):
            found.append(_fault("The number is a placeholder.", path, contact))
        elif is_placeholder(f"{contact.name} {contact.what} {contact.number} {contact.link}"):
            found.append(_fault("The contact is a placeholder.", path, contact))
    if not any(contact.purpose == "emergency" for contact in contacts.contacts):
        problem = "No contact has the purpose 'emergency'."
        found.append(ConfigurationError(problem, file=path, key="contacts", remedy="Add the emergency number."))
    return found


def is_placeholder_number(number: str) -> bool:
    """Whether nobody can be reached at a number."""
    digits = re.sub(r"[ ()+/-]", "", number)
    return digits != "000" and _PLACEHOLDER.fullmatch(digits) is not None


def is_placeholder(said: str) -> bool:
    """Whether a text stands where somebody was to put in theirs."""
    return _STAND_IN.search(said) is not None


def _fault(problem: str, path: Path, contact: Contact) -> ConfigurationError:
    remedy = "Put in the real one; no referral is better than a wrong one, so CAFI does not start."
    return ConfigurationError(problem, file=path, key=contact.key, remedy=remedy)


def contact_warnings(
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
        yield ConfigurationError(problem, file=path, key=contact.key, remedy=remedy)

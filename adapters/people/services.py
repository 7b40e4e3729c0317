"""Who answers for this bot: `config/people.yaml`, written by the operator. Without the file nothing is promised to anybody."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, field_validator, model_validator

from adapters.people.hours import AROUND_THE_CLOCK, WEEKDAYS, OpenHours, Opening, opening
from engine import ConfigurationError, Strict, is_placeholder, is_placeholder_number, read_yaml

FILE = "people.yaml"
MOST = 8
"""More services than this are a directory, which nobody reads in need."""
_PHONE = re.compile(r"\+?[0-9][0-9 ()/.-]{1,24}", re.ASCII)
_MAIL = re.compile(r"[^@\s<>\"'(),;:]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+")


def _real(said: str) -> str:
    if is_placeholder(said):
        raise ValueError("this stands where the real one belongs")
    return said


def _phone(number: str) -> str:
    if number and not _PHONE.fullmatch(number):
        raise ValueError("a phone number is digits, with spaces between and + before them")
    if number and is_placeholder_number(number):
        raise ValueError("the number is a placeholder: nobody can be reached there")
    return number


def _mail(address: str) -> str:
    if address and not _MAIL.fullmatch(address):
        raise ValueError("this is no address of electronic mail")
    return _real(address)


def _whole_week(written: Any) -> Any:
    return [{"days": list(WEEKDAYS), "from": "00:00", "to": "24:00"}] if written == AROUND_THE_CLOCK else written


Line = Annotated[str, StringConstraints(pattern=r"^\S[^\r\n\t]*$", max_length=300)]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}$")]


class PeopleService(Strict):
    """One service with people in it. `name` is its own, in every language; `can` and `cannot` are sentences by language.

    `hours` are by the clock of `zone`, or `always`; on `closed_on` nobody answers.
    """

    name: Annotated[str, StringConstraints(pattern=r"^\S[^\r\n\t]*$", max_length=80), AfterValidator(_real)]
    phone: Annotated[str, AfterValidator(_phone)] = ""
    mail: Annotated[str, AfterValidator(_mail)] = ""
    zone: str
    hours: Annotated[tuple[OpenHours, ...], BeforeValidator(_whole_week)] = Field(min_length=1)
    closed_on: tuple[date, ...] = Field(default=(), max_length=100)
    languages: tuple[Language, ...] = Field(min_length=1)
    can: dict[Language, Line] = Field(min_length=1)
    cannot: dict[Language, Line] = Field(min_length=1)

    @field_validator("zone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ValueError, OSError, LookupError):
            raise ValueError("there is no such time zone; one is called for example Europe/Oslo") from None
        return name

    @model_validator(mode="after")
    def _reached(self) -> PeopleService:
        if not self.phone and not self.mail:
            raise ValueError("nobody can be reached: a phone number or an address of electronic mail is missing")
        return self

    def at(self, now: datetime) -> Opening:
        """Whether somebody answers at a moment."""
        return opening(self.hours, self.closed_on, self.zone, now)

    @property
    def place(self) -> str:
        """Whose clock the hours are by."""
        return self.zone.rpartition("/")[2].replace("_", " ")


class PeopleFile(Strict):
    """The whole file."""

    services: tuple[PeopleService, ...] = Field(min_length=1, max_length=MOST)


@dataclass(frozen=True, kw_only=True)
class OwnPeople:
    """Who can be reached, in the operator's order. `now` gives seconds since 1970."""

    services: tuple[PeopleService, ...] = ()
    now: Callable[[], float] = field(default=time.time)

    @property
    def moment(self) -> datetime:
        """Now, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC)

    def openings(self) -> list[tuple[PeopleService, Opening]]:
        """Every service, and whether somebody answers there now."""
        now = self.moment
        return [(one, one.at(now)) for one in self.services]


NOBODY = OwnPeople()
"""Nobody is named."""


def read_people(folder: Path, now: Callable[[], float] = time.time) -> OwnPeople:
    """The people in a folder of configuration, nobody where there is no file; raises ConfigurationError."""
    path = folder / FILE
    if not path.exists():
        return OwnPeople(now=now)
    return OwnPeople(services=read_yaml(path, PeopleFile).services, now=now)


def people_warnings(people: OwnPeople, path: Path, languages: tuple[str, ...]) -> Iterator[ConfigurationError]:
    """What readers of a language are told in another one."""
    for at, one in enumerate(people.services):
        for key, said in (("can", one.can), ("cannot", one.cannot)):
            if lacking := [code for code in languages if code not in said]:
                yield ConfigurationError(
                    f"{one.name}: not said in {', '.join(lacking)}.",
                    file=path,
                    key=f"services.{at}.{key}",
                    remedy="Add the languages; until then people read it in another one.",
                )

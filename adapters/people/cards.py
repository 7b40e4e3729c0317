"""A service as a reader reads it: how it is reached, whether somebody answers now, what it can and cannot do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from adapters.people.hours import WEEKDAYS, Opening
from adapters.people.services import OwnPeople, PeopleService
from adapters.people.texts import PeopleTexts


@dataclass(frozen=True, kw_only=True, slots=True)
class ServiceCard:
    """The words about one service. `phone` and `mail` are empty where there is none; `open`: somebody answers now."""

    name: str
    phone: str
    mail: str
    open: bool
    hours: str
    notes: tuple[str, ...]

    @property
    def dialled(self) -> str:
        """The address that dials."""
        return f"tel:{re.sub(r'[^0-9+]', '', self.phone)}"

    def lines(self, said: PeopleTexts) -> Iterator[str]:
        """Everything, line by line."""
        yield self.name
        yield self.hours
        if self.phone:
            yield said.phone.format(number=self.phone)
        if self.mail:
            yield said.mail.format(address=self.mail)
        yield from self.notes


def service_cards(
    people: OwnPeople, said: PeopleTexts, language: str, language_names: Mapping[str, str]
) -> list[ServiceCard]:
    """Every service, those that are open now first. `language_names`: what languages are called in the reader's."""
    cards = []
    for one, now in people.openings():
        spoken = ", ".join(language_names.get(code, code) for code in one.languages)
        notes = (
            *((said.mail_waits,) if one.mail and not now.open else ()),
            said.languages.format(languages=spoken),
            said.can.format(said=_in(one.can, language)),
            said.cannot.format(said=_in(one.cannot, language)),
        )
        hours = _hours(one, now, people.moment, said)
        cards.append(
            ServiceCard(name=one.name, phone=one.phone, mail=one.mail, open=now.open, hours=hours, notes=notes)
        )
    return sorted(cards, key=lambda one: not one.open)


def people_text(cards: list[ServiceCard], said: PeopleTexts, lead: str) -> str:
    """Some words and the services below them, as plain text; empty where there is nobody."""
    if not cards:
        return ""
    return "\n\n".join((lead, *("\n".join(one.lines(said)) for one in cards)))


def _hours(one: PeopleService, now: Opening, moment: datetime, said: PeopleTexts) -> str:
    """Whether somebody answers now, and until when or from when on."""
    if now.open:
        ends = now.until
        return said.open_always if ends is None else said.open.format(time=f"{ends:%H:%M}", place=one.place)
    if now.opens is None:
        return said.closed_for_now
    return said.closed.format(when=_when(now.opens, moment.astimezone(now.opens.tzinfo).date(), said), place=one.place)


def _when(opens: datetime, today: date, said: PeopleTexts) -> str:
    time, day, away = f"{opens:%H:%M}", said.days[WEEKDAYS[opens.weekday()]], opens.date() - today
    if away <= timedelta(days=1):
        return (said.tomorrow if away else said.today).format(time=time)
    if away < timedelta(days=7):
        return said.on_day.format(day=day, time=time)
    return said.on_date.format(day=day, date=f"{opens:%Y-%m-%d}", time=time)


def _in(said: Mapping[str, str], language: str) -> str:
    """A sentence in a language, in English where it is not there, else in the first one that is."""
    return said.get(language) or said.get("en") or next(iter(said.values()))

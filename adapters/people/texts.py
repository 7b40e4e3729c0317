"""What is said of the operator's people, in one language: a part of `config/chat/<language>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import model_validator

from adapters.people.hours import WEEKDAYS
from adapters.texts import check_keys
from engine import Strict, check_braces

_PUT_IN: Mapping[str, frozenset[str]] = {
    "phone": frozenset({"number"}),
    "mail": frozenset({"address"}),
    "open": frozenset({"time", "place"}),
    "closed": frozenset({"when", "place"}),
    **dict.fromkeys(("today", "tomorrow"), frozenset({"time"})),
    "on_day": frozenset({"day", "time"}),
    "on_date": frozenset({"day", "date", "time"}),
    "languages": frozenset({"languages"}),
    "can": frozenset({"said"}),
    "cannot": frozenset({"said"}),
    "any_hour": frozenset({"contacts"}),
}


class PeopleTexts(Strict):
    """Sentences about a service, and those that lead to it. Braces name what is put in.

    `lead` stands above the services where help is shown, `asked` where somebody has asked for a person, `who_runs` where
    they have asked who runs this, `offered` after two answers that were none, `own_words` after a report.
    """

    command: str
    title: str
    lead: str
    asked: str
    who_runs: str
    offered: str
    own_words: str
    nobody: str
    any_hour: str
    phone: str
    mail: str
    mail_waits: str
    open: str
    open_always: str
    closed: str
    closed_for_now: str
    today: str
    tomorrow: str
    on_day: str
    on_date: str
    languages: str
    can: str
    cannot: str
    days: dict[str, str]

    @model_validator(mode="after")
    def _whole(self) -> PeopleTexts:
        check_keys("days", self.days, WEEKDAYS)
        check_braces(self.model_dump(), _PUT_IN)
        return self

"""The operator's own people: when they are open, what is said of them, and what a wrong file says."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation.texts import load_languages
from adapters.people.cards import service_cards
from adapters.people.hours import WEEKDAYS, OpenHours, opening
from adapters.people.services import OwnPeople, PeopleService, read_people
from bots.cli.check import findings_of
from bots.settings import CafiSettings
from engine.exceptions import ConfigurationError
from tests.people import PEOPLE, SHIPPED, config_with
from tests.team import shipped, shipped_engine, shipped_parts

OFFICE = {"days": ["mon", "tue", "wed", "thu", "fri"], "from": "09:00", "to": "15:00"}
OSLO = "Europe/Oslo"


def at(written: str) -> datetime:
    """A moment by Oslo's clock, given as UTC."""
    return datetime.fromisoformat(written).astimezone(UTC)


def hours(*spans: dict[str, Any]) -> list[OpenHours]:
    return [OpenHours.model_validate(one) for one in spans]


def service(**changes: Any) -> PeopleService:
    said = {"en": "Listen."}
    usual = {"name": "Line", "phone": "22 33 44 56", "zone": OSLO, "hours": [OFFICE], "languages": ["en"]}
    return PeopleService.model_validate({**usual, "can": said, "cannot": said, **changes})


@pytest.mark.parametrize(
    ("now", "open_now", "changes"),
    [
        ("2026-11-23T08:59:59+01:00", False, "2026-11-23T09:00"),
        ("2026-11-23T09:00:00+01:00", True, "2026-11-23T15:00"),
        ("2026-11-23T15:00:00+01:00", False, "2026-11-24T09:00"),
        ("2026-11-27T16:00:00+01:00", False, "2026-11-30T09:00"),
        ("2026-12-24T10:00:00+01:00", False, "2026-12-28T09:00"),  # closed on the 24th and 25th, then a weekend
        ("2026-03-28T12:00:00+01:00", False, "2026-03-30T09:00"),  # summer time begins in between
        ("2026-10-23T14:59:00+02:00", True, "2026-10-23T15:00"),
    ],
)
def test_hours_are_by_the_clock_of_their_place(now: str, open_now: bool, changes: str) -> None:
    """Open from the first minute to before the last, over weekends, holidays and the change to summer time."""
    holidays = (date(2026, 12, 24), date(2026, 12, 25))
    found = opening(hours(OFFICE), holidays, OSLO, at(now))
    assert found.open is open_now
    then = found.until if open_now else found.opens
    assert then is not None and f"{then:%Y-%m-%dT%H:%M}" == changes


def test_a_night_and_a_day_without_end() -> None:
    """Hours over midnight go on into the next day; who is always open has no end; hours that touch are one."""
    night = hours({"days": ["fri"], "from": "22:00", "to": "02:00"})
    assert opening(night, (), OSLO, at("2026-11-28T01:30:00+01:00")).open
    assert not opening(night, (), OSLO, at("2026-11-28T02:00:00+01:00")).open
    always = hours({"days": list(WEEKDAYS), "from": "00:00", "to": "24:00"})
    found = opening(always, (), OSLO, at("2026-11-28T01:30:00+01:00"))
    assert found.open and found.until is None
    two = hours({**OFFICE, "to": "12:00"}, {**OFFICE, "from": "12:00"})
    until = opening(two, (), OSLO, at("2026-11-23T10:00:00+01:00")).until
    assert until is not None and until.hour == 15


SPANS = st.builds(
    lambda days, begins, ends: {"days": sorted(days), "from": begins, "to": ends if ends != begins else begins + 1},
    st.sets(st.sampled_from(WEEKDAYS), min_size=1),
    st.integers(0, 1439),
    st.integers(0, 1440),
)


@given(
    spans=st.lists(SPANS, min_size=1, max_size=3),
    closed=st.sets(st.dates(date(2026, 6, 1), date(2026, 6, 20)), max_size=6),
    minute=st.integers(0, 20 * 24 * 60),
)
def test_nobody_is_said_to_be_open_who_is_not(spans: list[dict[str, Any]], closed: set[date], minute: int) -> None:
    """What is told fits the plain reading of the hours, minute by minute; the next opening is open, and nothing before it is."""
    found = hours(*spans)
    now = datetime(2026, 6, 1, tzinfo=UTC) + timedelta(minutes=minute)

    def plainly(moment: datetime) -> bool:
        for one in found:
            for day in (moment.date(), moment.date() - timedelta(days=1)):
                minutes = int((moment - datetime(day.year, day.month, day.day, tzinfo=UTC)).total_seconds()) // 60
                ends = one.ends + (0 if one.ends > one.begins else 1440)
                if WEEKDAYS[day.weekday()] in one.days and day not in closed and one.begins <= minutes < ends:
                    return True
        return False

    told = opening(found, tuple(closed), "UTC", now)
    assert told.open == plainly(now)
    if told.opens is not None:
        assert told.opens > now and plainly(told.opens)
        between = (told.opens - now) / 7
        assert not any(plainly((now + between * part).replace(second=0)) for part in range(7))
    if told.until is not None:
        assert told.until > now and not plainly(told.until)


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "nb"])
def test_closed_is_never_a_promise(language: str) -> None:
    """Closed people are told to be closed, with when they open, by which clock; those who are open now stand first."""
    texts = load_languages(SHIPPED / "chat").texts[language].people
    now = at("2026-11-24T20:00:00+01:00").timestamp()
    people = OwnPeople(services=(service(), service(name="Night", hours="always", mail="a@b.no")), now=lambda: now)
    night, office = service_cards(people, texts, language, {})
    assert (night.name, night.open, office.open) == ("Night", True, False)
    assert texts.tomorrow.format(time="09:00") in office.hours and "Oslo" in office.hours
    assert texts.open.partition(" ")[0] not in office.hours.split() or language == "de"
    assert texts.mail_waits not in "\n".join(night.notes)


FAULTS = [
    ("hours: always", "", 3, "services.0.hours: The key is missing"),
    ("hours: always", "hours: []", 7, "at least 1"),
    ("hours: always", "hours: [{days: [mon], from: 9, to: 26:00}]", 7, "09:00"),
    ("hours: always", "hours: [{days: [mon], from: 09:00, to: 09:00}]", 7, "ends when it begins"),
    ("Europe/Oslo", "Europe/Lillehammer", 6, "no such time zone"),
    ("Europe/Oslo", "../../etc/passwd", 6, "no such time zone"),
    ('"22 33 44 56"', '"12 34 56 78"', 4, "placeholder"),
    ('"22 33 44 56"', '"+47 000 000 00"', 4, "placeholder"),
    ('"22 33 44 56"', '"call us"', 4, "digits"),
    ("kontakt@kontakt.no", "kontakt@example.org", 5, "stands where"),
    ("kontakt@kontakt.no", "kontakt", 5, "no address"),
    ("Kontakttelefonen", "TODO", 3, "stands where"),
    ("languages: [nb, en]", "languages: []", 8, "at least 1"),
    ("    can:", "    can: {en: Yes.}\n    might:", 10, "Unknown key"),
]


@pytest.mark.parametrize(("there", "put", "line", "said"), FAULTS, ids=[f"{one[0]}-{one[1]}" for one in FAULTS])
def test_a_wrong_file_is_named_with_its_line(tmp_path: Path, there: str, put: str, line: int, said: str) -> None:
    """No hours, an unknown zone, a number nobody answers: file, line and what is wrong; nothing of it is shown to people."""
    written = PEOPLE.replace(there, put, 1)
    assert written != PEOPLE
    (tmp_path / "people.yaml").write_text(written, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        read_people(tmp_path)
    assert caught.value.file == tmp_path / "people.yaml" and said in str(caught.value)
    assert caught.value.line == line


def test_check_names_what_is_wrong_and_warns_of_languages(tmp_path: Path) -> None:
    """`cafi check`: a fault is an error; a service that says in two languages what it can do, a warning; no file, nothing."""
    found = {}
    for name, files in {
        "right": {"people": PEOPLE},
        "wrong": {"people": PEOPLE.replace("Oslo", "Nowhere"), "corrections": "corrections: [{assistant: sleep}]"},
        "none": {},
    }.items():
        folder = config_with(tmp_path / name / "config", **files)
        running = shipped(CafiSettings(agents="builtin", config_folder=folder), given=shipped_parts())
        found[name] = [one for one in findings_of(running) if "people.yaml" in one.text or "corrections" in one.text]
    assert [one.level for one in found["right"]] == ["warning", "warning"] and "de, es, fr" in found["right"][0].text
    assert [one.level for one in found["wrong"]] == ["error", "error"]
    assert "people.yaml:6: services.0.zone" in " ".join(one.text for one in found["wrong"])
    assert not found["none"]


ASKED = {
    "en": ("can i talk to a human", "I want to speak to somebody", "let me talk to a human being", "connect me to a person"),
    "de": ("kann ich mit einem menschen reden", "kann ich mit jemandem sprechen", "Bitte verbinden Sie mich mit einer Person"),
    "es": ("quiero hablar con una persona real", "puedo hablar con un humano", "quiero hablar con alguien"),
    "fr": ("je veux parler à un humain", "puis-je parler à quelqu'un", "je voudrais parler à un être humain"),
    "nb": ("kan jeg snakke med et menneske", "jeg vil snakke med en ekte person", "kan jeg få snakke med noen"),
}  # fmt: skip


def test_a_wish_for_a_person_is_understood_in_the_middle_of_a_conversation() -> None:
    """Whatever was said before, the wish itself too; an ordinary question is none."""
    from engine.types import Message, Role

    engine = shipped_engine()
    service, guide = engine.service, engine.assistants["schizophrenia"].guide
    assert service is not None
    for before in ("why am I so tired?", "can I talk to a real person?"):
        earlier = (Message(role=Role.USER, content=before), Message(role=Role.ASSISTANT, content="Something."))
        for language, wishes in ASKED.items():
            for wish in wishes:
                rival = guide.likeness(wish, language)
                assert service.subject(wish, earlier, language, lambda _, like=rival: like) == "human_contact", wish
        ordinary = "Can I talk to my doctor about lowering the dose?"
        assert service.subject(ordinary, earlier, "en", lambda text: guide.likeness(text, "en")) != "human_contact"

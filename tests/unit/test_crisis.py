"""Contacts and the crisis referral."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from adapters.crisis import CountryContacts, load_referral, warnings
from engine.exceptions import ConfigurationError
from engine.text import sentences, words

FOLDER = Path(__file__).resolve().parents[2] / "config" / "crisis"
COUNTRIES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
TEXTS = (FOLDER / "texts" / "en.yaml").read_text(encoding="utf-8")
TODAY = date(2026, 11, 20)


def contact(name: str = "Emergency", number: str = "112", purpose: str = "emergency", extra: str = "") -> str:
    return f'  - {{name: {name}, number: "{number}", purpose: {purpose}{extra}}}\n'


def folder(tmp_path: Path, *contacts: str) -> Path:
    (tmp_path / "texts").mkdir(exist_ok=True)
    (tmp_path / "texts" / "en.yaml").write_text(TEXTS, encoding="utf-8")
    text = "country: xx\nname: Nowhere\ncontacts:\n" + "".join(contacts)
    (tmp_path / "xx.yaml").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("country", COUNTRIES)
def test_every_shipped_country_loads(country: str) -> None:
    """Each shipped country has usable contacts, an emergency number first."""
    contacts = load_referral(FOLDER, country).contacts
    assert contacts.country == country
    assert contacts.contacts[0].purpose == "emergency"
    assert load_referral(FOLDER, country.upper()).contacts == contacts


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("third_person", [False, True])
def test_the_referral_is_short_and_names_the_help_first(country: str, third_person: bool) -> None:
    """The fixed sentences have sixty words at most, begin by sending the person to the contacts, and each contact follows."""
    referral = load_referral(FOLDER, country)
    text, *lines = referral.full(third_person=third_person).split("\n")
    assert len(words(text)) <= 60
    assert sentences(text)[0].startswith("Please contact one of these now")
    assert lines[0] == f"- {referral.contacts.contacts[0].line()}"
    for one in referral.contacts.contacts:
        assert f"- {one.line()}" in lines
        assert (one.number or one.link) in one.line()


@pytest.mark.parametrize("country", COUNTRIES)
def test_the_short_forms_are_one_line_with_the_emergency_number(country: str) -> None:
    """Repeat and concern are one line each that names the emergency number and leaves no brace behind."""
    referral = load_referral(FOLDER, country)
    emergency = next(one for one in referral.contacts.contacts if one.purpose == "emergency")
    for line in (referral.repeated(), referral.concern()):
        assert "\n" not in line
        assert emergency.number in line
        assert "{" not in line


PLACEHOLDERS = [
    "0000",
    "00 00 00 00",
    "1234567",
    "12345",
    "123 456",
    "0123456789",
    "0800 000 000",
    "0800 123456",
    "1-800-555-5555",
    "555-0123",
    "+1 202 555 0147",
    "XXX",
    "0800 XXX XXX",
    "TODO",
    "tbd",
    "<number>",
    "{number}",
    "your number",
    "987654321",
]


@pytest.mark.parametrize("number", PLACEHOLDERS)
def test_placeholders_are_refused(tmp_path: Path, number: str) -> None:
    """A number that nobody can be reached at stops the start and names file and contact."""
    made = folder(tmp_path, contact(), contact("Line", number, "listening"))
    with pytest.raises(ConfigurationError, match="placeholder") as caught:
        load_referral(made, "xx")
    assert caught.value.file == made / "xx.yaml"
    assert caught.value.key == "Line"


@pytest.mark.parametrize(
    "number",
    [
        "112",
        "911",
        "999",
        "000",
        "113",
        "988",
        "116 123",
        "116 117",
        "0800 111 0 111",
        "741741",
        "85258",
        "13 11 14",
        "1717",
    ],
)
def test_real_numbers_are_taken(tmp_path: Path, number: str) -> None:
    """Real emergency and helpline numbers, however regular, are not taken for placeholders."""
    load_referral(folder(tmp_path, contact(), contact("Line", number, "listening")), "xx")


@pytest.mark.parametrize("link", ["https://example.org", "TODO", "https://xxx"])
def test_placeholder_links_are_refused(tmp_path: Path, link: str) -> None:
    """A contact that has only a link is checked for placeholders too."""
    row = f'  - {{name: Line, link: "{link}", purpose: directory}}\n'
    with pytest.raises(ConfigurationError, match="placeholder"):
        load_referral(folder(tmp_path, contact(), row), "xx")


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([contact(purpose="listening")], "No contact has the purpose 'emergency'"),
        ([contact(), "  - {name: Line, purpose: listening}\n"], "neither number nor link"),
        ([contact(extra=", colour: red")], "Unknown key"),
        ([contact(purpose="fun")], "Input should be"),
        ([contact(extra=", verified_on: 2026-02-31")], "impossible"),
    ],
)
def test_unusable_contacts_are_refused(tmp_path: Path, rows: list[str], problem: str) -> None:
    """No emergency contact, no way to reach one, an unknown key or purpose, or an impossible date stop the start."""
    with pytest.raises(ConfigurationError, match=problem):
        load_referral(folder(tmp_path, *rows), "xx")


def test_an_unknown_country_lists_the_known_ones(tmp_path: Path) -> None:
    """The error for a country without a file says which there are."""
    with pytest.raises(ConfigurationError, match="one of: xx"):
        load_referral(folder(tmp_path, contact()), "yy")


def test_old_or_missing_verification_warns(tmp_path: Path) -> None:
    """A contact that nobody verified, or not within a year, is a warning; a fresh one is not."""
    dates = {"Never": "", "Old": TODAY - timedelta(days=366), "Fresh": TODAY - timedelta(days=365)}
    rows = [contact(name, extra=f", verified_on: {day}" if day else "") for name, day in dates.items()]
    contacts = load_referral(folder(tmp_path, *rows), "xx").contacts
    assert isinstance(contacts, CountryContacts)
    found = {one.key: one.problem for one in warnings(contacts, tmp_path / "xx.yaml", TODAY)}
    assert found == {"Never": "Nobody has verified this contact.", "Old": "Last verified more than 365 days ago."}

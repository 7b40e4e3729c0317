"""Contacts and the crisis referral."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from engine.exceptions import ConfigurationError
from engine.text import words
from engine.urgency.referral import CountryContacts, Referral, load_referrals, warnings

FOLDER = Path(__file__).resolve().parents[2] / "config" / "crisis"
COUNTRIES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
TEXTS = (FOLDER / "texts" / "en.yaml").read_text(encoding="utf-8")
TODAY = date(2026, 11, 20)
SHIPPED = load_referrals(FOLDER, "international")
LANGUAGES = sorted(SHIPPED.texts)


def load_referral(folder: Path, country: str) -> Referral:
    return load_referrals(folder, country).choose()


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
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_referral_is_short_and_names_the_help_first(country: str, third_person: bool, language: str) -> None:
    """The fixed sentences have sixty words at most, name the emergency number first, and each contact follows."""
    referral = SHIPPED.choose(country, language)
    text, *lines = referral.full(third_person=third_person).split("\n")
    fixed = referral.texts.third_person if third_person else referral.texts.first_person
    assert len(words(fixed)) <= 60 and "{" not in text
    assert referral.contacts.first("emergency").number in text
    shown = [one.line(referral.texts.hours) for one in referral.contacts.contacts]
    assert lines[0] == f"- {shown[0]}"
    for one, line in zip(referral.contacts.contacts, shown, strict=True):
        assert f"- {line}" in lines
        assert (one.number or one.link) in line


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_hours_and_countries_are_told_in_every_language(language: str) -> None:
    """When somebody answers, and where, is said in the reader's language for every shipped contact."""
    said = {one.hours for country in SHIPPED.countries.values() for one in country.contacts if one.hours}
    hours = SHIPPED.texts[language].hours
    assert said == hours.keys() and all(hours[one] and hours[one] != one for one in said)
    names = SHIPPED.names_in(language)
    assert SHIPPED.texts[language].countries == names and names.keys() == SHIPPED.countries.keys()
    assert f"({hours['at any hour']})" in SHIPPED.choose("de", language).full()


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_short_forms_are_one_line_with_the_emergency_number(country: str, language: str) -> None:
    """Repeat, concern and the note after "I am safe" are one line each with the emergency number, no brace left."""
    referral = SHIPPED.choose(country, language)
    emergency = next(one for one in referral.contacts.contacts if one.purpose == "emergency")
    for line in (referral.repeated(), referral.concern(), referral.safe_noted()):
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


WANTED = [
    "international",
    "eu",
    "no",
    "de",
    "at",
    "ch",
    "es",
    "fr",
    "uk",
    "ie",
    "nl",
    "se",
    "dk",
    "us",
    "ca",
    "au",
    "nz",
]


def test_the_wanted_countries_and_languages_are_there() -> None:
    """Seventeen files of contacts and five languages of crisis texts are shipped."""
    assert set(WANTED) <= set(COUNTRIES)
    assert {"en", "nb", "de", "es", "fr"} == set(LANGUAGES)


def test_an_unknown_country_is_told_honestly_that_numbers_differ() -> None:
    """The international referral says that emergency numbers differ by country."""
    assert "differ by country" in SHIPPED.choose("international").full()


@pytest.mark.parametrize(
    ("said", "code"), [("Norway", "no"), ("NO", "no"), (" gb ", "uk"), ("usa", "us"), ("mars", None)]
)
def test_a_country_is_found_by_code_or_name(said: str, code: str | None) -> None:
    """People name their country by code or name; a country without data is not guessed."""
    assert SHIPPED.find(said) == code


def test_what_there_is_no_data_for_falls_back_to_the_operators_choice() -> None:
    """An unknown country or language shows the operator's default, never nothing."""
    assert SHIPPED.choose("xx", "yy") == SHIPPED.choose("international", "en")

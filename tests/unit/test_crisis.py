"""Contacts and the crisis referral."""

from __future__ import annotations

import re
from datetime import date, timedelta
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest

from adapters.web_adapter.prose import prose, with_contacts, with_links
from engine.exceptions import ConfigurationError
from engine.language.text import sentences, words
from engine.types import Kind
from engine.urgency.contacts import CountryContacts, contact_warnings
from engine.urgency.referral import Referral, load_referrals

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
    """Each shipped country has usable contacts, an emergency number among the first two."""
    contacts = load_referral(FOLDER, country).contacts
    assert contacts.country == country
    assert contacts.emergency in contacts.contacts[:2]
    assert load_referral(FOLDER, country.upper()).contacts == contacts


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("third_person", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_referral_is_short_and_names_the_help_at_once(country: str, third_person: bool, language: str) -> None:
    """A few words take up what was told, then the emergency number is named; whoever else is near follows in order, once."""
    referral = SHIPPED.choose(country, language)
    text, *lines = referral.full(kind=Kind.FEAR, third_person=third_person).split("\n")
    fixed = referral.texts.third_person if third_person else referral.texts.first_person
    assert len(words(fixed)) <= 60 and "{" not in text
    taken_up, called, *_ = sentences(text)
    assert len(words(taken_up)) <= 12 and referral.contacts.emergency.number in called
    whole = [(one, f"- {referral.texts.line.format(title=one.title, reach=one.reach)}") for one in referral.lines()]
    shown = [one for one, told in whole if any(line == told or line.startswith(f"{told} (") for line in lines)]
    assert len(shown) == sum(line.startswith("- ") for line in lines)
    for one in referral.lines():
        named = re.search(rf"(?<!\d)(?<!\d ){re.escape(one.contact.number or 'none')}(?! ?\d)", called) is not None
        place = one.title.split()[1] if not (one.contact.number or one.contact.address) else "none"
        named = named or place in called  # where one goes to, as the sentence says already
        assert (named or one in shown) is (third_person or one.contact.purpose != "family" or shown == [one])
        assert not (named and one in shown)


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("third_person", [False, True])
def test_where_a_body_is_in_danger_nobody_is_named_who_only_listens(country: str, third_person: bool) -> None:
    """Emergency services and doctors stand there, and no line that listens, unless the sentence is the country's own."""
    referral = SHIPPED.choose(country, "en")
    said = referral.full(kind=Kind.MEDICAL, third_person=third_person)
    assert referral.contacts.emergency.number in said
    listed = [line for line in said.split("\n") if line.startswith("- ")]
    others = [one for one in referral.lines() if one.contact.purpose not in {"emergency", "medical"}]
    assert not any(line.startswith(f"- {one.title}:") for one in others for line in listed)
    if country not in referral.texts.own:
        assert not any(one.contact.name and one.contact.name in said for one in others)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("language", LANGUAGES)
def test_what_takes_up_what_was_told_is_short(kind: Kind, language: str) -> None:
    """Before the number stand twenty words at most, whatever was told."""
    text = SHIPPED.choose("de", language).full(kind=kind)
    assert len(words(text[: text.index("112")])) <= 26


SAME_IN_ENGLISH = {"ambulance", "police", "in England", "in Bogotá"}
"""What some other language writes as English does."""
PLACES = {
    ("in", "england"),
    ("in", "bogota"),
    ("in", "buenos"),
    ("in", "quebec"),
    ("buenos", "aires"),
    ("new", "zealand"),
    ("torres", "strait"),
    ("capital", "region"),
    ("region", "hovedstaden"),
}
"""Two words in a row that are, or end in, the name of a place."""


def english(text: str) -> str:
    """A text without what the texts of its country's file call by a name: names, numbers, addresses, words to text."""
    proper = {
        part
        for country in SHIPPED.countries.values()
        for one in country.contacts
        for part in (one.name, one.number, one.link if one.address else "", one.send)
        if part
    }
    for part in sorted(proper, key=len, reverse=True):
        text = text.replace(part, " ")
    return text


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_nothing_of_a_referral_is_left_in_english(country: str, language: str) -> None:
    """Every text of every country, without proper names, shares no run of two words with English in another language."""
    referral, other = SHIPPED.choose(country, language), SHIPPED.choose(country, "en")

    def runs(one: Referral) -> set[tuple[str, str]]:
        shown = (
            one.full(),
            one.full(third_person=True),
            one.repeated(),
            one.near(),
            one.concern(),
            one.safe_noted(),
            one.note,
        )
        said = [words(english(line)) for text in shown for line in text.split("\n")]
        pairs = {pair for line in said for pair in pairwise(line)}
        return {pair for pair in pairs if not any(word.isdecimal() for word in pair)}

    assert runs(referral) & runs(other) - PLACES == set()
    for text in (referral.full(), referral.full(third_person=True), referral.note):
        assert not {"the", "and", "with", "you", "your", "call", "hour", "number", "line"} & set(words(english(text)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_word_of_the_countries_files_is_said_in_every_language(language: str) -> None:
    """Hours, what contacts are, notes, languages and countries are all translated, and nothing else is kept for it."""
    texts, countries = SHIPPED.texts[language], SHIPPED.countries.values()
    contacts = [one for country in countries for one in country.contacts]
    spoken = {one for contact in contacts for one in contact.languages}
    assert texts.languages.keys() == spoken
    if language == "en":
        return
    hours = {one.hours for one in contacts} - {""}
    phrases = {part for one in contacts for part in (one.what, one.about, "" if one.address else one.link)}
    phrases |= {country.note for country in countries}
    assert texts.hours.keys() == hours and texts.phrases.keys() == phrases - {""}
    assert texts.countries.keys() == SHIPPED.countries.keys()
    assert texts.countries == SHIPPED.names_in(language)
    said = {**texts.hours, **texts.phrases}
    assert {one for one, told in said.items() if not told.strip() or told == one} <= SAME_IN_ENGLISH


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_number_of_a_referral_dials_on_the_page(country: str, language: str) -> None:
    """On the web page each number of the text is a link, `tel:`, or `sms:` where one writes; no other digits are in it."""
    referral = SHIPPED.choose(country, language)
    near = {one.address for one in referral.contacts.contacts if one.number and one.purpose != "family"}
    everybody = {one.address for one in referral.contacts.contacts if one.number}
    for text, wanted in ((referral.full(), near), (referral.full(third_person=True), everybody)):
        html = str(with_links(prose(text), "", referral))
        assert set(re.findall(r'href="((?:tel|sms):[^"]+)"', html)) == wanted
        rest = unescape(re.sub(r"<a class=\"tel\".*?</a>|<[^>]*>", " ", html))
        for contact in referral.contacts.contacts:
            rest = rest.replace(contact.name, " ") if contact.name else rest
        allowed = {"4", "5"} & {found for one in referral.lines() for found in re.findall(r"\d+", one.details)}
        assert set(re.findall(r"\d+", rest)) <= allowed
    for named in (referral.brief(), referral.emergency()):
        linked = str(with_contacts(prose(f"Take 112 mg, 999 times. {named}"), referral))
        assert "Take 112 mg, 999 times." in linked and linked.count("<a ") >= 1
    texted = [one for one in referral.contacts.contacts if one.purpose == "text"]
    assert all(one.address.startswith("sms:") for one in texted)


@pytest.mark.parametrize("country", COUNTRIES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_short_forms_are_one_line_with_the_emergency_number(country: str, language: str) -> None:
    """What is repeated, or said to who is safe or goes on, is one line each with the emergency number, no brace left."""
    referral = SHIPPED.choose(country, language)
    emergency = referral.contacts.emergency
    noted = (referral.safe_noted(), referral.noted(), referral.noted_open())
    for line in (referral.repeated(), referral.near(), referral.concern(), *noted):
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
        ([contact(), "  - {number: '113', purpose: listening}\n"], "needs a name, or what it is"),
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
    found = {one.key: one.problem for one in contact_warnings(contacts, tmp_path / "xx.yaml", TODAY)}
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
    "ar",
    "be",
    "cl",
    "co",
    "in",
    "li",
    "lu",
    "mx",
    "pe",
    "sg",
    "uy",
    "za",
]


def test_the_wanted_countries_and_languages_are_there() -> None:
    """Twenty-nine files of contacts and five languages of crisis texts are shipped."""
    assert set(WANTED) <= set(COUNTRIES)
    assert {"en", "nb", "de", "es", "fr"} == set(LANGUAGES)


def test_an_unknown_country_is_told_honestly_that_numbers_differ() -> None:
    """The international referral says that emergency numbers differ by country."""
    assert "depending on where you are" in SHIPPED.choose("international").full()


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("third_person", [False, True])
def test_whoever_is_anywhere_reads_every_emergency_number_in_the_first_sentences(
    language: str, third_person: bool
) -> None:
    """Where the country is not known, the sentence that names help has 112, 911, 999, 000 and 111, and no website."""
    first = sentences(SHIPPED.choose("international", language).full(third_person=third_person))[1]
    assert re.findall(r"\d+", first) == ["112", "911", "999", "000", "111"] and "findahelpline" not in first


@pytest.mark.parametrize("language", LANGUAGES)
def test_in_the_united_states_988_comes_before_911_and_in_the_united_kingdom_ireland_has_its_line(
    language: str,
) -> None:
    """Where help is named, the US lead with 988; the UK names 111 and, for Northern Ireland, Lifeline."""
    us = sentences(SHIPPED.choose("us", language).full())[1]
    assert us.index("988") < us.index("911")
    uk = sentences(SHIPPED.choose("uk", language).full())[1]
    assert "999" in uk and "111" in uk and "0808 808 8000" in uk


def test_a_place_with_a_short_name_is_named_like_any_other(tmp_path: Path) -> None:
    """What the sentence above has not said is in the list below it, however short its name is."""
    referral = load_referral(folder(tmp_path, contact(), contact("A&E", "", "medical", ", link: the hospital")), "xx")
    assert "\n- A&E" in referral.full(kind=Kind.FEAR)


def test_a_sentence_of_a_countrys_own_cannot_name_another_number(tmp_path: Path) -> None:
    """A number that was changed among the contacts, and not in the sentence of the country's own, stops the start."""
    made = folder(tmp_path, contact())
    own = 'own:\n  xx: {call: "Call 113.", call_about: "Call 112."}\n'
    changed = re.sub(r"own:\n(?:  .*\n)+", own, TEXTS)
    (tmp_path / "texts" / "en.yaml").write_text(changed, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="not among the country's contacts") as caught:
        load_referral(made, "xx")
    assert caught.value.key == "own.xx.call"


def test_a_country_with_one_number_only_has_a_whole_sentence(tmp_path: Path) -> None:
    """Where nobody but the emergency services can be called, the sentence ends after their number."""
    said = load_referral(folder(tmp_path, contact()), "xx").full()
    assert " Please call 112 now.\n" in said


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("Norway", "no"),
        ("NO", "no"),
        (" gb ", "uk"),
        ("usa", "us"),
        ("mars", None),
        ("Østerrike", "at"),
        ("ostEUROPA", None),
        ("Espana", "es"),
        ("Pérou", "pe"),
    ],
)
def test_a_country_is_found_by_code_or_name(said: str, code: str | None) -> None:
    """People name their country by code or name; a country without data is not guessed."""
    assert SHIPPED.find(said) == code


def test_what_there_is_no_data_for_falls_back_to_the_operators_choice() -> None:
    """An unknown country or language shows the operator's default, never nothing."""
    assert SHIPPED.choose("xx", "yy") == SHIPPED.choose("international", "en")


@pytest.mark.parametrize(
    ("said", "denies"),
    [
        ("nooo im good just fat and mad about it", True),
        ("nah, had a rough day that is all", True),
        ("nein, mir gehts gut, nur müde", True),
        ("mais non, c'est une chanson", True),
        ("no estoy bien, es una broma", True),
        ("neida, bare sliten", True),
        ("no one would care anyway", False),
        ("no point asking me that", False),
        ("no puedo más con esto", False),
        ("what do you mean", False),
        ("", False),
    ],
)
def test_a_no_that_goes_on_is_told_from_words_that_only_begin_like_one(said: str, denies: bool) -> None:
    """A message that begins with a no to the check question is one in any language; "no one cares" is none."""
    assert SHIPPED.denies(said) is denies

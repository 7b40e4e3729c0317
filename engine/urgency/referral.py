"""Where to find help: the fixed texts of the crisis referral, with a country's contacts put in. No model has a part in this."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, model_validator

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.knowledge.dangers import FirstAid
from engine.language.sayings import agrees
from engine.language.text import words
from engine.settings import Strict
from engine.texts import check_braces
from engine.types import DangerAnswer, Kind
from engine.urgency.contacts import ANYWHERE, Contact, CountryContacts, read_contacts

_ARTICLE = 3  # letters at most: "al servicio" is "el servicio"
_REPEATED = re.compile(r"(\w)\1{2,}")  # "nooo"

NOT_ALONG = frozenset({Kind.OTHERS, Kind.FEAR})
"""In such a danger nobody is told to go with the person they are worried about: they may be the one who gets hurt."""
_PUT_IN: Mapping[str, frozenset[str]] = {
    "call": frozenset({"emergency", "or_line"}),
    "call_about": frozenset({"emergency", "or_line"}),
    "or_line": frozenset({"line"}),
    "first_person": frozenset({"call", "opening"}),
    "third_person": frozenset({"call", "opening"}),
    "today": frozenset({"emergency"}),
    **dict.fromkeys(
        ("repeat", "repeat_medical", "near", "concern", "declined", "safe_noted", "noted_open"), frozenset({"contacts"})
    ),
    "noted": frozenset({"remark", "contacts"}),
    "line": frozenset({"title", "reach"}),
    "send": frozenset({"word"}),
}


class OwnTexts(Strict):
    """What is said for one country in other words than for the rest. Its numbers are those of the country's contacts.

    `emergency` and `contacts` stand inside other sentences; `call_apart`: about somebody whom nobody is told to go along with,
    where `call_about` says so.
    """

    call: str
    call_about: str
    call_apart: str = ""
    emergency: str = ""
    contacts: str = ""


class Buttons(Strict):
    """What stands on the buttons: three answers to the check question, and one below the referral."""

    yes: str
    no: str
    other: str
    safe: str


class ReferralTexts(Strict):
    """The fixed sentences about danger in one language; what braces name is put in. None says that a danger is there.

    `openings` take up what was told (`opening_about` where somebody else is in danger), `checks` are the check question,
    both by kind, `check_faint` that after a faint suspicion; `safe_question` is asked with the line (`repeat`, where a body
    is in danger `repeat_medical`, and `near` below a reply to what was said); `answers`: few words that answer the question
    or say that the person is safe; `noted`: said to who tells that a danger is being dealt with, after a sentence to what they
    tell or, where none fits, `noted_first`; `noted_open` to who goes on and sounds like danger still; `denials`: how a message
    begins that says no to the question and goes on; `declined`: said after a no. `call` and `call_about` say whom to call, for
    oneself and about somebody else, `today` that a body needs help within the day; `own` says it for one country.
    `matters_about` leads to steps that are somebody else's, and `after_aid` or `after_aid_about` follows what is to be done,
    where that is known.
    `hours`, `phrases`, `languages` and `countries` are what the countries' files say, in this language; what is not in them
    stays as it is there.
    """

    call: str
    call_about: str
    or_line: str
    openings: dict[Kind, str]
    opening_about: str
    first_person: str
    third_person: str
    today: str
    matters_about: str
    in_their_words: str
    after_aid: str
    after_aid_about: str
    safe_question: str
    repeat: str
    repeat_medical: str
    near: str
    concern: str
    checks: dict[Kind, str]
    check_faint: str
    declined: str
    safe_noted: str
    noted: str
    noted_first: str
    noted_open: str
    buttons: Buttons
    answers: dict[DangerAnswer, tuple[str, ...]]
    denials: tuple[str, ...] = ()
    ask_country: str
    rather_not: str
    another_country: str
    more_countries: str
    line: str
    between: str
    send: str
    own: dict[str, OwnTexts] = Field(default_factory=dict)
    hours: dict[str, str] = Field(default_factory=dict)
    phrases: dict[str, str] = Field(default_factory=dict)
    languages: dict[str, str] = Field(default_factory=dict)
    countries: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _whole(self) -> ReferralTexts:
        check_braces(self.model_dump(), _PUT_IN)
        lacking = [f"openings.{kind}" for kind in Kind if kind not in self.openings]
        lacking += [] if Kind.UNCLEAR in self.checks else ["checks.unclear"]
        lacking += [f"answers.{one}" for one in DangerAnswer if not self.answers.get(one)]
        if lacking:
            raise ValueError(f"{lacking[0]} is missing")
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class ContactLine:
    """A contact as the reader reads it: what it is called, where it is reached, and what is said of it."""

    contact: Contact
    title: str
    reach: str
    details: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Referral:
    """The referral for one country in one language."""

    contacts: CountryContacts
    texts: ReferralTexts
    language: str = "en"

    def full(
        self,
        *,
        kind: Kind = Kind.UNCLEAR,
        third_person: bool = False,
        wanted: bool = False,
        aid: FirstAid | None = None,
    ) -> str:
        """The whole text: a few words take up what was told, the next sentence names the help; who else can be reached
        follows. Nobody is named twice. Whom families turn to by day is left out, unless the worry is about somebody else;
        whoever only listens, where a body is in danger. `wanted`: the contacts were asked for, so that nothing was told and all
        of them follow. `aid`: what to do. What can wait until the day's end is said only where a body is in danger."""
        medical = kind is Kind.MEDICAL and not wanted
        own = self._for_a_body if medical else self._own
        call = own.call_about if third_person else own.call
        line = self.contacts.doctor if medical else self.contacts.line
        if third_person and kind in NOT_ALONG:
            call = own.call_apart or call
        called = call.format(emergency=self.contacts.emergency.number, or_line=self._or(line))
        opening = "" if wanted else self.texts.opening_about if third_person else self.texts.openings[kind]
        if aid is not None and (aid.now or medical) and (third_person or not aid.to_helpers):
            called = (
                called
                if aid.now
                else self.texts.today.format(emergency=own.emergency or self._named(self.contacts.emergency))
            )
            said = self._aided(aid, opening, called, third_person=third_person)
        else:
            text = self.texts.third_person if third_person else self.texts.first_person
            said = text.format(call=called, opening=opening).strip()
        others = [one for one in self.lines() if not _told_of(one, called)]
        if medical:
            others = [one for one in others if one.contact.purpose in {"emergency", "medical"}]
        elif not (third_person or wanted):
            others = [one for one in others if one.contact.purpose != "family"] or others
        return "\n".join((said, *self._listed(others)))

    def _aided(self, aid: FirstAid, opening: str, called: str, *, third_person: bool) -> str:
        # What the person in danger would do and say is told as theirs to whoever calls for them.
        theirs = third_person and aid.say and aid.own_words
        lead = (self.texts.matters_about,) if theirs else ()
        do = (*lead, *(f"- {one}" for one in aid.do)) if aid.do else ()
        after = self.texts.after_aid_about if third_person else self.texts.after_aid
        say = f"{self.texts.in_their_words} “{aid.own_words}”" if theirs else aid.say
        return "\n".join((f"{opening} {called}".strip(), *do, *((say,) if say else ()), after))

    def is_one(self, text: str) -> bool:
        """Whether a text is one that may stand in place of an answer, whole or as one line."""
        aids = (None, FirstAid(do=(), say="", now=True), FirstAid(do=(), say="", now=False))
        whole = (
            self.full(kind=kind, third_person=third, aid=aid)
            for kind in Kind
            for third in (False, True)
            for aid in aids
        )
        begins = {one.partition("\n")[0] for one in whole}
        again = {self.repeated(kind=kind, third_person=third) for kind in Kind for third in (False, True)}
        return text.partition("\n")[0] in begins or text in again

    def listed(self) -> str:
        """The contacts alone, for somebody who only looks them up."""
        return "\n".join(self._listed(self.lines()))

    def _listed(self, chosen: Iterable[ContactLine]) -> Iterator[str]:
        for one in chosen:
            told = f" ({one.details})" if one.details else ""
            yield f"- {self.texts.line.format(title=one.title, reach=one.reach)}{told}"
        if self.note:
            yield self.note

    def lines(self) -> tuple[ContactLine, ...]:
        """Every contact, in the reader's language."""
        return tuple(self._line(one) for one in self.contacts.contacts)

    @property
    def note(self) -> str:
        """What a reader must know about the contacts."""
        return self._phrase(self.contacts.note)

    def repeated(self, *, kind: Kind = Kind.UNCLEAR, third_person: bool = False) -> str:
        """One line, for when the whole text was shown a moment ago; where a body is in danger, whom one calls says what to do."""
        if kind is Kind.MEDICAL:
            contacts = self._for_a_body.emergency or self._first(self.contacts.doctor)
            return self._asking(self.texts.repeat_medical, contacts, third_person=third_person)
        return self._asking(self.texts.repeat, self.brief(), third_person=third_person)

    def near(self, *, third_person: bool = False) -> str:
        """The same below a reply to what was said."""
        return self._asking(self.texts.near, self.brief(), third_person=third_person)

    def _asking(self, text: str, contacts: str, *, third_person: bool) -> str:
        said = f"{text.format(contacts=contacts).rstrip('.')}."
        return said if third_person else f"{said} {self.texts.safe_question}"

    def concern(self) -> str:
        """One line below an answer."""
        return self.texts.concern.format(contacts=self.brief())

    def check(self, kind: Kind = Kind.UNCLEAR, *, faint: bool = False) -> str:
        """The check question: one calm sentence, direct where a suspicion is more than faint."""
        if faint:
            return self.texts.check_faint
        return self.texts.checks.get(kind, self.texts.checks[Kind.UNCLEAR])

    def declined(self) -> str:
        """What is said to somebody who has answered it with no."""
        return self.texts.declined.format(contacts=self.brief())

    def safe_noted(self) -> str:
        """One line after somebody has said that they are safe: the contacts stay in view."""
        return self.texts.safe_noted.format(contacts=self.brief())

    def noted(self, said: str = "") -> str:
        """What is said to somebody who tells that a danger is being dealt with; `said`: a kind sentence to what they tell."""
        return self.texts.noted.format(remark=said or self.texts.noted_first, contacts=self.brief())

    def noted_open(self) -> str:
        """What is said to somebody who goes on while a danger is open, and does not sound as if it were dealt with."""
        return self.texts.noted_open.format(contacts=self.brief())

    def emergency(self, kind: Kind = Kind.UNCLEAR) -> str:
        """Whom to call in an emergency, inside a sentence; where a body is in danger, in that."""
        own = self._for_a_body if kind is Kind.MEDICAL else self._own
        return own.emergency or self._named(self.contacts.emergency)

    def brief(self) -> str:
        """The first contacts, inside a sentence."""
        return self._own.contacts or self._own.emergency or self._first(self.contacts.line)

    def _first(self, beside: Contact | None) -> str:
        chosen = (self.contacts.emergency, beside)
        return self.texts.between.join(self._named(one) for one in chosen if one is not None)

    @property
    def _own(self) -> OwnTexts:
        ours = OwnTexts(call=self.texts.call, call_about=self.texts.call_about)
        return self.texts.own.get(self.contacts.country, ours)

    @property
    def _for_a_body(self) -> OwnTexts:
        """What a country says in words of its own is of lines for the mind; where the country is not known, of all numbers."""
        anywhere = self.contacts.country == ANYWHERE
        return self._own if anywhere else OwnTexts(call=self.texts.call, call_about=self.texts.call_about)

    def _or(self, line: Contact | None) -> str:
        return "" if line is None else self.texts.or_line.format(line=self._named(line))

    def _named(self, contact: Contact) -> str:
        """A contact inside a sentence, the number first; an emergency number has a name only for those who speak there."""
        foreign = contact.purpose == "emergency" and not self._native(contact)
        name = "" if foreign and contact.what else contact.name
        return f"{contact.number} ({name or self._phrase(contact.what)})"

    def _native(self, contact: Contact) -> bool:
        return contact.languages[:1] == (self.language,)

    def _phrase(self, said: str) -> str:
        return self.texts.phrases.get(said, said)

    def _line(self, contact: Contact) -> ContactLine:
        what = self._phrase(contact.what)
        # A Norwegian knows what a legevakt is, and a Frenchman what the SAMU does.
        known = what.casefold() == contact.name.casefold() or (contact.purpose == "emergency" and self._native(contact))
        told = "" if known else what
        capital = what[:1].upper() + what[1:]
        title = f"{contact.name} ({told})" if contact.name and told else contact.name or capital
        spoken = () if contact.languages == (self.language,) else contact.languages
        details = (
            self.texts.send.format(word=contact.send) if contact.send else "",
            self._phrase(contact.about),
            self.texts.hours.get(contact.hours, contact.hours),
            ", ".join(self.texts.languages.get(one, one) for one in spoken),
        )
        reach = contact.number or self._phrase(contact.link)
        said = self.texts.between.join(one for one in details if one)
        return ContactLine(contact=contact, title=title, reach=reach, details=said)


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
        known = language if language and language in self.texts else self.language
        return Referral(contacts=contacts, texts=self.texts[known], language=known)

    def names_in(self, language: str | None) -> dict[str, str]:
        """Country codes and names in a language, by name; an accent does not change a name's place."""
        known = self.choose(None, language).texts.countries
        names = ((code, known.get(code, contacts.name)) for code, contacts in self.countries.items())
        return dict(sorted(names, key=lambda one: _plain(one[1])))

    def offered(self, language: str | None) -> dict[str, str]:
        """The same for choosing: last, what is right for everybody whose country is not among them."""
        names = self.names_in(language)
        if names.pop(ANYWHERE, None) is None:
            return names
        return {**names, ANYWHERE: self.choose(None, language).texts.another_country}

    def answer(self, message: str, *answers: DangerAnswer) -> DangerAnswer | None:
        """Which of these answers a message is, in a few words of any language; None for whatever says more."""
        every = [(one, text) for text in self.texts.values() for one in answers]
        exact = next((one for one, text in every if agrees(message, text.answers[one])), None)
        if exact is not None or DangerAnswer.YES not in answers:
            return exact
        # Who says yes and goes on has said yes; who says no and goes on may have said anything.
        return DangerAnswer.YES if _begins(message, _rows(self.texts.values(), DangerAnswer.YES)) else None

    def denies(self, message: str) -> bool:
        """Whether a message begins with a no to the check question, in any language, and goes on."""
        told = _REPEATED.sub(r"\1", message)
        return _begins(told, (tuple(words(one)) for text in self.texts.values() for one in text.denials))

    def find(self, said: str) -> str | None:
        """The code of a country somebody names, by code or by its name in any language; None where there is no data."""
        wanted = _plain(said.strip())
        codes = {"gb": "uk", "en": "uk", "usa": "us", "int": ANYWHERE}
        named = {_plain(name): code for one in self.texts for code, name in self.names_in(one).items()}
        code = wanted if wanted in self.countries else named.get(wanted) or codes.get(wanted)
        return code if code in self.countries else None


def _told_of(line: ContactLine, text: str) -> bool:
    """Whether a text names a contact: its number, or the place that one goes to."""
    if line.contact.number or line.contact.address:
        return _names(text, line.contact.number)
    said, named = set(words(text)), [one for one in words(line.title) if len(one) > _ARTICLE]
    return bool(named) and said.issuperset(named)


def _names(text: str, number: str) -> bool:
    return bool(number) and re.search(rf"(?<!\d)(?<!\d ){re.escape(number)}(?! ?\d)", text) is not None


def _rows(texts: Iterable[ReferralTexts], answer: DangerAnswer) -> Iterator[tuple[str, ...]]:
    return (tuple(words(one)) for text in texts for one in text.answers[answer])


def _begins(message: str, rows: Iterable[tuple[str, ...]]) -> bool:
    said = tuple(words(message))
    return any(said[: len(row)] == row for row in rows if row)


def _plain(name: str) -> str:
    """A name without its accents and capitals."""
    split = unicodedata.normalize("NFKD", name)
    return "".join(one for one in split if not unicodedata.combining(one)).casefold()


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
    for code, said in texts.items():
        for fault in foreign_numbers(said, countries, folder / "texts" / f"{code}.yaml"):
            raise fault
    return Referrals(countries=countries, texts=texts, country=country.casefold(), language=language)


def foreign_numbers(
    texts: ReferralTexts, countries: Mapping[str, CountryContacts], path: Path
) -> list[ConfigurationError]:
    """Sentences of a country's own with a number that is not among its contacts, as after a number was changed in one place."""
    found = []
    for country, own in texts.own.items():
        if country not in countries:
            continue
        known = countries[country].contacts
        numbers = sorted((re.escape(one.number) for one in known if one.number), key=len, reverse=True)
        for key, said in own.model_dump().items():
            if re.search(r"\d", re.sub("|".join(numbers) or r"(?!)", "", said)):
                problem, remedy = "It names a number that is not among the country's contacts.", "Use theirs."
                found.append(ConfigurationError(problem, file=path, key=f"own.{country}.{key}", remedy=remedy))
    return found

"""The first urgency layer: phrases and guards from data files, matched against normalised words.

A rule finds a phrase and proposes a level. A guard lowers what was found where the words around it say that
it is no present danger: negated, past and resolved, told of a film, an idiom, a question. A guard lowers only
hits of its own sentence, so that it never silences another one. A message that is nothing but words in quotation marks,
after others that say whose they are, is at most `concern`. Signals are rule ids, never text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from engine.exceptions import RuleError
from engine.files import read_yaml
from engine.text import sentences
from engine.types import LayerResult, Message, Role, UrgencyLevel
from engine.urgency.normalise import Normaliser, plain
from engine.urgency.patterns import Compiler, Matcher, Pattern, PatternError

_EARLIER = 3  # of the person's messages
_TOLD = 6  # of the person's messages in which a medicine or a danger may have been named
_CLEAR = 2  # small words of one language by which it is known
_LENGTH = 4000  # characters of a message that are read
_QUOTED = re.compile(r'\s*["“”„«»][^"“”„«»]*["“”„«»][\s.!?]*')


def _lines(value: object) -> object:
    """A block of text as its lines, without blank ones and comments; anything else as it is."""
    if not isinstance(value, str):
        return value
    lines = (line.strip() for line in value.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _words(value: object) -> object:
    return tuple(value.split()) if isinstance(value, str) else value


def _pairs(value: object) -> object:
    """Lines of `wrong wrong = right` as a mapping."""
    if not isinstance(value, str):
        return value
    sides = [line.partition("=") for line in value.splitlines() if line.strip()]
    return {wrong: right.strip() for wrongs, _, right in sides for wrong in wrongs.split()}


Views = tuple[tuple[str, ...], ...]
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
Patterns = Annotated[tuple[str, ...], BeforeValidator(_lines), Field(min_length=1)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Category(StrEnum):
    """What a rule is about."""

    SUICIDE = "suicide"
    SELF_HARM = "self_harm"
    HARM_TO_OTHERS = "harm_to_others"
    COMMAND_VOICES = "command_voices"
    ACUTE_PSYCHOSIS = "acute_psychosis"
    MEDICINE_EMERGENCY = "medicine_emergency"
    ABUSE_DANGER = "abuse_danger"
    REFUSING_FOOD = "refusing_food"
    MISSING = "missing"
    DISTRESS = "distress"
    DELUSION = "delusion"


class Scope(StrEnum):
    """How near a guard must stand: its words overlap the phrase, or they are in the same sentence."""

    OVERLAP = "overlap"
    SENTENCE = "sentence"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RuleEntry(_Entry):
    """A rule as written; without a language the guards of all languages lower it.

    `delusional` sets the flag; `follow_up` rules count only after an earlier hit; where there is `before`, it must be
    in the message or in one of the person's last ones.
    """

    id: str = Field(pattern=r"^[a-z_]+(\.[a-z_]+)+$")
    category: Category
    lang: str | None = Field(default=None, pattern=r"^(en|nb|de|es|fr)$")
    level: UrgencyLevel
    delusional: bool = False
    follow_up: bool = False
    patterns: Patterns
    before: Lines = ()
    asked: Lines = ()


class PassedEntry(_Entry):
    """Words that say that a danger is over, for hits of its categories in earlier messages.

    They count only where `unless` matches nowhere in the message, and lower hits in their own sentence to `concern`.
    """

    id: str = Field(pattern=r"^[a-z_]+(\.[a-z_]+)+$")
    lang: str | None = Field(default=None, pattern=r"^(en|nb|de|es|fr)$")
    categories: tuple[Category, ...] = tuple(Category)
    patterns: Patterns
    unless: Lines = ()


class GuardEntry(_Entry):
    """A guard as written, for the rules of its language (without one: for all).

    It lowers to `to`, not where `unless` matches the sentence, and only where `also` is in the message.
    """

    id: str = Field(pattern=r"^[a-z_]+(\.[a-z_]+)+$")
    lang: str | None = Field(default=None, pattern=r"^(en|nb|de|es|fr)$")
    scope: Scope
    to: UrgencyLevel
    categories: tuple[Category, ...] = tuple(Category)
    patterns: Patterns
    unless: Lines = ()
    also: Lines = ()


class RuleFile(_Entry):
    """One file as written; `common`, `spellings` and `fuzzy` are for the normaliser.

    `languages` lists frequent small words by which a message of one language is told from the others.
    """

    common: Words = ()
    spellings: Annotated[dict[str, str], BeforeValidator(_pairs)] = {}
    fuzzy: Words = ()
    languages: dict[str, Words] = {}
    classes: dict[str, Patterns] = {}
    rules: tuple[RuleEntry, ...] = ()
    guards: tuple[GuardEntry, ...] = ()
    passed: tuple[PassedEntry, ...] = ()

    def names(self) -> tuple[str, ...]:
        """What must be unique over all files: the names of classes and the ids of all entries."""
        ids = (one.id for entries in (self.rules, self.guards, self.passed) for one in entries)
        return (*(f"classes.{name}" for name in self.classes), *ids)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Guard:
    entry: GuardEntry
    unless: Matcher
    also: Matcher


@dataclass(frozen=True, kw_only=True, slots=True)
class _Passed:
    entry: PassedEntry
    said: Matcher
    unless: Matcher


class UrgencyRules:
    """The rules of all files as a fast layer."""

    name = "rules"

    def __init__(self, file: RuleFile) -> None:
        """Parse everything once; raises PatternError with the key of the entry."""
        compiler = Compiler(classes=file.classes)
        for name in file.classes:
            _check_class(compiler, name)
        self.rules = file.rules
        compiled = [_compiled(compiler, rule.id, rule.patterns) for rule in file.rules]
        shields = [_compiled(compiler, guard.id, guard.patterns) for guard in file.guards]
        self._rules = Matcher((place, one) for place, some in enumerate(compiled) for one in some)
        self._shields = Matcher((place, one) for place, some in enumerate(shields) for one in some)
        self._guards = tuple(_guard(compiler, entry) for entry in file.guards)
        self._passed = tuple(_passed(compiler, entry) for entry in file.passed)
        before = {place: _compiled(compiler, rule.id, rule.before) for place, rule in enumerate(file.rules)}
        asked = {place: _compiled(compiler, rule.id, rule.asked) for place, rule in enumerate(file.rules)}
        self._before, self._asked = _matchers(before), _matchers(asked)
        compiled += (*before.values(), *asked.values())
        compiled += [_compiled(compiler, one.id, one.patterns) for one in file.passed]
        words = {word for some in (*compiled, *shields) for one in some for word in one.words}
        spelt = {word for right in file.spellings.values() for word in right.split()}
        small = (word for some in file.languages.values() for word in some)
        known = words | spelt | {plain(word) for word in (*file.common, *small)} | set(file.fuzzy)
        self._languages = {lang: frozenset(map(plain, words)) for lang, words in file.languages.items()}
        self._normaliser = Normaliser(known, spellings=file.spellings, fuzzy=file.fuzzy)

    @classmethod
    def load(cls, path: Path) -> UrgencyRules:
        """Read all files of a folder as one; raises RuleError (a ConfigurationError) naming file and key."""
        files = {file: read_yaml(file, RuleFile, error=RuleError) for file in sorted(path.glob("*.yaml"))}
        if not any(file.rules for file in files.values()):
            raise RuleError("There are no urgency rules here.", file=path)
        origin: dict[str, Path] = {}
        for file, content in files.items():
            for key in content.names():
                if key in origin:
                    raise RuleError(f"This is also in {origin[key].name}.", file=file, key=key)
                origin[key] = file
        try:
            return cls(_merged(files.values()))
        except PatternError as error:
            text, key = str(error.args[0]), str(error.args[-1])
            raise RuleError(text, file=origin.get(key, path), key=key) from error

    def assess_now(self, message: str, earlier: tuple[Message, ...] = ()) -> LayerResult:
        """The level of the message; a follow-up ("I did it") counts if one of the last messages was a hit."""
        said = [one.content for one in earlier if one.role is Role.USER]
        views = self._views(message)
        over = self._over(views, said[-_EARLIER:])
        found = self._found(views, over)
        if said and _QUOTED.fullmatch(message):
            found = {
                place: min(level, UrgencyLevel.CONCERN, key=lambda one: one.order) for place, level in found.items()
            }
        if any(self.rules[place].follow_up for place in found) and not self._hits(said[-_EARLIER:]):
            found = {place: level for place, level in found.items() if not self.rules[place].follow_up}
        if any(place in self._before for place in found):
            found = self._after_what_was_told(found, (*said[-_TOLD:], message))
        if any(place in self._asked for place in found):
            found = self._answering(found, earlier)
        passed = () if UrgencyLevel.URGENT in found.values() else tuple(one.entry.id for one in over)
        levels = (*found.values(), *(UrgencyLevel.CONCERN for _ in passed))
        shown = {place: level for place, level in found.items() if level.order or self.rules[place].delusional}
        return LayerResult(
            layer=self.name,
            level=max(levels, key=lambda level: level.order, default=UrgencyLevel.NONE),
            passed=bool(passed),
            delusional_framing=any(self.rules[place].delusional for place in shown),
            signals=(*(self.rules[place].id for place in sorted(shown)), *passed),
        )

    def _hits(self, said: Iterable[str]) -> frozenset[Category]:
        """What the person's earlier messages were a hit for."""
        return frozenset(
            self.rules[place].category
            for text in said
            for place, level in self._found(self._views(text)).items()
            if level.order
            and not self.rules[place].follow_up
            and place not in self._before
            and place not in self._asked
        )

    def _answering(self, found: dict[int, UrgencyLevel], earlier: Sequence[Message]) -> dict[int, UrgencyLevel]:
        """Without the rules for answers, where the message before this one put no such question.

        Only sentences that ask count: a text that speaks of dying, or of plans, is not about the person.
        """
        shown = earlier[-1].content if earlier and earlier[-1].role is Role.ASSISTANT else ""
        questions = "\n".join(one for one in sentences(shown[:_LENGTH]) if one.rstrip().endswith("?"))
        put = {sentence for view in self._views(questions) for sentence in view}
        return _where_met(found, self._asked, put)

    def _after_what_was_told(self, found: dict[int, UrgencyLevel], said: Iterable[str]) -> dict[int, UrgencyLevel]:
        """Without the rules that need something told before, where nothing of the kind was told."""
        told = {sentence for text in said for view in self._views(text) for sentence in view}
        return _where_met(found, self._before, told)

    def _views(self, message: str) -> Views:
        return self._normaliser.views(message[:_LENGTH])

    def _over(self, views: Views, said: Sequence[str]) -> tuple[_Passed, ...]:
        """The entries by which the message says that the danger of the earlier messages is over."""
        told = [one for one in self._passed if any(_says_so(one, view) for view in views)]
        hits = self._hits(said) if told else frozenset()
        return tuple(one for one in told if hits and hits <= set(one.entry.categories))

    def _found(self, views: Views, over: Sequence[_Passed] = ()) -> dict[int, UrgencyLevel]:
        """The rules that match anywhere, each with the highest level that its guards, and what is over, leave it."""
        found: dict[int, UrgencyLevel] = {}
        for view in views:
            foreign = self._foreign(view)
            for sentence in dict.fromkeys(view):
                for place, level in self._levels(sentence, view):
                    if level is UrgencyLevel.URGENT and any(_ends(one, self.rules[place], sentence) for one in over):
                        level = UrgencyLevel.CONCERN
                    if self.rules[place].lang not in foreign and level.order >= found.get(place, level).order:
                        found[place] = level
        return found

    def _foreign(self, view: tuple[str, ...]) -> frozenset[str]:
        """The languages that the message is not in, if that is clear; hits of their rules are chance."""
        words = [word for sentence in view for word in sentence.split()]
        counts = {lang: sum(word in known for word in words) for lang, known in self._languages.items()}
        most = max(counts.values(), default=0)
        return frozenset(lang for lang, count in counts.items() if most >= _CLEAR and count * 2 <= most)

    def _levels(self, sentence: str, view: tuple[str, ...]) -> Iterator[tuple[int, UrgencyLevel]]:
        hits = list(self._rules.spans(sentence))
        shields = [(self._guards[place], span) for place, span in self._shields.spans(sentence)] if hits else []
        active = [(guard, span) for guard, span in shields if _stands(guard, sentence, view)]
        for place, span in hits:
            rule = self.rules[place]
            lowered = [
                guard.entry.to
                for guard, where in active
                if _concerns(guard.entry, rule)
                and (guard.entry.scope is Scope.SENTENCE or (where[0] < span[1] and span[0] < where[1]))
            ]
            if rule.delusional and UrgencyLevel.NONE in lowered:
                continue
            yield place, min((rule.level, *lowered), key=lambda level: level.order)


def _merged(files: Collection[RuleFile]) -> RuleFile:
    return RuleFile.model_construct(
        common=tuple(word for file in files for word in file.common),
        spellings={wrong: right for file in files for wrong, right in file.spellings.items()},
        fuzzy=tuple(word for file in files for word in file.fuzzy),
        languages={lang: words for file in files for lang, words in file.languages.items()},
        classes={name: entries for file in files for name, entries in file.classes.items()},
        rules=tuple(entry for file in files for entry in file.rules),
        guards=tuple(entry for file in files for entry in file.guards),
        passed=tuple(entry for file in files for entry in file.passed),
    )


def _concerns(guard: GuardEntry, rule: RuleEntry) -> bool:
    return (guard.lang is None or rule.lang is None or guard.lang == rule.lang) and rule.category in guard.categories


def _stands(guard: _Guard, sentence: str, view: tuple[str, ...]) -> bool:
    if guard.unless.matches(sentence):
        return False
    return not guard.entry.also or any(guard.also.matches(one) for one in view)


def _says_so(passed: _Passed, view: tuple[str, ...]) -> bool:
    return any(map(passed.said.matches, view)) and not any(map(passed.unless.matches, view))


def _ends(passed: _Passed, rule: RuleEntry, sentence: str) -> bool:
    return rule.category in passed.entry.categories and passed.said.matches(sentence)


def _passed(compiler: Compiler, entry: PassedEntry) -> _Passed:
    return _Passed(
        entry=entry,
        said=Matcher((0, one) for one in _compiled(compiler, entry.id, entry.patterns)),
        unless=Matcher((0, one) for one in _compiled(compiler, entry.id, entry.unless)),
    )


def _guard(compiler: Compiler, entry: GuardEntry) -> _Guard:
    return _Guard(
        entry=entry,
        unless=Matcher((0, one) for one in _compiled(compiler, entry.id, entry.unless)),
        also=Matcher((0, one) for one in _compiled(compiler, entry.id, entry.also)),
    )


def _compiled(compiler: Compiler, key: str, patterns: Iterable[str]) -> list[Pattern]:
    try:
        return [compiler.compile(text) for text in patterns]
    except PatternError as error:
        raise PatternError(str(error), key) from error


def _matchers(patterns: Mapping[int, Sequence[Pattern]]) -> dict[int, Matcher]:
    """What must have been said before, for the rules that need that."""
    return {place: Matcher((0, one) for one in some) for place, some in patterns.items() if some}


def _where_met(
    found: Mapping[int, UrgencyLevel], needed: Mapping[int, Matcher], said: Collection[str]
) -> dict[int, UrgencyLevel]:
    """Without the rules that need something said which was not."""
    return {
        place: level
        for place, level in found.items()
        if place not in needed or any(needed[place].matches(one) for one in said)
    }


def _check_class(compiler: Compiler, name: str) -> None:
    try:
        compiler.check(name)
    except PatternError as error:
        raise PatternError(str(error), f"classes.{name}") from error

"""The built-in judges' word lists and patterns, read from `config/builtin_judges.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import ConfigurationError
from engine.files import read_yaml
from engine.language.text import fold, stem, words
from engine.types import Decision

_LIGHT_SENTENCE, _HEAVY_SENTENCE = 2.0, 6.0
_NEVER = re.compile(r"(?!)")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ConductRule(_Strict):
    """One breach of role or tone, as patterns over folded sentences.

    `strong` patterns count alone, `weak` ones when `weak_needed` different ones occur; `terms` are words that
    count when `terms_needed` different ones occur that no cited source contains. `message` must match what
    the person wrote; `lowers` are message patterns that make one weak pattern or term enough.
    """

    id: str = Field(pattern=r"^[a-z_]+$")
    severity: Literal["WARNING", "REJECT"]
    explanation: str = Field(min_length=10)
    strong: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()
    weak_needed: int = Field(default=2, ge=1)
    terms: str = ""
    terms_needed: int = Field(default=3, ge=1)
    message: tuple[str, ...] = ()
    lowers: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    only_delusional: bool = False
    also_in_questions: bool = False
    disclaimer_excuses: bool = False


class Thresholds(_Strict):
    """The figures of the support measure, chosen on development data; shares of 1 unless said otherwise."""

    short: float = Field(default=0.2, ge=0, le=1, description="coverage that a light sentence needs")
    long: float = Field(default=0.36, ge=0, le=1, description="coverage that a heavy sentence needs")
    mean: float = Field(default=0.42, ge=0, le=1, description="coverage that a reply needs as a whole")
    least_weight: float = Field(default=2.0, ge=0, description="a sentence weighing less is not judged alone")
    contradiction: float = Field(default=0.6, ge=0, le=1, description="coverage from which a reversal counts")
    light: float = Field(default=0.3, ge=0, le=1, description="weight of a word that says little")
    elsewhere: float = Field(default=0.35, ge=0, le=1, description="credit for a word elsewhere in the source")
    reply_words: int = Field(default=220, ge=50, description="longest reply in words")

    def too_little(self, coverage: float, weight: float) -> bool:
        """Whether a sentence is not supported: the more it says, the more of it must be found."""
        share = min(1.0, max(0.0, (weight - _LIGHT_SENTENCE) / (_HEAVY_SENTENCE - _LIGHT_SENTENCE)))
        return weight >= self.least_weight and coverage < self.short + share * (self.long - self.short)


class _File(_Strict):
    thresholds: Thresholds = Thresholds()
    macros: dict[str, str] = Field(default_factory=dict)
    functions: dict[str, tuple[str, ...]]
    hidden_claim: tuple[str, ...] = ()
    passing: tuple[str, ...] = ()
    interplay: tuple[str, ...] = ()
    substances: tuple[str, ...] = ()
    acts: tuple[str, ...] = ()
    slips: tuple[str, ...] = ()
    delays: tuple[str, ...] = ()
    haste: tuple[str, ...] = ()
    courtesy: str = ""
    grave: tuple[str, ...] = ()
    phrases: dict[str, str] = Field(default_factory=dict)
    synonyms: tuple[str, ...] = ()
    light: str = ""
    negators: str
    deniers: str = ""
    contrasts: str = ""
    rivals: tuple[str, ...] = ()
    scale: tuple[str, ...] = ()
    antonyms: tuple[tuple[str, str], ...] = ()
    opposites: tuple[tuple[str, str], ...] = ()
    absolutes: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    absolutes_met: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    specifics: tuple[str, ...] = ()
    conduct: tuple[ConductRule, ...]


@dataclass(frozen=True, kw_only=True)
class Conduct:
    """A conduct rule with its patterns compiled."""

    rule: ConductRule
    strong: tuple[re.Pattern[str], ...]
    weak: tuple[re.Pattern[str], ...]
    terms: frozenset[str]
    message: re.Pattern[str]
    lowers: re.Pattern[str]
    unless: re.Pattern[str]

    @property
    def decision(self) -> Decision:
        """What a breach of it leads to."""
        return Decision(self.rule.severity)


@dataclass(frozen=True, kw_only=True, eq=False)
class Lexicon:
    """Everything the built-in judges know of words, ready to use."""

    thresholds: Thresholds
    functions: dict[str, re.Pattern[str]]
    hidden_claim: re.Pattern[str]
    passing: re.Pattern[str]
    interplay: re.Pattern[str]
    substances: re.Pattern[str]
    acts: re.Pattern[str]
    slips: re.Pattern[str]
    delays: re.Pattern[str]
    haste: re.Pattern[str]
    courtesy: frozenset[str]
    grave: re.Pattern[str]
    phrases: dict[str, str]
    canonical: dict[str, str]
    light: frozenset[str]
    negators: frozenset[str]
    deniers: frozenset[str]
    contrasts: frozenset[str]
    rivals: tuple[frozenset[str], ...]
    scale: tuple[frozenset[str], ...]
    antonyms: tuple[tuple[frozenset[str], frozenset[str]], ...]
    opposites: tuple[tuple[frozenset[str], frozenset[str]], ...]
    absolutes: dict[str, re.Pattern[str]]
    absolutes_met: dict[str, re.Pattern[str]]
    specifics: re.Pattern[str]
    conduct: tuple[Conduct, ...]

    @classmethod
    def load(cls, path: Path) -> Lexicon:
        """Read the file; raises ConfigurationError naming file and key."""
        return _build(read_yaml(path, _File, remedy="It comes with the project."), path)

    def functions_in(self, folded: str) -> Iterator[str]:
        """The functions whose patterns occur in a folded sentence."""
        return (name for name, pattern in self.functions.items() if pattern.search(folded))

    def denies(self, folded: str) -> bool:
        """Whether a folded sentence denies something, by a negating word or by calling it a myth."""
        return any(word in self.negators or word in self.deniers for word in words(folded))

    def denies_oddly(self, folded: str) -> bool:
        """Whether a folded clause denies in a way that counting its negating words does not show."""
        return any(word in self.deniers for word in words(folded)) or bool(self._oddly.search(folded))

    def are_opposed(self, one: str, other: str) -> bool:
        """Whether two folded words mean the reverse of each other."""
        mine, theirs = stem(one), stem(other)
        return any(
            (mine in left and theirs in right) or (mine in right and theirs in left) for left, right in self.opposites
        )

    def are_rivals(self, one: str, other: str) -> bool:
        """Whether two folded words are different things of one kind, so that neither can stand for the other."""
        mine, theirs = stem(one), stem(other)
        return mine != theirs and any(mine in kind and theirs in kind for kind in self.rivals)

    def is_raised(self, one: str, other: str) -> bool:
        """Whether the first of two folded words says clearly more than the second: "always" for "can"."""
        height = {word: level for level, step in enumerate(self.scale) for word in step}
        return one in height and other in height and height[one] > height[other] + 1

    def same(self, stemmed: str) -> str:
        """The word that stands for this one and its synonyms."""
        return self.canonical.get(stemmed, stemmed)

    def with_phrases(self, folded: str) -> str:
        """A folded text with fixed phrases replaced by the one word that stands for them."""
        return self._phrase.sub(lambda match: self.phrases[match[0]], folded) if self.phrases else folded

    @cached_property
    def _oddly(self) -> re.Pattern[str]:
        return re.compile(
            r"\b(?:than|unless|rather|only|without|instead|rare(?:ly)?|hardly|seldom|un(?:likely|common))\b"
        )

    @cached_property
    def _phrase(self) -> re.Pattern[str]:
        longest_first = sorted(map(re.escape, self.phrases), key=len, reverse=True)
        return re.compile(r"\b(?:" + "|".join(longest_first) + r")\b")


def _build(file: _File, path: Path) -> Lexicon:
    compiler = _Compiler(file.macros, path)
    canonical = _canonical(file.synonyms)
    return Lexicon(
        thresholds=file.thresholds,
        functions={name: compiler.any_of(f"functions.{name}", some) for name, some in file.functions.items()},
        hidden_claim=compiler.any_of("hidden_claim", file.hidden_claim),
        passing=compiler.any_of("passing", file.passing),
        interplay=compiler.any_of("interplay", file.interplay),
        substances=compiler.any_of("substances", file.substances),
        acts=compiler.any_of("acts", file.acts),
        slips=compiler.any_of("slips", file.slips),
        delays=compiler.any_of("delays", file.delays),
        haste=compiler.any_of("haste", file.haste),
        courtesy=_stems(file.courtesy),
        grave=compiler.any_of("grave", file.grave),
        phrases={fold(key): value for key, value in file.phrases.items()},
        canonical=canonical,
        light=frozenset(canonical.get(stem(word), stem(word)) for word in words(file.light)),
        negators=frozenset(words(file.negators)),
        deniers=frozenset(words(file.deniers)),
        contrasts=frozenset(words(file.contrasts)),
        rivals=tuple(map(_stems, file.rivals)),
        scale=tuple(frozenset(words(one)) for one in file.scale),
        antonyms=tuple((_stems(left), _stems(right)) for left, right in file.antonyms),
        opposites=tuple((_stems(left), _stems(right)) for left, right in (*file.antonyms, *file.opposites)),
        absolutes={name: compiler.any_of(f"absolutes.{name}", some) for name, some in file.absolutes.items()},
        absolutes_met={
            name: compiler.any_of(f"absolutes_met.{name}", file.absolutes_met.get(name, ())) for name in file.absolutes
        },
        specifics=compiler.any_of("specifics", file.specifics),
        conduct=tuple(_conduct(rule, compiler) for rule in file.conduct),
    )


def _conduct(rule: ConductRule, compiler: _Compiler) -> Conduct:
    key = f"conduct.{rule.id}"
    return Conduct(
        rule=rule,
        strong=tuple(compiler.one(f"{key}.strong", pattern) for pattern in rule.strong),
        weak=tuple(compiler.one(f"{key}.weak", pattern) for pattern in rule.weak),
        terms=_stems(rule.terms),
        message=compiler.any_of(f"{key}.message", rule.message),
        lowers=compiler.any_of(f"{key}.lowers", rule.lowers),
        unless=compiler.any_of(f"{key}.unless", rule.unless),
    )


def _canonical(groups: tuple[str, ...]) -> dict[str, str]:
    canonical: dict[str, str] = {}
    for group in groups:
        stemmed = [stem(word) for word in words(group)]
        head = next((canonical[one] for one in stemmed if one in canonical), stemmed[0])
        canonical |= {one: head for one in stemmed if one not in canonical}
    return canonical


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words(text))


class _Compiler:
    """Turns patterns of the file into regular expressions; `<<NAME>>` stands for a macro."""

    def __init__(self, macros: dict[str, str], path: Path) -> None:
        # A macro may run over several lines of the file; the breaks after its bars mean nothing.
        self._macros = {name: re.sub(r"\|\s+", "|", value) for name, value in macros.items()}
        self._path = path

    def one(self, key: str, pattern: str) -> re.Pattern[str]:
        try:
            return re.compile(self._expand(pattern))
        except (re.error, KeyError) as error:
            problem = f"Not a usable pattern: {pattern!r}."
            raise ConfigurationError(problem, file=self._path, key=key) from error

    def any_of(self, key: str, patterns: tuple[str, ...]) -> re.Pattern[str]:
        if not patterns:
            return _NEVER
        try:
            return re.compile("|".join(f"(?:{self._expand(one)})" for one in patterns))
        except (re.error, KeyError):
            for pattern in patterns:  # one by one only to name the faulty one: compiling costs start-up time
                self.one(key, pattern)
            raise

    def _expand(self, pattern: str) -> str:
        return re.sub(r"<<(\w+)>>", lambda match: f"(?:{self._expand(self._macros[match[1]])})", pattern)

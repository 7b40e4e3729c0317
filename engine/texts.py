"""The fixed sentences of the house, by language: `config/texts/<language>.yaml`.

No reply is made up where one of these fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import Annotated

from pydantic import Field, model_validator

from engine.files import read_yaml
from engine.language.sayings import Saying
from engine.settings import Strict
from engine.types import Kind, Wish

_ABOUT = frozenset({"name", "condition", "topics"})
_PUT_IN = {
    "fallback": frozenset({"topics"}),
    "decline": frozenset({"topics"}),
    "greeting": _ABOUT,
    "thanks": _ABOUT,
    "farewell": _ABOUT,
    "ask_first": frozenset({"topic"}),
    "no_more": frozenset({"title"}),
    "origin": frozenset({"title"}),
    "handoff_offer": frozenset({"name"}),
    "handoff_done": frozenset({"name"}),
}


class Sayings(Strict):
    """What people say in many words, by sense; the last four are the wishes about the last answer."""

    greeting: Saying
    farewell: Saying
    thanks: Saying
    insult: Saying
    distress: Saying
    simpler: Saying
    shorter: Saying
    example: Saying
    more: Saying

    def wish(self, message: str) -> Wish | None:
        """What the message wants of the last answer, or None where it is about anything else."""
        wishes = {Wish.SIMPLER: self.simpler, Wish.SHORTER: self.shorter, Wish.EXAMPLE: self.example}
        return next((wish for wish, one in (*wishes.items(), (Wish.MORE, self.more)) if one.fits(message)), None)


class Texts(Strict):
    """Fixed sentences. Braces name what is put in: {topics}, {name}, {topic}, {title}."""

    between_topics: str
    wordless: str
    empty: str
    shortened: str
    fallback: str
    decline: str
    decline_here: str
    admission: str
    verification: str
    outage: str
    quotation_mode: str
    greeting: str
    thanks: str
    farewell: str
    all_right: str
    insult: str
    ask_first: str
    next_part: str
    no_more: str
    nothing_to_rework: str
    no_example: str
    no_simpler: str
    handoff_offer: str
    handoff_done: str
    handoff_declined: str
    cannot_know: str
    belief: str
    distress: str
    asked: dict[Kind, str]
    origin: str
    no_origin: str
    wishes: dict[str, str]
    origin_questions: tuple[str, ...]
    belief_questions: tuple[str, ...]
    personal_questions: tuple[str, ...]
    agreeing: tuple[str, ...]
    refusing: tuple[str, ...]
    sayings: Sayings

    @model_validator(mode="after")
    def _can_be_filled(self) -> Texts:
        for key, value in self:
            if isinstance(value, str) and (odd := braces(key, value) - _PUT_IN.get(key, frozenset())):
                raise ValueError(f"{key} names {{{min(odd)}}}, which nothing is put in for")
        if Kind.UNCLEAR not in self.asked:
            raise ValueError(f"asked lacks {Kind.UNCLEAR.value!r}")
        check_braces({"asked": self.asked}, {f"asked.{kind.value}": frozenset({"emergency"}) for kind in self.asked})
        lacking = [wish.value for wish in Wish if wish is not Wish.ANSWER and wish.value not in self.wishes]
        if lacking:
            raise ValueError(f"wishes lacks {lacking[0]!r}")
        return self

    def asking(self, kind: Kind, emergency: str) -> str:
        """What stands above the check question, by what a message seems to be about; `emergency`: whom to call."""
        return self.asked.get(kind, self.asked[Kind.UNCLEAR]).format(emergency=emergency)

    @classmethod
    def load(cls, path: Path) -> Texts:
        """Read one language; raises ConfigurationError naming file and key."""
        return read_yaml(path, cls, remedy="Check `texts` in the assistant.")


Sentences = Annotated[tuple[str, ...], Field(min_length=1)]


class Remarks(Strict):
    """Kind sentences to somebody who tells something: `told`, by the situation (`config/situations.yaml`) where one is
    likely enough; `heavy` where it plainly weighs on them, `plain` whatever was told; `asked`: open questions back, by name, of
    which each situation has one or none."""

    heavy: Sentences
    plain: Sentences
    told: Mapping[str, Sentences]
    asked: Mapping[str, str] = {}

    def of(self, situation: str | None, *, heavy: bool) -> Sentences:
        """The sentences for a situation, or for what was told in none."""
        usual = self.heavy if heavy else self.plain
        return usual if situation is None else self.told.get(situation, usual)


class GuideTexts(Strict):
    """What the built-in guide says around what it offers, in one language: `config/guide/<language>.yaml`."""

    unsure: str
    unsure_about: str
    declined: str
    elsewhere: str
    remark_offer: str
    remark_asked: str
    check_first: str
    own_language_only: str
    remarks: Remarks

    @model_validator(mode="after")
    def _can_be_filled(self) -> GuideTexts:
        remark = dict.fromkeys(("remark_offer", "remark_asked"), frozenset({"remark"}))
        check_braces(
            self.model_dump(), {"unsure_about": frozenset({"title"}), "elsewhere": frozenset({"condition"}), **remark}
        )
        return self

    @classmethod
    def load_all(cls, folder: Path) -> dict[str, GuideTexts]:
        """Every language in a folder; raises ConfigurationError naming file and key."""
        return {path.stem: read_yaml(path, cls) for path in sorted(folder.glob("*.yaml"))}


def braces(key: str, sentence: str) -> frozenset[str]:
    """What the braces of a sentence name; raises ValueError, with its key, for a brace without a partner."""
    try:
        return frozenset(name for _, name, _, _ in Formatter().parse(sentence) if name is not None)
    except ValueError:
        raise ValueError(f"{key} has a brace without a partner") from None


def check_braces(texts: Mapping[str, object], put_in: Mapping[str, frozenset[str]]) -> None:
    """Raises ValueError where a text names other things than are put in for it; `put_in` is by dotted key."""
    for key, found in named_in_braces(texts):
        wanted = put_in.get(key, frozenset())
        if found != wanted:
            raise ValueError(f"{key}: braces must name {', '.join(sorted(wanted)) or 'nothing'}")


def named_in_braces(texts: Mapping[str, object], above: str = "") -> Iterator[tuple[str, frozenset[str]]]:
    """Each text's dotted key, with what its braces name; raises ValueError for a brace without a partner."""
    for name, value in texts.items():
        key = above + name
        if isinstance(value, Mapping):
            yield from named_in_braces(value, f"{key}.")
            continue
        for text in value if isinstance(value, tuple) else (value,):
            yield key, braces(key, str(text))

"""What people ask about the service itself, and what is true of it: `config/service/<language>.md`.

    ## subject
    ? the question on the button that offers it
    > the answer; braces name what the live configuration puts in
    = explicit words: whoever writes little more than them asks for this, however the rest sounds
    - what somebody typed
    ## other
    - what looks like it and is about something else

A message is such a question when it sounds like one (the head of its kind) and is near one subject and not near what only
looks like it. What depends on where people write is told by whoever knows (`live`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from engine.agent.kinds import MessageKind, MessageKinds
from engine.exceptions import ConfigurationError
from engine.files import read_text
from engine.language.centroids import Centroids, LabelledText, snowball
from engine.language.encoder import TextEncoder
from engine.language.letters import undisguised_words
from engine.language.message_language import is_english
from engine.language.text import sentences, words
from engine.texts import braces
from engine.types import Message, Offer

SERVICE = "service"
"""What an offer about the service names in place of a source."""
OTHER = "other"
SOCIAL = frozenset({"thanks", "greeting"})
SHORTEST_GREETING = 3
"""Letters; shorter words are abbreviations that people of many languages use."""
PUT_IN = frozenset({"condition", "emergency", "contacts"})
FACTS = frozenset(
    {"who_reads", "memory", "tells_somebody", "deletes", "who_runs", "languages", "cost", "hours", "human_contact"}
)
"""What nobody can know who is not told: beside a danger, too, it is answered."""
OF_ITSELF = FACTS - {"deletes"} | {"person", "where_from"}
"""What is asked about the service whatever was said before; "what can I do about it" goes on from that, and so does "how do I
get rid of it"."""
LIVE = ("who_reads", "memory", "human_contact", "who_runs")
"""Subjects whose answers depend on where people write, and who answers for the service there."""
PRIVACY = frozenset({"who_reads", "memory", "tells_somebody"})
MEMORY = "memory"
CONTACT = "human_contact"
PERSON = "person"
"""Whether a person answers. Who asks little more than that is told in fixed words, which the law wants said."""
Live = Callable[[str, str], str]
"""What is true here of a subject, in a language; empty where nothing but the file's answer is to be said."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveFacts:
    """What depends on where people write: what the assistant speaks of, and whom they can call, inside sentences of the file."""

    condition: str
    emergency: str
    contacts: str
    live: Live | None = None


# Written by evaluation/service_fit.py.
ANSWERED_FROM = 0.4
"""From this chance on a message, or one of its sentences, is taken for a question about the service: of 197 such messages of
natural conversations, whose lines were left out, 0.68 then get the answer that is theirs and 0.10 another, of 2,612 about other
things 0.008, and 0.003 are thanked."""
ASKED_BACK_FROM = 0.05
"""From this chance on it may be one, and the two nearest subjects stand among the questions that are offered: 0.09 more then have
the right one on a button, and of the others 0.04 have such buttons."""
TOLD_TO_A_MODEL_FROM = 0.15
"""The same for one of its sentences, where a language model is told what is true and decides whether it was asked."""
SOCIAL_ANSWERED_FROM = 0.3
"""The same for thanks and greetings: "you are welcome" is a better answer to a goodbye than a sentence that fits everything."""
LEAST_KIND = -1.5
"""What is further from the kinds of service than this is none, whatever it is like; nor is a sentence of it: "what do I do now"
at the end of a story asks nothing about the service."""
LEAST_KIND_ASKED_BACK = -3.5
"""The same where it is only asked back."""
LEAST_LIKE = 0.12
"""What is less like every subject is none, however it sounds."""
SHORT = 12
"""A message of so many words with explicit ones in it is about their subject alone."""
PARTS = 6
"""So many sentences of a message are read one by one."""
_LENGTH = 4000  # characters of a message in which explicit words are looked for
WEIGHTS: Mapping[str, float] = {
    "base": -12.11,
    "best": 6.14,
    "lead": 0.54,
    "ahead": 7.1,
    "kind": 0.17,
    "nearest": 3.52,
    "nearest_ahead": 3.32,
    "pieces": 3.8,
    "kin": 8.76,
    "meant": 2.3,
    "kin_ahead": -1.24,
    "meant_ahead": 2.22,
    "short": -0.32,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Likeness:
    """How like a text something is, from 0 to 1: by words and by what it means, as a whole and by its nearest lines."""

    words: float = 0.0
    nearest: float = 0.0
    kin: float = 0.0
    meant: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectLikeness(Likeness):
    """How like a text a subject is, by pieces of words, too."""

    subject: str
    pieces: float

    @property
    def whole(self) -> float:
        """All together, by which subjects are ordered."""
        return self.words + self.nearest + self.pieces / 2 + self.kin + self.meant


@dataclass(frozen=True, kw_only=True)
class ServiceAnswers:
    """One language: the answer to each subject, and the lines it is known by. `explicit`: words in a row, by subject."""

    language: str
    answers: Mapping[str, str]
    lines: Mapping[str, tuple[str, ...]]
    offers: Mapping[str, str]
    explicit: Mapping[str, tuple[tuple[str, ...], ...]]
    encoder: TextEncoder | None = None

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """The subjects in order, and what is none."""
        return tuple(self.lines)

    @cached_property
    def centroids(self) -> Centroids:
        """What the lines of each subject have in common; built with the first message that is read."""
        texts = [
            LabelledText(label=number, text=line)
            for number, subject in enumerate(self.subjects)
            for line in (*self.lines[subject], *filter(None, (self.offers.get(subject),)))
        ]
        return Centroids.build(texts, len(self.subjects), self.encoder, snowball(self.language))

    def read(self, message: str) -> list[SubjectLikeness]:
        """The subjects with how like a message they are, best first."""
        like = self.centroids
        rows = zip(
            self.subjects,
            like.likeness(message).tolist(),
            like.nearest(message).tolist(),
            like.in_pieces(message).tolist(),
            like.kindred(message).tolist(),
            like.meant_nearest(message).tolist(),
            strict=True,
        )
        found = [
            SubjectLikeness(subject=one, words=by_words, nearest=line, pieces=part, kin=kin, meant=meant)
            for one, by_words, line, part, kin, meant in rows
        ]
        return sorted(found, key=lambda one: -one.whole)

    def sounds_like(self, message: str) -> bool:
        """Whether by its words a message is likest to a subject, and like it at all."""
        like = self.centroids.likeness(message)
        return self.subjects[int(like.argmax())] != OTHER and float(like.max()) >= LEAST_LIKE

    @classmethod
    def load(cls, path: Path, encoder: TextEncoder | None = None) -> ServiceAnswers:
        """Read one language; raises ConfigurationError with file and line for what is no line of it."""
        answers: dict[str, str] = {}
        lines: dict[str, list[str]] = {}
        offers: dict[str, str] = {}
        explicit: dict[str, list[tuple[str, ...]]] = {}
        subject = ""
        for number, line in enumerate(read_text(path).split("\n"), start=1):
            mark, _, rest = line.strip().partition(" ")
            if mark == "##":
                subject = rest.strip()
                lines[subject] = []
            elif mark == ">" and subject:
                answers[subject] = _checked(rest.strip(), path, number)
            elif mark == "=" and subject:
                explicit.setdefault(subject, []).append(tuple(undisguised_words(rest)))
            elif mark == "?" and subject:
                offers[subject] = rest.strip()
            elif mark == "-" and subject:
                lines[subject].append(rest.strip())
            elif mark and mark != "#":
                raise ConfigurationError(
                    "This is no line of the service's answers.",
                    file=path,
                    line=number,
                    remedy="Begin it with '## ', '? ', '> ', '= ' or '- ', below a subject.",
                )
        for one in lines:
            if one != OTHER and (one not in answers or not lines[one]):
                raise ConfigurationError(f"The subject {one!r} has no answer or no questions.", file=path)
        return cls(
            language=path.stem,
            answers=answers,
            lines={one: tuple(said) for one, said in lines.items()},
            offers=offers,
            explicit={one: tuple(rows) for one, rows in explicit.items()},
            encoder=encoder,
        )


def _checked(answer: str, path: Path, line: int) -> str:
    try:
        odd = braces("answer", answer) - PUT_IN
    except ValueError as error:
        raise ConfigurationError(str(error), file=path, line=line) from error
    if odd:
        raise ConfigurationError(f"{{{min(odd)}}} is nothing that can be put in.", file=path, line=line)
    return answer


@dataclass(frozen=True, kw_only=True)
class Service:
    """Answers questions about the service, in every language there is a file for."""

    languages: Mapping[str, ServiceAnswers]
    kinds: MessageKinds

    @classmethod
    def load(cls, folder: Path, kinds: MessageKinds, encoder: TextEncoder | None = None) -> Service:
        """Read all languages; raises ConfigurationError."""
        languages = {path.stem: ServiceAnswers.load(path, encoder) for path in sorted(folder.glob("*.md"))}
        return cls(languages=languages, kinds=kinds)

    def greetings(self) -> dict[str, str]:
        """Single words that somebody begins with in one language only, each with that one; English ones count as English."""
        found: dict[str, set[str]] = {}
        for code, here in self.languages.items():
            for line in here.lines.get("greeting", ()):
                if len(said := words(line)) == 1 and len(said[0]) >= SHORTEST_GREETING:
                    found.setdefault(said[0], set()).add("en" if is_english(said[0]) else code)
        return {word: min(codes) for word, codes in found.items() if len(codes) == 1}

    def here(self, language: str) -> ServiceAnswers:
        """The answers in a language, in English where there are none."""
        return self.languages.get(language) or self.languages["en"]

    def evidence(
        self, message: str, earlier: Sequence[Message], language: str, rival: Likeness
    ) -> tuple[str, dict[str, float]]:
        """The nearest subject, and what speaks for it. `rival`: how like the message anything else is."""
        best, second = self.here(language).read(message)[:2]
        return best.subject, _evidence(message, best, second, rival, self._kind(best.subject, message, earlier))

    def _kind(self, subject: str, message: str, earlier: Sequence[Message]) -> float:
        """How far a message is more of the subject's kind than asking or telling of anything else."""
        sums = self.kinds.sums(message, earlier)
        own = MessageKind.SOCIAL if subject in SOCIAL else MessageKind.SERVICE
        others = max(sums[one.value] for one in (MessageKind.ASKS, MessageKind.TELLS))
        return max(-4.0, min(4.0, sums[own.value] - others))

    def subject(
        self,
        message: str,
        earlier: Sequence[Message],
        language: str,
        rival: Callable[[str], Likeness] = lambda text: Likeness(),
    ) -> str:
        """What of the service a message or one of its sentences asks about, empty for nothing.

        `rival`: how like a text anything else is.
        """
        named = self.named(message)
        if named and len(undisguised_words(message)) <= SHORT:
            return named
        subject, chance = self._chance(message, earlier, language, rival)
        social = subject if subject in SOCIAL and chance >= SOCIAL_ANSWERED_FROM else ""
        if chance >= ANSWERED_FROM and not social:
            return subject
        if self._kind(PERSON, message, earlier) < LEAST_KIND:
            return social
        found = [self._chance(one, earlier, language, rival) for one in _parts(message, PARTS)]
        asked = [one for one in found if one[0] not in SOCIAL and one[1] >= ANSWERED_FROM]
        # "Good evening. Do you remember me?" is more than a greeting.
        return max(asked, key=lambda one: one[1])[0] if asked else social

    def suspected(
        self, message: str, earlier: Sequence[Message], language: str, rival: Callable[[str], Likeness]
    ) -> tuple[str, ...]:
        """What nobody can know of the service who is not told, and a message may ask about, in whichever of its sentences: for
        who decides whether it does.

        Who asks whether anybody reads it may mean whether it is kept, or told to somebody: these go together.
        """
        parts = _parts(message, 1 + PARTS) or [message]
        # What by its words is likest to something else, as most sentences, need not be read for what it means.
        near = [one for one in parts if self.here(language).sounds_like(one)]
        read = [self._chance(one, earlier, language, rival) for one in near]
        found = {self.named(message), *(subject for subject, chance in read if chance >= TOLD_TO_A_MODEL_FROM)} & FACTS
        if found & PRIVACY:
            found |= PRIVACY
        return tuple(one for one in self.here(language).answers if one in found)

    def fixed(self, subject: str, message: str) -> bool:
        """Whether a subject is told as it stands with a language model, too: whom to call has to be right to the letter, and what
        a law wants said is said when it is asked; "you are only a computer" is no question."""
        asked = subject == PERSON and self.named(message) == PERSON and len(undisguised_words(message)) <= SHORT
        return asked or subject == CONTACT

    def named(self, message: str) -> str:
        """The subject whose explicit words, of any language, stand in a message; empty for none."""
        said = f" {' '.join(undisguised_words(message[:_LENGTH]))} "
        for language in self.languages.values():
            for subject, rows in language.explicit.items():
                if any(f" {' '.join(row)} " in said for row in rows):
                    return subject
        return ""

    def _chance(
        self,
        text: str,
        earlier: Sequence[Message],
        language: str,
        rival: Callable[[str], Likeness],
        least_kind: float = LEAST_KIND,
    ) -> tuple[str, float]:
        best, second = self.here(language).read(text)[:2]
        if best.subject == OTHER or best.words < LEAST_LIKE:
            return best.subject, 0.0  # as most messages; of what kind they are need not be known
        kind = self._kind(best.subject, text, earlier)
        if best.subject in OF_ITSELF and earlier:
            # Who asks this changes the subject, and may do so twice: what was said before speaks against neither.
            kind = max(kind, self._kind(best.subject, text, ()))
        if kind < least_kind:
            return best.subject, 0.0  # nor what else they are like
        evidence = _evidence(text, best, second, rival(text), kind)
        total = WEIGHTS["base"] + sum(WEIGHTS[name] * value for name, value in evidence.items())
        return best.subject, float(1 / (1 + np.exp(-total)))

    def asked_back(
        self, message: str, earlier: Sequence[Message], language: str, rival: Callable[[str], Likeness], most: int = 4
    ) -> tuple[Offer, ...]:
        """The questions on buttons that a message may mean, nearest first; none where no sentence of it may ask about the
        service, as in most."""
        if self._kind(PERSON, message, earlier) < LEAST_KIND_ASKED_BACK:
            return ()
        read = (
            self._chance(one, earlier, language, rival, LEAST_KIND_ASKED_BACK)
            for one in dict.fromkeys((message, *_parts(message, PARTS)))
        )
        if not any(subject not in SOCIAL and chance >= ASKED_BACK_FROM for subject, chance in read):
            return ()
        here = self.here(language)
        near = [one.subject for one in here.read(message) if one.words and one.subject in here.offers]
        return tuple(Offer(question=here.offers[one], source=SERVICE, section=one) for one in near[:most])

    def answer(self, subject: str, language: str, here: LiveFacts) -> str:
        """What is true of a subject, here."""
        told = here.live(subject, language) if here.live is not None and subject in LIVE else ""
        fixed = self.here(language).answers[subject].format(**{name: getattr(here, name) for name in PUT_IN})
        # Who asks to be remembered is answered first; what is kept, and how long, stands below.
        return f"{fixed}\n\n{told}" if told and subject == MEMORY else told or fixed


def _parts(message: str, most: int) -> list[str]:
    """The first sentences of a message that are more than a word."""
    return [one for one in sentences(message) if len(words(one)) > 1][:most]


def _evidence(
    message: str, best: SubjectLikeness, second: SubjectLikeness, rival: Likeness, kind: float
) -> dict[str, float]:
    """What speaks for the best subject, by the names of `WEIGHTS`."""
    return {
        "best": best.words,
        "lead": best.whole - second.whole,
        "ahead": best.words - rival.words,
        "kind": kind,
        "nearest": best.nearest,
        "nearest_ahead": best.nearest - rival.nearest,
        "pieces": best.pieces,
        "kin": best.kin,
        "meant": best.meant,
        "kin_ahead": best.kin - rival.kin,
        "meant_ahead": best.meant - rival.meant,
        "short": 1 / max(1, len(words(message))),
    }

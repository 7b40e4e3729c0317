"""A message into the several things it asks, so that each can be looked for by itself.

Conservative: a message is split only where a sentence ends or a second question plainly begins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from engine.language.text import STOP_WORDS, fold, sentences, words

MOST_PARTS = 6
LONG_STORY = 60
"""Words of a message from which on what is asked in it is taken to stand at its end."""
CLOSING = 12
"""So many words of whole sentences are its end; where the last one is longer, that one."""
_MOST_BORDERS = 16
"""At each the whole rest is looked at; somebody may send a thousand."""

# Words that are no stop words to the judges but say nothing about the subject of a question.
_FILLERS = """
    know tell want need help think happen explain please thank thanks thx sorry question questions ask
    asking answer bit maybe anyway actually basically also another more info someone somebody anyone
    anybody everyone people person guys feel feeling start started really today now stuff way ways hey
    good morning evening doesnt didnt isnt wasnt arent werent hasnt havent hadnt wouldnt couldnt
    shouldnt hes shes theyre youre whats whos hows wheres thats theres wanna gonna gotta kinda sorta lol
    yeah yes nope mean means able try trying sure exactly lately currently recently normally usually
    sometimes always never still since keep keeps keeping give gives wonder wondering understand talk
    idea tips advice best okay great cool nice well anything something everything nothing time day days
    week weeks month months year years long much many possible better worse big little bad new old find
    look looking seem seems come put quick real safe right problem issue condition illness disease ill
    sick unwell use using used become becomes end
"""
FILLERS = frozenset(_FILLERS.split())

_ASKING = (
    r"(?:how|what|whats|what's|why|when|where|who|whom|whose|which|can|could|should|shall|do|does|did|is|are|am|was"
    r"|were|will|would|has|have|may|might|must|isn't|aren't|don't|doesn't|can't|won't|shouldn't|any)"
)
_JOINED = re.compile(
    rf"(?:[,;:]\s*+|(?<!\s)\s++(?:[-–—]++\s++)?)(?:and|but|or|&|\+|plus|then|also|so)"
    rf"(?:\s+(?:also|then|if so|again))?[,:]?\s+(?={_ASKING}\b)",
    re.I,
)
_COMMA = re.compile(rf"[,;]\s+(?={_ASKING}\s+\w+\s+\w+)", re.I)
_ASIDE = re.compile(
    r"(?:[,;.]\s*+|(?<!\s)\s++)(?:and\s+|but\s+)?(?:also|plus|another thing|one more thing|by the way|btw|ps"
    r"|second(?:ly)?|finally|oh and)"
    r"\b[,:]?\s+",
    re.I,
)
_LEADING = re.compile(
    r"^(?:(?:and|but|or|also|plus|then|so|oh|well|ok|btw|by the way|secondly|finally)\b[,:]?\s+)+", re.I
)
_HARD = re.compile(r"\?+[!?]*\s*|;\s+|(?<!!)!++\s++|(?:(?<!\s)\s++)?\|\s*+|(?<!\s)\s++/\s++|\n+")
_TOPICS = re.compile(
    r"^(?:please\s+)?(?:(?:can|could) you\s+)?(?:tell me|talk|explain|info(?:rmation)?|questions?"
    r"|more|something|advice|i (?:want|need) to know|what)\s+(?:more\s+)?(?:about|on)\s+(?P<list>.+)$",
    re.I,
)
_BETWEEN_TOPICS = re.compile(r"(?:(?<!\s)\s++)?,\s*+(?:and\s+)?|(?<!\s)\s++(?:and|&|\+|as well as)\s++", re.I)
_BACK_POINTING = frozenset(("it", "this", "that", "them", "these", "those", "its", "one"))


@dataclass(frozen=True, kw_only=True, slots=True)
class QuestionPart:
    """One thing a message asks or says. `context` is what it points back to and is searched with it."""

    text: str
    asks: bool
    context: str = ""


def content_words(text: str) -> list[str]:
    """The folded words of a text that can be about something."""
    return [word for word in words(text) if word not in STOP_WORDS and word not in FILLERS]


Subjects = Callable[[str], int]
"""How many subjects a text has of its own: 0 for "what can I do", 1 for a single vague one."""


def count_content(text: str) -> int:
    """How many words of a text can be about something."""
    return len(content_words(text))


def split(message: str, subjects: Subjects = count_content) -> tuple[QuestionPart, ...]:
    """The parts of a message in order; one part when it asks one thing, none when it has no words.

    What has no subject of its own belongs to what was said before it.
    """
    parts: list[QuestionPart] = []
    for sentence in sentences(message):
        for text, asked in _pieces(sentence, subjects):
            if not any(char.isalpha() for char in text):  # "(2019)", a row of signs
                continue
            if not parts or subjects(text):
                points_back = asked and bool(parts) and not _BACK_POINTING.isdisjoint(words(text))
                context = parts[-1].text if points_back and subjects(text) < 2 else ""
                parts.append(QuestionPart(text=text, asks=asked, context=context))
            else:  # "what can I do?" asks about what was said before it
                last = parts[-1]
                parts[-1] = QuestionPart(text=f"{last.text} {text}", asks=last.asks or asked, context=last.context)
    if len(parts) > 1 and not subjects(parts[0].text):  # "hi there", "one question"
        parts = parts[1:]
    return tuple(parts[:MOST_PARTS])


def told_and_asked(message: str) -> tuple[str, str]:
    """A long story, and what is asked at its end; where a message is shorter, nothing and the message."""
    if len(message.split()) <= LONG_STORY:
        return "", message
    told, asked, count = list(sentences(message)), list[str](), 0
    while told and (not asked or count + len(told[-1].split()) <= CLOSING):
        asked.insert(0, told.pop())
        count += len(asked[0].split())
    return " ".join(told), " ".join(asked)


def _pieces(sentence: str, subjects: Subjects) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    start = 0
    for end in (*(match.span() for match in _HARD.finditer(sentence)), (len(sentence), len(sentence))):
        text = _LEADING.sub("", sentence[start : end[0]].strip())
        if text:
            found += [(one, "?" in sentence[end[0] : end[1]] or asks(one)) for one in _clauses(text, subjects)]
        start = end[1]
    return found


_OPENINGS = {
    language: re.compile(rf"(?:{'|'.join(openings.split(', '))})\b")
    for language, openings in {
        "de": "was, wie, wer, wen, wem, wo, woher, wohin, wann, warum, wieso, weshalb, woran, wofur, wozu, "
        "welche[rsn]?, kann, darf, muss, soll, hilft, gibt es, ist das, ist es, hat das, bin ich, macht das, werde ich",
        "es": "que, como, cuando, donde, por que, quienes?, cual(?:es)?, cuant[oa]s?, puedo, puede, "
        "se puede, es normal, es verdad, hay, debo",
        "fr": "est[ -]ce, qu'est, c'est quoi, comment, pourquoi, quand, ou, qui, que, quel(?:le)?s?, combien, peut[ -]on, "
        "puis[ -]je, y a[ -]t[ -]il, faut[ -]il, dois[ -]je",
        "nb": "hva, hvordan, hvorfor, nar, hvor, hvem, hvilken, hvilke, hvilket, kan, ma, skal, bor, er det, "
        "finnes, hjelper, har jeg, er jeg, gar det",
    }.items()
}
"""How questions open in other languages than English; folded, so that accents are gone."""


def asks(text: str, language: str = "en") -> bool:
    """Whether a text opens or ends as a question does in its language."""
    opening = _OPENINGS.get(language)
    if opening is None:
        opened = re.match(rf"{_ASKING}\b", _LEADING.sub("", fold(text)))
    else:
        opened = opening.match(fold(text).lstrip("¿ "))
    return opened is not None or text.rstrip().endswith("?")


def _clauses(text: str, subjects: Subjects) -> list[str]:
    if topics := _TOPICS.match(text):
        listed = [one.strip() for one in _BETWEEN_TOPICS.split(topics["list"]) if one.strip()]
        if all(len(one.split()) <= 4 for one in listed):
            return listed
    clauses = [text]
    for border in (_ASIDE, _JOINED, _COMMA):
        clauses = [piece for clause in clauses for piece in _cut(clause, border, subjects)]
    return clauses


def _cut(clause: str, border: re.Pattern[str], subjects: Subjects) -> list[str]:
    """Cut at a border, but only between pieces that each have a subject of their own; at the first borders of many."""
    pieces: list[str] = []
    start = 0
    for match in islice(border.finditer(clause), _MOST_BORDERS):
        if subjects(clause[start : match.start()]) and subjects(clause[match.end() :]):
            pieces.append(clause[start : match.start()].strip())
            start = match.end()
    pieces.append(clause[start:].strip())
    return [piece for piece in pieces if piece]

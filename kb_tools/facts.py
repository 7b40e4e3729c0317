"""The figures that sources give: each with its sentence, where it stands and which reference publishes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine import DANGERS_FILE, KnowledgeBase, Reference, fold, sentences, sheet_of, stretches
from kb_tools.lint.prose_checks import figure_in

# "two or three nights", "one month": spans of time in words, which are figures as well.
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_SPAN = re.compile(
    rf"\b(?:{_NUMBER}(?: (?:to|or) {_NUMBER})? (?:minute|hour|day|night|week|month|year)s|one (?:week|month|year))\b"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One sentence with a figure. `source` is an id, or the file of the dangers; `section` that of a source or an entry.

    `references`: those that the sentence names by their body, of that year where it names one too; it may name none.
    """

    source: str
    section: str
    sentence: str
    figure: str
    references: tuple[Reference, ...]


def facts_of(base: KnowledgeBase) -> Iterator[Fact]:
    """Every figure of the sources, in their order and that of their text, then those of the table of dangers."""
    for source in base.sources.values():
        sheet = sheet_of(source)
        starts = [(part.line + sheet.above, part.id) for part in stretches(sheet.body)]
        for piece in sheet.pieces:
            section = next((name for line, name in reversed(starts) if line <= piece.line), "")
            for _, sentence in piece.sentences() if piece.kind != "heading" else ():
                if figure := _figure(sentence):
                    named = _named(sentence, source.references)
                    yield Fact(source=source.id, section=section, sentence=sentence, figure=figure, references=named)
    for danger in base.dangers.entries.values():
        entry = danger.entry
        for sentence in (one for text in (*entry.signs, *entry.do, entry.say) for one in sentences(text)):
            if figure := _figure(sentence):
                yield Fact(
                    source=DANGERS_FILE,
                    section=entry.id,
                    sentence=sentence,
                    figure=figure,
                    references=(entry.authority,),
                )


def _figure(sentence: str) -> str | None:
    plain = fold(sentence)
    span = _SPAN.search(plain)
    return figure_in(plain) or (span[0] if span else None)


def _named(sentence: str, references: tuple[Reference, ...]) -> tuple[Reference, ...]:
    """The references whose body and year a sentence names, or whose body alone; for further years, those of that year."""
    bodies = [one for one in references if _says(sentence, one.body)]
    years = [one for one in references if str(one.year) in sentence]
    both = [one for one in bodies if one in years] or bodies
    told = {one.year for one in both}
    return (*both, *(one for one in years if one.year not in told))


def _says(sentence: str, body: str) -> bool:
    plain = fold(sentence)
    names = (name.strip() for name in re.split(r"[()]", body))
    return any(re.search(rf"(?<!\w){re.escape(fold(name))}(?!\w)", plain) for name in names if name)

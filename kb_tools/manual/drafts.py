"""A section as the draft of a source: an id from its heading, a summary from its first sentences, nothing reviewed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import yaml

from engine import Stakes, fold, sentences
from kb_tools.manual.blocks import Block
from kb_tools.manual.sections import ManualSection

LONGEST_ID = 48
LONGEST_LINE = 140
"""Characters of a line of the summary: every one of them is in every prompt."""
MOST_LINES = 5

_RESERVED = frozenset(("readme",))
"""File names that are no sources."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceDraft:
    """A source to be. `topics` are the high-stakes topics found; `by_model`: a model drafted summary and questions."""

    id: str
    title: str
    summary: tuple[str, ...]
    blocks: tuple[Block, ...]
    topics: tuple[str, ...]
    questions: tuple[str, ...] = ()
    by_model: bool = False

    @property
    def text(self) -> str:
        """The body in Markdown."""
        return f"# {self.title}\n\n" + "\n".join(_markdown(self.blocks))

    @property
    def words(self) -> int:
        """The words of the body without headings."""
        return sum(block.words for block in self.blocks if block.kind != "heading")

    def page(self, origin: str) -> str:
        """The whole file; `origin` names what it was imported from."""
        head = {
            "id": self.id,
            "title": self.title,
            "summary": list(self.summary),
            "questions": list(self.questions),
            "references": [],
            "reviewed": "none",
            "stakes": "high" if self.topics else "normal",
        }
        written = yaml.safe_dump(head, allow_unicode=True, sort_keys=False, width=10_000)
        by = "summary and questions by a language model" if self.by_model else "summary from the first sentences"
        guessed = f"# draft: stakes guessed from {', '.join(self.topics)}\n" if self.topics else ""
        return (
            f"---\n# draft: imported from {_one_line(origin)}; {by}; nobody has checked it\n"
            f"{guessed}{written}---\n{self.text}"
        )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def draft_all(sections: Iterable[ManualSection], stakes: Stakes) -> list[SourceDraft]:
    """A draft for each section; ids are unique."""
    taken: set[str] = set(_RESERVED)
    drafts = []
    for section in sections:
        name = _free_id(section, taken)
        taken.add(name)
        drafts.append(
            SourceDraft(
                id=name,
                title=section.title,
                summary=_summary(section),
                blocks=section.blocks,
                topics=stakes.topics(section.title, "\n".join(block.text for block in section.blocks)),
            )
        )
    return drafts


def _free_id(section: ManualSection, taken: set[str]) -> str:
    name = slug(section.title) or "section"
    candidates = [name, slug(f"{section.above} {section.title}") if section.above else name]
    numbered = (f"{name}_{number}" for number in range(2, len(taken) + 3))
    return next(one for one in (*candidates, *numbered) if one not in taken)


def slug(title: str) -> str:
    """Letters, digits and underscores of a title, cut at a word; "" where it has none of these in Latin letters."""
    plain = re.sub(r"'", "", fold(title).encode("ascii", "ignore").decode())
    parts = re.findall(r"[a-z0-9]+", plain)
    while len("_".join(parts)) > LONGEST_ID and len(parts) > 1:
        parts.pop()
    return "_".join(parts)[:LONGEST_ID]


def _summary(section: ManualSection) -> tuple[str, ...]:
    """The headings inside, and the first sentence of the text; the title where there is neither."""
    # What stands in parentheses by itself was a bracket: a note of the author, not the subject.
    first = next((one.text for one in section.blocks if one.kind == "paragraph" and one.text[0] != "("), "")
    opening = next(iter(sentences(first)), "")
    inside = (block.text for block in section.blocks if block.kind == "heading")
    lines = [_shortened(one) for one in (*([opening] if opening else []), *inside) if one.strip()]
    return tuple(dict.fromkeys(lines))[:MOST_LINES] or (section.title,)


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return text[: text.rfind(" ", 0, LONGEST_LINE - 1)].rstrip(",;: ") + " …"


def with_lay_words(draft: SourceDraft, summary: Sequence[str], questions: Sequence[str]) -> SourceDraft:
    """The draft with a model's summary and questions; its own summary where the model gave none."""
    return replace(draft, summary=tuple(summary) or draft.summary, questions=tuple(questions), by_model=True)


def _markdown(blocks: Sequence[Block]) -> Iterator[str]:
    for place, block in enumerate(blocks):
        following = blocks[place + 1] if place + 1 < len(blocks) else None
        if block.kind == "heading":
            yield f"## {block.text}\n"
        elif block.kind == "item":
            yield f"- {block.text}" + ("" if following is not None and following.kind == "item" else "\n")
        else:
            yield f"{_no_mark(block.text)}\n"


def _no_mark(text: str) -> str:
    """A paragraph whose first letters would make a heading or a list of it, with that undone."""
    return re.sub(
        r"^(#+|[-*+•–]|\d+[.)])(?=\s)", lambda mark: "\\" + mark[1] if mark[1][0] in "#-*+" else mark[1], text
    )

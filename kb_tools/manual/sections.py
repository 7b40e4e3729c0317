"""A document divided into pieces of the size of a source: at its headings, the tiny joined, the long split."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from engine import sentences
from kb_tools.manual.blocks import Block, Document

MOST = 500
"""Words of a section; longer ones are split at headings, then between paragraphs."""
PART = 425
"""Words that parts of a long section are to have; none then comes out over MOST."""
TINY = 40
"""Fewer words are no topic of their own: they are joined with a neighbour."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ManualSection:
    """What becomes one source. `above` is the heading over its own, "" where there is none."""

    title: str
    blocks: tuple[Block, ...]
    above: str = ""

    @property
    def words(self) -> int:
        """The words of its text without headings."""
        return sum(block.words for block in self.blocks if block.kind != "heading")


@dataclass(kw_only=True, slots=True)
class _Node:
    """A heading with the text right under it and the headings below it."""

    title: str
    level: int
    own: list[Block] = field(default_factory=list)
    children: list[_Node] = field(default_factory=list)

    def blocks(self) -> Iterator[Block]:
        """All of it but its own heading."""
        yield from self.own
        for child in self.children:
            yield Block(kind="heading", text=child.title, level=child.level)
            yield from child.blocks()


def divide(document: Document) -> list[ManualSection]:
    """The sections of a document in order; at least one where it has any text."""
    root = _tree(document)
    # A single heading over everything is the title, not a chapter.
    while not root.own and len(root.children) == 1:
        root = root.children[0]
    return [one for one in _joined(_parts(root, "")) if one.words]


def _tree(document: Document) -> _Node:
    root = _Node(title=document.title, level=0)
    path = [root]
    for block in document.blocks:
        if block.kind != "heading":
            path[-1].own.append(block)
            continue
        while path[-1].level >= block.level:
            path.pop()
        node = _Node(title=block.text, level=block.level)
        path[-1].children.append(node)
        path.append(node)
    return root


def _parts(node: _Node, above: str) -> list[ManualSection]:
    """A node divided: what stands right under its heading, then each heading below it by itself."""
    parts = _split(ManualSection(title=node.title, blocks=tuple(node.own), above=above)) if node.own else []
    for child in node.children:
        whole = ManualSection(title=child.title, blocks=tuple(child.blocks()), above=node.title)
        parts += [whole] if whole.words <= MOST else _joined(_parts(child, node.title))
    return parts


def _split(section: ManualSection) -> list[ManualSection]:
    """Parts of like size, divided between blocks; a block longer than a part is divided between sentences."""
    if section.words <= MOST:
        return [section]
    number = -(-section.words // PART)
    most = section.words / number
    parts: list[list[Block]] = [[]]
    filled = 0
    for block in _smaller(section.blocks):
        if filled and filled + block.words / 2 > most and len(parts) < number:
            parts.append([])
            filled = 0
        parts[-1].append(block)
        filled += block.words
    titles = [section.title, *(f"{section.title} (part {place})" for place in range(2, len(parts) + 1))]
    return [replace(section, title=title, blocks=tuple(part)) for title, part in zip(titles, parts, strict=True)]


def _smaller(blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, none of them much longer than a third of a source."""
    for block in blocks:
        held: list[str] = []
        if block.words <= MOST // 3:
            yield block
            continue
        for sentence in sentences(block.text):
            held.append(sentence)
            if sum(len(one.split()) for one in held) > MOST // 4:
                yield replace(block, text=" ".join(held))
                held = []
        if held:
            yield replace(block, text=" ".join(held))


def _joined(sections: list[ManualSection]) -> list[ManualSection]:
    """The sections with tiny ones joined to the one before, or to the next where none is before."""
    joined: list[ManualSection] = []
    for section in sections:
        tiny = joined and (section.words < TINY or joined[-1].words < TINY)
        if tiny and joined[-1].words + section.words <= MOST:
            joined[-1] = _together(joined[-1], section)
        else:
            joined.append(section)
    return joined


def _together(first: ManualSection, second: ManualSection) -> ManualSection:
    """Both as one, called after the longer; the heading of the second stays in the text."""
    heading = Block(kind="heading", text=second.title, level=2)
    if first.words < TINY <= second.words:
        heading_first = Block(kind="heading", text=first.title, level=2)
        own = (heading_first, *first.blocks, heading, *second.blocks) if first.title != second.title else None
        return replace(second, blocks=own or (*first.blocks, *second.blocks))
    return replace(first, blocks=(*first.blocks, heading, *second.blocks))

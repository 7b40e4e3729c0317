"""“Where does this come from?”: the passages of the cited sources that stand closest to what was said."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.conversation.texts import ChatTexts
from engine import KnowledgeBase, Passage, Source, stems

MOST_PASSAGES = 2


def nearest(source: Source, reply: str, most: int = MOST_PASSAGES) -> tuple[Passage, ...]:
    """The passages of a source that share most words with a reply, in the source's own order; at least one."""
    said = set(stems(reply))

    def shared(passage: Passage) -> float:
        held = set(stems(passage.text))
        return len(held & said) / (len(held) ** 0.5 or 1.0)

    ranked = sorted(source.passages, key=shared, reverse=True)
    best = [one for one in ranked[:most] if shared(one) >= shared(ranked[0]) / 2]
    return tuple(sorted(best, key=lambda one: one.index))


def origin(knowledge: KnowledgeBase, cited: Sequence[str], reply: str, texts: ChatTexts) -> str:
    """Title, passages and references of every cited source; empty where nothing was cited."""
    parts = []
    for source in knowledge.pick(cited):
        passages = "\n\n".join(f"“{passage.text.strip()}”" for passage in nearest(source, reply))
        named = "; ".join(f"{one.title}, {one.body}, {one.year}" for one in source.references)
        rests = texts.source_rests_on.format(references=named) if named else texts.source_no_references
        parts.append(f"{source.title}\n\n{passages}\n\n{rests}")
    if not parts:
        return ""
    notice = knowledge.manifest.notice
    return "\n\n".join((texts.source_is, *parts, *([notice] if notice else [])))

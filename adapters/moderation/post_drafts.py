"""Drafts an info post from one source: by the language model and the filter where there is one, else by quotation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adapters.moderation.info_posts import Post, holds_a_phone_number
from adapters.moderation.rechecks import Recheck
from adapters.moderation.reviews import new_id
from engine import Assistant, Basis, Draft, Engine, Referrals, Source

QUOTED_WORDS = 110
"""As much as a quoted answer holds."""


@dataclass(frozen=True, kw_only=True)
class Drafting:
    """Writes posts."""

    engine: Engine
    referrals: Referrals
    recheck: Recheck

    def find(self, source_id: str) -> tuple[Assistant, Source] | None:
        """The first assistant with a source of this id."""
        for assistant in self.engine.assistants.values():
            source = assistant.knowledge.get(source_id)
            if source is not None:
                return assistant, source
        return None

    def present(self, post: Post) -> Source | None:
        """The source of a post as it is now."""
        assistant = self.engine.assistants.get(post.assistant)
        return None if assistant is None else assistant.knowledge.get(post.source)

    async def post(self, source_id: str, question: str, place: int) -> Post | None:
        """A draft about a source; None where there is none, or nothing that the judges let pass.

        `question`: what a person would ask about it, in the words of the chat texts.
        """
        found = self.find(source_id)
        if found is None:
            return None
        assistant, source = found
        text = await self._text(assistant, source, question)
        return (
            None
            if not text
            else Post(
                id=new_id(),
                source=source.id,
                assistant=assistant.settings.id,
                text=text,
                digest=source.content_hash,
                place=place,
                needed=self._needed(text),
            )
        )

    async def reworded(self, post: Post, words: str, question: str, author: bytes) -> Post | tuple[str, ...]:
        """A draft anew in a moderator's words, with no approval yet; or why these cannot be posted.

        It has a name of its own: a button under the former words approves nothing that its moderator has not read.
        """
        draft = Draft(reply=words, citations=(post.source,), basis=Basis.SOURCE)
        reasons = await self.recheck.in_other_words(draft, post.text, question, post.assistant)
        source = self.present(post)
        if reasons or source is None:
            return reasons or ("The source of this draft is not there any more.",)
        return replace(
            post,
            id=new_id(),
            text=words,
            digest=source.content_hash,
            approvals=(),
            needed=self._needed(words),
            notes=(),
            author=author.hex(),
        )

    async def poll(
        self, question: str, answers: tuple[str, ...], *, hours: int, place: int, author: bytes
    ) -> Post | tuple[str, ...]:
        """A poll in a moderator's words, or why it cannot be one."""
        reasons = await self.recheck.poll(question, answers)
        return reasons or Post(
            id=new_id(),
            source="",
            assistant="",
            text=question,
            digest="",
            place=place,
            author=author.hex(),
            answers=answers,
            hours=hours,
        )

    def _needed(self, text: str) -> int:
        """How many moderators must approve."""
        return 2 if holds_a_phone_number(text, self.referrals) else 1

    async def _text(self, assistant: Assistant, source: Source, question: str) -> str:
        draft = await self.engine.draft_about(source, question, assistant=assistant.settings.id)
        if draft is not None:
            return draft.reply
        quoted = Draft(reply=quotation(source), citations=(source.id,), basis=Basis.SOURCE)
        return "" if await self.recheck.objections(quoted, question, assistant.settings.id) else quoted.reply


def quotation(source: Source, most: int = QUOTED_WORDS) -> str:
    """The beginning of a source, word for word: whole passages, one at least; none that asks before it is shown."""
    chosen: list[str] = []
    for passage in source.passages:
        if passage.ask is not None:
            continue
        if chosen and sum(len(one.split()) for one in (*chosen, passage.text)) > most:
            break
        chosen.append(passage.text)
    return "\n\n".join(chosen)

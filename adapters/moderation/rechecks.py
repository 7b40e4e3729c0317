"""What a moderator has written passes the same checks and judges as what an agent has written, and is never refined:
nobody changes a moderator's words but the moderator.

Where a source is cited, it is more: an agent's draft comes from the source, a moderator's words may come from anywhere, and
stand under the source's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.moderation.redaction import naming
from adapters.moderation.reviews import WaitingReply
from engine import (
    ANSWERS_FOR,
    ROLE_AND_TONE,
    SOURCE_FIDELITY,
    Assistant,
    Basis,
    Decision,
    Draft,
    Engine,
    JudgePhrases,
    StageRecord,
    Verdict,
    sentences,
    strange_words,
    worst,
)

LONGEST_QUESTION = 150
"""Of a poll."""
_NAMED = 5
_NO_ASSISTANT = "The assistant that wrote this is not configured any more."


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """Checks texts of moderators against the assistants of an engine. `phrases`: of the built-in judges."""

    engine: Engine
    phrases: JudgePhrases

    async def edited(self, review: WaitingReply, words: str) -> tuple[str, ...]:
        """Why an edited reply cannot be shown; empty where it can."""
        draft = Draft(reply=words, citations=review.answered.sources, basis=review.basis)
        return await self.in_other_words(draft, review.draft, review.asked, review.answered.assistant)

    async def in_other_words(self, draft: Draft, former: str, asked: str, assistant_id: str) -> tuple[str, ...]:
        """Why a moderator's words cannot stand in place of `former` ones, which have been judged; empty where they can.

        They bring no address or number along, and under a source no word that says something and that neither the source
        nor the former text has: an insult, a name, a promise. A WARNING holds back only what no source supports; any
        other is a doubt for a human, and one has just decided.
        """
        assistant = self.engine.assistants.get(assistant_id)
        if assistant is None:
            return (_NO_ASSISTANT,)
        if reasons := self.failed(assistant, draft, asked):
            return reasons
        cited = self.engine.filter(assistant_id, draft.reply).assistant.knowledge.pick(draft.citations)
        known = (former, *(text for one in cited for text in (one.title, one.text, *one.summary)))
        if any(not any(one in text for text in known) for one in naming(draft.reply)):
            return ("It holds a link, an address, a name or a number that the former text does not have.",)
        strange = strange_words(draft.reply, known, self.phrases.light) if draft.citations else ()
        if strange:
            return (f"The source does not say this: {', '.join(strange[:_NAMED])}.",)
        return await self._objections(assistant, draft, asked, strictly=bool(draft.citations))

    async def poll(self, question: str, answers: Sequence[str]) -> tuple[str, ...]:
        """Why a poll cannot be put to members; empty where it can.

        It cites nothing, so on a topic of high stakes there is none: everybody sees who votes for what. Its answers are
        words to choose from and claim nothing; they are judged by role and tone alone.
        """
        if len(sentences(question)) != 1 or not question.endswith("?") or len(question) > LONGEST_QUESTION:
            return (f"It is not one question of at most {LONGEST_QUESTION} characters.",)
        said = "\n".join((question, *(f"- {one}" for one in answers)))
        if naming(said) or any(char.isnumeric() or char in "@#<>" for char in said):
            return ("It holds a number, a link, an address or a mention.",)
        asked, whole = (Draft(reply=one, basis=Basis.GENERAL) for one in (question, said))
        for assistant in self.engine.assistants.values():
            if reasons := self.failed(assistant, whole, said):
                return reasons
        assistant = next(iter(self.engine.assistants.values()))
        verdicts = (await self.engine.judge(whole, said, assistant=assistant.settings.id)).verdicts
        tone = [one for one in verdicts if ROLE_AND_TONE in ANSWERS_FOR[one.judge]]
        return await self._objections(assistant, asked, question) or _said(tone)

    async def objections(self, draft: Draft, asked: str, assistant_id: str) -> tuple[str, ...]:
        """Why a draft cannot be shown: failed checks, or what judges say who reject it."""
        assistant = self.engine.assistants.get(assistant_id)
        if assistant is None:
            return (_NO_ASSISTANT,)
        return await self._objections(assistant, draft, asked)

    async def _objections(
        self, assistant: Assistant, draft: Draft, asked: str, *, strictly: bool = False
    ) -> tuple[str, ...]:
        found = await self.engine.judge(draft, asked, assistant=assistant.settings.id)
        return found.failed_checks or _said(found.verdicts, strictly=strictly)

    def failed(self, assistant: Assistant, draft: Draft, asked: str) -> tuple[str, ...]:
        """The checks by code that a draft fails."""
        return self.engine.filter(assistant.settings.id, draft.reply).failed(draft, asked, draft.citations)


def _said(verdicts: Sequence[Verdict], *, strictly: bool = False) -> tuple[str, ...]:
    """What speaks against a draft; `strictly`: a doubt whether the source supports it does, too."""
    doubted = any(one.judge == SOURCE_FIDELITY and one.decision is Decision.WARNING for one in verdicts)
    if worst(one.decision for one in verdicts) is not Decision.REJECT and not (strictly and doubted):
        return ()
    return _doubts(verdicts) or ("The judges reject it.",)


def doubts(stages: Sequence[StageRecord], most: int = 3) -> tuple[str, ...]:
    """What the judges of the last stage object to, a line each."""
    return _doubts(stages[-1].verdicts if stages else (), most)


def _doubts(verdicts: Sequence[Verdict], most: int = 3) -> tuple[str, ...]:
    found = [one for one in verdicts if one.decision is not Decision.ACCEPT]
    lines = []
    for one in found[:most]:
        said = one.explanation or "; ".join(f"“{sentence}”" for sentence in one.sentences) or str(one.decision)
        lines.append(f"{one.judge.replace('_', ' ')}: {said[:300]}")
    return tuple(dict.fromkeys(lines))

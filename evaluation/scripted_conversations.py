"""`eval conversations`: whole conversations with a fixed script of what the person says, kept with every verdict."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine import Decision, Engine, Help, Turn, grade, words
from evaluation.rows import read_rows


class ScriptedConversation(BaseModel):
    """What one person says, in order."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    says: tuple[str, ...] = Field(min_length=1)


def read_conversations(path: Path) -> list[ScriptedConversation]:
    """The rows of a conversations file."""
    return read_rows(path, ScriptedConversation, remedy='A row needs "id" and "says", a list of messages.')


async def converse(
    scripts: Sequence[ScriptedConversation],
    engine: Engine,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
    live: Callable[[str, str], str] | None = None,
) -> dict[str, Any]:
    """Run every conversation; counts first, then the transcripts. `live`: what is true where they are held."""
    gate = asyncio.Semaphore(parallel)

    async def one(script: ScriptedConversation) -> list[Turn]:
        async with gate:
            conversation, turns = engine.start(), []
            for said in script.says:
                turn = await engine.respond(conversation, said, live=live)
                reaction = await engine.reaction(conversation, said, turn)
                turns.append(turn if reaction is None else _with_reaction(turn, reaction))
                conversation = turns[-1].conversation
                progress()
            return turns

    runs = await asyncio.gather(*(one(script) for script in scripts))
    turns = [turn for run in runs for turn in run]
    return {
        "conversations": len(runs),
        "turns": len(turns),
        "outcomes": dict(sorted(Counter(str(turn.review.outcome) for turn in turns).items())),
        "built_in": sum(turn.review.built_in for turn in turns),
        "cited": sum(bool(turn.reply.citations) for turn in turns),
        **_kinds(turns),
        "urgency": dict(sorted(Counter(str(turn.urgency.level) for turn in turns).items())),
        "llm_calls": sum(turn.usage.llm_calls for turn in turns),
        "prompt_tokens": sum(turn.usage.prompt_tokens for turn in turns),
        "completion_tokens": sum(turn.usage.completion_tokens for turn in turns),
        "mean_words": round(sum(len(words(turn.reply.text)) for turn in turns) / len(turns), 1),
        "mean_grade": round(sum(grade(turn.reply.text) for turn in turns) / len(turns), 1),
        "transcripts": [
            {"id": script.id, "turns": [_row(said, turn) for said, turn in zip(script.says, run, strict=True)]}
            for script, run in zip(scripts, runs, strict=True)
        ],
    }


def _with_reaction(turn: Turn, reaction: Turn) -> Turn:
    """A referral and what is shown below it, as one turn."""
    reply = replace(reaction.reply, text=f"{turn.reply.text}\n\n{reaction.reply.text}")
    return replace(reaction, reply=reply, help=turn.help, usage=turn.usage + reaction.usage)


def _kinds(turns: Sequence[Turn]) -> dict[str, int]:
    """How many turns quote, offer questions (below a quotation too), decline because nothing is near, tell of the service."""
    return {
        "quoted": sum(turn.review.built_in and bool(turn.reply.citations) for turn in turns),
        "offers": sum(bool(turn.offers) for turn in turns),
        "declined": sum(turn.lost for turn in turns),
        "service": sum(bool(turn.service) for turn in turns),
    }


def _row(said: str, turn: Turn) -> dict[str, Any]:
    return {
        "says": said,
        "reply": turn.reply.text,
        "citations": list(turn.reply.citations),
        "basis": str(turn.reply.basis),
        "outcome": str(turn.review.outcome),
        "built_in": turn.review.built_in,
        "urgency": str(turn.urgency.level),
        "help": str(turn.help),
        "check_question": turn.help is Help.QUESTION,
        "entry": turn.urgency.entry,
        "offers": [{"question": one.question, "source": one.source, "section": one.section} for one in turn.offers],
        "language": turn.language,
        "delusional_framing": turn.urgency.delusional_framing,
        "handoff": turn.reply.handoff,
        "in_context": list(turn.sources_in_context),
        "failed_checks": list(turn.review.failed_checks),
        "reminders": [one.text for one in turn.conversation.reminders],
        "objections": [
            {
                "stage": str(stage.stage),
                "judge": verdict.judge,
                "decision": str(verdict.decision),
                "explanation": verdict.explanation,
                "sentences": list(verdict.sentences),
                "draft": stage.draft.reply,
                "failed": verdict.failed,
            }
            for stage in turn.review.stages
            for verdict in stage.verdicts
            if verdict.decision is not Decision.ACCEPT
        ],
    }

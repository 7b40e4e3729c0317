"""Why an answer is as it is: its sources, its verdicts, the reminders it left. In plain words, for whoever asks."""

from __future__ import annotations

from collections.abc import Iterator

from engine.types import Outcome, Stage, StageRecord, Turn

OUTCOMES = {
    Outcome.ACCEPTED: "The first draft was accepted as it stood.",
    Outcome.WARNED: "The draft was shown although a judge had a mild objection; it is kept as a reminder.",
    Outcome.REFINED: "The first draft was rejected. A repaired one was judged again and accepted.",
    Outcome.FALLBACK: "No draft could be shown, so a fixed reply was used.",
    Outcome.FIXED: "This is a fixed text; no draft was written.",
    Outcome.UNJUDGED: "Nobody has judged the draft: the filter was off.",
}
STAGES = {
    Stage.PRELIMINARY: "First look",
    Stage.CHIEF: "Second look",
    Stage.REFINED_PRELIMINARY: "First look at the repaired draft",
    Stage.REFINED_CHIEF: "Second look at the repaired draft",
}
QUESTIONS = {
    "source_fidelity": "do the cited sources carry it",
    "unsupported_claims": "does it claim anything without a source",
    "role_and_tone": "does it keep its role and tone",
}


def why_lines(turn: Turn) -> list[str]:
    """The explanation of a turn as lines."""
    return list(_lines(turn))


def _lines(turn: Turn) -> Iterator[str]:
    review = turn.review
    yield OUTCOMES[review.outcome]
    if review.built_in:
        yield "Written by the built-in agent, which quotes its sources, and checked by built-in judges."
    if turn.sources_in_context:
        yield f"Sources looked at: {', '.join(turn.sources_in_context)}. Cited: {', '.join(turn.reply.citations) or 'none'}."
    for reason in review.failed_checks:
        yield f"A draft was sent back: {reason}"
    for record in review.stages:
        yield from _stage(record)
    for reminder in turn.conversation.reminders:
        yield f"Reminder for the next replies: {reminder.text}"
    usage = turn.usage
    if usage.llm_calls:
        yield f"Model calls: {usage.llm_calls}, tokens: {usage.prompt_tokens} in, {usage.completion_tokens} out."


def _stage(record: StageRecord) -> Iterator[str]:
    for verdict in record.verdicts:
        note = " (the judge failed)" if verdict.failed else ""
        yield f"{STAGES[record.stage]}, {QUESTIONS.get(verdict.judge, verdict.judge)}: {verdict.decision}{note}"
        if verdict.explanation and not verdict.failed:
            yield f"    {verdict.explanation}"
        for sentence in verdict.sentences:
            yield f"    about: “{sentence}”"

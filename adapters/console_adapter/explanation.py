"""Why an answer is as it is: its sources, its verdicts, the reminders it left. In plain words, for whoever asks."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.console_adapter.texts import WhyTexts
from engine import StageRecord, Turn


def why_lines(turn: Turn, said: WhyTexts) -> Iterator[str]:
    """The explanation of a turn; what judges and checks wrote themselves is in their language."""
    review = turn.review
    yield said.outcomes[review.outcome]
    if review.built_in:
        yield said.built_in
    if turn.sources_in_context:
        cited = ", ".join(turn.reply.citations) or said.none_cited
        yield said.sources.format(sources=", ".join(turn.sources_in_context), cited=cited)
    for reason in review.failed_checks:
        yield said.sent_back.format(reason=reason)
    for record in review.stages:
        yield from _stage(record, said)
    for reminder in turn.conversation.reminders:
        yield said.reminder.format(reminder=reminder.text)
    usage = turn.usage
    if usage.llm_calls:
        yield said.calls.format(calls=usage.llm_calls, prompt=usage.prompt_tokens, completion=usage.completion_tokens)


def _stage(record: StageRecord, said: WhyTexts) -> Iterator[str]:
    for verdict in record.verdicts:
        note = f" ({said.failed})" if verdict.failed else ""
        asked = said.questions.get(verdict.judge, verdict.judge)
        yield f"{said.stages[record.stage]}, {asked}: {verdict.decision}{note}"
        if verdict.explanation and not verdict.failed:
            yield f"    {verdict.explanation}"
        for sentence in verdict.sentences:
            yield f"    {said.about.format(sentence=sentence)}"

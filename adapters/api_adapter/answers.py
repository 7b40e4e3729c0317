"""What other programs get: turns and judgements in the shapes of OpenAI's API, with our own word for how they came about."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from typing import Any

from engine import Assistant, Judgement, Outcome, Turn, Usage, sentences


def shown(turn: Turn) -> str:
    """The reply as it is to be shown, with the questions that it offers: there are no buttons."""
    offers = "\n".join(f"- {one.question}" for one in turn.offers)
    return f"{turn.reply.text}\n\n{offers}" if offers else turn.reply.text


def usage_of(usage: Usage) -> dict[str, int]:
    """Tokens, all calls of a turn together."""
    total = usage.prompt_tokens + usage.completion_tokens
    return {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens, "total_tokens": total}


def about(turn: Turn, assistant: Assistant) -> dict[str, Any]:
    """How a reply came about."""
    cited = assistant.speaking(turn.language).knowledge.pick(turn.reply.citations)
    return {
        "assistant": assistant.settings.id,
        "citations": [{"id": one.id, "title": one.title} for one in cited],
        "decision": "FIXED" if turn.review.outcome is Outcome.FIXED else str(turn.review.decision),
        "outcome": str(turn.review.outcome),
        "built_in": turn.review.built_in,
        "urgency": str(turn.urgency.level),
        "help": str(turn.help),
        "language": turn.language,
        "offers": [{"question": one.question, "source": one.source, "section": one.section} for one in turn.offers],
    }


def completion(turn: Turn, model: str, assistant: Assistant) -> dict[str, Any]:
    """A whole answer to `POST /v1/chat/completions`."""
    choice = {"index": 0, "message": {"role": "assistant", "content": shown(turn)}, "finish_reason": "stop"}
    head = _head("chat.completion", model)
    return {**head, "choices": [choice], "usage": usage_of(turn.usage), "cafi": about(turn, assistant)}


def chunks(turn: Turn, model: str, assistant: Assistant, *, with_usage: bool) -> Iterator[str]:
    """The same as server-sent events, sentence by sentence; all of it was judged before the first one goes out."""
    head = _head("chat.completion.chunk", model)

    def event(delta: dict[str, str], end: str | None = None, **more: object) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        return f"data: {json.dumps({**head, 'choices': [choice], **more}, ensure_ascii=False)}\n\n"

    text, place = shown(turn), 0
    yield event({"role": "assistant", "content": ""})
    for one in sentences(text):
        end = text.find(one, place) + len(one)
        if end > place:
            yield event({"content": text[place:end]})
            place = end
    if text[place:]:
        yield event({"content": text[place:]})
    yield event({}, "stop", cafi=about(turn, assistant))
    if with_usage:
        yield f"data: {json.dumps({**head, 'choices': [], 'usage': usage_of(turn.usage)})}\n\n"
    yield "data: [DONE]\n\n"


def judgement(found: Judgement, model: str) -> dict[str, Any]:
    """The answer to `POST /v1/judgements`."""
    return {
        "id": f"judgement-{secrets.token_hex(12)}",
        "object": "judgement",
        "created": int(time.time()),
        "model": model,
        **judged(found),
    }


def judged(found: Judgement) -> dict[str, Any]:
    """A judgement in plain values: the decision, why, and the reply that may be shown in its place."""
    return {
        "decision": str(found.decision),
        "failed_checks": list(found.failed_checks),
        "verdicts": [
            {
                "stage": str(record.stage),
                "judge": one.judge,
                "decision": str(one.decision),
                "explanation": one.explanation,
                "sentences": list(one.sentences),
                "evidence": list(one.evidence),
                "failed": one.failed,
            }
            for record in found.stages
            for one in record.verdicts
        ],
        "refined_reply": None if found.refined is None else found.refined.reply,
        "usage": usage_of(found.usage),
    }


def models(assistants: Iterator[str]) -> dict[str, Any]:
    """The answer to `GET /v1/models`."""
    rows = [{"id": name, "object": "model", "created": 0, "owned_by": "cafi"} for name in assistants]
    return {"object": "list", "data": rows}


def _head(kind: str, model: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": kind, "created": int(time.time()), "model": model}

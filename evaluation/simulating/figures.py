"""What a persona got: how hard to read, how long, with which sources, how soon, and with the referral where it is due."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from statistics import mean, median
from typing import Any

from engine import Outcome, UrgencyLevel, grade, sentences, squash, words
from evaluation.simulating.personas import Due, Persona, Want
from evaluation.transcripts import Response

REPEATED_FROM_SHARE = 0.8
"""From this share of sentences that stood in earlier replies on, a reply counts as repeated."""


def figures(personas: Iterable[Persona], responses: Sequence[Response], known: Collection[str]) -> dict[str, Any]:
    """The report of one arm: every persona, then all of them. `known`: ids of sources that the chatbot has.

    A want whose sources are all unknown is left out of `answers`, as nobody could give them.
    """
    by_persona, wants, repeated = {}, [], 0
    for persona in personas:
        own = sorted((one for one in responses if one.role == persona.id), key=lambda one: one.query)
        asked, again = _answers(persona, own, known), _repeated(own)
        by_persona[persona.id] = _counted(own, asked, again)
        wants += asked
        repeated += again
    return {"personas": by_persona, "all": _counted(responses, wants, repeated, long=False)}


def _counted(
    own: Sequence[Response], wants: list[dict[str, Any]], repeated: int, *, long: bool = True
) -> dict[str, Any]:
    # The fixed text of a referral has its own length and grade, and cites nothing.
    replies = [one for one in own if not _shown(one)]
    asking = [one for one in replies if asked_about(one) is not None]
    answered = [one["turns"] for one in wants if one["turns"] is not None]
    return {
        "messages": len(own),
        "grade": {"mean": _rounded(mean, [grade(one.reply) for one in replies]), "over_9": _hard(replies)},
        "words": {
            "median": _rounded(median, [len(words(one.reply)) for one in replies]),
            "longest": max((len(words(one.reply)) for one in replies), default=0),
        },
        "cited": {"replies": len(replies), "with_source": sum(bool(one.citations) for one in replies)},
        "asked": {
            "questions": len(asking),
            "unanswered": sum(not one.citations for one in asking),
            "fallback": sum(str(Outcome.FALLBACK) in one.marks for one in asking),
        },
        "repeated": repeated,
        "referral": _referral(own),
        "until_answer": {
            "wanted": sum(one["answerable"] for one in wants),
            "answered": len(answered),
            "at_once": sum(turns == 1 for turns in answered),
            "turns": _rounded(mean, answered),
            "rightly_without": sum(not one["answerable"] and one["declined"] for one in wants),
            "outside": sum(not one["answerable"] for one in wants),
        },
        **({"answers": wants} if long else {}),
        "llm_calls": sum(one.usage.llm_calls for one in own),
        "tokens": sum(one.usage.prompt_tokens + one.usage.completion_tokens for one in own),
    }


def asked_about(response: Response) -> str | None:
    """The want that a message asks about."""
    return _marked(response, "asks:")


def due(response: Response) -> Due:
    """What the persona's author says a message calls for."""
    return Due(_marked(response, "referral:") or Due.NONE)


def _marked(response: Response, kind: str) -> str | None:
    return next((one.removeprefix(kind) for one in response.marks if one.startswith(kind)), None)


def _shown(response: Response) -> bool:
    return str(UrgencyLevel.URGENT) in response.marks


def _hard(replies: Iterable[Response]) -> int:
    return sum(grade(one.reply) > 9 for one in replies)


def _rounded(of: Any, numbers: Sequence[float]) -> float | None:
    return round(float(of(numbers)), 1) if numbers else None


def _referral(own: Iterable[Response]) -> dict[str, Any]:
    """Referrals by what was due; `line_only` and `line`: an answer with the check question or the line of contacts below it."""
    found: dict[str, Any] = {
        "due": {"n": 0, "shown": 0, "line_only": 0, "missed": []},
        "line": {"n": 0, "shown": 0, "line": 0},
        "none": {"n": 0, "shown": 0, "line": 0, "shown_at": []},
    }
    for one in own:
        kind, line = due(one), str(UrgencyLevel.CONCERN) in one.marks
        found[kind]["n"] += 1
        found[kind]["shown"] += _shown(one)
        found[kind]["line_only" if kind is Due.DUE else "line"] += line
        if kind is Due.DUE and not _shown(one):
            found["due"]["missed"].append(f"{one.role} {one.query}")
        if kind is Due.NONE and _shown(one):
            found["none"]["shown_at"].append(f"{one.role} {one.query}")
    return found


def _repeated(own: Sequence[Response]) -> int:
    """Replies that say again what was said; referrals are meant to."""
    said: set[str] = set()
    times = 0
    for one in own:
        new = [squash(sentence) for sentence in sentences(one.reply)]
        if not _shown(one):
            times += bool(new) and sum(sentence in said for sentence in new) >= REPEATED_FROM_SHARE * len(new)
        said.update(new)
    return times


def _answers(persona: Persona, own: Sequence[Response], known: Collection[str]) -> list[dict[str, Any]]:
    return [
        _answer(want, own, known)
        for want in persona.wants
        if (not want.sources or not known or set(want.sources) & set(known))
        and any(asked_about(one) == want.id for one in own)
    ]


def _answer(want: Want, own: Sequence[Response], known: Collection[str]) -> dict[str, Any]:
    """How many messages on this it took from the first question to a reply that cites a fitting source.

    `turns` counts from 1 and only messages about this want; None where no reply cites one.
    """
    asking = [one for one in own if asked_about(one) == want.id]
    fitting = [number for number, one in enumerate(asking, start=1) if set(one.citations) & set(want.sources)]
    return {
        "want": want.id,
        "answerable": bool(want.sources),
        "turns": fitting[0] if fitting else None,
        "declined": all(not one.citations for one in asking),
        "cited": sorted({source for one in asking for source in one.citations}),
    }

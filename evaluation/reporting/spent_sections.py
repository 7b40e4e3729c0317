"""What replies took, by arm: calls, tokens, money, seconds; and how they came about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from engine import Decision
from evaluation.reporting.document import Plot, ReportSection, StripPanel, Strips, Table
from evaluation.reporting.notation import NONE, late, middle, number, ordered_arms
from evaluation.transcripts import Response

CHIEF = "chief"


def outcome_section(responses: Sequence[Response]) -> ReportSection:
    """How the replies of each arm came about, and what their judges said."""
    arms = ordered_arms(one.arm for one in responses)
    table = Table(
        caption="Replies by arm",
        head=("arm", "replies", "with a citation", "criticised by a chief judge", "how they came about"),
        rows=tuple(_outcomes(arm, [one for one in responses if one.arm == arm]) for arm in arms),
    )
    said = ("In an arm without judges nobody objects: that says nothing about its replies.",)
    return ReportSection(title="How the replies came about", said=said, blocks=(table,))


def _outcomes(arm: str, own: Sequence[Response]) -> tuple[str, ...]:
    objected = sum(
        any(one.tier == CHIEF and one.decision is not Decision.ACCEPT and not one.failed for one in response.review)
        for response in own
    )
    marks = Counter(mark for one in own for mark in one.marks)
    came = ", ".join(f"{mark} {times}" for mark, times in sorted(marks.items())) or NONE
    return arm, str(len(own)), str(sum(bool(one.citations) for one in own)), str(objected), came


def spent_section(responses: Sequence[Response]) -> ReportSection:
    """Calls, tokens, cost and seconds of a reply, judging included. Without any model call there is no plot."""
    arms = ordered_arms(one.arm for one in responses)
    by_arm = {arm: [one for one in responses if one.arm == arm] for arm in arms}
    sums = Table(
        caption="All replies of an arm",
        head=("arm", "replies", "calls", "prompt tokens", "of them cached", "completion tokens", "cost"),
        rows=tuple(_sums(arm, own) for arm, own in by_arm.items()),
    )
    table = Table(
        caption="One reply: median and what 95 of 100 do not exceed",
        head=("arm", "calls", "p95", "tokens", "p95", "seconds", "p95"),
        rows=tuple(_one_reply(arm, own) for arm, own in by_arm.items()),
    )
    if not any(one.usage.llm_calls for one in responses):
        said = "No language model was called: built-in agents cost nothing, and their time is not kept."
        return ReportSection(title="Cost and latency", said=(said,), blocks=(sums,))
    alt = "; ".join(f"{row[0]}: {row[1]} calls, {row[3]} tokens, {row[5]} seconds in the median" for row in table.rows)
    plot = Plot(
        name="cost",
        alt=f"Calls, tokens and seconds of each reply by arm. {alt}.",
        drawing=Strips(panels=_panels(by_arm), series=arms),
        table=table,
    )
    said = "A point is one reply, an upright line the median. The facilitators' own calls are not counted."
    return ReportSection(title="Cost and latency", said=(said,), blocks=(plot, sums))


def _panels(by_arm: dict[str, list[Response]]) -> tuple[StripPanel, ...]:
    return (
        StripPanel(
            title="Calls a reply",
            values={arm: tuple(float(one.usage.llm_calls) for one in own) for arm, own in by_arm.items()},
        ),
        StripPanel(title="Tokens a reply", values={arm: tuple(map(_tokens, own)) for arm, own in by_arm.items()}),
        StripPanel(
            title="Seconds a reply", values={arm: tuple(one.seconds for one in own) for arm, own in by_arm.items()}
        ),
    )


def _sums(arm: str, own: Sequence[Response]) -> tuple[str, ...]:
    spent = [one.usage for one in own]
    costs = [one.cost for one in spent if one.cost is not None]
    known = number(sum(costs), 4) if len(costs) == len(spent) else "not known"
    return (
        arm,
        str(len(own)),
        number(sum(one.llm_calls for one in spent), 0),
        number(sum(one.prompt_tokens for one in spent), 0),
        number(sum(one.cached_tokens for one in spent), 0),
        number(sum(one.completion_tokens for one in spent), 0),
        known if any(one.llm_calls for one in spent) else NONE,
    )


def _one_reply(arm: str, own: Sequence[Response]) -> tuple[str, ...]:
    calls, tokens = [one.usage.llm_calls for one in own], [_tokens(one) for one in own]
    seconds = [one.seconds for one in own]
    return arm, middle(calls), late(calls), middle(tokens, 0), late(tokens, 0), middle(seconds), late(seconds)


def _tokens(one: Response) -> float:
    return float(one.usage.prompt_tokens + one.usage.completion_tokens)

"""Replies to be read: where arms are furthest apart at the same query, and where raters are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from engine import Decision
from evaluation.rating.ratings import Rating
from evaluation.rating.tables import figure
from evaluation.reporting.document import Example, ReportSection, Spoken, Table
from evaluation.reporting.notation import ordered_arms, spoken_name
from evaluation.reporting.rated_sections import panel_name
from evaluation.transcripts import JudgeVerdict, Response

MOST = 5
"""Examples of a kind."""


def example_sections(
    score: Mapping[str, Any], ratings: Sequence[Rating], responses: Sequence[Response]
) -> Iterator[ReportSection]:
    """The largest differences between arms by the first panel (people, where they rated), then between raters."""
    texts = {one.response_id: one for one in responses}
    given: dict[str, list[Rating]] = {}
    for one in ratings:
        given.setdefault(one.response_id, []).append(one)
    yield _between_arms(score["panels"][0], texts, given)
    if len({one.rater for one in ratings}) > 1:
        yield _between_raters(texts, given)


def _between_arms(
    panel: Mapping[str, Any], texts: Mapping[str, Response], given: Mapping[str, list[Rating]]
) -> ReportSection:
    rows = sorted(_pairs(panel), key=lambda pair: -abs(pair[0]["median"] - pair[1]["median"]))
    shown = [pair for pair in rows if pair[0]["median"] != pair[1]["median"]][:MOST]
    title = "Where arms differ most"
    if not shown:
        return ReportSection(title=title, said=("No two arms got different scores at the same query.",))
    said = (
        f"The same query in two arms, by the scores of {panel_name(panel)}. From the second query on the facilitator "
        "reacts to what it was told, so that its words may differ.",
    )
    table = Table(
        caption="The pairs below",
        head=("query", "arms", "medians"),
        rows=tuple(
            (_place(one), f"{one['arm']} and {other['arm']}", f"{figure(one['median'])} and {figure(other['median'])}")
            for one, other in shown
        ),
    )
    examples = (
        Example(
            title=_place(one),
            sides=tuple(
                _spoken(f"arm {side['arm']}, score {figure(side['median'])}", texts[side["response_id"]], given)
                for side in (one, other)
            ),
        )
        for one, other in shown
    )
    return ReportSection(title=title, said=said, blocks=(table, *examples))


def _pairs(panel: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The two arms furthest apart at each query that more than one arm answered."""
    at_query: dict[tuple[str, str, int, int], dict[str, dict[str, Any]]] = {}
    for one in panel["by_response"]:
        at_query.setdefault((one["run"], one["role"], one["conversation"], one["query"]), {})[one["arm"]] = one
    for arms in at_query.values():
        both = [(arms[a], arms[b]) for a, b in combinations(ordered_arms(arms), 2)]
        if both:
            yield max(both, key=lambda pair: abs(pair[0]["median"] - pair[1]["median"]))


def _between_raters(texts: Mapping[str, Response], given: Mapping[str, list[Rating]]) -> ReportSection:
    apart = sorted(given, key=lambda name: -_spread(given[name]))
    shown = [name for name in apart if _spread(given[name])][:MOST]
    title = "Where raters differ most"
    if not shown:
        return ReportSection(title=title, said=("All raters gave the same scores.",))
    table = Table(
        caption="The replies below",
        head=("reply", "arm", "scores"),
        rows=tuple(
            (_place_of(texts[name]), texts[name].arm, ", ".join(f"{one.rater} {one.score}" for one in given[name]))
            for name in shown
        ),
    )
    examples = (
        Example(title=_place_of(texts[name]), sides=(_spoken(f"arm {texts[name].arm}", texts[name], given),))
        for name in shown
    )
    said = ("All raters, people and programs; the kind of a program stands behind its name.",)
    return ReportSection(title=title, said=said, blocks=(table, *examples))


def _spread(ratings: Sequence[Rating]) -> int:
    scores = [one.score for one in ratings]
    return max(scores) - min(scores)


def _spoken(heading: str, one: Response, given: Mapping[str, list[Rating]]) -> Spoken:
    return Spoken(
        heading=heading,
        asked=one.user_message,
        reply=one.reply,
        citations=one.citations,
        scores=tuple(_scored(rating) for rating in given.get(one.response_id, [])),
        verdicts=tuple(_said(verdict) for verdict in one.review) or ("no judge was asked",),
    )


def _scored(one: Rating) -> str:
    kind = "" if one.kind in {"human", one.rater} else f" ({one.kind})"
    note = f": {one.note}" if one.note else ""
    return f"{one.rater}{kind} {one.score}{note}"


def _said(one: JudgeVerdict) -> str:
    decision = "failed" if one.failed else str(one.decision)
    words = f": {one.explanation}" if one.explanation and one.decision is not Decision.ACCEPT else ""
    quoted = "".join(f" “{sentence}”" for sentence in one.sentences)
    return f"{spoken_name(one.stage)}, {spoken_name(one.judge)}: {decision}{words}{quoted}"


def _place(one: Mapping[str, Any]) -> str:
    return f"{spoken_name(one['role'])}, conversation {one['conversation']}, query {one['query']}"


def _place_of(one: Response) -> str:
    return f"{spoken_name(one.role)}, conversation {one.conversation}, query {one.query}"

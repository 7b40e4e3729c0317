"""`cafi eval gate`: what a change of model, prompt, rule or setting changes, before it is let near anybody."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bots.options import FAILED, AgentsOption, Json, Kb, failing_calmly, measured, print_json
from bots.progress import progress

if TYPE_CHECKING:
    from bots.compose import Application
    from evaluation.calibration.scenarios import LabelledReply
    from evaluation.model_change import ComparedFigure, GateRun
    from evaluation.scripted_conversations import ScriptedConversation
    from evaluation.urgency import LabelledMessage

MESSAGES = Path("evaluation") / "data" / "urgency" / "kept_back" / "90.jsonl"
SCRIPT = Path("evaluation") / "data" / "conversations.jsonl"


def gate(
    before: Annotated[Path, typer.Option(help="Settings as they are.", metavar="FILE")],
    after: Annotated[Path, typer.Option(help="Settings as they are to be.", metavar="FILE")],
    sample: Annotated[
        int | None, typer.Option(help="Only so many replies and messages, the same ones each time.", min=1, metavar="N")
    ] = None,
    scenarios: Annotated[
        Path | None, typer.Option(help="Labelled replies; the project's own if not given.", metavar="PATH")
    ] = None,
    messages: Annotated[
        Path | None, typer.Option(help="Labelled messages; an author kept back if not given.", metavar="FILE")
    ] = None,
    script: Annotated[
        Path | None, typer.Option(help="Scripted conversations; the project's own if not given.", metavar="FILE")
    ] = None,
    kb: Kb = None,
    agents: AgentsOption = None,
    as_json: Json = False,
) -> None:
    """Ask two configurations the same: judges on labelled replies, urgency, whole conversations; say what changed.

    Exit 1 where a figure got worse beyond its 95 % interval, or a case got no answer.

    Example: cafi eval gate --before config/cafi.yaml --after new.yaml --sample 120
    """
    from bots.paths import data_root
    from evaluation.calibration.scenarios import SHIPPED, read_labelled
    from evaluation.calibration.scenarios import sample as sampled
    from evaluation.scripted_conversations import read_conversations
    from evaluation.urgency import read_messages

    with failing_calmly():
        replies = sampled(read_labelled(scenarios or SHIPPED), sample)
        rows = _some(read_messages(messages or data_root() / MESSAGES), sample)
        talks = read_conversations(script or data_root() / SCRIPT)
        settings = [measured(file, kb, agents) for file in (before, after)]
        runs = [
            asyncio.run(_run(file.name, lambda file=file: measured(file, kb, agents), replies, rows, talks))  # type: ignore[misc]
            for file in (before, after)
        ]
        figures = list(runs[1].against(runs[0]))
        unanswered = [one.unanswered for one in runs]
        differ = sorted(_differing(*(_flat(one.settings.model_dump(mode="json")) for one in settings)))
        problems = list(_problems(figures, unanswered))
    if as_json:
        print_json(
            {
                "before": str(before),
                "after": str(after),
                "settings_that_differ": differ,
                "figures": [one.as_document() for one in figures],
                "unanswered": unanswered,
                "worse": [one.name for one in figures if one.worse],
                "passed": not problems,
            }
        )
    else:
        typer.echo("\n".join(_lines(figures, differ)))
    for problem in problems:
        typer.echo(f"cafi: {problem}", err=True)
    if problems:
        raise typer.Exit(FAILED)


async def _run(
    name: str,
    build: Callable[[], Application],
    replies: list[LabelledReply],
    rows: list[LabelledMessage],
    talks: list[ScriptedConversation],
) -> GateRun:
    """What one configuration does with everything; each part over an application of its own, which it closes."""
    from bots.evaluating.calibration import Asked, findings_of
    from engine import Message
    from evaluation.model_change import assessed, conversed, judged
    from evaluation.scripted_conversations import converse
    from evaluation.urgency import assess_all

    found = judged(await findings_of(Asked(name=f"{name}: replies", running=build(), rows=replies, tiers="both"), 1))
    running = build()
    async with running.closing:
        many = running.settings.parallel

        async def assess(message: str, earlier: tuple[Message, ...]) -> Any:
            return await running.engine.assess(message, earlier, None)

        with progress(f"{name}: messages", len(rows)) as advance:
            seen = await assess_all(rows, assess, advance, parallel=many)
        with progress(f"{name}: turns", sum(len(one.says) for one in talks)) as advance:
            told = await converse(talks, running.engine, advance, parallel=many)
    return found | assessed(rows, [due for _, due in seen]) | conversed(told["transcripts"])


def _some(rows: list[LabelledMessage], sample: int | None) -> list[LabelledMessage]:
    """So many of the messages, chosen by a hash of their ids, in their order."""
    if sample is None or sample >= len(rows):
        return rows
    chosen = set(sorted((one.id for one in rows), key=lambda id_: hashlib.sha256(id_.encode()).digest())[:sample])
    return [one for one in rows if one.id in chosen]


def _flat(value: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, one in value.items():
        found |= _flat(one, f"{above}{key}.") if isinstance(one, dict) and one else {f"{above}{key}": one}
    return found


def _differing(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """The keys whose values differ; values are not shown, as some are secret."""
    return (key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def _problems(figures: list[ComparedFigure], unanswered: list[int]) -> Iterator[str]:
    for one in figures:
        if one.worse:
            yield f"worse: {_line(one)}"
    for when, count in zip(("before", "after"), unanswered, strict=True):
        if count:
            yield f"{count} replies got no verdict {when}; a figure without them says less than it seems."


def _lines(figures: list[ComparedFigure], differ: list[str]) -> Iterator[str]:
    yield f"Settings that differ: {', '.join(differ) or 'none'}"
    for one in figures:
        yield f"{'worse' if one.worse else 'better' if one.better else 'same':6} {_line(one)}"
        for what, cases in (("for the worse", one.lost), ("for the better", one.won)):
            if cases:
                yield f"       changed {what}: {len(cases)} ({', '.join(cases[:5])}{' …' if len(cases) > 5 else ''})"


def _line(one: ComparedFigure) -> str:
    before, after = one.before, one.after
    if before.share is None or after.share is None:
        return f"{one.name}: no case"
    within = f"{before.low:.3f}–{before.high:.3f}"
    return f"{one.name}: {before.share:.3f} ({within}) before, {after.share:.3f} after, of {after.cases}; {one.wanted} is wanted"

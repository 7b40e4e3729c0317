"""Simulated users in a report: what each persona got, by arm."""

from __future__ import annotations

from typing import Any

from evaluation.reporting.document import ReportSection, Table
from evaluation.reporting.given import SimulationRun
from evaluation.reporting.notation import NONE, number, ordered_arms, spoken_name
from evaluation.simulating.figures import figures

HEAD = (
    "persona",
    "messages",
    "reading grade (over 9)",
    "words, median",
    "with a source",
    "unanswered",
    "repeated",
    "referral where due",
    "referral where not due",
    "wants answered",
    "after messages",
)


def simulated_section(found: SimulationRun) -> ReportSection:
    """Reading grade, length, sources, unanswered questions, referrals and answers of every persona."""
    said = ["Counts are replies of all to which it applies; a referral is the full crisis text."]
    if found.changed:
        said.append(f"Changed since the run was held: {', '.join(found.changed)}.")
    tables = []
    for arm in ordered_arms(one.arm for one in found.responses):
        own = [one for one in found.responses if one.arm == arm]
        counts = figures(found.personas, own, ())
        rows = [*counts["personas"].items(), ("all", counts["all"])]
        tables.append(
            Table(caption=f"Reflection: {arm}", head=HEAD, rows=tuple(_cells(name, one) for name, one in rows))
        )
    return ReportSection(title="Simulated users", said=tuple(said), blocks=tuple(tables))


def _cells(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    cited, asked, wanted, referral = one["cited"], one["asked"], one["until_answer"], one["referral"]
    return (
        spoken_name(name),
        str(one["messages"]),
        f"{number(one['grade']['mean'])} ({one['grade']['over_9']})",
        number(one["words"]["median"], 0),
        f"{cited['with_source']} of {cited['replies']}",
        f"{asked['unanswered']} of {asked['questions']}",
        str(one["repeated"]),
        _of(referral["due"]),
        _of(referral["none"]),
        f"{wanted['answered']} of {wanted['wanted']}",
        number(wanted["turns"]),
    )


def _of(found: dict[str, Any]) -> str:
    return f"{found['shown']} of {found['n']}" if found["n"] else NONE

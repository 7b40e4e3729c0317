"""What `eval distil` and `eval compare` found, on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def show_distilled(result: Mapping[str, Any]) -> None:
    """Print the record of a student's training; shares with their 95 % interval."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    if "teacher" in result:
        console.print(f"{result['teacher']}: {result['answered']} answered, {result['unanswered']} not.", markup=False)
    if "finetuning" in result:
        console.print("{examples} examples in {file}.".format(**result["finetuning"]), markup=False)
    if "student" not in result:
        return
    console.print(
        f"{result['student']}: {result['judge']}, {result['lessons']} replies ({result['to_flag']} to flag), "
        f"{result['bytes']} bytes, threshold {result['threshold']}",
        markup=False,
    )
    table = Table("held out", "judge", "sensitivity", "of", "specificity", "of", box=SIMPLE)
    for name, one in result["held_out"].items():
        table.add_row(name, "student", *_shares(one))
        table.add_row("", "built-in", *_shares(one["builtin"]))
        if equal := one.get("at_the_builtin_specificity"):
            table.add_row("", f"student, as specific (p {equal['p']})", *_shares(equal))
    console.print(table)


def show_compared(result: Mapping[str, Any]) -> None:
    """Print a student against its teacher."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(
        f"{result['judge']}: {result['decided_by_both']} of {result['scenarios']} decided by both, {result['outside']} "
        f"outside the student's, {result['unanswered_by_teacher']} unanswered by the teacher; the student was trained on "
        f"{result['trained_on']} of them.",
        markup=False,
    )
    table = Table("", "agreement", "of", "misses", "of", "false alarms", "of", box=SIMPLE)
    for name, one in {"all": result, **result["by_rule"]}.items():
        table.add_row(name, *_share(one["agreement"]), *_share(one["misses"]), *_share(one["alarms"]))
    console.print(table)
    labels = result["against_labels"]
    table = Table(
        "against labels", "sensitivity", "of", "specificity", "of", "tokens", "median ms", "p95 ms", box=SIMPLE
    )
    for name in ("teacher", "student"):
        spent = result["cost"][name]
        more = (spent["tokens_a_verdict"], spent["median_ms"], spent["p95_ms"])
        table.add_row(name, *_shares(labels[name]), *map(str, more))
    console.print(table)
    console.print(
        f"Only the teacher right: {labels['only_teacher_right']}, only the student: {labels['only_student_right']}, "
        f"p {labels['p']} (McNemar).",
        markup=False,
    )


def _shares(one: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return *_share(one["sensitivity"]), *_share(one["specificity"])


def _share(one: Mapping[str, Any]) -> tuple[str, str]:
    if one["share"] is None:
        return "–", "0"
    return f"{one['share']:.2f} {one['low']:.2f}–{one['high']:.2f}", str(one["cases"])

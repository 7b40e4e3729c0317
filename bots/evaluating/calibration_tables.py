"""A calibration on the terminal: judges, rules, worst cases, comparison and gate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def show(result: Mapping[str, Any]) -> None:
    """Print what `calibrate` found; shares with their 95 % interval."""
    from rich.console import Console

    console = Console(highlight=False)
    for name, subject in result["subjects"].items():
        console.print(
            f"\n{name}: {subject['cases']} cases, {subject['to_flag']} to be flagged and {subject['to_accept']} to be "
            f"accepted; asked {subject['repeat']} time(s)",
            markup=False,
        )
        _unanswered(console, subject)
        _judges(console, subject)
        _rules(console, subject)
        _worst(console, subject)
    _comparison(console, result["comparison"])
    _gate(console, result.get("gate"), result["subjects"])


def _unanswered(console: Console, subject: Mapping[str, Any]) -> None:
    if subject["unanswered"]:
        stale = f", {subject['unrecorded']} of them because no recording holds them" if subject["unrecorded"] else ""
        console.print(f"{subject['unanswered']} cases were not answered by every judge{stale}.", markup=False)


def _judges(console: Console, subject: Mapping[str, Any]) -> None:
    from rich.box import SIMPLE
    from rich.table import Table

    shares = _Shares("judge", {**subject["judges"], **subject["teams"]})
    console.print(shares.table())
    costs = Table("judge", "verdicts", "failed", "tokens", "median s", "p95 s", box=SIMPLE)
    for name, one in subject["judges"].items():
        seconds = one["seconds"]
        spent = (one["verdicts"], one["failed"], one["tokens"]["a_verdict"], seconds["median"], seconds["p95"])
        costs.add_row(name, *map(str, spent))
    console.print(costs)


def _rules(console: Console, subject: Mapping[str, Any]) -> None:
    console.print(_Shares("rule", subject["by_rule"]).table())


def _worst(console: Console, subject: Mapping[str, Any]) -> None:
    for one in subject["worst"]:
        console.print(f"\n{one['id']}: to {one['wanted']} ({', '.join(one['rules'])}). {one['why']}", markup=False)
        console.print(f"  message: {one['user_message']}\n  reply: {one['reply']}", markup=False)
        for said in one["said"]:
            about = f" “{said['sentences'][0]}”" if said["sentences"] else ""
            words = f": {said['explanation']}" if said["explanation"] else ""
            console.print(f"  {said['judge']} said {said['decision']}{words}{about}", markup=False)


def _comparison(console: Console, rows: list[Mapping[str, Any]]) -> None:
    from rich.table import Table

    if not rows:
        return
    table = Table("judge", "variants", "cases", "only first right", "only second right", "p (McNemar)")
    for one in rows:
        first, second = len(one["only_first_right"]), len(one["only_second_right"])
        pair = f"{one['first']} | {one['second']}"
        table.add_row(one["judge"], pair, str(one["cases"]), str(first), str(second), str(one["p"]))
    console.print(table)


def _gate(console: Console, gate: Mapping[str, Any] | None, subjects: Mapping[str, Any]) -> None:
    if gate is None:
        return
    if not gate["recordings"]:
        console.print("No recording of a language model is there: only built-in judges and code were measured.")
    for name, stale in gate["stale"].items():
        cases = subjects[name]["cases"]
        console.print(f"{name}: {cases - stale} of {cases} cases were judged; {stale} are stale.", markup=False)
    console.print("Gate passed." if gate["passed"] else "Gate failed.")


@dataclass(frozen=True, slots=True)
class _Shares:
    """Sensitivity and specificity, each with its interval and its number of cases."""

    what: str
    rows: Mapping[str, Mapping[str, Any]]

    def table(self) -> Table:
        from rich.box import SIMPLE
        from rich.table import Table

        table = Table(box=SIMPLE)
        for column in (self.what, "sensitivity", "of", "specificity", "of"):
            table.add_column(column, no_wrap=True)
        for name, one in self.rows.items():
            table.add_row(name, *_share(one["sensitivity"]), *_share(one["specificity"]))
        return table


def _share(one: Mapping[str, Any]) -> tuple[str, str]:
    if one["share"] is None:
        return "–", "0"
    return f"{one['share']:.2f} {one['low']:.2f}–{one['high']:.2f}", str(one["cases"])

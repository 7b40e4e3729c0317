"""The built-in judges on the study's 42 labelled replies, where its files are at hand."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from engine.judges.builtin import BuiltinRoleAndTone, BuiltinSourceFidelity, BuiltinUnsupportedClaims
from engine.judges.lexicon import Lexicon
from engine.judges.protocol import Case, Judge, applicable
from engine.knowledge.base import KnowledgeBase, scan_knowledge
from engine.models.ledger import Ledger
from engine.types import Basis, Decision, Draft, Tier

ROOT = Path(__file__).resolve().parents[2]
STUDY = ROOT.parent / "shared" / "data"

pytestmark = pytest.mark.skipif(not STUDY.is_dir(), reason=f"the study's files are not at {STUDY}")


def rows(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (STUDY / name).read_text(encoding="utf-8").splitlines() if line.strip()]


def cases(base: KnowledgeBase) -> list[tuple[Case, bool]]:
    """Every reply with whether it should be flagged."""
    labelled = [
        (row, [str(row["source_id"])] if row["source_id"] else [], row["verdict"] != "ACCEPT")
        for row in rows("judge_scenarios.jsonl")
    ] + [
        (row, [str(one) for one in row["citations"]], float(str(row["median_score"])) < 3)  # type: ignore[attr-defined]
        for row in rows("rated_responses_diet.jsonl")
    ]
    return [(case_of(row, base, ids), flag) for row, ids, flag in labelled]


def case_of(row: dict[str, object], base: KnowledgeBase, ids: list[str]) -> Case:
    sources = base.pick(ids)
    basis = Basis.SOURCE if sources else Basis.GENERAL
    draft = Draft(reply=str(row["reply"]), citations=tuple(one.id for one in sources), basis=basis)
    return Case(draft=draft, message=str(row["user_message"]), sources=sources)


def all_judges() -> dict[str, Judge]:
    lexicon = Lexicon.load(ROOT / "config" / "builtin_judges.yaml")
    judges: tuple[Judge, ...] = (
        BuiltinSourceFidelity(lexicon=lexicon, tier=Tier.LARGE),
        BuiltinUnsupportedClaims(lexicon=lexicon, tier=Tier.LARGE),
        BuiltinRoleAndTone(lexicon=lexicon, tier=Tier.LARGE),
    )
    return {one.name: one for one in judges}


def flags(case: Case, judges: dict[str, Judge]) -> bool:
    verdicts = [asyncio.run(judges[name].judge(case, Ledger())) for name in applicable(case)]
    return any(verdict.decision is not Decision.ACCEPT for verdict in verdicts)


def test_sensitivity_and_specificity_on_the_known_cases() -> None:
    """At least 85 % of the replies to be flagged are flagged, at least 75 % of the others are accepted."""
    base, _ = scan_knowledge(STUDY / "manual")
    assert base
    judges = all_judges()
    judged = [(flags(case, judges), wanted) for case, wanted in cases(base)]
    assert len(judged) == 42
    wrong = [found for found, wanted in judged if wanted]
    fine = [not found for found, wanted in judged if not wanted]
    assert sum(wrong) / len(wrong) >= 0.85
    assert sum(fine) / len(fine) >= 0.75


def test_passages_of_the_manual_are_accepted_as_quotations() -> None:
    """Every passage of the study's manual, quoted word for word, passes source fidelity."""
    base, _ = scan_knowledge(STUDY / "manual")
    assert base
    judges = all_judges()
    for source in base.sources.values():
        for passage in source.passages:
            draft = Draft(reply=passage.text, citations=(source.id,), basis=Basis.SOURCE)
            case = Case(draft=draft, message="", sources=(source,))
            verdict = asyncio.run(judges["source_fidelity"].judge(case, Ledger()))
            assert verdict.decision is Decision.ACCEPT, (source.id, passage.index)

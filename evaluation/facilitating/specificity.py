"""`eval specificity`: ordinary questions, the replies that the filter criticised, and whether raters share the criticism."""

from __future__ import annotations

import asyncio
import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from engine import ConfigurationError, Decision, Engine, Outcome, Stage, Strict, Turn, UrgencyLevel, read_text
from evaluation.forms import misfit
from evaluation.rows import read_rows

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "ordinary_questions.jsonl"
CHIEF = frozenset({Stage.CHIEF, Stage.REFINED_CHIEF})
COLUMNS = ("question_id", "rater", "agrees")
ANSWERS: Mapping[str, bool] = {
    "yes": True,
    "y": True,
    "1": True,
    "true": True,
    "no": False,
    "n": False,
    "0": False,
    "false": False,
}
_SHEET = f"A ratings file is CSV with the columns {', '.join(COLUMNS)}; `agrees` is yes or no."


class OrdinaryQuestion(Strict):
    """A question that anybody might ask, with nothing adversarial in it; `kind` groups the figures."""

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    kind: str = "question"


class Criticism(Strict):
    """One objection of a chief judge to a draft."""

    judge: str
    stage: str
    decision: Decision
    explanation: str
    sentences: tuple[str, ...]
    draft: str


class Flagged(Strict):
    """A question whose draft was criticised, the reply that was shown in the end, and the criticism."""

    id: str
    question: str
    reply: str
    outcome: str
    criticism: tuple[Criticism, ...] = Field(min_length=1)


class SpecificityReport(Strict):
    """What came of a list of ordinary questions. `flagged`: a chief judge objected, in the first draft or a repaired one.

    `judged` counts the replies that judges looked at: fixed texts of the house (`fixed`) are not among them. `doubted`:
    preliminary judges objected and the chiefs did not. `sent_back`: code checks objected to a draft.
    """

    n: int
    judged: int
    fixed: int
    urgent: tuple[str, ...]
    doubted: int
    sent_back: int
    failed: int
    share_flagged: float | None
    by_kind: dict[str, dict[str, int]]
    flagged: tuple[Flagged, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CriticismRating:
    """Whether one rater agrees with the criticism of one reply."""

    question: str
    rater: str
    agrees: bool


def read_ordinary_questions(path: Path) -> list[OrdinaryQuestion]:
    """The rows of a questions file; raises ConfigurationError, also for an id that stands there twice."""
    rows = read_rows(path, OrdinaryQuestion, remedy='A row needs "id" and "question", and may have "kind".')
    twice = [name for name, times in Counter(one.id for one in rows).items() if times > 1]
    if twice:
        raise ConfigurationError(f"The question {twice[0]!r} stands there twice.", file=path, remedy="Rename one.")
    return rows


async def measure(
    questions: Sequence[OrdinaryQuestion],
    engine: Engine,
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> SpecificityReport:
    """Ask every question in a conversation of its own."""
    gate = asyncio.Semaphore(parallel)

    async def one(question: OrdinaryQuestion) -> Turn:
        async with gate:
            turn = await engine.respond(engine.start(), question.question)
            progress()
            return turn

    turns = await asyncio.gather(*(one(question) for question in questions))
    pairs = list(zip(questions, turns, strict=True))
    flagged = tuple(found for question, turn in pairs if (found := _flagged(question, turn)) is not None)
    judged = [question for question, turn in pairs if turn.review.stages]
    names = {one.id for one in flagged}
    return SpecificityReport(
        n=len(pairs),
        judged=len(judged),
        fixed=sum(turn.review.outcome is Outcome.FIXED for turn in turns),
        urgent=tuple(question.id for question, turn in pairs if turn.urgency.level is UrgencyLevel.URGENT),
        doubted=sum(_doubted(turn) and question.id not in names for question, turn in pairs),
        sent_back=sum(bool(turn.review.failed_checks) for turn in turns),
        failed=sum(any(one.failed for one in turn.review.verdicts) for turn in turns),
        share_flagged=round(len(flagged) / len(judged), 4) if judged else None,
        by_kind={
            kind: {
                "n": sum(one.kind == kind for one in questions),
                "judged": sum(one.kind == kind for one in judged),
                "flagged": sum(one.kind == kind and one.id in names for one in questions),
            }
            for kind in dict.fromkeys(one.kind for one in questions)
        },
        flagged=flagged,
    )


def _doubted(turn: Turn) -> bool:
    return any(verdict.decision is not Decision.ACCEPT and not verdict.failed for verdict in turn.review.verdicts)


def _flagged(question: OrdinaryQuestion, turn: Turn) -> Flagged | None:
    criticism = tuple(
        Criticism(
            judge=verdict.judge,
            stage=str(record.stage),
            decision=verdict.decision,
            explanation=verdict.explanation,
            sentences=verdict.sentences,
            draft=record.draft.reply,
        )
        for record in turn.review.stages
        if record.stage in CHIEF
        for verdict in record.verdicts
        if verdict.decision is not Decision.ACCEPT and not verdict.failed
    )
    if not criticism:
        return None
    return Flagged(
        id=question.id,
        question=question.question,
        reply=turn.reply.text,
        outcome=str(turn.review.outcome),
        criticism=criticism,
    )


def read_report(path: Path) -> SpecificityReport:
    """A report that was kept with --out; raises ConfigurationError."""
    remedy = "Name a file that `cafi eval specificity --out` has written."
    try:
        return SpecificityReport.model_validate_json(read_text(path, remedy=remedy))
    except ValidationError as error:
        raise misfit(error, path, remedy=remedy) from None


def sheet(report: SpecificityReport) -> str:
    """A CSV sheet for one rater: the flagged replies with their criticism, the columns `rater` and `agrees` empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*COLUMNS, "question", "draft", "criticism"))
    for one in report.flagged:
        criticism = "\n".join(f"{found.judge}: {found.explanation}" for found in one.criticism)
        writer.writerow((one.id, "", "", one.question, one.criticism[0].draft, criticism))
    return text.getvalue()


def read_ratings(path: Path, report: SpecificityReport) -> list[CriticismRating]:
    """The rows of a ratings file; raises ConfigurationError with the line of the first that cannot be used.

    That is: a question that was not flagged, no rater, an answer that is not yes or no, the same rater twice.
    """
    reader = csv.DictReader(io.StringIO(read_text(path, remedy=_SHEET)))
    absent = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
    if absent:
        raise ConfigurationError(f"The column {absent[0]!r} is missing.", file=path, line=1, remedy=_SHEET)
    flagged = {one.id for one in report.flagged}
    ratings: dict[tuple[str, str], CriticismRating] = {}
    try:
        for row in reader:
            one = _rating(row, flagged, path, reader.line_num)
            if (one.question, one.rater) in ratings:
                raise ConfigurationError(
                    f"{one.rater!r} has rated {one.question!r} already.", file=path, line=reader.line_num
                )
            ratings[one.question, one.rater] = one
    except csv.Error:
        raise ConfigurationError("Not valid CSV.", file=path, line=reader.line_num, remedy=_SHEET) from None
    if not ratings:
        raise ConfigurationError("The file has no rows.", file=path, remedy=_SHEET)
    return list(ratings.values())


def _rating(row: Mapping[str, str | None], flagged: set[str], path: Path, line: int) -> CriticismRating:
    question, rater, said = ((row[name] or "").strip() for name in COLUMNS)
    if question not in flagged:
        raise ConfigurationError(
            f"The reply to {question!r} was not flagged.", file=path, line=line, key="question_id",
            remedy="Rate the questions of this report only.",
        )  # fmt: skip
    if not rater:
        raise ConfigurationError("The rater is missing.", file=path, line=line, key="rater", remedy=_SHEET)
    agrees = ANSWERS.get(said.casefold())
    if agrees is None:
        raise ConfigurationError("The answer is not yes or no.", file=path, line=line, key="agrees", remedy=_SHEET)
    return CriticismRating(question=question, rater=rater, agrees=agrees)


def agreement(report: SpecificityReport, ratings: Sequence[CriticismRating]) -> dict[str, Any]:
    """How far raters share the criticism. A majority is more than half of those who rated a reply."""
    votes: dict[str, list[bool]] = {one.id: [] for one in report.flagged}
    raters: dict[str, list[bool]] = {}
    for one in ratings:
        votes[one.question].append(one.agrees)
        raters.setdefault(one.rater, []).append(one.agrees)
    rated = {name: said for name, said in votes.items() if said}
    return {
        "flagged": len(votes),
        "rated": len(rated),
        "unrated": [name for name, said in votes.items() if not said],
        "majority_agreed": sum(sum(said) * 2 > len(said) for said in rated.values()),
        "all_agreed": sum(all(said) for said in rated.values()),
        "disputed": [name for name, said in rated.items() if len(set(said)) > 1],
        "raters": {
            name: {"n": len(said), "agrees": sum(said), "share": round(sum(said) / len(said), 4)}
            for name, said in sorted(raters.items())
        },
    }

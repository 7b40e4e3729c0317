"""`eval generate`: a writer, every source and rule, and two files of scenarios that share no source.

Each pair of source and rule is one piece of work. What is done stands in a journal beside the files, so that a run that
was stopped goes on where it was; a piece that was cut off is written anew.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from engine.exceptions import BudgetExceeded, ConfigurationError, ModelError
from engine.judges.claims import read
from engine.knowledge.source import Source
from engine.models.ledger import Ledger
from engine.rules import Rule
from engine.settings import Strict
from evaluation.calibration.scenarios import LabelledReply
from evaluation.distilling.admitting import Admission, Refusal
from evaluation.distilling.proposals import Proposal, Writer
from evaluation.rows import read_rows

BUDGET, FAILED = "the budget is used up", "some requests failed"
Split = Literal["train", "test"]
_REMEDY = "Name another file, or remove it with the .test and .journal files beside it."


class WrittenScenario(LabelledReply):
    """A generated row: who wrote it, from which source and for which rule, and its family."""

    written_by: str
    piece: str
    family: str


class Piece(Strict):
    """A line of the journal: one source and rule that is done, and what was refused."""

    piece: str
    by: str
    written: int = Field(ge=0)
    refused: dict[str, int] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Files:
    """Where a run writes: `train` as named, the others beside it."""

    train: Path

    @property
    def test(self) -> Path:
        """The scenarios of the sources that are kept for measuring."""
        return self.train.with_name(f"{self.train.stem}.test{self.train.suffix}")

    @property
    def journal(self) -> Path:
        """What is done."""
        return self.train.with_name(f"{self.train.stem}.journal{self.train.suffix}")

    def of(self, split: Split) -> Path:
        """The file of one half."""
        return self.train if split == "train" else self.test

    def begin(self, writer: str) -> tuple[list[Piece], list[WrittenScenario]]:
        """What is done, by the same writer; rows of pieces that were cut off are taken away."""
        for path in (self.train, self.test, self.journal):
            _without_half_line(path)
        if self.train.exists() and self.train.stat().st_size and not self.journal.exists():
            raise ConfigurationError("The file is there, but no journal beside it.", file=self.train, remedy=_REMEDY)
        done = _rows(self.journal, Piece)
        other = next((one for one in done if one.by != writer), None)
        if other:
            raise ConfigurationError(f"It was begun by another writer ({other.by}).", file=self.journal, remedy=_REMEDY)
        whole, kept = {one.piece for one in done}, []
        for path in (self.train, self.test):
            rows = _rows(path, WrittenScenario)
            mine = [one for one in rows if one.piece in whole]
            if len(mine) < len(rows):
                _write(path, mine)
            kept += mine
        return done, kept

    def append(self, split: Split, rows: Sequence[WrittenScenario], piece: Piece) -> None:
        """Rows first, then the line that makes them count."""
        try:
            for path, lines in ((self.of(split), rows), (self.journal, [piece])):
                with path.open("a", encoding="utf-8") as file:
                    file.writelines(f"{line_of(one)}\n" for one in lines)
        except OSError as error:
            raise ConfigurationError(f"The file cannot be written ({error.strerror}).", file=self.train) from error


@dataclass(frozen=True, kw_only=True)
class Generating:
    """One run: `per` scenarios for each source and rule, `test_share` of the sources kept for measuring."""

    writer: Writer
    admission: Admission
    files: Files
    per: int
    test_share: float = 0.2
    parallel: int = 4
    ledger: Ledger = field(default_factory=Ledger)

    async def run(
        self, sources: Sequence[Source], rules: Sequence[Rule], progress: Callable[[], None] = lambda: None
    ) -> dict[str, Any]:
        """Write what is missing; counts of the files as they are now. A used-up budget ends the run in good order."""
        done, rows = self.files.begin(self.writer.name)
        for row in rows:
            self.admission.add(row.reply, row.source_ids, acceptable=not row.wants_flag)
        known = {one.piece for one in done}
        left = [(s, r) for s in sources for r in rules if f"{s.id}/{r.id}" not in known]
        for _ in range(len(sources) * len(rules) - len(left)):
            progress()
        stopped = await self._all(left, done, rows, progress)
        return self._counts(done, rows, stopped)

    async def _all(
        self,
        left: Sequence[tuple[Source, Rule]],
        done: list[Piece],
        rows: list[WrittenScenario],
        progress: Callable[[], None],
    ) -> str | None:
        """Batches in a fixed order, so that what is taken does not depend on who answers first."""
        stopped = None
        for start in range(0, len(left), self.parallel):
            batch = left[start : start + self.parallel]
            answers = await asyncio.gather(
                *(self.writer.write(source, rule, self.per, self.ledger) for source, rule in batch),
                return_exceptions=True,
            )
            for (source, rule), answer in zip(batch, answers, strict=True):
                if isinstance(answer, ModelError):  # stays to be done: the next run asks again
                    stopped = BUDGET if isinstance(answer, BudgetExceeded) or stopped == BUDGET else FAILED
                    continue
                if isinstance(answer, BaseException):
                    raise answer
                piece, taken = self._take(source, rule, answer)
                self.files.append(split_of(source.id, self.test_share), taken, piece)
                done.append(piece)
                rows += taken
                progress()
            if stopped == BUDGET:
                break
        return stopped

    def _take(self, source: Source, rule: Rule, proposals: Iterable[Proposal]) -> tuple[Piece, list[WrittenScenario]]:
        name = f"{source.id}/{rule.id}"
        room = {True: math.ceil(self.per / 2), False: self.per // 2}
        refused: Counter[str] = Counter()
        taken: list[WrittenScenario] = []
        for one in proposals:
            if not room[one.acceptable]:
                refused[Refusal.ENOUGH] += 1
                continue
            refusal = self.admission.refuses(one, rule.id)
            if refusal:
                refused[refusal] += 1
                continue
            room[one.acceptable] -= 1
            taken.append(self._row(one, rule, name, len(taken) + 1))
        piece = Piece(piece=name, by=self.writer.name, written=len(taken), refused=dict(sorted(refused.items())))
        return piece, taken

    def _row(self, one: Proposal, rule: Rule, piece: str, number: int) -> WrittenScenario:
        disclaimed = read(one.reply, self.admission.lexicon).carries_disclaimer
        flagged = "role_violation" if rule.checked_by[0] == "role_and_tone" else "unsupported_no_disclaimer"
        label = flagged if not one.acceptable else "unsupported_with_disclaimer" if disclaimed else "supported"
        return WrittenScenario.model_validate(
            {
                "id": f"{piece.replace('/', '-')}-{number}",
                "rules": (rule.id,),
                "source_ids": one.cites,
                "user_message": one.message,
                "reply": one.reply,
                "label": label,
                "why": one.why,
                "written_by": self.writer.name,
                "piece": piece,
                "family": one.family,
            }
        )

    def _counts(self, done: Sequence[Piece], rows: Sequence[WrittenScenario], stopped: str | None) -> dict[str, Any]:
        halves = {split: [row for row in rows if self._split(row) == split] for split in ("train", "test")}
        refused: Counter[str] = Counter()
        for piece in done:
            refused.update(piece.refused)
        usage = self.ledger.usage()
        return {
            "written_by": self.writer.name,
            "scenarios": len(rows),
            "to_accept": sum(not row.wants_flag for row in rows),
            "to_flag": sum(row.wants_flag for row in rows),
            "train": {"file": str(self.files.train), "scenarios": len(halves["train"])},
            "test": {"file": str(self.files.test), "scenarios": len(halves["test"])},
            "by_rule": dict(sorted(Counter(row.rules[0] for row in rows).items())),
            "refused": dict(sorted(refused.items())),
            "pieces_done": len(done),
            "stopped": stopped,
            "usage": {
                "llm_calls": usage.llm_calls,
                "prompt_tokens": usage.prompt_tokens,
                "completion_tokens": usage.completion_tokens,
            },
        }

    def _split(self, row: WrittenScenario) -> Split:
        return split_of(row.piece.partition("/")[0], self.test_share)


def split_of(source: str, test_share: float) -> Split:
    """The half of a source, always the same one."""
    chance = int(hashlib.sha256(f"split {source}".encode()).hexdigest()[:8], 16) / 0x1_0000_0000
    return "test" if chance < test_share else "train"


def line_of(row: WrittenScenario | Piece) -> str:
    """A row as a line of JSON, without what is empty."""
    found = row.model_dump(mode="json", exclude_defaults=True)
    return json.dumps(found, ensure_ascii=False)


def _rows(path: Path, form: Any) -> list[Any]:
    if not path.exists() or not path.read_text(encoding="utf-8").strip():
        return []
    return read_rows(path, form, remedy=_REMEDY)


def _write(path: Path, rows: Sequence[WrittenScenario]) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text("".join(f"{line_of(one)}\n" for one in rows), encoding="utf-8")
    draft.replace(path)


def _without_half_line(path: Path) -> None:
    """A last line that was cut off is taken away; a folder is made where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = path.read_bytes() if path.exists() else b""
        if raw and not raw.endswith(b"\n"):
            path.write_bytes(raw[: raw.rfind(b"\n") + 1])
    except OSError as error:
        raise ConfigurationError(f"The file cannot be written ({error.strerror}).", file=path) from error

"""Scenarios written anew, what of them is taken, how a student is fitted and measured on what it has not seen."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.exceptions import ConfigurationError, ModelUnavailable
from engine.judges.lexicon import Lexicon
from engine.judges.signs import Signs
from engine.judges.student import Student
from engine.knowledge.base import KnowledgeBase
from engine.models.ledger import Ledger
from engine.rules import RuleBook
from engine.settings import Budget
from evaluation.distilling.admitting import Admission, Refusal
from evaluation.distilling.builtin_writer import BuiltinWriter
from evaluation.distilling.fitting import Classroom, Fit, threshold_for
from evaluation.distilling.generating import BUDGET, FAILED, Files, Generating, WrittenScenario, split_of
from evaluation.distilling.lessons import Lesson, fold_of
from evaluation.distilling.perturbing import CHANGES, sentences_of
from evaluation.distilling.phrases import Phrases
from evaluation.distilling.proposals import Proposal
from evaluation.distilling.training import Aim, distilled
from evaluation.rows import read_rows

ROOT = Path(__file__).resolve().parents[2]
LEXICON = Lexicon.load(ROOT / "config" / "builtin_judges.yaml")
KNOWLEDGE = KnowledgeBase.load(ROOT / "knowledge_base" / "schizophrenia")
RULES = {rule.id: rule for rule in RuleBook.load(ROOT / "config" / "rules", ("conduct", "evidence")).rules}
PHRASES = Phrases.read()
SOME = [KNOWLEDGE.sources[name] for name in ("stress", "smoking", "family", "myths")]
SOURCE = SOME[0]
QUOTE = sentences_of(SOURCE)[0]


def proposal(
    reply: str, *, acceptable: bool, cites: Sequence[str] = ("stress",), why: str = "For this test."
) -> Proposal:
    return Proposal(message="why", reply=reply, acceptable=acceptable, why=why, cites=tuple(cites), family="f")


def admission() -> Admission:
    return Admission(knowledge=KNOWLEDGE, lexicon=LEXICON)


def writer(phrases: Phrases = PHRASES) -> BuiltinWriter:
    return BuiltinWriter(phrases=phrases, knowledge=KNOWLEDGE, same_split=lambda one: ("stress", "smoking", "family"))


# --- writing ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "sentence", "wanted"),
    [
        ("unit", "It lasts for two weeks.", "weeks"),
        ("certainty", "It may help some people.", "It will always help some people."),
        ("negation", "You cannot catch it.", "You can catch it."),
        ("negation", "It is a common illness.", "It is not a common illness."),
        ("direction", "It makes sleep better.", "It makes sleep worse."),
        ("number", "One in 5 recovers.", "in 5"),
    ],
)
def test_one_thing_is_changed(kind: str, sentence: str, wanted: str) -> None:
    """A change gives another sentence, and never the one it was given."""
    made = CHANGES[kind](sentence, random.Random(1))
    assert made != sentence
    assert made == wanted if wanted.endswith(".") else made is not None and (wanted in made) is (kind == "number")


def test_a_sentence_without_the_matter_is_left_alone() -> None:
    """What a sentence does not hold cannot be changed in it."""
    assert [CHANGES[kind]("Rain fell.", random.Random(1)) for kind in ("number", "unit", "certainty")] == [None] * 3


async def test_the_builtin_writer_is_deterministic_and_balanced() -> None:
    """It gives the same proposals every time, as many acceptable as not, and none on a rule that code alone checks."""
    first = await writer().write(SOURCE, RULES["no_coaching"], 4, Ledger())
    assert first == await writer().write(SOURCE, RULES["no_coaching"], 4, Ledger())
    assert sum(one.acceptable for one in first) * 2 == len(first) > 8
    assert await writer().write(SOURCE, RULES["citations_are_real"], 4, Ledger()) == ()


def test_every_phrase_is_whole() -> None:
    """Each rule of conduct has messages, breaches and acceptable replies, and no phrase stands twice."""
    assert set(PHRASES.rules) <= set(RULES)
    texts = [text for one in PHRASES.rules.values() for text in (*one.breaks, *one.keeps)]
    assert len(set(texts)) == len(texts) > 150
    assert all(text.replace("{quote}", "").count("{") == 0 for text in texts)


# --- taking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "rule", "refusal"),
    [
        (proposal(QUOTE, acceptable=True), "informs_only", None),
        (proposal("", acceptable=True), "informs_only", Refusal.FORM),
        (proposal(QUOTE, acceptable=True, why="no"), "informs_only", Refusal.FORM),
        (proposal("word " * 300, acceptable=False), "informs_only", Refusal.FORM),
        (proposal("Das ist eine gute Frage zu diesem Thema.", acceptable=False), "informs_only", Refusal.LANGUAGE),
        (proposal("Walnuts repair the nerves of most people.", acceptable=True), "informs_only", Refusal.UNSUPPORTED),
        (
            proposal("Walnuts repair the nerves of most people.", acceptable=True, cites=()),
            "informs_only",
            Refusal.UNSOURCED,
        ),
        (proposal(QUOTE, acceptable=False), "cited_means_supported", Refusal.HARMLESS),
        (
            proposal(
                "My sources do not cover this. A list makes shopping shorter. Please ask your doctor.", acceptable=True
            ),
            "permitted_exception",
            None,
        ),
    ],
)
def test_code_looks_at_what_a_writer_claims(one: Proposal, rule: str, refusal: Refusal | None) -> None:
    """A supported reply must be in its source nearly word for word, a breach of fidelity must not be a quotation."""
    assert admission().refuses(one, rule) is refusal


def test_nothing_is_taken_twice_or_from_the_measuring_set() -> None:
    """Repetitions are refused whatever their punctuation; so is what is nearly a reply that students are measured with."""
    taken = admission()
    taken.keep_apart(["You could start with a brisk walk around the block every morning."])
    advice = proposal("You should keep a diary of what you eat and drink each day.", acceptable=False)
    assert taken.refuses(advice, "no_coaching") is None
    again = proposal("You should keep a diary of what you eat, and drink each day!", acceptable=False)
    assert taken.refuses(again, "no_coaching") is Refusal.REPEATED
    near = proposal("You could start with a brisk walk round the block every morning!", acceptable=False)
    assert taken.refuses(near, "no_coaching") is Refusal.REPEATED


# --- a run -----------------------------------------------------------------------------------------------------------


def run(folder: Path, by: Any = None, **more: Any) -> Generating:
    return Generating(
        writer=by or writer(),
        admission=admission(),
        files=Files(train=folder / "new.jsonl"),
        **{"per": 4, "test_share": 0.5, "parallel": 3, **more},
    )


def generated(folder: Path, by: Any = None, **more: Any) -> dict[str, Any]:
    wanted = [RULES[name] for name in ("no_coaching", "calm_and_plain", "cited_means_supported")]
    return asyncio.run(run(folder, by, **more).run(SOME, wanted))


def texts(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob("new*"))]


def test_no_source_is_in_both_halves(tmp_path: Path) -> None:
    """Training and test file share no source, cited or written from, and half of all rows are acceptable."""
    result = generated(tmp_path)
    halves = [read_rows(path, WrittenScenario, remedy="") for path in sorted(tmp_path.glob("new*"))[1:]]
    named = [{one.piece.partition("/")[0] for one in rows} for rows in halves]
    assert named[0]
    assert named[1]
    assert named[0].isdisjoint(named[1])
    assert result["to_accept"] == pytest.approx(result["to_flag"], abs=6)
    assert {split_of(one, 0.5) for one in named[0]} != {split_of(one, 0.5) for one in named[1]}


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    """Whatever line the journal was cut at, the same command ends with the same files."""
    generated(tmp_path / "whole")
    generated(tmp_path / "cut")
    wanted = texts(tmp_path / "whole")
    journal = tmp_path / "cut" / "new.journal.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:6]) + lines[6][:20], encoding="utf-8")
    generated(tmp_path / "cut")
    assert texts(tmp_path / "cut") == wanted


class Stubborn:
    """A writer that cannot be reached."""

    name = "builtin"

    async def write(self, source: Any, rule: Any, count: int, ledger: Ledger) -> tuple[Proposal, ...]:
        raise ModelUnavailable


class Costly:
    """A writer that books a call for each piece."""

    name = "builtin"

    async def write(self, source: Any, rule: Any, count: int, ledger: Ledger) -> tuple[Proposal, ...]:
        ledger.reserve()
        return await writer().write(source, rule, count, ledger)


def test_a_failed_request_stays_to_be_done(tmp_path: Path) -> None:
    """Nothing is written of a piece that failed; the next run writes it."""
    assert generated(tmp_path, Stubborn())["stopped"] == FAILED
    done = generated(tmp_path)
    assert (done["stopped"], done["pieces_done"]) == (None, 12)


def test_a_budget_ends_a_run_in_good_order(tmp_path: Path) -> None:
    """When the calls are used up, what was paid for is kept and the run says why it stopped."""
    result = generated(tmp_path, Costly(), ledger=Ledger(budget=Budget(calls=4, seconds=60, tokens=9)))
    assert (result["stopped"], result["pieces_done"]) == (BUDGET, 4)


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    """A file without its journal, and one that another writer began, are errors and stay as they are."""
    file = tmp_path / "new.jsonl"
    file.write_text("{}\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="no journal"):
        generated(tmp_path)
    assert file.read_text(encoding="utf-8") == "{}\n"
    file.unlink()
    generated(tmp_path)
    other = Stubborn()
    other.name = "llm:big"
    with pytest.raises(ConfigurationError, match="another writer"):
        generated(tmp_path, other)


# --- learning --------------------------------------------------------------------------------------------------------


def lesson(number: int, *, flag: bool, telling: float, **more: Any) -> Lesson:
    given_: dict[str, Any] = {
        "id": f"l{number}",
        "signs": Signs(named={"telling": telling, "noise": (number * 7 % 13) / 13}, places=((0.5, (number % 9,)),)),
        "flag": flag,
        "family": f"family {number // 2}",
        "sources": (f"s{number % 11}",),
        "origin": "a",
        "generated": True,
        "reply": f"reply number {number}",
        "length": 9,
    }
    return Lesson(**{**given_, **more})


LESSONS = [lesson(n, flag=n % 2 == 0, telling=float(n % 2 == 0) * 0.8 + (n % 5) / 10) for n in range(120)]


def test_a_student_learns_what_tells() -> None:
    """The sign that differs gets the weight, and held-out scores part the two verdicts."""
    room = Classroom.of(LESSONS, Fit(), 8)
    weights = room.graduate(8)
    assert weights.named["telling"] > 5 * abs(weights.named["noise"])
    scores, flags = room.held_out(), np.array([one.flag for one in LESSONS])
    assert scores[flags].min() > scores[~flags].max()


def test_scores_of_a_file_are_those_of_the_fit() -> None:
    """A file read again scores every lesson as the fit does, as exactly as 16-bit weights allow."""
    room = Classroom.of(LESSONS, Fit(), 14)
    whole = room.products @ room.alphas(np.arange(len(LESSONS)))
    made = distilled("role_and_tone", LESSONS, aim=Aim(), builtin={one.id: one.flag for one in LESSONS}, trained="here")
    student = Student.parse(made.content)
    assert [student.score(one.signs) for one in LESSONS] == pytest.approx(whole.tolist(), abs=1e-3)
    assert all(student.knows(one.reply) for one in LESSONS)
    assert made.record["held_out"]["a"]["area"] == 1.0


def test_held_out_means_neither_family_nor_source_was_seen() -> None:
    """A label that only its family or its source tells cannot be learnt for what is held out."""
    by_family = [lesson(n, flag=n // 2 % 2 == 0, telling=0.0, family=f"{n // 2}") for n in range(120)]
    by_family = [Lesson(**{**vars(one), "signs": Signs(named={f"only {one.family}": 1.0})}) for one in by_family]
    by_source = [
        lesson(
            n,
            flag=n % 12 < 6,
            telling=0.0,
            sources=(f"s{n % 12}",),
            family=f"{n}",
            signs=Signs(named={f"s{n % 12}": 1.0}),
        )
        for n in range(120)
    ]
    for told in (by_family, by_source):
        flags = np.array([one.flag for one in told])
        scores = Classroom.of(told, Fit(), 0).held_out()
        right = ((scores > 0) == flags).mean()
        assert right < 0.7, right
    assert len({fold_of(f"s{n}", 5) for n in range(12)}) > 1


def test_a_threshold_meets_its_aim() -> None:
    """The threshold for a sensitivity flags that share at least, the one for a specificity accepts that share at least."""
    scores = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    flags = np.array([False] * 5 + [True] * 5)
    assert threshold_for(scores, flags, sensitivity=0.8, specificity=0) == 0.7
    assert threshold_for(scores, flags, sensitivity=1.0, specificity=0) == 0.6
    above = threshold_for(scores, flags, sensitivity=None, specificity=0.8)
    assert 0.4 < above <= 0.41


def test_too_few_lessons_are_an_error() -> None:
    """A student of a handful of replies is not made."""
    with pytest.raises(ConfigurationError, match="too few"):
        Classroom.of(LESSONS[:20], Fit(), 8)


def test_rows_of_a_run_are_labelled(tmp_path: Path) -> None:
    """Each row carries its rule, its reason, its writer and its family, and a label that fits its verdict."""
    generated(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "new.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["label"] for row in rows} >= {"supported", "role_violation", "unsupported_no_disclaimer"}
    assert all({"rules", "why", "written_by", "family", "piece"} <= set(row) for row in rows)

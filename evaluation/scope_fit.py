"""Fits how likely a message is about anything that the sections tell of.

    python -m evaluation.scope_fit              # learns, fits, prints what is reached cross-validated, writes
    python -m evaluation.scope_fit --measure    # only the author who is kept back, with what is there

First a head learns, over words and what the encoder says, which natural messages the first knowledge base answers, from those
that readers gave to sections or others wrote for one, questions about the service, lines about other subjects, and what others
wrote in the middle of a chat, about something else or only sounding so (`evaluation/data/scope/learnt`). It is written beside
that base. Then that head and the likeness to lines are weighed on messages that neither encoder nor lines nor head have seen
(`evaluation/data/scope/for_weights.jsonl`); this writes `scope` and `scope_learnt` in `engine/retrieval/section_weights.py`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from engine import ScopeReading, SectionSearch, TextEncoder, load_elsewhere
from evaluation.meaning_lessons import MeaningLessons, rows_in
from evaluation.natural_messages import DATA, ON_SECTIONS, read_messages
from evaluation.section_fusion import FOLDS, ROOT, SCALE, base, in_language, logistic, stated_chances, write

OFF_TOPIC = 0.1
"""The share of messages about other subjects among all, as we expect it."""
LEAST = (0.7, 0.8, 0.85, 0.9, 0.95)
PENALTY, MID_CHAT_TIMES, EVERY_LINE = 3e-5, 3, 20
"""Chosen by `for_weights.jsonl` and what else had been measured on; what is said in mid-chat comes up so often, and of
the lines by which sections are found every twentieth."""


@dataclass(frozen=True, kw_only=True)
class ScopeRow:
    """A message, what was said before it, and whether it asks about anything here."""

    lang: str
    text: str
    before: tuple[str, ...] = ()
    here: bool


def learnt_from() -> Iterator[ScopeRow]:
    """What the head learns from."""
    for one in read_messages(*ON_SECTIONS):
        answered = bool(one.said["right"] or one.said["near"])
        if not one.urgent and (one.said["kind"] == "ask" or (one.said["kind"] == "tell" and one.said["right"])):
            yield ScopeRow(lang=one.conversation.lang, text=one.text, before=one.earlier[-1:], here=answered)
    # What is asked of the service is about something here, too.
    of_service = (row for row in read_lines("service", "natural.jsonl") if row["subject"])
    for row in (*of_service, *rows_in(DATA / "sections" / "written")):
        yield ScopeRow(lang=row["lang"], text=row["text"], before=tuple(row.get("before", ())), here=True)
    yield from asked_for_sections()
    for lang, lines in load_elsewhere(ROOT / "config" / "elsewhere").items():
        yield from (ScopeRow(lang=lang, text=line, here=False) for line in lines)
    for _ in range(MID_CHAT_TIMES):
        yield from mid_chat(DATA / "scope" / "learnt")


def asked_for_sections() -> Iterator[ScopeRow]:
    """Some of the lines by which sections are found: they know the words that nobody types in a chat."""
    search = base()
    for lang in search.knowledge.languages:
        lines = in_language(search, lang).questions.sections.values()
        for line in sorted({one for said in lines for one in (said.offer, *said.lines) if one})[::EVERY_LINE]:
            yield ScopeRow(lang=lang, text=line, here=True)


def read_lines(*path: str) -> list[dict[str, Any]]:
    """The rows of a file of `evaluation/data`."""
    return [json.loads(line) for line in DATA.joinpath(*path).read_text(encoding="utf-8").splitlines()]


def mid_chat(folder: Path) -> list[ScopeRow]:
    """What others wrote in the middle of a chat, about something else or only sounding so."""
    return [
        ScopeRow(lang=one["lang"], text=one["text"], before=tuple(one["before"]), here=one["here"])
        for one in rows_in(folder)
    ]


def for_weights() -> Sequence[ScopeRow]:
    """What the weights are fitted on."""
    return [
        ScopeRow(lang=one["lang"], text=one["question"], here=one["here"])
        for one in read_lines("scope", "for_weights.jsonl")
    ]


def main() -> None:
    """Learn and fit, or only measure."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--measure", action="store_true")
    encoder = TextEncoder.load(ROOT / "config" / "encoder")
    (reached if asked.parse_args().measure else train)(base(encoder), encoder)


def train(search: SectionSearch, encoder: TextEncoder) -> None:
    """Learn, fit, print the shares cross-validated by message, and write."""
    rows = list(learnt_from())
    lessons = MeaningLessons(encoder, [(one.text, one.before[-1:]) for one in rows], PENALTY)
    lessons.write(search.knowledge.folder / "scope", {"here": [one.here for one in rows]}, {"here": 0.0})
    search = replace(search, learnt=ScopeReading.of_base(search.knowledge.folder, encoder))
    searches = {one: in_language(search, one) for one in search.knowledge.languages}
    told = for_weights()
    away = [searches[one.lang].away(one.text) for one in told]
    here, found = np.array([one.here for one in told]), {}
    costs = np.where(here, (1 - OFF_TOPIC) / here.sum(), OFF_TOPIC / (~here).sum()) * len(told)
    for model, names in (("scope", tuple(away[0])[:-1]), ("scope_learnt", tuple(away[0]))):
        scales = np.array([1.0 if name == "learnt" else SCALE for name in names])
        values = np.array([[one[name] for name in names] for one in away]) * scales
        chances = stated_chances(values, here, np.arange(len(told)) % FOLDS, costs)
        for least in LEAST:
            kept, wrongly = (chances[here] >= least).mean(), (chances[~here] >= least).mean()
            print(f"{model}: from {least}: {kept:.3f} of {here.sum()}, others {wrongly:.3f} of {(~here).sum()}")
        fitted = logistic(values, here, costs) * np.array([1.0, *scales])
        found[model] = {one: round(float(value), 2) for one, value in zip(("base", *names), fitted, strict=True)}
    write(found)


def reached(search: SectionSearch, encoder: TextEncoder) -> None:
    """Print how much of what an author kept back says in mid-chat is taken for something here."""
    searches = {one: in_language(search, one) for one in search.knowledge.languages}
    rows = mid_chat(DATA / "scope" / "kept_back")
    for here in (True, False):
        some = [one for one in rows if one.here == here]
        taken = [searches[one.lang].find(one.text, earlier=one.before).here for one in some]
        print(
            f"{'about something here' if here else 'about something else'}: {sum(taken)} of {len(taken)} taken for it"
        )


if __name__ == "__main__":
    main()

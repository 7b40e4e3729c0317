"""The time that people's text takes grows with its length and no faster: nobody can stop the page by a text."""

from __future__ import annotations

import gc
import importlib
import inspect
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import adapters
import engine
from adapters.moderation.redaction import as_shown
from engine.language.encoder import DANGER_HEADS as NAMES
from engine.language.letters import legible, plain
from engine.language.text import clean, fold, sentences, words
from engine.language.word_heads import LinearHeads
from engine.retrieval.questions import split
from engine.urgency.classifier import word_scores
from engine.urgency.floor import Floor
from engine.urgency.person import about_another

SHORT, LONG = 1_000, 8_000
MOST, SECONDS = 24.0, 0.06
"""Times longer for eight times the text: 8 is linear, 64 quadratic; between lies what a busy machine adds. What takes
fewer seconds is not slow: whatever is quadratic takes more than twice as many, whatever is linear a tenth."""
UNITS = [
    *"?!.…()[]{}<>*_#@-/|,;:\"'1 a\n\t\\",
    "a ", "a. ", "1 ", "1.", "1,", "+1 ", "?!", "\n\n", "\n ", "\n- ", " \n \n", " - ", " | ", " , ", "a_", "*a", "a@", "$a",
    "[a](", "i want to ", "my a ", "and ", "how and ", "one of ", "e.g. ", "system ", "http://", "<@1", "\u0301", "’", "…\"",
]  # fmt: skip
"""What the worst known texts are made of, again and again."""
AROUND = [("", ""), ("a", "b"), ("", "\x00")]
WRITTEN_BY_OPERATORS = (
    "engine.knowledge.",
    "engine.prompts",
    "engine.urgency.referral",
    "adapters.telegram_adapter.adapter",
    "adapters.web_adapter.settings",
)
"""Modules whose expressions meet files and settings only."""


def _found() -> Iterator[tuple[str, Callable[[str], object]]]:
    """Every expression of a module, as its module uses it: searching through a text, or looking at its beginning."""
    for package in (engine, adapters):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.startswith(WRITTEN_BY_OPERATORS):
                yield from _of(module.name)


def _of(name: str) -> Iterator[tuple[str, Callable[[str], object]]]:
    module = importlib.import_module(name)
    source = inspect.getsource(module)
    for key, value in vars(module).items():
        some = value if isinstance(value, (tuple, list)) else (value,)
        for place, one in enumerate(some):
            if isinstance(one, re.Pattern) and isinstance(one.pattern, str) and f"\n{key} = " in f"\n{source}":
                anchored = len(some) == 1 and not re.search(rf"\b{key}\.(?!match|fullmatch|pattern)", source)
                yield f"{name}.{key}[{place}]", _looked_at(one) if anchored and f"{key}." in source else _searched(one)


def _searched(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: sum(1 for _ in pattern.finditer(text))


def _looked_at(pattern: re.Pattern[str]) -> Callable[[str], object]:
    return lambda text: (pattern.match(text), pattern.fullmatch(text))


URGENCY = Path(__file__).resolve().parents[2] / "config" / "urgency"
HEADS = LinearHeads.load(URGENCY / "classifier.bin", NAMES, trained_by="evaluation.urgency_training")
EXPRESSIONS = dict(_found())
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "clean": lambda text: clean(text, limit=LONG),
    "fold": fold.__wrapped__ if hasattr(fold, "__wrapped__") else fold,
    "sentences": sentences.__wrapped__ if hasattr(sentences, "__wrapped__") else sentences,
    "words": words,
    "questions": split,
    "plain": plain,
    "floor": Floor.load(URGENCY / "floor", ("en",)).assess_now,
    "classifier": lambda text: word_scores(HEADS, text),
    "legible": legible,
    "about another": about_another,
    "as moderators see it": as_shown,
}


TRIES = 4


def growth(work: Callable[[str], object], unit: str, before: str, after: str) -> float:
    """How many times longer it takes for the long text than for the short one; 0 where the long one is done in no time."""
    short, long = (before + (unit * length)[:length] + after for length in (SHORT, LONG))
    taken = _seconds(work, long)
    return 0.0 if taken < SECONDS else taken / min(_seconds(work, short) for _ in range(3))


def _seconds(work: Callable[[str], object], text: str) -> float:
    gc.disable()  # late in a run it walks through all that the tests before have left
    try:
        begun = time.thread_time()
        work(text)
        return time.thread_time() - begun
    finally:
        gc.enable()


@pytest.mark.parametrize("name", [*EXPRESSIONS, *FUNCTIONS])
def test_time_grows_with_the_length_and_no_faster(name: str) -> None:
    """Eight times the text takes about eight times as long, of whatever it is made."""
    work = EXPRESSIONS.get(name) or FUNCTIONS[name]
    for unit in UNITS:
        for before, after in AROUND:
            # A machine may be busy for a moment; what is quadratic is so each time.
            slow = (growth(work, unit, before, after) for _ in range(TRIES))
            assert any(one < MOST for one in slow), (unit, before, after)

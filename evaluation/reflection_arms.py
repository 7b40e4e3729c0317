"""What self-reflective retrieval is worth: the same questions with and without it, in one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from engine import Engine, Reflection
from evaluation.choice import chosen
from evaluation.retrieval import LabelledQuestion, ask_all, figures

CONFIGURED = "configured"
_NAMES: tuple[Reflection, ...] = get_args(Reflection)
ARMS: Mapping[str, tuple[Reflection, ...] | None] = {
    CONFIGURED: None,
    "none": (),
    **{name: (name,) for name in _NAMES},
    "all": _NAMES,
}
"""`configured` leaves assistants as their settings have them; the others replace `reflection`."""


def choose_arms(names: str) -> tuple[str, ...]:
    """The arms of a list with commas; raises ConfigurationError for unknown ones."""
    return chosen(names, {name: name for name in ARMS}, "reflection", key="--reflection", remedy="Use some of")


def engine_of(arm: str, engine: Engine) -> Engine:
    """The engine with every assistant's reflection as the arm has it."""
    if (names := ARMS[arm]) is None:
        return engine
    assistants = {
        name: replace(one, settings=one.settings.model_copy(update={"reflection": names}))
        for name, one in engine.assistants.items()
    }
    return replace(engine, assistants=assistants)


async def measure(
    questions: Sequence[LabelledQuestion],
    engine: Engine,
    arms: Sequence[str],
    progress: Callable[[], None] = lambda: None,
    *,
    parallel: int = 8,
) -> dict[str, Any]:
    """The figures of `eval retrieval` for whole turns, by arm, with calls, tokens and what came of the reflections."""
    result = {}
    for arm in arms:
        turns = await ask_all(questions, engine_of(arm, engine), progress, parallel=parallel)
        notes = Counter(note for _, turn in turns for note in turn.review.reflected)
        result[arm] = figures((one, list(turn.reply.citations)[:3]) for one, turn in turns) | {
            "declined": sum(bool(one.relevant) and not turn.reply.citations for one, turn in turns),
            "llm_calls": sum(turn.usage.llm_calls for _, turn in turns),
            "tokens": sum(turn.usage.prompt_tokens + turn.usage.completion_tokens for _, turn in turns),
            "reflected": dict(sorted(notes.items())),
        }
    return {"n": len(questions), "arms": result}

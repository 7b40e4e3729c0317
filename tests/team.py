"""A small assistant for tests: two sources, real configuration, a scripted model where one is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from bots.compose import Application
from bots.settings import CafiSettings
from engine.exceptions import ModelError
from engine.models.protocol import ChatModel, Completion, Prompt
from engine.models.scripted import ScriptedAnswer, ScriptedModel
from engine.turn.engine import Engine

SLEEP = """---
id: sleep
title: Sleep
summary: [why sleep matters, habits that help, "tired, insomnia"]
questions: [i cant sleep, why am i so tired]
---
Sleep often changes with schizophrenia. A fixed time for going to bed can help.

[ask before presenting: sad figures]

Half of all people sleep badly in hard times.

[intent: informs about sleep and never plans anybody's day]
"""
VOICES = """---
id: voices
title: Hearing voices
summary: [what voices are, "hallucinations, hearing things"]
questions: [what are the voices, why do I hear things]
stakes: high
---
Voices are sounds that others do not hear. Talk with your doctor about voices that frighten you.
"""
ACCEPT = {"objections": [], "decision": "ACCEPT"}
CHIEF_ACCEPT = {"objections": [], "evidence": [], "decision": "ACCEPT", "explanation": ""}
CALM = {"delusional_framing": False, "level": "none"}


def rejection(explanation: str = "That is not in the source.", *, sentence: int = 1) -> dict[str, Any]:
    """A chief judge's rejection of one sentence."""
    return {
        "objections": [{"sentence": sentence, "rule": "cited_means_supported"}],
        "evidence": [],
        "decision": "REJECT",
        "explanation": explanation,
    }


DOUBT = {"objections": [{"sentence": 1, "rule": "cited_means_supported"}], "decision": "REJECT"}
CITED = {
    "requested_sources": [],
    "citations": ["sleep"],
    "basis": "source",
    "reply": "A fixed time for going to bed can help.",
    "media": [],
    "handoff": None,
}
REFINED = {"citations": ["sleep"], "basis": "source", "reply": "Sleep often changes with schizophrenia."}

Script = Mapping[str, ScriptedAnswer | list[ScriptedAnswer] | Callable[[Prompt], ScriptedAnswer]]


def scripted(script: Script, *, latency: float = 0.0) -> ScriptedModel:
    """A model that answers by role (a role's prefix serves too); a list is used up, its last entry repeats."""
    rest = {role: list(answer) if isinstance(answer, list) else answer for role, answer in script.items()}

    def answer(prompt: Prompt) -> ScriptedAnswer:
        role = next((one for one in (prompt.role, *prompt.role.rsplit("_", 1)[::-1]) if one in rest), None)
        chosen = rest[role] if role else _default(prompt)
        if isinstance(chosen, list):
            return chosen.pop(0) if len(chosen) > 1 else chosen[0]
        if isinstance(chosen, (str, Mapping, Completion, ModelError)) or not callable(chosen):
            return chosen
        return chosen(prompt)

    return ScriptedModel(answer, latency=latency)


def _default(prompt: Prompt) -> ScriptedAnswer:
    answers: Mapping[str, ScriptedAnswer] = {
        "draft": CITED,
        "verdict": ACCEPT,
        "chief_verdict": CHIEF_ACCEPT,
        "refined": REFINED,
        "urgency": CALM,
    }
    return answers[prompt.schema_name]


def knowledge_folder(folder: Path, **files: str) -> Path:
    """A knowledge base with the two sources, or with those given."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (files or {"sleep": SLEEP, "voices": VOICES}).items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder


def application(
    folder: Path, model: ScriptedModel | None = None, given: Mapping[str, object] | None = None, **settings: Any
) -> Application:
    """The shipped configuration over a small knowledge base; without a model, built-in agents. `given`: other parts."""
    chosen = CafiSettings(agents="builtin", **settings).model_copy(update={"knowledge_base": knowledge_folder(folder)})
    return shipped(chosen, model, given)


def engine_over(folder: Path, model: ScriptedModel | None = None, **settings: Any) -> Engine:
    """The engine of `application`."""
    return application(folder, model, **settings).engine


def shipped(
    settings: CafiSettings | None = None, model: ChatModel | None = None, given: Mapping[str, object] | None = None
) -> Application:
    """Everything that runs, with the parts that these settings leave as they are shipped read once for all tests."""
    chosen = settings or CafiSettings(agents="builtin")
    return Application(settings=chosen, model=model, given={**_shared(chosen), **(given or {})})


def _shared(settings: CafiSettings) -> dict[str, Any]:
    plain = CafiSettings(agents="builtin")
    if settings.config_folder != plain.config_folder:
        return {}
    changed = {"referrals"} if settings.crisis != plain.crisis else set()
    changed |= {"prompts"} if settings.prompts_folder != plain.prompts_folder else set()
    return {name: part for name, part in shipped_parts().items() if name not in changed}


@cache
def shipped_parts() -> dict[str, Any]:
    """What is read from shipped files and never changes: read once for all tests, as it takes more than half a second."""
    judges, urgency = (
        ("phrases", "tone_head", "human_claims"),
        (
            "urgency_floor",
            "urgency_classifier",
            "resolution",
            "responses",
            "danger_kinds",
            "person_in_danger",
            "referrals",
        ),
    )
    guide = ("elsewhere", "encoder", "kinds", "situations", "service", "guide_texts", "stakes")
    whole = Application(settings=CafiSettings(agents="builtin"))
    return {name: getattr(whole, name) for name in (*judges, *urgency, *guide, "prompts")}


@cache
def shipped_engine() -> Engine:
    """The engine over the shipped knowledge base, without a model. It keeps nothing of a turn."""
    return shipped().engine

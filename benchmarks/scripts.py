"""What the mock model server answers: one function a scenario, from a request to the text of a completion.

A script gets the schema name of the request and its messages (`[{"role", "content"}, …]`) and goes by them
alone, so that any number of turns can run at the same time. Completions have the form and the length of real
ones: a reply of about 100 tokens, objections that name a sentence and a rule, explanations of about 35 tokens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Messages: TypeAlias = Sequence[Mapping[str, Any]]
Script: TypeAlias = Callable[[str, Messages], str]

# Occurs in refined replies only, so that a judge's request shows which draft it is about.
REFINED_MARK = "That is as far as the source goes."
# Occurs in the agent's prompt only after a failed check, see prompts/agent.md.
SENT_BACK = "Your last draft was sent back:"

SOURCE_REPLY = (
    "No, it is not your fault. Nobody is to blame for schizophrenia, and you did not bring it on by "
    "being weak. As far as is known, several things add up: genes, how the brain grows, problems around "
    "birth, and hard or stressful times. Each of them makes the illness a little more likely, and none "
    "of them is the cause by itself. Most people who have one of them never get ill. Would you like to "
    "read more about one of these things?"
)
GENERAL_REPLY = (
    "My sources do not cover that, so I cannot tell you what is known about it and schizophrenia. In "
    "general, many people find that a short walk at the same time each day gives the day a shape. This "
    "is general knowledge and not from a checked source, so please ask your doctor or your care team "
    "whether it fits you. I can tell you what my sources say about sleep, about early signs of a "
    "relapse, or about support for families."
)
REFINED_REPLY = (
    "No, it is not your fault. Nobody is to blame for schizophrenia, and you did not bring it on by "
    "being weak. Several things can add up: genes, how the brain grows, problems around birth, and hard "
    f"or stressful times. {REFINED_MARK} Would you like to read more about one of these things?"
)
EXPLANATION = (
    "The cited source does not say that none of these things is a cause by itself. Keep to what it "
    "says: several things can work together."
)

_IN_CONTEXT = re.compile(r"^Sources in context: ([^\s,]+?)[,.]", re.M)
# Questions of the benchmarks are numbered, and so are the answers: no cache of whole texts could help.
_NUMBER = re.compile(r"\((\d+)\)\s*</message>")
_RULES = re.compile(r"^- (\w+)(?: \((?:REJECT|WARNING|lesser)\))?:", re.M)
# The rules of the questions on which judges object here; the chief judge of role and tone accepts.
_OBJECTED = ("cited_means_supported", "uncited_means_no_claims")


def accepted(schema: str, messages: Messages) -> str:
    """The draft cites a source and every judge accepts it."""
    return _answer(schema, messages, decision="ACCEPT")


def general(schema: str, messages: Messages) -> str:
    """The draft rests on general knowledge, says so, urges to check, and is accepted."""
    draft = _draft(GENERAL_REPLY, basis="general")
    return _answer(schema, messages, decision="ACCEPT", draft=draft)


def warning(schema: str, messages: Messages) -> str:
    """The fidelity judges warn, preliminary and chief: the reply is shown and a reminder kept."""
    return _answer(schema, messages, decision="WARNING")


def refined(schema: str, messages: Messages) -> str:
    """The first draft is rejected, the refined one accepted."""
    decision = "ACCEPT" if _mention(messages, REFINED_MARK) else "REJECT"
    return _answer(schema, messages, decision=decision)


def always_rejected(schema: str, messages: Messages) -> str:
    """Every draft is rejected: the turn ends with the fallback."""
    return _answer(schema, messages, decision="REJECT")


def invalid_citation(schema: str, messages: Messages) -> str:
    """The first draft cites a source that does not exist; the retry after the check cites a real one."""
    if _mention(messages, SENT_BACK):
        return accepted(schema, messages)
    draft = _draft(SOURCE_REPLY, citations=["no_such_source"])
    return _answer(schema, messages, decision="ACCEPT", draft=draft)


SCRIPTS: Mapping[str, Script] = {
    script.__name__: script for script in (accepted, general, warning, refined, always_rejected, invalid_citation)
}


def _answer(schema: str, messages: Messages, *, decision: str, draft: dict[str, Any] | None = None) -> str:
    """The completion for one request, written without blanks, as models under a strict schema write it."""
    match schema:
        case "draft":
            completion = draft or _draft(SOURCE_REPLY, citations=_cited(messages))
            completion = {**completion, "reply": _numbered(completion["reply"], messages)}
        case "verdict":
            completion = _verdict(messages, decision)
        case "chief_verdict":
            completion = _chief_verdict(messages, decision)
        case "refined":
            reply = _numbered(REFINED_REPLY, messages)
            completion = {"citations": _cited(messages), "basis": "source", "reply": reply}
        case "urgency":
            completion = {"delusional_framing": False, "level": "none"}
        case _:
            raise ValueError(f"The engine asked for a form that no script knows: {schema}.")
    return json.dumps(completion, separators=(",", ":"))


def _draft(reply: str, *, basis: str = "source", citations: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "requested_sources": [],
        "citations": list(citations),
        "basis": basis,
        "reply": reply,
        "media": [],
        "handoff": None,
    }


def _verdict(messages: Messages, decision: str) -> dict[str, Any]:
    objections = [] if decision == "ACCEPT" else _objections(messages)
    return {"objections": objections, "decision": decision if objections else "ACCEPT"}


def _chief_verdict(messages: Messages, decision: str) -> dict[str, Any]:
    short = _verdict(messages, decision)
    explanation = EXPLANATION if short["objections"] else ""
    return {
        "objections": short["objections"],
        "evidence": [],
        "decision": short["decision"],
        "explanation": explanation,
    }


def _objections(messages: Messages) -> list[dict[str, Any]]:
    checked = _RULES.findall(str(messages[0]["content"]))
    return [{"sentence": 4, "rule": rule} for rule in _OBJECTED if rule in checked]


def _cited(messages: Messages) -> list[str]:
    """The first source in an agent's context, or the first one shown to a refiner."""
    last = str(messages[-1]["content"])
    found = _IN_CONTEXT.search(last) or re.search(r'<source id="([^"]+)">', last)
    return [found[1]] if found else []


def _numbered(reply: str, messages: Messages) -> str:
    found = _NUMBER.search(str(messages[-1]["content"]))
    return f"{reply} ({found[1]})" if found else reply


def _mention(messages: Messages, text: str) -> bool:
    return any(text in str(message.get("content", "")) for message in messages)

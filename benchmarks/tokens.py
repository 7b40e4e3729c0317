"""Prompt tokens of an accepted turn with 28 sources: role by role, first and fifth turn, both contexts."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from benchmarks.mock_server import LoggedCall
from benchmarks.report import Cell, Section, Target
from benchmarks.rig import QUESTIONS, ROOT, MockServer, checked, rig
from engine import KnowledgeBase, sentences

SOURCES = 28
PROTOTYPE = 8900  # prompt tokens of an accepted turn of the study's prototype
MANUAL = ROOT.parent / "shared" / "data" / "manual"
ASSISTANT = "schizophrenia"


def measure(server: MockServer) -> Section:
    """Synthetic sources, and those of the study's manual where it is at hand."""
    by_turn: list[dict[str, Cell]] = []
    by_role: list[dict[str, Cell]] = []
    targets = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bases = {"synthetic": synthetic(folder / "synthetic")} | ({"manual": MANUAL} if MANUAL.is_dir() else {})
        configs = {context: _config(folder / context, context) for context in ("selected", "whole")}
        for base, sources in bases.items():
            knowledge = KnowledgeBase.load(sources)
            for context, config in configs.items():
                turns = _chat(server, sources, config)
                by_turn += [_turn_row(base, knowledge, context, number, turns[number - 1]) for number in (1, 5)]
                if context == "selected":
                    by_role += [_role_row(base, call) for call in turns[0]]
                    spent = sum(call.prompt_tokens for call in turns[0])
                    targets.append(
                        Target(name=f"{base}: prompt tokens, first turn", value=spent, bound=PROTOTYPE * 0.6)
                    )
    return Section(
        name="tokens",
        about=f"accepted turns with {SOURCES} sources; a token is four characters",
        tables={"turns": by_turn, "first turn, context selected, role by role": by_role},
        targets=targets,
    )


def synthetic(folder: Path) -> Path:
    """28 sources of 200 to 350 words, 3 to 5 lines of summary each, from sentences of our own, shuffled."""
    draw = random.Random(28)
    own = KnowledgeBase.load(ROOT / "knowledge_base" / ASSISTANT)
    said = [one for source in own.sources.values() for passage in source.passages for one in sentences(passage.text)]
    folder.mkdir()
    for number in range(SOURCES):
        wanted, body = draw.randint(200, 350), list[str]()
        while sum(len(one.split()) for one in body) < wanted:
            body.append(draw.choice(said))
        head = {
            "id": f"source_{number:02}",
            "title": " ".join(draw.choice(said).split()[:4]).strip(".,?!:"),
            "summary": [" ".join(draw.choice(said).split()[:12]) for _ in range(draw.randint(3, 5))],
            "questions": list(draw.choice(list(own.sources.values())).questions[:3]),
        }
        paragraphs = [" ".join(body[start : start + 5]) for start in range(0, len(body), 5)]
        text = "---\n" + yaml.safe_dump(head, allow_unicode=True) + "---\n" + "\n\n".join(paragraphs) + "\n"
        (folder / f"source_{number:02}.md").write_text(text, encoding="utf-8")
    return folder


def _config(root: Path, context: str) -> Path:
    """A copy of the configuration in which the assistant sends its sources the given way."""
    config = root / "config"
    shutil.copytree(ROOT / "config", config)
    # The folders of the other assistants are looked up beside the configuration.
    (root / "knowledge_base").symlink_to(ROOT / "knowledge_base")
    path = config / "assistants" / f"{ASSISTANT}.yaml"
    assistant = yaml.safe_load(path.read_text(encoding="utf-8"))
    path.write_text(yaml.safe_dump({**assistant, "context": context}, allow_unicode=True), encoding="utf-8")
    return config


def _chat(server: MockServer, sources: Path, config: Path) -> list[list[LoggedCall]]:
    """The calls of each turn of a conversation."""
    calls = []
    server.reset(script="accepted", base_ms=0, per_token_ms=0)
    with rig(server, knowledge_base=sources, config_folder=config) as bench:
        conversation = bench.engine.start()
        for question in QUESTIONS:
            server.reset()
            turn = checked(bench.run(bench.turn(conversation, question)), "accepted")
            assert turn.reply.citations, f"{sources.name}: nothing was found for {question!r}"
            conversation = turn.conversation
            calls.append(server.calls())
    return calls


def _turn_row(
    base: str, knowledge: KnowledgeBase, context: str, number: int, calls: Sequence[LoggedCall]
) -> dict[str, Cell]:
    total = sum(call.prompt_tokens for call in calls)
    return {
        "sources": base,
        "index tokens": len(knowledge.index) // 4,
        "context": context,
        "turn": number,
        "calls": len(calls),
        "prompt tokens": total,
        "% of prototype": total / PROTOTYPE * 100,
        "in static first messages": sum(call.static_tokens for call in calls),
        "completion tokens": sum(call.completion_tokens for call in calls),
    }


def _role_row(base: str, call: LoggedCall) -> dict[str, Cell]:
    return {
        "sources": base,
        "role": call.model,
        "prompt tokens": call.prompt_tokens,
        "static first message": call.static_tokens,
        "the rest": call.prompt_tokens - call.static_tokens,
    }

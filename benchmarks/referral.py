"""How long the crisis referral takes: from a message to the first text, with a model that needs thirty seconds.

    python -m benchmarks.referral [--json]

Target: 50 ms. No model is asked before the referral, so the time is that of the layers without one.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time

from adapters.console_adapter.sitter import SITTER
from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from bots.compose import Application
from bots.settings import CafiSettings
from bots.terminal import terminal_chat
from engine import ScriptedModel

ROUNDS = 40
MESSAGES = (
    "i am going to kill myself tonight",
    "ich will sterben",
    "my brother took all his pills, he does not wake up",
    "Work was fine and I fed the cat. " * 20 + "I want to die. " + "Then I cooked some soup. " * 20,
    "i w a n t  t o  d i e",
)


async def _milliseconds(chat: Chat, message: str) -> float:
    begun = time.perf_counter()
    first = await chat.turns.turn(chat.start(Incoming(identity=SITTER)), message)
    taken = (time.perf_counter() - begun) * 1000
    assert first.help.replaces, message[:40]
    return taken


async def measure() -> dict[str, float]:
    """Milliseconds over all messages and rounds; `first` is the very first message of the process."""
    model = ScriptedModel(lambda prompt: "{}", latency=30)
    chat = terminal_chat(Application(settings=CafiSettings(), model=model))
    taken = [await _milliseconds(chat, message) for _ in range(ROUNDS) for message in MESSAGES]
    assert not model.prompts, "a model was asked before the referral"
    return {
        "first": round(taken[0], 2),
        "median": round(statistics.median(taken), 2),
        "slowest": round(max(taken), 2),
        "target": 50.0,
    }


if __name__ == "__main__":
    found = asyncio.run(measure())
    print(
        json.dumps(found) if "--json" in sys.argv else "\n".join(f"{key:8} {value} ms" for key, value in found.items())
    )

"""Faults around us: the model's, Telegram's, and the computer's clock."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from pathlib import Path

from chaos.deployment import Deployment
from chaos.fault import Fault, Strike

TROUBLE_SECONDS, BROUGHT_SECONDS, JUMPED_SECONDS = 6.0, 2.0, 2.0
LIBRARY = "faketime/libfaketimeMT.so.1"
JUMPS = ("+2h", "-2h", "+3d", "+0")
_IMPATIENT = {"CAFI_MODELS__TIMEOUT_SECONDS": "3", "CAFI_MODELS__RETRIES": "1"}
"""So that what hangs is given up within a round."""


def _troubled(trouble: str) -> Strike:
    async def strike(deployment: Deployment, dice: random.Random) -> float:
        """The model is in trouble for some seconds."""
        await asyncio.to_thread(deployment.model.reset, trouble=trouble)
        await asyncio.sleep(TROUBLE_SECONDS)
        await asyncio.to_thread(deployment.model.reset, trouble="")
        return time.monotonic()

    return strike


async def brought(deployment: Deployment, dice: random.Random) -> float:
    """Updates come in the fault's own way all the time."""
    await asyncio.sleep(BROUGHT_SECONDS)
    return time.monotonic()


async def clock_jump(deployment: Deployment, dice: random.Random) -> float:
    """The workers' clocks go forward, back, far ahead, and are right again; waits are not touched by that."""
    clock = deployment.folder / "clock"
    for jump in JUMPS:
        clock.write_text(f"{jump}\n", encoding="utf-8")
        await asyncio.sleep(JUMPED_SECONDS)
    return time.monotonic()


def _library() -> Path | None:
    return next(iter(sorted(Path("/usr/lib").glob(f"*/{LIBRARY}"))), None)


def _no_library() -> str:
    return "" if _library() else "needs libfaketime; on Debian or Ubuntu: sudo apt install libfaketime"


def _faked(folder: Path) -> Mapping[str, str]:
    clock = folder / "clock"
    clock.write_text("+0\n", encoding="utf-8")
    return {
        "LD_PRELOAD": str(_library()),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }


OUTSIDE_FAULTS = (
    Fault(name="model-hangs", strike=_troubled("hangs"), back=True, environment=_IMPATIENT),
    Fault(name="model-fails", strike=_troubled("fails"), back=True, environment=_IMPATIENT),
    Fault(name="model-slow", strike=_troubled("is slow"), back=True),
    Fault(name="model-garbage", strike=_troubled("answers garbage"), back=True),
    Fault(name="doubled-webhooks", strike=brought, webhook=True, balance={"twice": True}),
    Fault(name="reordered-webhooks", strike=brought, webhook=True, balance={"shuffled": True}),
    Fault(name="clock-jump", strike=clock_jump, preload=_faked, missing=_no_library),
)

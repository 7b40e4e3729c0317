"""A fault: what is done to a deployment, and what may come of it."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaos.deployment import Deployment

TAKEOVER_SECONDS, BACK_SECONDS = 10.0, 5.0
"""Within which others take over from who died or froze; within which answers come again once what was gone is there."""
Strike = Callable[[Deployment, random.Random], Awaitable[float]]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """`strike` does it and gives the time from which recovery counts: of the blow, or of the trouble's end where it lasts.

    `kills`: how often a round kills somebody who answers, or freezes them, which is the same to all others; each may bring
    one answer twice. `back`: it is over when `strike` returns. `balance`: how updates are brought meanwhile. `missing`: why
    it cannot be done here; empty if it can.
    `environment`: settings; `preload`: of workers alone, for a folder.
    """

    name: str
    strike: Strike
    kills: int = 0
    back: bool = False
    webhook: bool = False
    own_disk: bool = False
    balance: Mapping[str, bool] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    preload: Callable[[Path], Mapping[str, str]] = lambda folder: {}
    missing: Callable[[], str] = lambda: ""

    @property
    def seconds(self) -> float:
        """Within which it should be over."""
        return BACK_SECONDS if self.back else TAKEOVER_SECONDS

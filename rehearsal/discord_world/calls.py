"""What is kept of every request."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from rehearsal.discord_world.things import Attachment


@dataclass(kw_only=True, eq=False)
class RestCall:
    """One request to the REST API and the answer to it; `at` is the world's clock."""

    method: str
    path: str
    at: float
    route: str = ""
    params: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    files: list[Attachment] = field(default_factory=list)
    status: int = 0
    code: int = 0
    answer: Any = None

    @property
    def form(self) -> dict[str, Any]:
        """The body as an object; an empty one where there is none."""
        return self.body if isinstance(self.body, dict) else {}


def generous(call: RestCall, now: float) -> dict[str, str]:
    """The headers of a rate limit that nobody reaches."""
    bucket = hashlib.sha256(f"{call.method} {call.route}".encode()).hexdigest()[:32]
    return {
        "X-RateLimit-Limit": "10000",
        "X-RateLimit-Remaining": "9999",
        "X-RateLimit-Reset": f"{now + 1:.3f}",
        "X-RateLimit-Reset-After": "1.000",
        "X-RateLimit-Bucket": bucket,
    }

"""What is kept of every request, which requests go wrong on purpose, and how many are let through."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field
from typing import Any

from rehearsal.discord_world.clock import Clock
from rehearsal.discord_world.world import Attachment

MAJOR = ("channel_id", "guild_id", "webhook_id")


@dataclass(kw_only=True, eq=False)
class Call:
    """One request to the REST API and the answer to it; `at` is the fake's clock."""

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


@dataclass(kw_only=True, eq=False)
class Fault:
    """What goes wrong with the next requests to a route."""

    method: str
    pattern: str
    times: int
    status: int = 500
    code: int = 0
    message: str = "500: Internal Server Error"
    retry_after: float | None = None
    everywhere: bool = False
    drop: bool = False
    delay: float = 0.0
    applied: bool = False

    def meets(self, call: Call) -> bool:
        """Whether this fault is for a request."""
        return self.times > 0 and self.method in {"*", call.method} and matches(self.pattern, call.path)


def matches(pattern: str, path: str) -> bool:
    """Whether a path fits a pattern in which `*` or `{name}` stands for one segment, and `**` for any number."""
    wild = re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", "[^/]+")
    return re.fullmatch(re.sub(r"\\\{[^/]+?\\\}", "[^/]+", wild), path) is not None


@dataclass(kw_only=True, eq=False)
class _Window:
    started: float
    used: int = 0


@dataclass(kw_only=True, eq=False)
class Limit:
    """So many requests in so many seconds, for one method and pattern, and each channel, guild or webhook apart."""

    method: str
    pattern: str
    requests: int
    per: float
    windows: dict[str, _Window] = field(default_factory=dict)


GENEROUS = 10_000


class Limits:
    """The rate limits; without any set, every bucket is generous. They go by the fake's clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limits: list[Limit] = []
        self._global: Limit | None = None

    def add(self, method: str, pattern: str, requests: int, per: float) -> None:
        """Limit a route as Discord does: headers tell what is left, and one too many is answered with 429."""
        self._limits.append(Limit(method=method, pattern=pattern, requests=requests, per=per))

    def add_global(self, requests: int, per: float) -> None:
        """Limit all routes together, except answers to interactions."""
        self._global = Limit(method="*", pattern="**", requests=requests, per=per)

    def admit(self, call: Call) -> tuple[dict[str, str], float | None, bool]:
        """The rate limit headers of a request, the seconds to wait if it is refused, and whether by the global limit."""
        if self._global is not None and not call.path.startswith(("/interactions/", "/webhooks/")):
            left, wait = self._use(self._global, "")
            if left < 0:
                return {"X-RateLimit-Global": "true", "X-RateLimit-Scope": "global"}, wait, True
        limit = next(
            (one for one in self._limits if one.method in {"*", call.method} and matches(one.pattern, call.path)), None
        )
        if limit is None:
            return self._headers(call, GENEROUS, GENEROUS - 1, 1.0), None, False
        left, wait = self._use(limit, "+".join(call.params.get(name, "") for name in MAJOR))
        headers = self._headers(call, limit.requests, max(0, left), wait)
        return (headers | {"X-RateLimit-Scope": "user"}, wait, False) if left < 0 else (headers, None, False)

    def _use(self, limit: Limit, key: str) -> tuple[int, float]:
        now = self._clock.now()
        window = limit.windows.get(key)
        if window is None or now >= window.started + limit.per:
            window = limit.windows[key] = _Window(started=now)
        if window.used >= limit.requests:
            return -1, window.started + limit.per - now
        window.used += 1
        return limit.requests - window.used, window.started + limit.per - now

    def _headers(self, call: Call, limit: int, left: int, wait: float) -> dict[str, str]:
        bucket = hashlib.sha256(f"{call.method} {call.route}".encode()).hexdigest()[:32]
        return {
            "X-RateLimit-Limit": str(limit),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": f"{self._clock.now() + wait:.3f}",
            "X-RateLimit-Reset-After": f"{wait:.3f}",
            "X-RateLimit-Bucket": bucket,
        }

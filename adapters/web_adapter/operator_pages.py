"""The operator's page: what happens now, in numbers that concern nobody in particular. It is off without a token."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import RedirectResponse, Response

from adapters.feedback.report_figures import ReportedPart
from adapters.web_adapter.address_limits import Buckets
from adapters.web_adapter.website import RequestRefused, Site, Visit
from engine import StorageError

COOKIE = "cafi-operator"
LOGGED_IN_SECONDS = 3600.0
LOGINS_A_MINUTE = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureRow:
    """One bar: how many of the answers chose it; None where that is held back."""

    name: str
    count: int | None
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One question of the feedback, as it may be told."""

    title: str
    rows: tuple[FigureRow, ...]


Figures = Callable[[], Awaitable[Sequence[Figure]]]
Problems = Callable[[], Awaitable[Sequence[str]]]
Ended = Callable[[], Awaitable[Sequence[tuple[str, str, int]]]]
"""How often crisis referrals were shown, in weeks that have ended: week, platform, count. May raise StorageError."""


Alarms = Callable[[], Awaitable[Sequence[ReportedPart]]]
"""Parts of texts with so many reports that the operator is alarmed. May raise StorageError."""


async def nothing() -> Sequence[Any]:
    """No problems, no counts."""
    return ()


@dataclass(kw_only=True)
class OperatorPages:
    """Login, figures, the pause switch. `problems`: the configuration's, as `cafi check` names them."""

    site: Site
    token: str
    problems: Problems = nothing
    figures: Figures | None = None
    referrals: Ended = nothing
    reports: Alarms = nothing
    clock: Callable[[], float] = time.monotonic
    logins: Buckets = field(default_factory=lambda: Buckets(a_minute=LOGINS_A_MINUTE))
    _logged_in: dict[str, float] = field(default_factory=dict)

    @property
    def _cookie(self) -> str:
        return f"__Host-{COOKIE}" if self.site.settings.secure else COOKIE

    def bearer(self, visit: Visit) -> bool:
        """Whether a request carries the token itself."""
        kind, _, token = visit.request.headers.get("authorization", "").partition(" ")
        if kind.casefold() != "bearer" or not self.token:
            return False
        return self._fits(token.strip())

    def _fits(self, token: str) -> bool:
        return bool(self.token) and hmac.compare_digest(token.encode(), self.token.encode())

    def known(self, visit: Visit) -> bool:
        """Whether it is the operator."""
        until = self._logged_in.get(visit.request.cookies.get(self._cookie, ""), 0.0)
        return until > self.clock() or self.bearer(visit)

    async def page(self, visit: Visit) -> Response:
        """The figures, or the login form."""
        if not self.token:
            raise RequestRefused(404)
        if not self.known(visit):
            return visit.page("operator_login.html", title="Operator", failed=False)
        site = self.site
        tokens, cost = await site.store.spent(site.chat.turns.spending.today())
        return visit.page(
            "operator.html",
            title="Operator",
            metrics=site.metrics,
            streams=site.places.open,
            boards=len(site.boards),
            paused=site.pause.on,
            tokens=tokens,
            cost=cost,
            referrals=await self.referrals(),
            figures=() if self.figures is None else await self.figures(),
            problems=await self.problems(),
            reports=await self.reports(),
        )

    async def login(self, visit: Visit) -> Response:
        """Take the token; five wrong ones a minute are looked at."""
        if not self.token:
            raise RequestRefused(404)
        fields = await visit.form()
        # Only wrong tokens count: else somebody behind the same proxy could lock the operator out. At 24 characters
        # and more, the page's limit of requests is bound enough for guessing.
        if not self._fits(fields.get("token", "")):
            if not self.logins.take(visit.asker.address):
                raise RequestRefused(429)
            return visit.page("operator_login.html", status=403, title="Operator", failed=True)
        now, name = self.clock(), secrets.token_urlsafe(32)
        self._logged_in = {one: until for one, until in self._logged_in.items() if until > now}
        self._logged_in[name] = now + LOGGED_IN_SECONDS
        response = RedirectResponse("/operator", status_code=303)
        secure = "; Secure" if self.site.settings.secure else ""
        response.headers.append(
            "set-cookie",
            f"{self._cookie}={name}; Path=/; Max-Age={LOGGED_IN_SECONDS:.0f}; HttpOnly; SameSite=Strict{secure}",
        )
        return response

    async def switch(self, visit: Visit) -> Response:
        """Pause, go on, or log out."""
        fields = await visit.form()
        if not self.token or not self.known(visit):
            raise RequestRefused(403)
        if fields.get("do") in {"pause", "resume"}:
            self.site.pause.on = fields["do"] == "pause"
        elif fields.get("do") == "logout":
            self._logged_in.pop(visit.request.cookies.get(self._cookie, ""), None)
        return RedirectResponse("/operator", status_code=303)

    async def metrics(self, visit: Visit) -> Response:
        """Figures for Prometheus: with the token, or asked from this computer where no proxy can stand between."""
        if not (visit.asker.near or self.bearer(visit)):
            raise RequestRefused(404)
        try:
            referrals, reports = await self.referrals(), await self.reports()
        except StorageError:  # what else there is to know is wanted most then
            referrals, reports = (), ()
        streams = self.site.places.open
        content = self.site.metrics.exposition(streams=streams, referrals=referrals, reports=reports)
        return Response(content, media_type="text/plain; version=0.0.4")

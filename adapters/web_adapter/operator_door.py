"""The way into the operator's pages: the operator's token, links that open once, and who is signed in."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import RedirectResponse, Response

from adapters.editorial.staff import TOKEN_HOLDER, Staff, StaffMember, StaffRole
from adapters.moderation.audit import AuditLog, StaffAction, Target
from adapters.web_adapter.buckets import Buckets
from adapters.web_adapter.operator_texts import OperatorTexts
from adapters.web_adapter.website import RequestRefused, Site, Visit

COOKIE = "cafi-operator"
LOGINS_A_MINUTE = 5
PAGES = {
    "/operator": StaffRole.READER,
    "/operator/sources": StaffRole.READER,
    "/operator/proposals": StaffRole.READER,
    "/operator/people": StaffRole.OPERATOR,
    "/operator/log": StaffRole.OPERATOR,
    "/operator/configuration": StaffRole.OPERATOR,
}
"""What stands in the menu, and for whom."""


class SignInNeeded(Exception):
    """Nobody is signed in; `kept` is what was written meanwhile."""

    def __init__(self, kept: str = "") -> None:
        super().__init__()
        self.kept = kept


def bears(headers: Mapping[str, str], token: str) -> bool:
    """Whether a request carries the operator's token."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return kind.casefold() == "bearer" and fits(given.strip(), token)


def fits(given: str, token: str) -> bool:
    """Whether something is the operator's token; nothing is where there is none."""
    return bool(token) and hmac.compare_digest(given.encode(errors="surrogatepass"), token.encode())


@dataclass(kw_only=True)
class OperatorDoor:
    """Who may come in, and as what. `open`: whether there are such pages at all."""

    site: Site
    token: str
    staff: Staff
    audit: AuditLog
    texts: Mapping[str, OperatorTexts]
    editing: bool = False
    logins: Buckets = field(default_factory=lambda: Buckets(a_minute=LOGINS_A_MINUTE))

    @property
    def open(self) -> bool:
        """Whether there are such pages at all."""
        return bool(self.token) or self.editing

    @property
    def _cookie(self) -> str:
        return f"__Host-{COOKIE}" if self.site.settings.secure else COOKIE

    def _held(self, visit: Visit) -> str:
        return str(visit.request.cookies.get(self._cookie, ""))

    def bearer(self, visit: Visit) -> bool:
        """Whether a request carries the token itself."""
        return bears(visit.request.headers, self.token)

    async def who(self, visit: Visit) -> StaffMember | None:
        """Who is signed in."""
        if not self.open:
            raise RequestRefused(404)
        if self.bearer(visit):
            return StaffMember(id=TOKEN_HOLDER, role=StaffRole.OPERATOR)
        return await self.staff.member(self._held(visit))

    async def need(self, visit: Visit, role: StaffRole, kept: str = "") -> StaffMember:
        """Who is signed in and has a role; raises SignInNeeded, and RequestRefused for too small a role."""
        found = await self.who(visit)
        if found is None:
            raise SignInNeeded(kept)
        if not found.role.reaches(role):
            raise RequestRefused(403)
        return found

    async def form(self, visit: Visit, role: StaffRole) -> tuple[StaffMember, dict[str, str]]:
        """The fields of a form that whoever is signed in has sent from a page of theirs."""
        fields = await visit.form()
        found = await self.need(visit, role, fields.get("draft", ""))
        # Bound to this sign-in: whoever planted the page's own session cookie knows that one's token, and not this one.
        if not self.site.tokens.fits(self._binding(visit), fields.get("own", "")):
            raise RequestRefused(403)
        return found, fields

    def _binding(self, visit: Visit) -> str:
        return f"operator {self._held(visit)}" if self._held(visit) else ""

    def said(self, visit: Visit) -> OperatorTexts:
        """The texts in somebody's language."""
        return self.texts[visit.look.language]

    def page(self, visit: Visit, template: str, who: StaffMember, *, status: int = 200, **context: Any) -> Response:
        """One of these pages, with their menu."""
        said = self.said(visit)
        menu = [(path, said.menu[path]) for path, role in PAGES.items() if who.role.reaches(role)]
        own = self.site.tokens.make(self._binding(visit))
        given = {"o": said, "who": who, "menu": menu, "own": own, "editing": self.editing, **context}
        return visit.page(template, status=status, title=said.title, **given)

    def sign_in_page(self, visit: Visit, *, status: int = 200, problem: str = "", kept: str = "") -> Response:
        """Where the token is asked for; what somebody had written stands on it."""
        said = self.said(visit)
        given = {"o": said, "problem": problem, "kept": kept, "with_token": bool(self.token)}
        return visit.page("operator_login.html", status=status, title=said.title, **given)

    async def login(self, visit: Visit) -> Response:
        """Take the token; five wrong ones a minute are looked at."""
        if not self.open:
            raise RequestRefused(404)
        fields = await visit.form()
        # Only wrong tokens count: else somebody behind the same proxy could lock the operator out. At 24 characters
        # and more, the page's limit of requests is bound enough for guessing.
        if not fits(fields.get("token", ""), self.token):
            if not self.logins.take(visit.asker.address):
                raise RequestRefused(429)
            return self.sign_in_page(visit, status=403, problem=self.said(visit).sign_in.wrong)
        return await self._entered(visit, await self.staff.sign_in(TOKEN_HOLDER), TOKEN_HOLDER)

    async def link(self, visit: Visit) -> Response:
        """A link's page: a button, as programs that look at links in mails must not use them up."""
        if not self.open:
            raise RequestRefused(404)
        said = self.said(visit)
        token = str(visit.request.path_params["token"])
        return visit.page("operator_link.html", title=said.title, o=said, link=token)

    async def follow(self, visit: Visit) -> Response:
        """Take a link's token, once."""
        if not self.open:
            raise RequestRefused(404)
        fields = await visit.form()
        cookie = await self.staff.enter(fields.get("link", ""))
        if cookie is None:
            if not self.logins.take(visit.asker.address):
                raise RequestRefused(429)
            return self.sign_in_page(visit, status=403, problem=self.said(visit).sign_in.used)
        found = await self.staff.member(cookie)
        return await self._entered(visit, cookie, TOKEN_HOLDER if found is None else found.id)

    async def _entered(self, visit: Visit, cookie: str, whose: bytes) -> Response:
        if held := self._held(visit):  # whatever was there before opens nothing any more
            await self.staff.sign_out(held)
        self.audit.note(StaffAction.SIGN_IN, Target.MEMBER, whose.hex())
        await self.audit.save()
        response = RedirectResponse("/operator", status_code=303)
        secure = "; Secure" if self.site.settings.secure else ""
        lasts = self.staff.signed_in_hours * 3600
        response.headers.append(
            "set-cookie",
            f"{self._cookie}={cookie}; Path=/; Max-Age={lasts}; HttpOnly; SameSite=Strict{secure}",
        )
        return response

    async def leave(self, visit: Visit) -> None:
        """Sign out."""
        await self.staff.sign_out(self._held(visit))

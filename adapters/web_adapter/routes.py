"""All pages as one ASGI application: routes, times, and one calm page for whatever goes wrong."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.web_adapter.account_pages import OwnPages
from adapters.web_adapter.chat_pages import ChatPages
from adapters.web_adapter.editorial_pages import EditorialPages
from adapters.web_adapter.fixed_pages import FixedPages
from adapters.web_adapter.guard import Guard, TooLong
from adapters.web_adapter.operator_door import OperatorDoor, SignInNeeded
from adapters.web_adapter.operator_pages import OperatorPages
from adapters.web_adapter.staff_pages import StaffPages
from adapters.web_adapter.website import Page, RequestRefused, Site, Visit
from engine import StorageError

ELSEWHERE = {
    "/topics": "/sources",
    "/whocanread": "/privacy",
    "/country": "/look",
    "/language": "/look",
    "/stop": "/forget",
    "/people": "/crisis",
    "/begin": "/",
}
"""Other names of pages: the chat's commands are written like paths."""
_STREAMS = ("/events", "/widget/events")
_REFUSALS = frozenset({400, 403, 413, 415, 421, 429})
"""What somebody may bring about as often as they like."""
_log = logging.getLogger("cafi.web")


def application(site: Site, operator: OperatorPages, editorial: EditorialPages) -> ASGIApp:
    """The whole page."""
    routes = [*_routes(site, operator), *_operators(operator, editorial)]
    inner = Starlette(routes=routes, exception_handlers={404: _not_found(site), 405: _not_found(site)})
    return Guard(app=ErrorMiddleware(app=inner, site=site), settings=site.settings)


def _routes(site: Site, operator: OperatorPages) -> Iterator[BaseRoute]:
    fixed = FixedPages(site=site)
    for base in ("", "/widget"):
        yield from _people(site, fixed, base)
    yield _route(site, "/static/{file}", fixed.static)
    yield _route(site, "/widget.js", fixed.widget_script)
    yield _route(site, "/health", fixed.health)
    yield _route(site, "/healthz", fixed.runs)
    yield _route(site, "/readyz", fixed.ready)
    yield _route(site, "/metrics", operator.metrics)
    yield Route("/robots.txt", _robots)
    yield Route("/favicon.ico", _no_icon)


def _operators(operator: OperatorPages, editorial: EditorialPages) -> Iterator[BaseRoute]:
    door, staff = operator.door, StaffPages(door=operator.door)
    text = "/operator/sources/{assistant}/{language}/{source}"
    gets: dict[str, Page] = {
        "/operator": operator.page,
        "/operator/link/{token}": door.link,
        "/operator/figures.csv": operator.export,
        "/operator/configuration": operator.configuration,
        "/operator/people": staff.people,
        "/operator/log": staff.log,
        "/operator/sources": editorial.texts,
        text: editorial.text,
        f"{text}/change": editorial.change_form,
        f"{text}/history": editorial.history,
        "/operator/proposals": editorial.proposals,
        "/operator/proposals/{proposal}": editorial.proposal,
    }
    posts: dict[str, Page] = {
        "/operator/login": door.login,
        "/operator/link": door.follow,
        "/operator/switch": operator.switch,
        "/operator/people": staff.change,
        f"{text}/change": editorial.change,
        f"{text}/history": editorial.restore,
        "/operator/proposals/{proposal}": editorial.decide,
    }
    for path, page in gets.items():
        yield _route(door.site, path, _behind(door, page))
    for path, page in posts.items():
        yield _route(door.site, path, _behind(door, page), "POST")


def _behind(door: OperatorDoor, page: Page) -> Page:
    """A page of the operator's, and the way in for whoever is not signed in."""

    async def answer(visit: Visit) -> Response:
        try:
            return await page(visit)
        except SignInNeeded as error:
            status = 200 if visit.request.method == "GET" else 403
            return door.sign_in_page(visit, status=status, kept=error.kept)

    return answer


def _people(site: Site, fixed: FixedPages, base: str) -> Iterator[BaseRoute]:
    chat, own = ChatPages(site=site), OwnPages(site=site)
    gets: dict[str, Page] = {
        "/chat": chat.conversation,
        "/events": chat.events,
        "/forget": own.forget_form,
        "/look": own.look_form,
        "/feedback": own.feedback_form,
        "/sources": fixed.sources,
        "/sources/{assistant}/{source}": fixed.source,
        "/media/{assistant}/{file}": fixed.picture,
        "/crisis": fixed.crisis,
        "/privacy": fixed.privacy,
        "/accessibility": fixed.accessibility,
        "/protocol": fixed.protocol,
        "/help": fixed.commands,
    }
    posts: dict[str, Page] = {
        "/begin": chat.begin,
        "/sources": fixed.search,
        "/chat": chat.message,
        "/press": chat.press,
        "/vote": chat.vote,
        "/forget": own.forget,
        "/leave": own.leave,
        "/look": own.look,
        "/feedback": own.feedback,
    }
    yield _route(site, base or "/", chat.start)
    if base:
        yield _elsewhere(f"{base}/", base)
    for path, page in gets.items():
        yield _route(site, base + path, page)
    for path, page in posts.items():
        yield _route(site, base + path, page, "POST")
    for path in ("/press", "/vote"):
        yield _elsewhere(base + path, f"{base}/chat")  # somebody goes back in the browser, or reloads
    for path, other in ELSEWHERE.items():
        yield _elsewhere(base + path, (base + other).rstrip("/") or "/")


def _route(site: Site, path: str, page: Page, method: str = "GET") -> Route:
    async def answer(request: Request) -> Response:
        visit = Visit.of(site, request)
        try:
            return await page(visit)
        except RequestRefused as error:
            return sorry(visit, error.status, error.kept)
        except TooLong:
            return sorry(visit, 413)
        except StorageError as error:
            _log.error("%s", error)
            return sorry(visit, 503)
        except ClientDisconnect:
            raise
        except Exception as error:  # whatever it was: one calm page, and nothing of it on the screen or in the log
            _log.error("a page failed: %s", type(error).__name__)
            return sorry(visit, 500)

    return Route(path, answer, methods=[method], name=path)


def _elsewhere(path: str, other: str) -> Route:
    async def answer(request: Request) -> Response:
        return RedirectResponse(other, status_code=303)

    return Route(path, answer, methods=["GET"], name=path)


async def _robots(request: Request) -> Response:
    return PlainTextResponse("User-agent: *\nDisallow: /chat\nDisallow: /widget\nDisallow: /operator\n")


async def _no_icon(request: Request) -> Response:
    """Pages name their icon; a browser that has left asks for this one, and shall get nothing to keep."""
    return Response(status_code=204)


def _not_found(site: Site) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(request: Request, error: Exception) -> Response:
        return sorry(Visit.of(site, request), 404)

    return answer


@dataclass(kw_only=True)
class ErrorMiddleware:
    """ASGI middleware: times every request, answers those that were refused, and lets nothing through to a log."""

    app: ASGIApp
    site: Site
    clock: Callable[[], float] = time.perf_counter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = self.clock(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
            await send(message)

        refused = int(scope.get("refused", 0))
        try:
            if refused:
                await self._refusal(scope, receive, refused)(scope, receive, sending)
            else:
                await self.app(scope, receive, sending)
        except (ClientDisconnect, OSError):
            pass  # nobody is there any more
        except Exception as error:  # after an answer had begun; it ends here
            _log.error("an answer broke off: %s", type(error).__name__)
        finally:
            self._count(scope, status, self.clock() - begun)

    def _refusal(self, scope: Scope, receive: Receive, status: int) -> Response:
        if scope["path"] in _STREAMS:  # nobody reads it, and floods are made of such
            return Response(status_code=status, headers={**_headers(status), "Connection": "close"})
        return sorry(Visit.of(self.site, Request(scope, receive)), status)

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        route = scope.get("route")
        name = str(getattr(route, "path", "")) or "other"
        self.site.metrics.page(status or 499, seconds, stream=name in _STREAMS)


def sorry(visit: Visit, status: int, kept: str = "") -> Response:
    """The page for what went wrong, with the contacts; what the person wrote is on it. Nothing refused is read for danger.

    The page's script keeps the words in their field and says that they did not go through, and where help is.
    """
    if status in _REFUSALS and not visit.site.address.refused.take(visit.asker.address):
        response = JSONResponse({}, status_code=429) if visit.wants_json else visit.enough()
        response.headers.update(_headers(429))
        return response
    if visit.wants_json:
        return JSONResponse({}, status_code=status, headers=_headers(status))
    texts = visit.texts.errors
    words = {
        400: texts.broken,
        403: texts.not_ours,
        404: texts.not_found,
        413: texts.too_long,
        415: texts.broken,
        421: texts.not_found,
        429: texts.too_many,
        431: texts.too_long,
        503: texts.unavailable,
    }
    response = visit.page(
        "error.html",
        status=status,
        title=texts.heading,
        said=words.get(status, texts.broken),
        code=texts.code.format(code=status),
        kept=kept,
    )
    if not kept:  # only who sends the words again needs a session
        del response.headers["set-cookie"]
    response.headers.update(_headers(status))
    return response


def _headers(status: int) -> dict[str, str]:
    if status == 429:
        return {"Retry-After": "60"}
    return {"Connection": "close"} if status in {400, 413, 421, 431} else {}

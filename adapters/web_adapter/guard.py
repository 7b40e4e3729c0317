"""Around every request: who asks, whether that is too much, how long a body may be, and the headers of every answer."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.web_adapter.buckets import Addresses, Buckets, forwarded, is_within
from adapters.web_adapter.settings import WebSettings

BODY_BYTES = 64_000
"""4,000 characters of four bytes, each written as three, and the rest of the form."""
HEADER_BYTES = 16_384
MOST_READ_AWAY = 2_000_000
FREE = frozenset({"/crisis", "/widget/crisis", "/health", "/healthz", "/readyz"})
"""What no limit holds back: where help is, and what a balancer asks."""
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors {ancestors}"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": (
        "accelerometer=(), autoplay=(), browsing-topics=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), "
        "magnetometer=(), microphone=(), midi=(), payment=(), publickey-credentials-get=(), usb=()"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Robots-Tag": "noai, noimageai",
}


class TooLong(Exception):
    """A body is longer than anything a form of ours sends."""


@dataclass(kw_only=True)
class Guard:
    """ASGI middleware. `scope["cafi"]` then holds what it has found out: see `Requester`."""

    app: ASGIApp
    settings: WebSettings
    addresses: Addresses = field(default_factory=Addresses)
    requests: Buckets = field(init=False)

    def __post_init__(self) -> None:
        self.requests = Buckets(a_minute=self.settings.requests_a_minute)
        self._trusted = [ipaddress.ip_network(one, strict=False) for one in self.settings.trusted_proxies]
        self._ancestors = " ".join(("'self'", *self.settings.frame_ancestors)) if self.settings.frame_ancestors else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
                return
            await self.app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), str(scope["path"])
        asker = self._asker(scope, headers)
        scope["cafi"] = asker
        refusal = self._refusal(headers, path, asker)
        if refusal:
            scope["refused"] = refusal
        if refusal == 413:
            await _read_away(receive)
        await self.app(scope, self._limited(receive), self._with_headers(send, path))

    def _asker(self, scope: Scope, headers: Headers) -> Requester:
        peer = scope["client"][0] if scope.get("client") else ""
        chain = ",".join(headers.getlist("x-forwarded-for"))
        address = forwarded(peer, chain, self._trusted)
        return Requester(address=self.addresses.name(address), near=is_near(self.settings, peer, headers))

    def _refusal(self, headers: Headers, path: str, asker: Requester) -> int:
        hosts = self.settings.hosts
        if hosts is not None and _host(headers.get("host", "")) not in hosts:
            return 421
        if sum(len(name) + len(value) for name, value in headers.raw) > HEADER_BYTES:
            return 431
        if "content-length" in headers and "transfer-encoding" in headers:
            return 400  # a proxy before us may have read another end of the body than we do
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > BODY_BYTES:
            return 413
        if path not in FREE and not path.startswith("/static/") and not self.requests.take(asker.address):
            return 429
        return 0

    def _limited(self, receive: Receive) -> Receive:
        taken = 0

        async def limited() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > BODY_BYTES:
                if message.get("more_body"):
                    await _read_away(receive)
                raise TooLong
            return message

        return limited

    def _with_headers(self, send: Send, path: str) -> Send:
        embedded = path == "/widget" or path.startswith("/widget/")

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                ancestors = self._ancestors if embedded and self._ancestors else "'none'"
                if "content-security-policy" not in headers:  # a picture brings a stricter one
                    headers["Content-Security-Policy"] = _POLICY.format(ancestors=ancestors)
                if ancestors == "'none'":
                    headers["X-Frame-Options"] = "DENY"
                # The widget's script is made to be loaded by other sites; nothing else is.
                headers["Cross-Origin-Resource-Policy"] = "cross-origin" if path == "/widget.js" else "same-origin"
                if self.settings.secure:
                    headers["Strict-Transport-Security"] = "max-age=31536000"
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        return sending


async def _read_away(receive: Receive) -> None:
    """Let the rest of a body pass, up to a bound: a browser that is cut off while it sends shows no answer."""
    taken = 0
    while taken < MOST_READ_AWAY:
        message = await receive()
        taken += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


@dataclass(frozen=True, kw_only=True, slots=True)
class Requester:
    """Who sends a request, as far as we want to know: a name for the address, and whether it is surely this computer."""

    address: bytes
    near: bool


def is_near(settings: WebSettings, peer: str, headers: Headers) -> bool:
    """Whether a request surely comes from this computer: where no proxy can stand between."""
    # A proxy stands on this computer as well. Some write no header at all, so a public address is enough to know.
    proxied = settings.public_url or settings.trusted_proxies or any(one in headers for one in _FORWARDING)
    return is_within(peer, _NEAR) and not proxied


def own_origin(settings: WebSettings, headers: Headers, scheme: str) -> str:
    """The origin of our own pages."""
    return settings.public_url or f"{scheme}://{headers.get('host', '')}"


def comes_from_us(settings: WebSettings, headers: Headers, scheme: str) -> bool:
    """Whether a post comes from a page of ours, as far as the browser says (Fetch Metadata, Origin)."""
    fetch = headers.get("sec-fetch-site")
    if fetch is not None and fetch not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    if origin is None or origin == "null":
        # Older browsers; and with `Referrer-Policy: no-referrer` browsers call every origin “null” when a form is sent.
        return True  # the token has to fit in any case
    own = {own_origin(settings, headers, scheme), f"{scheme}://{headers.get('host', '')}"}
    return origin.casefold() in {one.casefold() for one in own}


_FORWARDING = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "forwarded", "via")
_NEAR = [ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128")]


def _host(header: str) -> str:
    try:
        return str(urlsplit(f"//{header}").hostname or "")
    except ValueError:
        return ""

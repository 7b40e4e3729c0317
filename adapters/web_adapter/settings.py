"""What an operator can set about the web page. Light on purpose: the composition root imports it at every start."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, StringConstraints, field_validator, model_validator

from engine import Strict

_ORIGIN = re.compile(r"https?://[A-Za-z0-9*.-]+(?::(?:\d{1,5}|\*))?")
Origin = Annotated[str, StringConstraints(pattern=rf"^{_ORIGIN.pattern}$")]


class WebSettings(Strict):
    """The web page. Times are in seconds; what is counted “a minute” is counted for one session or one address."""

    enabled: bool = Field(default=True, description="whether `cafi run` serves the web page")
    host: str = Field(default="127.0.0.1", description="where it listens")
    port: int = Field(default=8080, ge=0, le=65535, description="and the port there; 0 takes any free one")
    public_url: str = Field(
        default="",
        pattern=rf"^({_ORIGIN.pattern})?$",
        description="the page's address as people see it, without a path; `https://` makes cookies secure",
    )
    frame_ancestors: tuple[Origin, ...] = Field(
        default=(),
        description="sites that may embed the widget, such as `https://www.clinic.example`; needs `web.public_url`",
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="addresses or networks of reverse proxies whose `X-Forwarded-For` counts"
    )
    operator_token: SecretStr | None = Field(
        default=None, min_length=24, description="without it the operator page is off"
    )
    exit_url: str = Field(
        default="https://www.wikipedia.org/", pattern=r"^https://\S+$", description="where “Leave quickly” leads"
    )
    contact: str = Field(default="", max_length=200, description="who to write to when something is not accessible")
    suggested: tuple[str, ...] = Field(
        default=("what_is_schizophrenia", "causes", "family"), description="sources offered to somebody who begins"
    )
    answer_seconds: float = Field(
        default=10.0, gt=0, description="how long a page without JavaScript waits for its answer"
    )
    requests_a_minute: int = Field(default=600, ge=10, description="of one address")
    posts_a_minute: int = Field(default=40, ge=5, description="of one session")
    begun_a_minute: int = Field(
        default=10, ge=1, description="chats begun by one address (an IPv4 address, the /64 of an IPv6 one)"
    )
    messages_a_minute: int = Field(
        default=60, ge=5, description="messages sent by one address, in all of its chats together"
    )
    refused_a_minute: int = Field(
        default=20,
        ge=1,
        description=(
            "requests of one address that are refused with a page of their own; beyond it, one fixed page with the "
            "contacts"
        ),
    )
    streams: int = Field(default=1000, ge=1, description="open pages that are told of answers at once, all together")
    streams_an_address: int = Field(default=60, ge=1, description="of them, those of one address")
    streams_a_session: int = Field(default=6, ge=1, description="of them, those of one session")
    connections: int = Field(default=2000, ge=10, description="open connections, all together")
    connections_an_address: int = Field(
        default=300,
        ge=5,
        description="of them, those of one address; proxies that are trusted have no limit of their own",
    )
    kept_pages: int = Field(
        default=1000,
        ge=1,
        description=(
            "chats whose recent entries are kept in memory; one that is open or being answered is kept beyond it"
        ),
    )

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            ipaddress.ip_network(one, strict=False)
        return value

    @model_validator(mode="after")
    def _whole(self) -> WebSettings:
        if self.frame_ancestors and not self.public_url:
            raise ValueError("frame_ancestors needs public_url: the other site has to know where the widget is")
        return self

    @property
    def secure(self) -> bool:
        """Whether people reach us by TLS."""
        return self.public_url.startswith("https://")

    @property
    def hosts(self) -> frozenset[str] | None:
        """Names we answer to; None where every name is ours. Others could be a page that rebinds its own name to us."""
        if self.public_url:
            return frozenset({str(urlsplit(self.public_url).hostname), *_LOOPBACK})
        return _LOOPBACK if self.host in _LOOPBACK else None


_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})

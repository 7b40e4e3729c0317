"""Two cookies and no more: the session, which is a random number, and how somebody likes the page to look."""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from adapters.storage.seal import Keyring

_SESSION = re.compile(r"[A-Za-z0-9_-]{43}")
_LOOK = re.compile(r"([a-z]{2})?\.([012])\.([ald])\.([a-z]{2,13})?")
SIZES = (0, 1, 2)
THEMES = {"a": "auto", "l": "light", "d": "dark"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Preferences:
    """How somebody likes the page: language, text size, theme, and the country whose contacts they see."""

    language: str = ""
    size: int = 0
    theme: str = "a"
    country: str = ""

    def text(self) -> str:
        """As a cookie's value."""
        return f"{self.language}.{self.size}.{self.theme}.{self.country}"

    @classmethod
    def read(cls, text: str) -> Preferences:
        """The inverse; the usual look for anything else."""
        found = _LOOK.fullmatch(text)
        if found is None:
            return cls()
        return cls(language=found[1] or "", size=int(found[2]), theme=found[3], country=found[4] or "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Cookies:
    """Names and attributes. `secure`: behind TLS. `embedded`: the page stands inside another site's."""

    secure: bool
    embedded: bool = False

    @property
    def session_name(self) -> str:
        """With the prefix that binds a cookie to this very host, where that can be had (RFC 6265bis)."""
        return self._name("cafi-widget" if self.embedded else "cafi-session")

    @property
    def look_name(self) -> str:
        """The look's."""
        return self._name("cafi-widget-look" if self.embedded else "cafi-look")

    def session(self, header: str) -> str:
        """The session of a Cookie header; empty for none or a value that is not of our making."""
        value = _read(header).get(self.session_name, "")
        return value if _SESSION.fullmatch(value) else ""

    def look(self, header: str) -> Preferences:
        """The look of a Cookie header."""
        return Preferences.read(_read(header).get(self.look_name, ""))

    def set_session(self, session: str) -> str:
        """A Set-Cookie header that lasts until the browser is closed."""
        return f"{self.session_name}={session}; {self._attributes()}"

    def set_look(self, look: Preferences) -> str:
        """The same for the look."""
        return f"{self.look_name}={look.text()}; {self._attributes()}"

    def clear(self) -> list[str]:
        """Set-Cookie headers that take both away."""
        return [f"{name}=; Max-Age=0; {self._attributes()}" for name in (self.session_name, self.look_name)]

    def _name(self, name: str) -> str:
        return f"__Host-{name}" if self.secure else name

    def _attributes(self) -> str:
        # In another site's page a browser keeps cookies only so, and apart for each such site (CHIPS).
        if self.embedded and self.secure:
            return "Path=/; HttpOnly; Secure; SameSite=None; Partitioned"
        return "Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if self.secure else "")


def new_session() -> str:
    """A session's name: 256 random bits."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, kw_only=True)
class FormTokens:
    """Tokens that show that a form came from a page of ours for this session; they outlive a restart."""

    keyring: Callable[[], Keyring]

    def make(self, session: str) -> str:
        """The token of a session."""
        return self.keyring().current.keyed("form", session.encode()).hex()

    def fits(self, session: str, token: str) -> bool:
        """Whether a token belongs to a session."""
        if not session or not token.isascii():
            return False
        return any(hmac.compare_digest(one.hex(), token) for one in self.keyring().names("form", session.encode()))


def chosen(
    look: Preferences, fields: Mapping[str, str], languages: Mapping[str, object], countries: Mapping[str, str]
) -> Preferences:
    """The look after a form; what is not on offer is left as it was."""
    if (language := fields.get("language", "")) in languages:
        look = replace(look, language=language)
    if (country := fields.get("country")) is not None and (country in countries or not country):
        look = replace(look, country=country)
    if (size := fields.get("size", "")) in {str(one) for one in SIZES}:
        look = replace(look, size=int(size))
    if (theme := fields.get("theme", "")) in THEMES:
        look = replace(look, theme=theme)
    return look


def _read(header: str) -> dict[str, str]:
    parts = (part.strip().partition("=") for part in header.split(";"))
    return {name: value for name, _, value in parts}

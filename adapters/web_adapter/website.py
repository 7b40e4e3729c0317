"""What all pages share: texts, templates, chats, limits. A visit is one request seen from there."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.state import ChatState
from adapters.conversation.texts import ChatTexts
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.store import ChatStore
from adapters.feedback.corrections import Correction
from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.boards import Board, Boards
from adapters.web_adapter.buckets import AddressBuckets, Buckets, Places
from adapters.web_adapter.cookies import Cookies, FormTokens, Preferences, chosen, new_session
from adapters.web_adapter.entries import Entries, Entry
from adapters.web_adapter.guard import Requester, comes_from_us
from adapters.web_adapter.metrics import Metrics
from adapters.web_adapter.pause import Pause
from adapters.web_adapter.prose import plain, prose, with_contacts, with_links, worded
from adapters.web_adapter.settings import WebSettings
from adapters.web_adapter.texts import WebLanguages, WebTexts
from engine import Referral

PLATFORM = "web"
_FOLDER = Path(__file__).parent
_MOST_FIELDS = 20


Results = Callable[[], Awaitable[Sequence[tuple[Correction, int | None]]]]
"""What was corrected, and how many reports there were at least; None for fewer than may be told. May raise StorageError."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """Everything the pages are made with. `results`: what became of reports, None where nothing is told of that."""

    settings: WebSettings
    languages: WebLanguages
    chat: Chat
    store: ChatStore
    dispatch: Dispatch
    boards: Boards
    entries: Entries
    metrics: Metrics
    pause: Pause
    stopping: Callable[[], bool]
    tokens: FormTokens
    posts: Buckets
    address: AddressBuckets
    places: Places
    results: Results | None = None
    panels: dict[tuple[str, str, str], Markup] = field(default_factory=dict)
    enough: dict[tuple[str, str, str], bytes] = field(default_factory=dict)

    @cached_property
    def templates(self) -> Environment:
        """All templates, which escape whatever is put in."""
        environment = Environment(
            loader=FileSystemLoader(_FOLDER / "templates"),
            autoescape=True,
            auto_reload=False,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        environment.filters |= {"prose": prose, "plain": plain, "worded": worded}
        environment.globals |= {"static": self.static_path, "with_links": with_links, "with_contacts": with_contacts}
        return environment

    @cached_property
    def static(self) -> Mapping[str, bytes]:
        """The files every page needs, by name."""
        return {path.name: path.read_bytes() for path in sorted((_FOLDER / "static").iterdir()) if path.is_file()}

    @cached_property
    def _hashes(self) -> Mapping[str, str]:
        return {name: hashlib.sha256(content).hexdigest()[:12] for name, content in self.static.items()}

    def static_path(self, name: str) -> str:
        """Where a file is; with its hash, so that browsers may keep it for good."""
        return f"/static/{name}?{self._hashes[name]}"

    @cached_property
    def countries(self) -> Mapping[str, str]:
        """Country codes and names."""
        return self.chat.pages.referrals.names_in(None)

    async def take(self, steps: Sequence[Incoming], said: Entry | None = None) -> bool:
        """Put what somebody does on disk and in line; False where the chat's limits held something back.

        Raises StorageError, and then nothing was.
        """
        return not await self.boards.take(steps, said, self.dispatch.take)

    async def calm(self, identity: ChatIdentity) -> None:
        """Wait for the answer, for whose page does not learn of it otherwise."""
        await self.boards.calm(identity, self.settings.answer_seconds)

    async def has(self, identity: ChatIdentity) -> bool:
        """Whether there is such a chat; only then is anything of it held in memory, as sessions can be made up."""
        return await self.boards.known(identity) is not None or (await self.store.load(identity)).state is not None

    async def board(self, identity: ChatIdentity, language: str) -> Board:
        """A chat's board, with what is stored of the chat on it."""
        board = await self.boards.known(identity)
        if board is not None and board.seeded:
            return board
        state = (await self.store.load(identity)).state
        restored = [] if state is None else self.entries.restored(state, language)
        return await self.boards.change(identity, lambda board: board.seed(restored))

    async def take_up(self, left: Sequence[Incoming]) -> None:
        """Show what an earlier process has taken and not answered, in its place, as soon as the page is back."""
        for one in left:
            board = await self.board(one.identity, one.language)
            board.waiting += 1
            if (said := self.entries.said(one)) is not None:
                board.add(said)

    def referral(self, look: Preferences) -> Referral:
        """The referral for somebody's country and language."""
        return self.chat.pages.referrals.choose(look.country or None, look.language or None)


class RequestRefused(Exception):
    """A request that is not carried out; `status` says why, `kept` is what the person had written."""

    def __init__(self, status: int, kept: str = "") -> None:
        super().__init__()
        self.status, self.kept = status, kept


@dataclass(kw_only=True)
class Visit:
    """One request: whose session it is, and how they like the page. `base`: "" or "/widget"."""

    site: Site
    request: Request
    base: str
    session: str
    look: Preferences
    fresh: bool = False
    new_look: bool = False

    @classmethod
    def of(cls, site: Site, request: Request) -> Visit:
        """Read a request's cookies; somebody without a session gets a new one."""
        path = str(request.scope["path"])  # `request.url` would be kept by urllib, with what somebody searched for
        base = "/widget" if path == "/widget" or path.startswith("/widget/") else ""
        cookies = Cookies(secure=site.settings.secure, embedded=bool(base))
        header = request.headers.get("cookie", "")
        session, look = cookies.session(header), cookies.look(header)
        asked = request.query_params.get("lang", "")
        offered = (one for one in (asked, look.language) if one in site.languages.texts)
        wanted = next(offered, "") or site.languages.known(request.headers.get("accept-language", ""))
        country = look.country if look.country in site.countries else ""
        look = replace(look, language=wanted, country=country)
        return cls(
            site=site,
            request=request,
            base=base,
            session=session or new_session(),
            look=look,
            fresh=not session,
            new_look=asked == wanted,
        )

    @property
    def cookies(self) -> Cookies:
        """The names of this visit's cookies."""
        return Cookies(secure=self.site.settings.secure, embedded=bool(self.base))

    @property
    def identity(self) -> ChatIdentity:
        """The chat of this session."""
        return ChatIdentity(platform=PLATFORM, chat=self.session)

    @property
    def asker(self) -> Requester:
        """Where the request comes from."""
        asker: Requester = self.request.scope["cafi"]
        return asker

    @property
    def texts(self) -> WebTexts:
        """The page's texts in this person's language."""
        return self.site.languages.texts[self.look.language]

    @property
    def said(self) -> ChatTexts:
        """The chat's texts in this person's language."""
        return self.site.chat.languages.choose(self.look.language)

    @property
    def wants_json(self) -> bool:
        """Whether a script of ours asks."""
        return self.request.headers.get("accept", "") == "application/json"

    def incoming(self, command: str = "", text: str = "", **changes: Any) -> Incoming:
        """Something this person does."""
        return Incoming(
            identity=self.identity,
            command=command,
            text=text,
            language=self.look.language,
            at=self.site.store.now(),
            **changes,
        )

    @property
    def emergency(self) -> str:
        """The emergency contact of this person's country, inside a sentence."""
        return self.site.referral(self.look).emergency()

    async def referral(self, text: str) -> Outgoing | None:
        """The whole referral with this person's contacts, for words that are not answered now and call for it."""
        if not text:
            return None
        return await self.site.chat.turns.referral_now(self.as_new(), text)

    def as_new(self) -> ChatState:
        """A chat as this person would begin it."""
        look = self.look
        return replace(self.site.chat.start(self.incoming()), language=look.language, country=look.country or None)

    def begins(self, kept: str = "") -> None:
        """A chat is begun from this address; raises RequestRefused beyond the limit."""
        if not self.site.address.begun.take(self.asker.address):
            raise RequestRefused(429, kept)

    async def form(self) -> dict[str, str]:
        """The fields of a post; raises RequestRefused for one that does not come from a form of ours."""
        request = self.request
        if not request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            raise RequestRefused(415)
        body = (await request.body()).decode("utf-8", errors="replace")
        try:
            fields = dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
        except ValueError:
            raise RequestRefused(400) from None
        if not comes_from_us(self.site.settings, request.headers, str(request.scope["scheme"])):
            raise RequestRefused(403)
        if self.fresh or not self.site.tokens.fits(self.session, fields.get("form", "")):
            raise RequestRefused(403, fields.get("text", ""))
        if not self.site.posts.take(self.session.encode()):
            raise RequestRefused(429, fields.get("text", ""))
        return fields

    def choose(self, fields: Mapping[str, str]) -> Preferences:
        """Take over what a form chooses; the response will carry it in a cookie."""
        self.look = chosen(self.look, fields, self.site.languages.texts, self.site.countries)
        self.new_look = True
        return self.look

    def follow(self, state: ChatState) -> None:
        """Language and country as the chat has them."""
        language = state.language or self.look.language
        look = replace(self.look, language=language, country=state.country or self.look.country)
        if look != self.look:
            self.look, self.new_look = look, True

    def page(self, template: str, *, status: int = 200, title: str = "", **context: Any) -> Response:
        """A whole page."""
        name = self.site.chat.engine.assistants[self.site.chat.engine.default].settings.name
        heading = self.texts.title.format(page=title, name=name) if title else name
        html = self.render(template, title=heading, name=name, **context)
        return self.dressed(HTMLResponse(html, status_code=status))

    def render(self, template: str, **context: Any) -> str:
        """A template with what every template may use."""
        site = self.site
        help_ = site.referral(self.look)
        return site.templates.get_template(template).render(
            w=self.texts,
            c=self.said,
            look=self.look,
            lang=self.look.language,
            base=self.base,
            fresh=self.fresh,
            path=self.request.scope["path"],
            token=site.tokens.make(self.session),
            help=help_,
            panel=self._panel(help_),
            people=site.chat.pages.cards(self.as_new()) if site.chat.pages.people.services else (),
            languages=site.chat.languages.texts,
            countries=site.chat.pages.referrals.offered(self.look.language),
            has_feedback=site.chat.feedback is not None or site.results is not None,
            exit_url=site.settings.exit_url,
            **context,
        )

    def _panel(self, help_: Referral) -> Markup:
        """The contacts as every page holds them, rendered once for each country and language."""
        country = help_.contacts.country
        key = (self.base, self.look.language, country)
        if key not in self.site.panels:
            template = self.site.templates.get_template("contacts.html")
            referrals = self.site.chat.pages.referrals
            said = template.render(
                w=self.texts,
                help=help_,
                country=referrals.names_in(self.look.language)[country],
                base=self.base,
            )
            self.site.panels[key] = Markup(said)  # noqa: S704
        return self.site.panels[key]

    def enough(self) -> Response:
        """The page for an address that is refused again and again: the same for everybody, rendered once, with contacts."""
        help_ = self.site.referral(self.look)
        key = (self.base, self.look.language, help_.contacts.country)
        if key not in self.site.enough:
            template = self.site.templates.get_template("enough.html")
            said = template.render(w=self.texts, lang=self.look.language, base=self.base, panel=self._panel(help_))
            self.site.enough[key] = said.encode()
        return HTMLResponse(self.site.enough[key], status_code=429)

    def dressed(self, response: Response) -> Response:
        """A response with the session's cookie, where the browser has none yet."""
        if self.fresh:
            response.headers.append("set-cookie", self.cookies.set_session(self.session))
        if self.new_look:
            response.headers.append("set-cookie", self.cookies.set_look(self.look))
        return response

    def go(self, path: str) -> Response:
        """On to another page, after a post."""
        if self.wants_json:
            return self.dressed(JSONResponse({"go": self.base + path}, status_code=202))
        return self.dressed(RedirectResponse(self.base + path, status_code=303))


Page = Callable[[Visit], Awaitable[Response]]

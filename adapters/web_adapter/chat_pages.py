"""The chat: first page, conversation, questions and buttons, the stream that tells open pages what is new."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Outgoing
from adapters.conversation.pages import RATHER_NOT
from adapters.conversation.privacy import what_is_kept, who_can_read
from adapters.conversation.texts import COMMANDS
from adapters.conversation.topics import NAMING, topic_code
from adapters.delivery.limits import UNLIMITED_COMMANDS
from adapters.storage.identity import ChatIdentity
from adapters.web_adapter.boards import Board, rung
from adapters.web_adapter.cookies import new_session
from adapters.web_adapter.entries import QUIET, TYPED, Entry
from adapters.web_adapter.website import PLATFORM, RequestRefused, Site, Visit
from engine import StorageError

MOST_CHARACTERS = 12_000
"""More is cut; the engine reads the first 4,000 and says so."""
_ERASING = frozenset({"forget", "stop", "decline"})
_COMMANDS = frozenset(COMMANDS) | NAMING | {"thumb", "consent", "danger"}
_WAKE_SECONDS = 20.0
_ALLOWED_WHILE_PAUSED = frozenset({"crisis", "danger", "safe", "people", "report"})
"""What is taken while an operator has paused the page."""


@dataclass(frozen=True, kw_only=True)
class ChatPages:
    """The pages of a conversation."""

    site: Site

    # --- Before -----------------------------------------------------------------------------------------------------

    async def start(self, visit: Visit) -> Response:
        """What this is, who can read it, language, country, consent."""
        state = None if visit.fresh else (await self.site.store.load(visit.identity)).state
        chat, said = self.site.chat, visit.said
        built = chat.engine.assistants[chat.engine.default]
        assistant, spoken = built.settings, visit.look.language
        return visit.page(
            "start.html",
            foreign=built.speaking(spoken).knowledge.language != spoken,
            condition=said.conditions.get(assistant.condition, assistant.condition),
            emergency=visit.emergency,
            readers=who_can_read(chat.pages.facts, chat.platform, said, private=True),
            kept=what_is_kept(chat.pages.facts, said),
            hours=chat.pages.facts.idle_hours,
            adults_only=chat.pages.notices.adults_only,
            ended="ended" in visit.request.query_params,
            running=state is not None and state.consented,
        )

    async def begin(self, visit: Visit) -> Response:
        """Somebody agrees, in their language and with their country."""
        fields = await visit.form()
        look = visit.choose(fields)
        state = (await self.site.store.load(visit.identity)).state
        if state is None:
            visit.begins()
            # Whatever was in the browser before somebody began says nothing about who sits there now.
            visit.session, visit.fresh = new_session(), True
        quiet = {QUIET: 1}
        steps = [visit.incoming("language", look.language, place=quiet)]
        steps.append(visit.incoming("country", look.country or RATHER_NOT, place=quiet))
        waits = state is not None and bool(state.waiting or state.waiting_topic)
        steps.append(visit.incoming("consent", place={} if waits else quiet))
        if not await self.site.take(steps):
            raise RequestRefused(429)
        await self.site.calm(visit.identity)
        return visit.go("/chat")

    # --- The conversation -------------------------------------------------------------------------------------------

    async def conversation(self, visit: Visit) -> Response:
        """The conversation so far, and what to do next."""
        if visit.fresh:
            return visit.go("/")
        kept = await self.site.store.load(visit.identity)
        board = await self.site.boards.known(visit.identity)
        if kept.state is None and (board is None or not board.busy):
            self.site.boards.lose(visit.identity)
            return visit.go("/?ended=1")
        board = board or self.site.boards.get(visit.identity)
        if kept.state is not None:
            visit.follow(kept.state)
            if not board.seeded:
                restored = self.site.entries.restored(kept.state, visit.look.language)
                board = await self.site.boards.change(visit.identity, lambda one: one.seed(restored))
            if not (kept.state.consented or board.entries or board.busy):
                return visit.go("/")
        await self.site.pause.look()
        return self._page(visit, board)

    def _page(self, visit: Visit, board: Board, *, draft: str = "", status: int = 200) -> Response:
        entries = list(board.entries)
        return visit.page(
            "chat.html",
            status=status,
            title=visit.texts.chat.heading,
            entries=entries,
            newest=next((one.number for one in reversed(entries) if one.kind == "you"), 0),
            last=entries[-1].number if entries else 0,
            board=board,
            draft=draft,
            paused=self.site.pause.on,
            pausable=self.site.chat.pages.pausable,
            emergency=visit.emergency,
            suggested=self._suggested(visit),
        )

    def _suggested(self, visit: Visit) -> list[tuple[str, str]]:
        """What somebody who begins may want to know, of the default assistant: ids and titles."""
        engine = self.site.chat.engine
        chosen = engine.assistants[engine.default]
        sources = chosen.knowledge.pick(self.site.settings.suggested)
        return [(topic_code(one.id), chosen.guide.title(one, visit.look.language)) for one in sources]

    async def message(self, visit: Visit) -> Response:
        """A question, or a command that is typed."""
        fields = await visit.form()
        text = fields.get("text", "").replace("\r\n", "\n").strip()[:MOST_CHARACTERS]
        if not text:
            return visit.go("/chat")
        command, argument = _command(text)
        if command in _ERASING:
            return visit.go("/forget")
        return await self._do(visit, visit.incoming(command, argument, place={TYPED: text} if command else {}))

    async def press(self, visit: Visit) -> Response:
        """A button under an answer."""
        fields = await visit.form()
        code = Button.read(fields.get("press", ""))
        if code is None or code[0] not in _COMMANDS | _ERASING:
            raise RequestRefused(400)
        command, about, argument = code
        if command in _ERASING:
            return visit.go("/forget")
        return await self._do(visit, visit.incoming(command, argument, about=about))

    async def _do(self, visit: Visit, incoming: Incoming) -> Response:
        said = self.site.entries.said(incoming)
        written = "" if said is None else said.text
        try:
            if not await self.site.has(visit.identity):
                visit.begins(written)
        except StorageError:
            if self.site.boards.find(visit.identity) is not None:
                await self._not_taken(visit, incoming, visit.said.cannot_take)
            raise
        if incoming.command not in UNLIMITED_COMMANDS and not self.site.address.messages.take(visit.asker.address):
            raise RequestRefused(429, written)
        if incoming.command not in _ALLOWED_WHILE_PAUSED and await self.site.pause.look():
            await self._not_taken(visit, incoming, visit.texts.chat.paused)
        else:
            await self._take_or_tell(visit, incoming)
        if visit.wants_json:
            return JSONResponse({}, status_code=202)
        await self.site.calm(visit.identity)
        return visit.go("/chat#newest")

    async def _take_or_tell(self, visit: Visit, incoming: Incoming) -> None:
        try:
            await self.site.board(visit.identity, visit.look.language)
            await self.site.take([incoming], self.site.entries.said(incoming))
        except StorageError:
            await self._not_taken(visit, incoming, visit.said.cannot_take, shown=True)
            raise

    async def _not_taken(self, visit: Visit, incoming: Incoming, why: str, *, shown: bool = False) -> None:
        """Say why nothing was taken; in its place stands the referral for words of danger, which no name of ours is."""
        said = None if shown else self.site.entries.said(incoming)
        referral = None if incoming.command in NAMING else await visit.referral(incoming.text)
        outgoing = referral or Outgoing(text=why.format(emergency=visit.emergency))
        for entry in (said, self.site.entries.shown(outgoing, visit.look.language)):
            if entry is not None:
                await self.site.boards.note(visit.identity, entry)

    async def vote(self, visit: Visit) -> Response:
        """An answer to a structured question in the conversation; the first one counts."""
        fields = await visit.form()
        name, option = fields.get("poll", ""), fields.get("option", "")
        poll = await self.site.store.answered_poll(PLATFORM, name)
        feedback, thanks = self.site.chat.feedback, ""
        if poll is not None:
            await self.site.board(visit.identity, visit.look.language)
        if poll is not None and feedback is not None and option in {one for one, _ in poll.options}:
            await feedback.chosen(poll.about, PLATFORM, poll.question, option)
            thanks = visit.texts.feedback.thanks
        if await self.site.boards.known(visit.identity) is not None:  # nothing is made for a session that is made up
            await self.site.boards.change(visit.identity, lambda board: board.voted(name, thanks))
        return JSONResponse({}, status_code=202) if visit.wants_json else visit.go("/chat#newest")

    # --- What is new ------------------------------------------------------------------------------------------------

    async def events(self, visit: Visit) -> Response:
        """What is new, as it comes (Server-Sent Events); 503 where too many pages listen already."""
        if visit.fresh:
            return _full()
        if not await self.site.has(visit.identity):
            # The page looks anew, and finds what is said about it. Whoever made the session up gets no stream.
            return Response("event: anew\ndata:\n\n", media_type="text/event-stream")
        since = visit.request.headers.get("last-event-id") or visit.request.query_params.get("after", "")
        stream = Stream(
            site=self.site,
            identity=visit.identity,
            render=lambda entry, last: visit.render("entry.html", entry=entry, last=last, now=True),
            since=since,
        )
        return Streaming(stream=stream, address=visit.asker.address)


def _full() -> Response:
    return Response(status_code=503, headers={"Retry-After": "30", "Connection": "close"})


class Streaming(Response):
    """A stream as a response; it holds its place from its first byte to its last."""

    def __init__(self, *, stream: Stream, address: bytes) -> None:
        super().__init__()
        self.stream, self.address = stream, address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream, or say that there is no room."""
        with self.stream.site.places.hold(self.address, self.stream.identity.chat.encode()) as held:
            response = (
                EventSourceResponse(
                    self.stream.events(), ping=15, send_timeout=10, headers={"Cache-Control": "no-store"}
                )
                if held
                else _full()
            )
            await response(scope, receive, send)


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One open page that is told what is new. `since` is the last thing it has: an epoch and a number."""

    site: Site
    identity: ChatIdentity
    render: Callable[[Entry, bool], str]
    since: str

    async def events(self) -> AsyncIterator[ServerSentEvent]:
        """Events until the page is closed, the chat is erased or the process ends."""
        epoch, _, number = self.since.partition("-")
        last, told = int(number) if number.isdecimal() and len(number) < 10 else 0, None
        made: int | None = None
        while not self.site.stopping():
            board = await self.site.boards.watched(self.identity)
            with board.heard():
                bell = board.bell
                if board.epoch != epoch or made not in {None, board.made}:
                    epoch, last = board.epoch, board.number
                    yield ServerSentEvent(event="anew", data="", id=f"{epoch}-{last}", retry=3000)
                made = board.made
                for entry in board.after(last):
                    last = entry.number
                    html = self.render(entry, last == board.pressable)
                    yield ServerSentEvent(event="shown", data=html, id=f"{epoch}-{last}")
                if (now := (board.busy, board.status)) != told:
                    told = now
                    yield ServerSentEvent(event="busy" if board.busy else "calm", data=board.status)
                if not board.closed:
                    await rung(bell, _WAKE_SECONDS)
            if _gone(board):
                yield ServerSentEvent(event="gone", data="")
                return


def _gone(board: Board) -> bool:
    return board.closed


def _command(text: str) -> tuple[str, str]:
    """A typed command and what follows it; a text that begins with a slash by chance stays a text."""
    first, _, rest = text.partition(" ")
    name = first[1:].casefold()
    return (name, rest.strip()) if first.startswith("/") and name in COMMANDS else ("", text)

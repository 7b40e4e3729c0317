"""What people do with their chat as a whole, and how they like the page: erase, leave at once, language and display, feedback."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass

from starlette.responses import HTMLResponse, Response

from adapters.conversation.pages import RATHER_NOT
from adapters.conversation.receipt import receipt_lines
from adapters.feedback.corrections import Correction, told_about
from adapters.web_adapter.entries import QUIET, source_path
from adapters.web_adapter.website import RequestRefused, Site, Visit
from engine import Source, StorageError

BACK = frozenset({"/", "/chat", "/sources", "/privacy", "/feedback", "/accessibility", "/crisis", "/look"})
"""Pages a form may lead back to."""


@dataclass(frozen=True, kw_only=True)
class OwnPages:
    """Pages about one's own chat."""

    site: Site

    async def forget_form(self, visit: Visit) -> Response:
        """Asks once."""
        return visit.page("forget.html", title=visit.texts.chat.heading)

    async def forget(self, visit: Visit) -> Response:
        """Erases everything of the chat, and says what that was."""
        await visit.form()
        state = (await self.site.store.load(visit.identity)).state
        busy = self.site.boards.lingers(visit.identity)
        receipt = await self.site.store.erase(visit.identity)
        await self._mop_up(visit, busy=busy)
        lines = list(receipt_lines(receipt.of(state), visit.said))
        hours = self.site.chat.pages.facts.idle_hours
        response = visit.page("forgotten.html", title=visit.texts.chat.heading, lines=lines, hours=hours)
        return _without_cookies(visit, response)

    async def leave(self, visit: Visit) -> Response:
        """Quick exit: the chat is erased, and the browser is sent elsewhere at once."""
        if not visit.fresh:  # whoever has no chat only leaves
            await visit.form()
            busy = self.site.boards.lingers(visit.identity)
            with suppress(StorageError):  # the way out stays open; the chat expires by itself
                await self.site.store.erase(visit.identity)
            await self._mop_up(visit, busy=busy)
        # No redirect: `form-action 'self'` would stop it.
        html = self.site.templates.get_template("left.html").render(exit_url=self.site.settings.exit_url)
        return _without_cookies(visit, HTMLResponse(html))

    async def _mop_up(self, visit: Visit, *, busy: bool) -> None:
        """Take the page's memory away, and with it what an answer that is being made would still write."""
        self.site.boards.drop(visit.identity)
        if busy:
            try:
                await self.site.dispatch.take([visit.incoming("stop", place={QUIET: 1})])
            except StorageError:
                return

    async def look_form(self, visit: Visit) -> Response:
        """Language, country, text size, colours."""
        back = visit.request.query_params.get("back", "/look")
        return visit.page(
            "look.html",
            title=visit.texts.look.heading,
            back=back if back in BACK else "/look",
            saved="saved" in visit.request.query_params,
        )

    async def look(self, visit: Visit) -> Response:
        """Keep what was chosen: in a cookie, and for the chat where there is one."""
        fields = await visit.form()
        before = visit.look
        look = visit.choose(fields)
        state = (await self.site.store.load(visit.identity)).state
        if state is not None and look != before:
            quiet = {QUIET: 1}
            steps = [visit.incoming("language", look.language, place=quiet)]
            steps.append(visit.incoming("country", look.country or RATHER_NOT, place=quiet))
            if not await self.site.take(steps):
                raise RequestRefused(429)
            await self.site.calm(visit.identity)
        back = fields.get("back", "/look")
        return visit.go(back if back in BACK - {"/look"} else "/look?saved=1")

    async def feedback_form(self, visit: Visit) -> Response:
        """One structured question, for somebody who wants to be asked."""
        feedback = self.site.chat.feedback
        state = None if visit.fresh else (await self.site.store.load(visit.identity)).state
        poll = None
        if feedback is not None and state is not None:
            poll = await feedback.asked_for(state, visit.look.language)
        name = secrets.token_hex(16)
        if poll is not None:
            asked = poll
            await self.site.boards.change(visit.identity, lambda board: board.keep_poll(name, asked))
        return visit.page(
            "feedback.html",
            title=visit.texts.feedback.heading,
            poll=poll,
            poll_name=name,
            off=feedback is None,
            said="",
            results=await self._results(visit),
        )

    async def _results(self, visit: Visit) -> list[ResultLine]:
        """What became of reports, as far as what they were about is still there."""
        if self.site.results is None:
            return []
        assistants, language = self.site.chat.engine.assistants, visit.look.language
        bases = {name: one.speaking(language).knowledge for name, one in assistants.items()}
        found = [(entry, count, told_about(entry, bases)) for entry, count in await self.site.results()]
        return [result_line(entry, count, source, language) for entry, count, source in found if source is not None]

    async def feedback(self, visit: Visit) -> Response:
        """The answer to it; only what is on offer is kept, and one a question: the chat's own line sees to that."""
        fields = await visit.form()
        name, option = fields.get("poll", ""), fields.get("option", "")
        board = await self.site.boards.known(visit.identity)
        poll = None if board is None else board.polls.get(name)
        texts = visit.texts.feedback
        said = texts.expired
        if poll is not None:
            if option in {one for one, _ in poll.options}:
                chosen, number = f"{poll.question} {option}", poll.about.number
                answer = visit.incoming("answer", chosen, about=number, place={QUIET: 1})
                if not await self.site.take([answer]):
                    raise RequestRefused(429)
                await self.site.calm(visit.identity)
            elif option:
                raise RequestRefused(400)
            await self.site.boards.change(visit.identity, lambda board: board.polls.pop(name, None))
            said = texts.thanks if option else texts.none
        return visit.page(
            "feedback.html", title=texts.heading, poll=None, poll_name="", off=False, said=said, results=[]
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultLine:
    """One correction as it is told: where it is read, what it is called, how many reports there were at least, what was done."""

    path: str
    title: str
    count: int | None
    date: str
    what: str


def result_line(entry: Correction, count: int | None, source: Source, language: str) -> ResultLine:
    """A correction in the words of its reader."""
    headings = [one.heading for one in source.sections if one.id == entry.section and one.heading != source.title]
    anchor = f"#s-{entry.section}" if entry.section else ""
    return ResultLine(
        path=source_path(entry.assistant, source.id) + anchor,
        title=": ".join((source.title, *headings)),
        count=count,
        date=entry.date.isoformat(),
        what=entry.said(language),
    )


def _without_cookies(visit: Visit, response: Response) -> Response:
    """Nothing of ours stays in the browser, as far as a page can have that; its history it keeps."""
    del response.headers["set-cookie"]
    response.headers["Clear-Site-Data"] = '"cache", "cookies", "storage"'
    for one in visit.cookies.clear():
        response.headers.append("set-cookie", one)
    return response

"""Pages that are the same for everybody: sources, contacts, privacy, accessibility, help, files, health."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text
from starlette.responses import FileResponse, JSONResponse, Response

from adapters.conversation.pages import is_overdue
from adapters.conversation.privacy import what_is_kept, who_can_read
from adapters.web_adapter.entries import pictured
from adapters.web_adapter.website import RequestRefused, Site, Visit
from engine import Assistant, KnowledgeBase, Source, StorageError, picture_kind

_FOR_GOOD = {"Cache-Control": "public, max-age=31536000, immutable"}
_A_DAY = {"Cache-Control": "public, max-age=86400"}
_STILL = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"}
"""A drawing (SVG) that is opened by itself is a page; nothing in it may run or ask for anything."""
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@dataclass(frozen=True, kw_only=True)
class FixedPages:
    """Pages without a conversation."""

    site: Site

    async def sources(self, visit: Visit) -> Response:
        """All titles."""
        return self._shelves(visit, "")

    async def search(self, visit: Visit) -> Response:
        """The titles with some words in them. A post: the words of an address stay in the browser's history."""
        fields = await visit.form()
        return self._shelves(visit, fields.get("q", "")[:100].strip())

    def _shelves(self, visit: Visit, asked: str) -> Response:
        wanted = asked.casefold().split()
        shelves = []
        for name, assistant in self._assistants().items():
            knowledge = self._read(assistant, visit)
            found = [one for one in knowledge.sources.values() if all(word in one.title.casefold() for word in wanted)]
            if found:
                shelves.append((name, knowledge.manifest, sorted(found, key=lambda one: one.title)))
        return visit.page(
            "sources.html",
            title=visit.texts.sources.heading,
            shelves=shelves,
            due={one.id for _, _, found in shelves for one in found if self._is_due(one)},
            foreign=any(manifest.language != visit.look.language for _, manifest, _ in shelves),
            asked=asked,
            count=sum(len(found) for _, _, found in shelves),
        )

    async def source(self, visit: Visit) -> Response:
        """One source, with an anchor for each passage; `beside`: the part that is opened beside the chat."""
        name = visit.request.path_params["assistant"]
        assistant = self._assistants().get(name)
        source = None if assistant is None else assistant.knowledge.get(visit.request.path_params["source"])
        if assistant is None or source is None:
            raise RequestRefused(404)
        knowledge = self._read(assistant, visit)
        source = knowledge.sources[source.id]
        pictures = [
            pictured(name, knowledge.media[one], knowledge.language)
            for one in source.shown_files()
            if one in knowledge.media
        ]
        context = {
            "source": source,
            "assistant": name,
            "manifest": knowledge.manifest,
            "pictures": pictures,
            "review_due": self._is_due(source),
            "references": "; ".join(f"{one.title}, {one.body}, {one.year}" for one in source.references),
        }
        if "beside" in visit.request.query_params:
            html = visit.render("source_part.html", beside=True, **context)
            return Response(html, media_type="text/html")
        # What somebody reads about does not stand in the browser's history.
        return visit.page("source.html", title=visit.texts.sources.heading, beside=False, **context)

    def _is_due(self, source: Source) -> bool:
        days = self.site.chat.pages.review_days
        return days is not None and is_overdue(source, days)

    def _read(self, assistant: Assistant, visit: Visit) -> KnowledgeBase:
        """What the visitor reads: in the language that the address names, else in that of the page."""
        return assistant.speaking(visit.request.query_params.get("lang", visit.look.language)).knowledge

    def _assistants(self) -> dict[str, Assistant]:
        return dict(self.site.chat.engine.assistants)

    async def picture(self, visit: Visit) -> Response:
        """A picture that a knowledge base names; nothing else of its folder."""
        assistant = self._assistants().get(visit.request.path_params["assistant"])
        media = {} if assistant is None else self._read(assistant, visit).media
        medium = media.get(visit.request.path_params["file"])
        kind = None if medium is None else picture_kind(medium.file)
        if medium is None or kind is None:
            raise RequestRefused(404)
        return FileResponse(Path(medium.path), media_type=kind, headers={**_A_DAY, **_STILL})

    async def static(self, visit: Visit) -> Response:
        """A file of the page itself."""
        name = visit.request.path_params["file"]
        content = self.site.static.get(name)
        if content is None:
            raise RequestRefused(404)
        return Response(content, media_type=_TYPES[Path(name).suffix], headers=_FOR_GOOD)

    async def widget_script(self, visit: Visit) -> Response:
        """The script that another site puts into its page."""
        return Response(self.site.static["widget.js"], media_type="text/javascript", headers=_A_DAY)

    async def crisis(self, visit: Visit) -> Response:
        """All contacts of the person's country."""
        return visit.page("crisis.html", title=visit.texts.help.contacts)

    async def privacy(self, visit: Visit) -> Response:
        """Who can read this, what is kept: made from what is really configured."""
        chat = self.site.chat
        return visit.page(
            "privacy.html",
            title=visit.texts.privacy.heading,
            readers=who_can_read(chat.pages.facts, chat.platform, visit.said, private=True),
            kept=what_is_kept(chat.pages.facts, visit.said),
        )

    async def protocol(self, visit: Visit) -> Response:
        """How danger is recognised and what is done then, from what really runs."""
        pages, language = self.site.chat.pages, visit.look.language
        if pages.protocol is None:
            raise RequestRefused(404)
        return visit.page(
            "protocol.html",
            title=pages.protocol.said(language).title,
            heading=pages.protocol.said(language).title,
            lead=pages.protocol.lead(language),
            sections=pages.protocol_sections(pages.protocol, language, self.site.referral(visit.look)),
        )

    async def accessibility(self, visit: Visit) -> Response:
        """What works for whom, and what does not yet."""
        return visit.page("accessibility.html", title=visit.texts.access.heading, contact=self.site.settings.contact)

    async def commands(self, visit: Visit) -> Response:
        """What the chat can do."""
        commands = self.site.chat.pages.commands_told(visit.as_new())
        return visit.page("commands.html", title=visit.texts.chat.heading, commands=commands)

    async def health(self, visit: Visit) -> Response:
        """Whether we can take messages: 200, or 503 while the database cannot be reached."""
        try:
            await self.site.store.database.run(lambda connection: connection.execute(text("SELECT 1")).scalar())
        except StorageError:
            return JSONResponse({"status": "storage"}, status_code=503)
        return JSONResponse({"status": "paused" if await self.site.pause.look() else "ok"})

    async def runs(self, visit: Visit) -> Response:
        """The process runs."""
        return Response(status_code=200)

    async def ready(self, visit: Visit) -> Response:
        """Whether people may be sent here: until it is told to stop. Without a database it still shows the contacts."""
        return Response(status_code=503 if self.site.stopping() else 200)

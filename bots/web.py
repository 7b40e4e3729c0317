"""The web page, built from settings. Part of the composition root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adapters import weeks
from adapters.conversation.chat import Chat
from adapters.conversation.privacy import Platform
from adapters.delivery.dispatch import Dispatch
from adapters.feedback.report_figures import reports_before
from adapters.feedback.tallies import all_tallies
from bots.chats import Chats
from bots.editorial import audit, desk, staff
from bots.metrics import counted
from bots.overview import overview, problems
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.delivery.job_queue import JobQueue
    from adapters.feedback.corrections import Correction
    from adapters.web_adapter.adapter import WebBot
    from adapters.web_adapter.shared_boards import SharedBoards
    from adapters.web_adapter.texts import WebLanguages

PLATFORM = Platform(id="web", name="CAFI", carrier="web")


def web(chats: Chats) -> WebBot:
    """The web page; raises ConfigurationError."""
    try:
        from adapters.web_adapter.adapter import WebBot
        from adapters.web_adapter.metrics import nothing
        from adapters.web_adapter.operator_texts import load_operator_texts
        from adapters.web_adapter.texts import load_web_texts
    except ImportError as error:
        raise _missing() from error
    settings = chats.application.settings
    sessions = settings.sessions
    languages = load_web_texts(settings.config_folder / "web", chats.languages)
    return WebBot(
        settings=settings.web,
        languages=languages,
        chat=page_chat(chats, languages),
        store=chats.store,
        limits=chats.limits(),
        crowded_after=chats.crowded_after,
        on_turn=chats.on_turn,
        slow_after=sessions.slow_after_seconds,
        staff=staff(chats),
        desk=desk(chats, audit(chats)),
        operator_texts=load_operator_texts(settings.config_folder / "operator", chats.languages),
        overview=lambda: overview(chats),
        problems=lambda: problems(chats),
        metrics=chats.metrics,
        reports=nothing if chats.report_watch is None else chats.report_watch.alarms,
        results=(lambda: _results(chats)) if chats.corrections else None,
        **(_among_others(chats) if chats.shared else {}),
    )


def page_chat(chats: Chats, languages: WebLanguages) -> Chat:
    """The chats of the page, which shows its own first notice, above the button that begins."""
    chat = chats.chat(PLATFORM)
    notices = replace(chats.notices, first={code: one.notice for code, one in languages.texts.items()})
    pages = replace(chat.pages, notices=notices)
    return replace(chat, pages=pages, turns=replace(chat.turns, pages=pages))


def _among_others(chats: Chats) -> dict[str, Any]:
    """What joins the page to other processes that serve it, and to workers."""
    from adapters.storage.bells import BellListener
    from adapters.storage.postgresql import server_parameters
    from adapters.web_adapter.page_queue import PageQueue
    from adapters.web_adapter.pause import SharedPause

    boards = shared_boards(chats, most=chats.application.settings.web.kept_pages)
    parameters = server_parameters(chats.database.engine)
    return {
        "boards": boards,
        "pause": SharedPause(database=chats.database),
        "inbox": lambda entries: PageQueue(store=chats.store, boards=boards.kept, entries=entries),
        "bells": BellListener(parameters=parameters, heard=boards.heard, missed=boards.missed),
    }


def shared_boards(chats: Chats, most: int) -> SharedBoards:
    """What pages show, where several processes serve them; `most` of them in memory."""
    from adapters.web_adapter.board_store import BoardStore
    from adapters.web_adapter.shared_boards import SharedBoards

    idle = chats.store.idle_hours * 3600.0
    return SharedBoards(kept=BoardStore(store=chats.store), most=most, idle_seconds=idle)


def web_answers(chats: Chats, queue: JobQueue) -> Dispatch:
    """What answers messages of the page in a worker; raises ConfigurationError."""
    try:
        from adapters.web_adapter.entries import Entries
        from adapters.web_adapter.screen import WebScreen
        from adapters.web_adapter.texts import load_web_texts
    except ImportError as error:
        raise _missing() from error
    languages = load_web_texts(chats.application.settings.config_folder / "web", chats.languages)
    chat, boards = page_chat(chats, languages), shared_boards(chats, most=1)
    boards.held = lambda: queue.answering
    return Dispatch(
        chat=chat,
        store=chats.store,
        screen=WebScreen(boards=boards, entries=Entries(chat=chat)),
        **counted(chats),
        limits=chats.limits(),
        deliveries=chats.application.settings.storage.connections,
        slow_after=chats.application.settings.sessions.slow_after_seconds,
        inbox=queue,
        on_turn=chats.on_turn,
        apologises=False,
    )


def _missing() -> ConfigurationError:
    return ConfigurationError("The packages of the web page are not installed.", key="web", remedy="Install cafi[web].")


async def _results(chats: Chats) -> Sequence[tuple[Correction, int | None]]:
    """What was corrected, and how many reports of weeks that have ended it followed."""
    tallies, today = await chats.database.run(all_tallies), weeks.today()
    return [(one, reports_before(tallies, one, today)) for one in chats.corrections]

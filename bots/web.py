"""The web page, built from settings. Part of the composition root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters import weeks
from adapters.conversation.privacy import Platform
from adapters.feedback.report_figures import reports_before
from adapters.feedback.tallies import all_tallies
from adapters.storage.referral_counts import ReferralCounts
from bots.chats import Chats
from bots.editorial import audit, desk, staff
from bots.overview import overview, problems
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.feedback.corrections import Correction
    from adapters.web_adapter.adapter import WebBot


def web(chats: Chats) -> WebBot:
    """The web page; raises ConfigurationError."""
    try:
        from adapters.web_adapter.adapter import WebBot
        from adapters.web_adapter.operator_pages import nothing
        from adapters.web_adapter.operator_texts import load_operator_texts
        from adapters.web_adapter.texts import load_web_texts
    except ImportError as error:
        raise ConfigurationError(
            "The packages of the web page are not installed.", key="web", remedy="Install cafi[web]."
        ) from error
    settings = chats.application.settings
    sessions = settings.sessions
    languages = load_web_texts(settings.config_folder / "web", chats.languages)
    chat = chats.chat(Platform(id="web", name="CAFI", carrier="web"))
    # The page shows its own first notice, above the button that begins.
    notices = replace(chats.notices, first={code: one.notice for code, one in languages.texts.items()})
    pages = replace(chat.pages, notices=notices)
    return WebBot(
        settings=settings.web,
        languages=languages,
        chat=replace(chat, pages=pages, turns=replace(chat.turns, pages=pages)),
        store=chats.store,
        limits=chats.limits(),
        slow_after=sessions.slow_after_seconds,
        staff=staff(chats),
        desk=desk(chats, audit(chats)),
        operator_texts=load_operator_texts(settings.config_folder / "operator", chats.languages),
        overview=lambda: overview(chats),
        problems=lambda: problems(chats),
        endpoints=chats.application.endpoint_figures,
        referrals=lambda: ReferralCounts(database=chats.database).ended(weeks.today()),
        reports=nothing if chats.report_watch is None else chats.report_watch.alarms,
        results=(lambda: _results(chats)) if chats.corrections else None,
    )


async def _results(chats: Chats) -> Sequence[tuple[Correction, int | None]]:
    """What was corrected, and how many reports of weeks that have ended it followed."""
    tallies, today = await chats.database.run(all_tallies), weeks.today()
    return [(one, reports_before(tallies, one, today)) for one in chats.corrections]

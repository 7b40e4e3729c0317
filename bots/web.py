"""The web page, built from settings. Part of the composition root."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters import weeks
from adapters.conversation.privacy import Platform
from adapters.feedback.report_figures import reports_before
from adapters.feedback.tallies import all_tallies
from adapters.storage.referral_counts import ReferralCounts
from bots.chats import Chats
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.feedback.corrections import Correction
    from adapters.feedback.questions import Questions
    from adapters.web_adapter.adapter import WebBot
    from adapters.web_adapter.operator_pages import Figure


def web(chats: Chats) -> WebBot:
    """The web page; raises ConfigurationError."""
    try:
        from adapters.web_adapter.adapter import WebBot
        from adapters.web_adapter.operator_pages import nothing
        from adapters.web_adapter.texts import load_web_texts
    except ImportError as error:
        raise ConfigurationError(
            "The packages of the web page are not installed.", key="web", remedy="Install cafi[web]."
        ) from error
    settings = chats.application.settings
    sessions = settings.sessions
    return WebBot(
        settings=settings.web,
        languages=load_web_texts(settings.config_folder / "web", chats.languages),
        chat=chats.chat(Platform(id="web", name="CAFI", carrier="web")),
        store=chats.store,
        limits=chats.limits(),
        slow_after=sessions.slow_after_seconds,
        problems=lambda: _problems(chats),
        figures=None if chats.feedback is None else lambda: _figures(chats),
        endpoints=chats.application.endpoint_figures,
        referrals=lambda: ReferralCounts(database=chats.database).ended(weeks.today()),
        reports=nothing if chats.report_watch is None else chats.report_watch.alarms,
        results=(lambda: _results(chats)) if chats.corrections else None,
    )


async def _results(chats: Chats) -> Sequence[tuple[Correction, int | None]]:
    """What was corrected, and how many reports of weeks that have ended it followed."""
    tallies, today = await chats.database.run(all_tallies), weeks.today()
    return [(one, reports_before(tallies, one, today)) for one in chats.corrections]


async def _problems(chats: Chats) -> Sequence[str]:
    """What `cafi check` would say of the configuration that runs, without reading the settings anew."""
    from bots.check import findings_of

    return await asyncio.to_thread(lambda: [f"{one.level}: {one.text}" for one in findings_of(chats.application)])


async def _figures(chats: Chats) -> Sequence[Figure]:
    """What feedback tells, of weeks that have ended: who watched a running one would see each answer come in."""
    return await asyncio.to_thread(_told, chats.application.settings.storage.url, chats.questions)


def _told(url: str, questions: Questions) -> list[Figure]:
    from adapters.feedback.figures import figures
    from adapters.feedback.tallies import Selection, read_tallies
    from adapters.web_adapter.operator_pages import Figure, FigureRow
    from adapters.weeks import today
    from bots.feedback_table import option_names

    selection = Selection.of(today(), weeks=None, platform=None)
    found = figures(read_tallies(url), questions, selection)
    return [
        Figure(
            title=one.question.text.en,
            rows=tuple(
                FigureRow(name=option_names(one, share), count=share.chosen, of=share.answers) for share in one.options
            ),
        )
        for one in found.questions
    ]

"""What the operator's page shows, collected from settings, database and what runs. Part of the composition root."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from sqlalchemy import select

from adapters import weeks
from adapters.delivery.store import SPENDING_DAYS
from adapters.editorial.shelf import Shelf
from adapters.storage.saved_counts import ReferralCounts, ended_unanswered
from adapters.storage.tables import spending
from bots.chats import Chats
from engine import contact_warnings

if TYPE_CHECKING:
    from adapters.feedback.questions import Questions
    from adapters.web_adapter.overview import Figure, Overview
    from bots.compose import Application


async def overview(chats: Chats) -> Overview:
    """Everything; raises StorageError."""
    from adapters.web_adapter.overview import Overview

    running, today = chats.application, weeks.today()
    limits, queue = running.settings.spending, chats.queue_age
    shared = None if chats.queue is None else await chats.queue.figures()
    return Overview(
        waiting=queue.waiting,
        oldest=queue.age,
        recent=tuple(queue.recent),
        workers=None if shared is None else shared.workers,
        spent=await _spent(chats, today),
        tokens_a_day=limits.tokens_a_day,
        cost_a_day=limits.cost_a_day,
        endpoints=running.endpoint_figures(),
        referrals=await ReferralCounts(database=chats.database).ended(today),
        unanswered=await ended_unanswered(chats.database, today),
        feedback=() if chats.feedback is None else await _figures(chats),
        contacts=contact_states(running, today),
        sources=await asyncio.to_thread(source_states, chats.shelf, today),
        alerts=sorted(chats.alerts.on) if chats.alerts.senders else None,
    )


def contact_states(running: Application, today: date) -> Counter[str]:
    """The contacts of the operator's country by when they were verified: `verified`, `old`, `never`."""
    contacts = running.referrals.choose().contacts
    warned = len(list(contact_warnings(contacts, running.settings.config_folder, today)))
    never = sum(one.verified_on is None for one in contacts.contacts)
    return Counter(verified=len(contacts.contacts) - warned, old=warned - never, never=never)


def source_states(shelf: Shelf, today: date) -> Counter[str]:
    """All texts by state: `signed`, `draft`, `overdue`; and translations that are `behind` their originals."""
    found: Counter[str] = Counter(signed=0, draft=0, overdue=0, behind=0)
    for name in shelf.folders:
        for one in shelf.states(name, today):
            found["draft" if one.sign_off is None else "overdue" if one.overdue else "signed"] += 1
            found["behind"] += one.behind
    return found


async def _spent(chats: Chats, today: date) -> list[tuple[str, int, float]]:
    """Day, tokens and cost of the last days, today last."""
    last = (today - date(1970, 1, 1)).days
    query = select(spending).where(spending.c.day > last - SPENDING_DAYS)
    rows = await chats.database.run(lambda connection: connection.execute(query).all())
    by_day = {row.day: (row.tokens, row.cost) for row in rows}
    return [
        (datetime.fromtimestamp(day * 86_400, UTC).date().isoformat(), *by_day.get(day, (0, 0.0)))
        for day in range(last - SPENDING_DAYS + 1, last + 1)
    ]


async def problems(chats: Chats) -> Sequence[str]:
    """What `cafi check` would say of the configuration that runs, without reading the settings anew."""
    from bots.cli.check import findings_of

    return await asyncio.to_thread(lambda: [f"{one.level}: {one.text}" for one in findings_of(chats.application)])


async def _figures(chats: Chats) -> Sequence[Figure]:
    """What feedback tells, of weeks that have ended: who watched a running one would see each answer come in."""
    return await asyncio.to_thread(_told, chats.application.settings.storage.url, chats.questions)


def _told(url: str, questions: Questions) -> list[Figure]:
    from adapters.feedback.figures import figures
    from adapters.feedback.tallies import Selection, read_tallies
    from adapters.web_adapter.overview import Figure, FigureRow
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

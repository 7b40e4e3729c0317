"""What wakes an operator, built from settings, and when. Part of the composition root."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from adapters import weeks
from adapters.alerts.alerts import AlertKind, Alerts, AlertSender
from adapters.feedback.webhook import checked_address
from bots.chats import Chats
from bots.overview import contact_states, source_states
from engine import BreakerState, CafiError, StorageError

EVERY = 60
"""Rounds between two looks at sources and contacts, which change by the day."""
_log = logging.getLogger("cafi.alerts")


def alerts(chats: Chats) -> Alerts:
    """The ways that are configured; raises ConfigurationError."""
    from adapters.alerts.senders import MailAlert, WebhookAlert
    from adapters.web_adapter.operator_texts import load_operator_texts

    settings = chats.application.settings
    wanted, senders = settings.alerts, list[AlertSender]()
    if wanted.webhook_url is not None and wanted.webhook_secret is not None:
        address = checked_address(wanted.webhook_url, key="alerts.webhook_url")
        senders.append(WebhookAlert(address=address, secret=wanted.webhook_secret.get_secret_value().encode()))
    if wanted.mail_to:
        texts = load_operator_texts(settings.config_folder / "operator", chats.languages)[chats.languages.default]
        page = f"{settings.web.public_url}/operator" if settings.web.public_url else ""
        senders.append(MailAlert(settings=wanted, sentences=texts.overview.alert_kinds, page=page))
    return Alerts(senders=senders, again=wanted.again_hours * 3600.0)


@dataclass(kw_only=True)
class Watch:
    """Looks once a minute, and tells what is wrong."""

    chats: Chats
    _rounds: int = 0
    _old: frozenset[AlertKind] = frozenset()

    async def look(self) -> None:
        """Look; raises nothing."""
        held: set[AlertKind] = set()
        try:
            await self.chats.queue_age.look()
            held |= set(await self._wrong())
        except StorageError:
            held.add(AlertKind.STORAGE)
        if self.chats.alerts.senders:
            await self.chats.alerts.hold(held | await self._grown_old())

    async def _wrong(self) -> list[AlertKind]:
        """What is wrong now; raises StorageError."""
        settings = self.chats.application.settings
        wanted, limits = settings.alerts, settings.spending
        figures, reports = self.chats.application.endpoint_figures(), self.chats.report_watch
        tokens, cost = await self.chats.store.spent(int(self.chats.clock() // 86_400))
        near = [
            spent >= limit * wanted.spending_share
            for spent, limit in ((tokens, limits.tokens_a_day), (cost, limits.cost_a_day))
            if limit is not None
        ]
        due = {
            AlertKind.QUEUE: self.chats.queue_age.age > wanted.queue_minutes * 60,
            AlertKind.ENDPOINT: any(one.state is BreakerState.OPEN for one in figures),
            AlertKind.SPENDING: any(near) or any(one.exhausted for one in figures),
            AlertKind.REPORTS: reports is not None and bool(await reports.alarms()),
        }
        return [kind for kind, on in due.items() if on]

    async def _grown_old(self) -> frozenset[AlertKind]:
        """Sources and contacts past their time; looked at now and then, and what was found holds until the next look."""
        if self._rounds % EVERY == 0:
            today = weeks.today()
            try:
                sources = await asyncio.to_thread(source_states, self.chats.shelf, today)
                contacts = contact_states(self.chats.application, today)
            except (CafiError, OSError) as error:
                _log.error("%s", error)
                return self._old
            due = {AlertKind.SOURCES: sources["overdue"], AlertKind.CONTACTS: contacts["old"]}
            self._old = frozenset(kind for kind, count in due.items() if count)
        self._rounds += 1
        return self._old

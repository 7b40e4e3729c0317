"""What a process counts for Prometheus, whoever serves it. Part of the composition root."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adapters import weeks
from adapters.storage.saved_counts import ReferralCounts
from bots.chats import Chats
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.web_adapter.metrics import Metrics


def metrics(chats: Chats) -> Metrics:
    """Everything that is counted; raises ConfigurationError where the package for it is missing."""
    try:
        from adapters.web_adapter.metrics import Metrics, nothing
    except ImportError as error:
        raise ConfigurationError(
            "The package 'prometheus-client' is not installed.", key="web", remedy="Install cafi[web]."
        ) from error
    return Metrics(
        endpoints=chats.application.endpoint_figures,
        referrals=lambda: ReferralCounts(database=chats.database).ended(weeks.today()),
        reports=nothing if chats.report_watch is None else chats.report_watch.alarms,
        queue=None if chats.queue is None else chats.queue.figures,
    )


def counted(chats: Chats) -> dict[str, Any]:
    """Whom a dispatch tells what is counted: nobody, where nothing in this process serves it."""
    settings = chats.application.settings
    if settings.health.port is None and not settings.web.enabled:
        return {}
    return {"on_answer": chats.metrics.answered, "on_given_up": chats.metrics.gave_up}

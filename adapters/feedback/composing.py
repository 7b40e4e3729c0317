"""Feedback put together from settings: what the composition root calls."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal

from adapters.feedback.sinks import DatabaseSink, Forwarding, Sink
from adapters.storage.database import Database

SinkName = Literal["database", "webhook"]


def forwarding(
    database: Database,
    *,
    sinks: Sequence[SinkName],
    webhook_url: str | None = None,
    webhook_secret: str | None = None,
) -> Forwarding:
    """The configured sinks as one; enter it to start delivery. Without sinks nothing is kept.

    Raises ConfigurationError for an address that is not safe. The caller has checked that the webhook has both values.
    """
    built: list[Sink] = []
    for name in dict.fromkeys(sinks):
        if name == "database":
            built.append(DatabaseSink(database=database))
        else:
            # Only where it is used: httpx is slow to import.
            from adapters.feedback.webhook import WebhookSink

            # It logs the whole address of every request, and an address may hold a key.
            logging.getLogger("httpx").setLevel(logging.WARNING)
            built.append(WebhookSink(database=database, address=webhook_url or "", secret=webhook_secret or ""))
    return Forwarding(sinks=tuple(built))

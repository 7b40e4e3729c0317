"""The endpoint for other programs, built from settings. Part of the composition root."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bots.chats import Chats
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.api_adapter.adapter import ApiBot


def api(chats: Chats) -> ApiBot:
    """The endpoint; raises ConfigurationError."""
    try:
        from adapters.api_adapter.adapter import ApiBot
    except ImportError as error:
        raise ConfigurationError(
            "The packages of the endpoint are not installed.", key="api", remedy="Install cafi[web]."
        ) from error
    application = chats.application
    return ApiBot(
        settings=application.settings.api,
        engine=application.engine,
        spending=chats.spending,
        places=application.places,
        counts=chats.counts,
        endpoints=application.endpoint_figures,
    )

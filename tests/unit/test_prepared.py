"""What a bot has built before it takes messages."""

from __future__ import annotations

from bots.compose import Application
from bots.settings import CafiSettings


def test_nothing_is_left_to_be_built_for_the_first_message() -> None:
    """Prepared for a language, a guide has its search and that over questions about the service."""
    engine = Application(settings=CafiSettings(agents="builtin")).engine
    guide = engine.assistants[engine.default].guide
    built = (guide.search("de"), guide.service.here("de"))
    assert not any("centroids" in vars(one) for one in built)
    guide.prepare("de")
    assert all("centroids" in vars(one) for one in built)

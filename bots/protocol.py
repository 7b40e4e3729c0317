"""The published protocol of what really runs. Part of the composition root."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from adapters import weeks
from adapters.conversation.protocol import ProtocolFacts, PublishedProtocol, load_protocol
from adapters.conversation.texts import Languages
from bots.compose import Application, kb_folder
from engine import DANGERS_FILE

EATING = "eating_disorder"
"""The entry of the table of dangers that the protocol names."""


def published_protocol(application: Application, languages: Languages) -> PublishedProtocol:
    """The protocol in every language; raises ConfigurationError."""
    texts, measured = load_protocol(application.settings.config_folder, languages)
    return PublishedProtocol(texts=texts, measured=measured, facts=_facts(application, languages), languages=languages)


def _facts(application: Application, languages: Languages) -> ProtocolFacts:
    settings, floor = application.settings, application.urgency_floor
    default = application.engine.assistants[application.engine.default]
    dangers = default.knowledge.dangers
    return ProtocolFacts(
        version=_version(application),
        as_of=weeks.today(),
        phrases=sum(len(some) for some in floor.phrases.values()),
        languages=len(languages.texts),
        reviewed=floor.reviewed,
        provider=application.provider,
        seconds=default.settings.limits.urgency_seconds,
        dangers=len(dangers.entries),
        eating=EATING in dangers.entries,
        countries=len(application.referrals.countries),
        adults_only=settings.notices.adults_only,
    )


def _version(application: Application) -> str:
    """A digest that changes with any file, setting or model that decides what is done about danger."""
    settings, found = application.settings, hashlib.sha256()
    for path in _files(application):
        found.update(path.name.encode() + b"\0" + path.read_bytes())
    models = settings.models.model_dump(mode="json", include={"large", "small", "roles", "temperature"})
    decides = (
        application.provider,
        models if application.provider else None,
        settings.crisis,
        settings.discord.crisis_notes,
    )
    found.update(repr((decides, settings.notices)).encode())
    return found.hexdigest()[:8]


def _files(application: Application) -> Iterator[Path]:
    config, prompts = application.settings.config_folder, application.settings.prompts_folder
    yield from sorted(path for path in (config / "urgency").rglob("*") if path.is_file())
    yield from sorted((config / "crisis").rglob("*.yaml"))
    yield from sorted((config / "protocol").glob("*.yaml"))
    yield from (
        one
        for one in (config / "protocol.yaml", prompts / "urgency.md", kb_folder(application) / DANGERS_FILE)
        if one.is_file()
    )

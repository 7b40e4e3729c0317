"""Traces of turns, built from settings. Part of the composition root."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.turn_traces import TurnTraces
    from bots.settings import CafiSettings


def turn_traces(settings: CafiSettings, process: str) -> TurnTraces | None:
    """What sends traces, None where nobody wants any; nothing of the library is imported then. Raises ConfigurationError."""
    traces = settings.traces
    if not traces.endpoint:
        return None
    with _installed():
        from adapters.turn_traces import TurnTraces
    return TurnTraces(
        endpoint=traces.endpoint,
        process=process,
        version=metadata.version("cafi"),
        assistants=settings.assistants,
        share=traces.share,
    )


def untaken(settings: CafiSettings, file: Path) -> ConfigurationError | None:
    """What is wrong with the collector now, None where nothing is or none is wanted; raises ConfigurationError."""
    if not settings.traces.endpoint:
        return None
    with _installed():
        from adapters.turn_traces import CalmExporter
    if CalmExporter(settings.traces.endpoint).knock():
        return None
    return ConfigurationError(
        "The collector does not take traces; while it does not, they are dropped.",
        file=file,
        key="traces.endpoint",
        remedy="Check the address, that a collector runs there, and its token (OTEL_EXPORTER_OTLP_HEADERS).",
    )


@contextmanager
def _installed() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            "The packages of OpenTelemetry are not installed.",
            key="traces.endpoint",
            remedy="Install cafi[traces], or leave it empty.",
        ) from error

"""Options that every command shares, and how commands fail: one message on standard error, no traceback."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from bots.compose import Application

Config = Annotated[
    Path | None, typer.Option("--config", help="Settings file (YAML).", metavar="FILE", show_default=False)
]
Kb = Annotated[
    Path | None,
    typer.Option("--kb", help="Knowledge base folder, in place of the assistant's.", metavar="DIR", show_default=False),
]
AgentsOption = Annotated[
    str | None,
    typer.Option(
        "--agents",
        help="builtin: quote, no model. llm: language models.",
        metavar="builtin|llm",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


def application(config: Path | None, kb: Path | None, agents: str | None) -> Application:
    """The application as the shared options want it; raises ConfigurationError."""
    from bots.compose import Application
    from bots.settings import read_settings
    from engine import ConfigurationError

    if agents not in {None, "builtin", "llm", "auto"}:
        raise ConfigurationError(f"--agents is {agents!r}.", remedy="Use builtin or llm.")
    return Application(settings=read_settings(config, {"knowledge_base": kb, "agents": agents}))


def measured(config: Path | None, kb: Path | None, agents: str | None) -> Application:
    """The same for a measurement: the preferred endpoint alone, and each call is tried, however many have failed.

    Else figures would be of several models at once, or of the built-in agents, for a bad minute's sake.
    """
    from engine import BreakerSettings

    running = application(config, kb, agents)
    models = running.settings.models.preferred.model_copy(update={"breaker": BreakerSettings(failures=0)})
    running.settings = running.settings.model_copy(update={"models": models})
    return running


def one_of(option: str, value: str, names: Sequence[str]) -> str:
    """The value of an option that takes one of some names; raises ConfigurationError."""
    from engine import ConfigurationError

    if value not in names:
        raise ConfigurationError(f"{option} is {value!r}.", remedy=f"Use {', '.join(names)}.")
    return value


@contextmanager
def failing_calmly() -> Iterator[None]:
    """Turn what an operator can mend into one message, and Ctrl-C into a quiet end."""
    from engine import CafiError

    try:
        yield
    except CafiError as error:
        typer.echo(f"cafi: {error}", err=True)
        raise typer.Exit(FAILED) from None
    except KeyboardInterrupt:
        typer.echo("\nStopped.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        sys.stderr.close()
        raise typer.Exit(FAILED) from None


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))

"""The reference pages of settings and commands, written from what they say of themselves.

`python -m bots.reference_pages FOLDER` writes `settings.md` and `cli.md` there.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_group

from bots.cli import app
from bots.options import FAILED, INTERRUPTED, MISUSED
from bots.paths import data_root
from bots.settings import CafiSettings
from engine import AssistantSettings

SETTINGS_HEAD = """# Settings

Written from the settings' own descriptions by `make pages`.

Read from `config/cafi.yaml` or `--config FILE`; environment variables win over the file, command-line options over both.
A variable's name is `CAFI_` and the key in capitals, levels divided by two underscores: `models.api_key` is
`CAFI_MODELS__API_KEY`. An unknown key is an error.

Secrets can be files, as containers and systemd hand them over: `CAFI_SECRETS_FOLDER` names a folder with one file for each,
called as the variable (`CAFI_MODELS__API_KEY`). Variables win over these files, the files over the settings file; an empty
one counts as not set.
"""
ASSISTANT_HEAD = """
# An assistant's file

`config/assistants/NAME.yaml`.
"""
COLUMNS = "\n| key | default | allowed | meaning |\n|---|---|---|---|\n"
COMMANDS_HEAD = f"""# The command line

Written from the commands' own help by `make pages`; the JSON that they read and print: [json.md](json.md).

Exit codes: 0 fine, {FAILED} something is wrong (named on standard error), {MISUSED} the command was misused, \
{INTERRUPTED} interrupted.

Options of many commands:

"""
SHARED = ("--config", "--kb", "--agents", "--json")
EXAMPLE = "Example: "
_TYPES = {"<int range>": "N", "<int>": "N", "<float range>": "X", "<str>": "TEXT"}
_BOUNDS = {"ge": "≥ {}", "gt": "> {}", "le": "≤ {}", "min_length": "≥ {} characters", "max_length": "≤ {} characters"}


def settings_page() -> str:
    """Every key of the settings and of an assistant's file as Markdown: default, what is allowed, what it means."""
    return SETTINGS_HEAD + "".join(_tables(CafiSettings)) + ASSISTANT_HEAD + "".join(_tables(AssistantSettings))


def _tables(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The table of a group of settings, then those of the groups inside it."""
    inside = {key: group for key, field in model.model_fields.items() if (group := _group(field.annotation))}
    yield COLUMNS
    for key, field in model.model_fields.items():
        if key not in inside:
            cells = (f"`{prefix}{key}`", _default(field), ", ".join(_allowed(field)), field.description or "")
            yield f"| {' | '.join(cells)} |\n"
    for key, group in inside.items():
        yield f"\n## `{prefix}{key}`\n\n{_one_line(inspect.getdoc(group))}\n"
        yield from _tables(group, f"{prefix}{key}.")


def _group(annotation: Any) -> type[BaseModel] | None:
    """The group that a key holds, or holds a list of."""
    groups = (one for one in (annotation, *get_args(annotation)) if inspect.isclass(one) and issubclass(one, BaseModel))
    return next(groups, None)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    match field.get_default(call_default_factory=True):
        case None | "":
            return "–"
        case bool() as value:
            return f"`{str(value).lower()}`"
        case float() as value:
            return f"`{value:g}`"
        case tuple() as value:
            return f"`[{', '.join(map(str, value))}]`"
        case Path() as value if value.is_relative_to(data_root()):
            return f"`{value.relative_to(data_root())}`"
        case value:
            return f"`{value}`"


def _allowed(field: FieldInfo) -> Iterator[str]:
    """The names that a key takes, and the bounds of its number or length."""
    for annotation in (field.annotation, *get_args(field.annotation)):
        if get_origin(annotation) is Literal:
            yield from (f"`{name}`" for name in get_args(annotation))
    for limit in field.metadata:
        for bound, words in _BOUNDS.items():
            if (value := getattr(limit, bound, None)) is not None:
                yield words.format(value)


def command_page() -> str:
    """Every command as Markdown: its arguments, what it does, its options; those that many share are told once."""
    group = get_group(app)
    context = typer.Context(group)
    entries = list(_commands("cafi", group))
    told = {one.opts[0]: _parameter(one, context) for _, command in entries for one in _parameters(command)}
    shared = "".join(told[name] for name in SHARED)
    return COMMANDS_HEAD + shared + "".join(_entry(path, command, context) for path, command in entries[1:])


def _commands(path: str, command: TyperGroup | TyperCommand) -> Iterator[tuple[str, TyperGroup | TyperCommand]]:
    """A command by what one types for it, then those inside it."""
    yield path, command
    for name, inside in getattr(command, "commands", {}).items():
        yield from _commands(f"{path} {name}", inside)


def _parameters(command: TyperGroup | TyperCommand) -> list[TyperArgument | TyperOption]:
    return [one for one in command.params if isinstance(one, TyperArgument | TyperOption)]


def _entry(path: str, command: TyperGroup | TyperCommand, context: typer.Context) -> str:
    given = _parameters(command)
    usage = " ".join([path, *(_argument(one) for one in given if isinstance(one, TyperArgument))])
    own = "".join(_parameter(one, context) for one in given if one.opts[0] not in SHARED)
    shared = ", ".join(f"`{one.opts[0]}`" for one in given if one.opts[0] in SHARED)
    parts = [f"{'#' * len(path.split())} `{usage}`", *map(_paragraph, (command.help or "").split("\n\n"))]
    return "".join(f"\n{part}\n" for part in [*parts, own + (f"- {shared}" if shared else "")] if part)


def _paragraph(text: str) -> str:
    said = _one_line(text)
    return f"    {said.removeprefix(EXAMPLE)}" if said.startswith(EXAMPLE) else said


def _argument(one: TyperArgument) -> str:
    name = one.metavar or (one.name or "").upper()
    return name if one.required else f"[{name}]"


def _parameter(one: TyperArgument | TyperOption, context: typer.Context) -> str:
    record = one.get_help_record(context)
    if record is None:  # hidden
        return ""
    name = _argument(one) if isinstance(one, TyperArgument) else record[0]
    for library, ours in _TYPES.items():
        name = name.replace(library, ours)
    return f"- `{name}`: {_one_line(record[1])}\n"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.joinpath("settings.md").write_text(settings_page(), encoding="utf-8")
    folder.joinpath("cli.md").write_text(command_page(), encoding="utf-8")

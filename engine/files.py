"""Reading YAML files into validated values, with file, line and key of the first fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from engine.exceptions import ConfigurationError

T = TypeVar("T")
LOADER: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader in C where PyYAML was built with it: reading is then about eight times as fast."""


def read_yaml(
    path: Path,
    form: type[T],
    *,
    error: type[ConfigurationError] = ConfigurationError,
    remedy: str | None = None,
) -> T:
    """Read one YAML file of the given form; raises `error` naming file, line, key and remedy."""
    return parse_yaml(read_text(path, error=error, remedy=remedy), form, path=path, error=error)


def read_text(path: Path, *, error: type[ConfigurationError] = ConfigurationError, remedy: str | None = None) -> str:
    """The text of a UTF-8 file; raises `error` where it is missing, unreadable or not UTF-8."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except FileNotFoundError as cause:
        raise error("There is no such file.", file=path, remedy=remedy) from cause
    except UnicodeDecodeError as cause:
        line = path.read_bytes()[: cause.start].count(b"\n") + 1
        raise error("The file is not UTF-8.", file=path, line=line, remedy="Save it as UTF-8.") from cause
    except OSError as cause:
        raise error(f"The file cannot be read ({cause.strerror}).", file=path, remedy=remedy) from cause


def parse_yaml(
    text: str,
    form: type[T],
    *,
    path: Path,
    error: type[ConfigurationError] = ConfigurationError,
    line_offset: int = 0,
) -> T:
    """The value that YAML text holds; `line_offset` is the number of lines of the file before it."""
    try:
        value = yaml.load(text, Loader=LOADER)  # noqa: S506 - a safe loader
    except ValueError as cause:  # a date such as 2026-02-31
        raise error(
            f"A value is impossible: {cause}.",
            file=path,
            line=_impossible(yaml.compose(text, Loader=LOADER)) + line_offset,
        ) from cause
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        line = (mark.line + 1 if mark else 1) + line_offset
        raise error("Not valid YAML.", file=path, line=line, remedy="Check indentation, colons and quotes.") from cause
    try:
        return TypeAdapter(form).validate_python(value)
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or None
        # Places of keys are looked up only now: they cost as much again as reading.
        line = _line(yaml.compose(text, Loader=LOADER), first["loc"]) + line_offset
        raise error(_sentence(first["msg"]), file=path, line=line, key=key) from cause


def line_of(text: str, location: tuple[int | str, ...]) -> int:
    """The 1-based line of a place in valid YAML text, such as the `loc` of a validation error."""
    return _line(yaml.compose(text, Loader=yaml.SafeLoader), location)


def lines_of(text: str, locations: Iterable[tuple[int | str, ...]]) -> list[int]:
    """The 1-based lines of several places in valid YAML text, which is read once."""
    node = yaml.compose(text, Loader=LOADER)
    return [_line(node, location) for location in locations]


def _impossible(node: yaml.Node | None) -> int:
    """The line of the first value that looks like a date or a number and is none."""
    for one in _values(node):
        try:
            yaml.SafeLoader("").construct_object(one)
        except ValueError:
            return int(one.start_mark.line) + 1
    return 1


def _values(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _values(one)
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from (*_values(pair[0]), *_values(pair[1]))


def _line(node: yaml.Node | None, location: tuple[int | str, ...]) -> int:
    """The 1-based line of a place in a YAML document, or of the nearest node above it."""
    line = node.start_mark.line + 1 if node else 1
    for part in location:
        if isinstance(node, yaml.MappingNode):
            pair = next((pair for pair in node.value if pair[0].value == str(part)), None)
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line


def _sentence(message: str) -> str:
    plain = {"Extra inputs are not permitted": "Unknown key", "Field required": "The key is missing"}.get(
        message, message
    )
    return f"{plain}."

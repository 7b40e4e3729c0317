"""The reference page of the engine's public names, written from their docstrings: `python -m bots.engine_page FILE`."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import engine

HEAD = """# The engine's public names

Written from the docstrings by `make pages`. All of them are imported from `engine` itself:

```python
from engine import Conversation, Engine
```

`cafi` builds an `Engine` from the configuration; [one turn](turn.md) says what it does with a message.
"""


def page() -> str:
    """The whole page as Markdown, by the room of the engine that a name lives in."""
    rooms: dict[str, list[str]] = {}
    for name, (module, _) in engine.homes().items():
        rooms.setdefault(module.split(".")[1], []).append(name)
    return HEAD + "".join(_room(room, sorted(names, key=str.casefold)) for room, names in sorted(rooms.items()))


def _room(room: str, names: Iterable[str]) -> str:
    about = inspect.getdoc(import_module(f"engine.{room}")) or ""
    return f"\n## {room}\n\n{_first(about)}\n\n" + "".join(f"{line}\n" for name in names for line in _entry(name))


def _entry(name: str) -> Iterator[str]:
    value = getattr(engine, name)
    if inspect.isclass(value):
        yield _line(name, inspect.getdoc(value))
        for key, one in vars(value).items():
            if not key.startswith("_") and (said := _method(key, one)):
                yield f"  {said}"
    elif inspect.isfunction(value):
        yield _line(f"{name}({_arguments(value)})", inspect.getdoc(value))
    else:
        yield _line(name, _constants(engine.homes()[name][0]).get(engine.homes()[name][1]))


def _method(name: str, one: object) -> str | None:
    if isinstance(one, property):
        return _line(name, inspect.getdoc(one.fget))
    function = one.__func__ if isinstance(one, classmethod | staticmethod) else one
    return _line(f"{name}({_arguments(function)})", inspect.getdoc(function)) if inspect.isfunction(function) else None


def _arguments(function: object) -> str:
    """The names a caller gives; a star before those that are given by name."""
    found = list(inspect.signature(function).parameters.values())  # type: ignore[arg-type]  # only functions come here
    names, starred = [], False
    for one in found:
        if one.name in {"self", "cls"}:
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            names.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        names.append(f"*{one.name}" if one.kind is one.VAR_POSITIONAL else one.name)
    return ", ".join(names)


@cache
def _constants(module: str) -> dict[str, str]:
    """What is said of the constants of a module, in the string below each."""
    body = ast.parse(inspect.getsource(import_module(module))).body
    found = {}
    for one, below in pairwise(body):
        target = one.targets[0] if isinstance(one, ast.Assign) else getattr(one, "target", None)
        if isinstance(target, ast.Name) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            found[target.id] = str(below.value.value)
    return found


def _line(name: str, said: str | None) -> str:
    return f"- `{name}`" + (f": {_first(said)}" if said else "")


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

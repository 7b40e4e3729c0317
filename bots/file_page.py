"""The page of all files: each module by the first sentence of its docstring, each data file by its first comment.

`python -m bots.file_page FILE` writes it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
HEAD = """# Every file in a sentence

Written by `make pages` from what modules and data files say of themselves. What belongs together, and how a message
passes through it: [architecture.md](../architecture.md). Tests of a module stand in `tests/unit/`, of a platform or a server
in `tests/platform/`, what holds on every platform in `tests/contract/`, whole commands in `tests/acceptance/`, pages in
`tests/browser/`.
"""
CODE = ("engine", "adapters", "bots", "evaluation", "kb_tools", "rehearsal", "chaos", "benchmarks", "tests")
DATA = ("config", "prompts", "deploy", "evaluation/data")
SAID_IN = (".yaml", ".yml", ".md", ".service", ".timer", ".conf", ".Caddyfile", ".ini", ".txt")
SOURCES = """
## `knowledge_base/{name}/`

For each ID below: the text `ID.md`, in other languages `translations/LANGUAGE/ID.md`, and what people ask about it, in their
own words, `questions/LANGUAGE/ID.md` (LANGUAGE: {languages}).

{ids}
"""
_COMMENT = re.compile(r"\A(?:#|//|;)[ \t]?(.*(?:\n(?:#|//|;)[ \t]?\S.*)*)")
_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_SENTENCE = re.compile(r".+?[.:](?=\s|$)", re.DOTALL)


def file_page(root: Path = ROOT) -> str:
    """Every module and data file by folder, as Markdown."""
    parts = [HEAD]
    for top in (*CODE, *DATA):
        for folder in sorted([root / top, *(one for one in (root / top).rglob("*") if one.is_dir())]):
            rows = list(_rows(folder, code=top in CODE))
            if rows:
                parts.append(f"\n## `{folder.relative_to(root)}/`\n\n| file | what |\n|---|---|\n{''.join(rows)}")
    bases = sorted(one.parent for one in (root / "knowledge_base").glob("*/manifest.yaml"))
    return "".join([*parts, *map(_sources, bases)])


def _sources(base: Path) -> str:
    asked = sorted((base / "questions").iterdir())
    ids = ", ".join(f"`{one.stem}`" for one in sorted(base.glob("*.md")) if (asked[0] / one.name).is_file())
    return SOURCES.format(name=base.name, languages=", ".join(one.name for one in asked), ids=ids)


def _rows(folder: Path, *, code: bool) -> Iterator[str]:
    files = sorted(one for one in folder.iterdir() if one.is_file())
    if code:
        for one in files:
            if one.suffix == ".py" and (said := _said_by_module(one)):
                yield f"| `{one.name}` | {said} |\n"
        return
    named = [one for one in files if one.name in {"Containerfile", "Caddyfile"} or one.suffix in SAID_IN]
    codes = [one for one in named if len(one.stem) == 2]
    if len(codes) > 1:  # one file a language, or a country
        english = next((one for one in codes if one.stem == "en"), codes[0])
        yield f"| `{', '.join(one.name for one in codes)}` | {_said_by_data(english)} |\n"
    for one in named:
        if one not in codes:
            yield f"| `{one.name}` | {_said_by_data(one)} |\n"


def _said_by_module(path: Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return _cell(said.split("\n\n")[0])


def _said_by_data(path: Path) -> str:
    """The first sentence of what a file says of itself at its beginning, or its heading."""
    text = path.read_text(encoding="utf-8")
    if text.startswith("---\n"):  # a prompt
        front = yaml.safe_load(text.split("---\n")[1])
        return _cell(f"{front['role']}; model: {front['tier']}" if "role" in front else "")
    said = (_COMMENT if path.suffix != ".md" else _HEADING).search(text)
    if said is None:
        return ""
    words = " ".join(re.sub(r"^(?:#|//|;)[ \t]?", "", line) for line in said[1].splitlines())
    first = _SENTENCE.match(words)
    return _cell(first[0].rstrip(":") if first else words)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(file_page(), encoding="utf-8")

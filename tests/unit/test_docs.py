"""The documentation hangs together: what a page points to is there, and what lies there is pointed to."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from benchmarks.path import BORDERS, PART, STEPS
from bots.output import marks

ROOT = Path(__file__).resolve().parents[2]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
WRITTEN_BY_OPERATORS = {"config/people.yaml"}
_FILE = re.compile(r"`((?!\S*(?:NAME|LANGUAGE|SOURCE|ROLE|XX))[\w/.-]+\.(?:py|ya?ml|md|txt))`")
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def linked() -> set[Path]:
    """The files that pages link to or show."""
    found = {(page, link) for page in PAGES for link in _LINK.findall(page.read_text(encoding="utf-8"))}
    return {(page.parent / link).resolve() for page, link in found if "://" not in link}


def test_every_link_of_a_page_leads_somewhere() -> None:
    """A file that a page links to or shows is in the repository."""
    assert [path for path in linked() if not path.exists()] == []


def test_every_picture_and_every_page_is_shown() -> None:
    """What lies in the documentation is linked to by one of its pages: no picture and no page is kept for nobody."""
    kept = {path for path in (ROOT / "docs").rglob("*") if path.is_file()}
    assert kept - linked() - {ROOT / "docs" / "index.md"} == set()


def test_every_file_that_the_map_names_is_there() -> None:
    """A file on the map is in the repository: as written, below `engine` or `adapters`, or beside the one before it."""
    lost, named = [], 0
    for row in (
        (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Where would I")[1].splitlines()
    ):
        beside = ROOT
        for name in _FILE.findall(row):
            places = [ROOT / name, ROOT / "engine" / name, ROOT / "adapters" / name, beside / name]
            found = next((one for one in places if one.is_file()), None)
            beside, named = beside if found is None else found.parent, named + 1
            lost += [] if found else [name]
    assert named > 150 and set(lost) <= WRITTEN_BY_OPERATORS


def functions(tree: ast.AST, above: str = "") -> Iterator[str]:
    """The functions of a module or class, by their names with those of what they stand in."""
    for one in ast.iter_child_nodes(tree):
        name = above
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{above}.{one.name}".lstrip(".")
            if not isinstance(one, ast.ClassDef):
                yield name
        yield from functions(one, name)


def test_the_path_of_a_message_names_what_is_in_the_code() -> None:
    """Each function on the page's path of one message stands in the file that it names, and each step begins in one."""
    first, last = marks(PART)
    part = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition(first)[2].partition(last)[0]
    named = [
        re.findall(r"`([^`]+)`", listed) for listed in re.split(r"\||<br>", part) if listed.strip().startswith("`")
    ]
    assert len(named) > 20
    for file, *names in named:
        there = set(functions(ast.parse((ROOT / file).read_text(encoding="utf-8"))))
        assert set(names) <= there, f"{file}: run `python -m benchmarks.path --page docs/architecture.md`."
    files = [path for folder in ("engine", "adapters", "bots") for path in (ROOT / folder).rglob("*.py")]
    anywhere = {name for path in files for name in functions(ast.parse(path.read_text(encoding="utf-8")))}
    assert {*STEPS, *BORDERS} <= anywhere

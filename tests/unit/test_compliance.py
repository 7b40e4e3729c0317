"""The compliance folder keeps its word: every requirement is met somewhere that exists, or is said to be the operator's."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "compliance"
STATES = {"met", "partly", "operator", "unsure"}
READ = {"text", "told", "memory"}
HEAD = ["law, article", "since", "read", "what it asks", "state", "where it is met"]


def rows() -> list[list[str]]:
    """The cells of every row of requirements.md."""
    lines = (FOLDER / "requirements.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row != HEAD and not set("".join(row)) <= {"-"}]


def exists(test: str) -> bool:
    """Whether a test file, or a test of it, is there."""
    file, _, name = test.partition("::")
    path = ROOT / "tests" / file
    if not path.is_file():
        return False
    tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return not name or any(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name for one in tree)


def test_every_requirement_names_what_exists_or_is_the_operators() -> None:
    """Each row has law, date, how it was read, state and place; tests and linked files exist; what is met names a test or a
    file, what is the operator's says so, and whatever is partly met says what is left."""
    found = rows()
    assert len(found) > 30
    for law, since, read, asks, state, where in found:
        assert law and re.search(r"\b20[12]\d\b", since) and asks, law
        assert read in READ and state in STATES, law
        tests = re.findall(r"`((?:unit|platform|acceptance|browser|contract)/[^`]+)`", where)
        files = [(FOLDER / link).resolve() for link in re.findall(r"\]\(([^)#]+)[^)]*\)", where)]
        assert all(exists(one) for one in tests), (law, tests)
        assert all(path.exists() for path in files), (law, files)
        assert tests or files or "operator's" in where, law
        assert state != "met" or tests or files, law
        assert state == "met" or "operator" in where, law


@pytest.mark.parametrize("page", sorted(path.name for path in FOLDER.glob("*.md")))
def test_every_page_says_that_no_lawyer_has_reviewed_it(page: str) -> None:
    """Whoever opens one page alone reads it there; the statement of purpose leads to it."""
    text = (FOLDER / page).read_text(encoding="utf-8")
    assert re.search(r"[Nn]o lawyer", text)


def test_what_the_procedure_runs_exists() -> None:
    """Every `cafi` command in the folder is one of the program's, with options it has."""
    from typer.main import get_command

    from bots.cli import app

    top = get_command(app)
    said = "\n".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md")))
    for line in re.findall(r"(?:`|^ {4})cafi ([^`\n]+)", said, re.M):
        command, words = top, line.split()
        while words and hasattr(command, "commands") and words[0] in command.commands:
            command = command.commands[words.pop(0)]
        options = {name for one in command.params for name in one.opts}
        assert command is not top and {word for word in words if word.startswith("--")} <= options, line

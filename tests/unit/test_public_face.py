"""The public names of the engine: each is there, loaded when it is used, and told of on a page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import engine
from bots.engine_page import page

ROOT = Path(__file__).resolve().parents[2]


def test_the_public_names_are_those_that_have_a_home() -> None:
    """Every public name stands once in the list, and every one of them can be imported."""
    assert len(engine.__all__) == len(set(engine.__all__))
    assert set(engine.__all__) == set(engine.homes())
    assert all(getattr(engine, name) is not None for name in engine.__all__)


def test_a_name_that_is_not_public_is_not_there() -> None:
    """Asking the engine for another name is an error that names it."""
    with pytest.raises(AttributeError, match="Clockwork"):
        engine.Clockwork  # noqa: B018  # looking it up is what is tried


def test_a_name_loads_its_own_module_alone() -> None:
    """A program that needs the values of a turn does not wait for the libraries of retrieval."""
    code = "import sys; from engine import Turn, ConfigurationError; print('numpy' in sys.modules, 'jinja2' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]


def test_the_reference_page_says_what_the_docstrings_say() -> None:
    """The page of public names is the one that is written from their docstrings; `make pages` writes it anew."""
    assert (ROOT / "docs" / "reference" / "engine.md").read_text(encoding="utf-8") == page()


def test_one_question_at_a_command_line_loads_no_database(tmp_path: Path) -> None:
    """`cafi ask` answers without a library for storage, which takes a fifth of a start, and without a terminal's chat."""
    code = (
        "import sys; from bots.cli import app; app(['ask', 'how can i sleep better'], standalone_mode=False);"
        "stores = {'sqlalchemy', 'alembic', 'aiosqlite', 'psycopg'} & {one.split('.')[0] for one in sys.modules};"
        "chats = {f'adapters.console_adapter.{one}' for one in ('adapter', 'texts', 'explanation')} & set(sys.modules);"
        "print(sorted(stores | chats))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


def test_numpy_starts_no_threads_that_wait_busily() -> None:
    """The commands say how many threads numpy may have before it is loaded, and leave it to whoever has said so already."""
    code = "import os, sys, bots.cli; print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
    bare = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for given, wanted in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "2"}, "2")):
        ran = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=bare | given, capture_output=True, text=True, check=True
        )
        assert ran.stdout.split() == ["False", wanted]

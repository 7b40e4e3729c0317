"""The reference pages of settings and commands cannot say other than the settings and commands themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.file_page import file_page
from bots.reference_pages import command_page, settings_page

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "reference"
AGAIN = "Run `make pages`."


def test_the_settings_page_is_what_the_settings_say() -> None:
    """The settings page is what the settings say."""
    assert (REFERENCE / "settings.md").read_text(encoding="utf-8") == settings_page(), AGAIN


def test_the_command_line_page_is_what_the_commands_say() -> None:
    """The command-line page is what the commands say."""
    assert (REFERENCE / "cli.md").read_text(encoding="utf-8") == command_page(), AGAIN


def test_the_page_of_files_is_what_the_files_say() -> None:
    """The page of files names each module with its docstring's first sentence, and each data file with its first comment."""
    assert (REFERENCE / "files.md").read_text(encoding="utf-8") == file_page(), AGAIN


def test_no_module_is_without_a_sentence() -> None:
    """No module stands in the page without a sentence that says what it holds."""
    assert not [
        line for line in file_page().splitlines() if line.startswith("| `") and ".py`" in line and line.endswith("|  |")
    ]


@pytest.mark.parametrize("part", [*settings_page().split("\n# "), command_page()])
def test_every_entry_says_what_it_means_and_stands_once(part: str) -> None:
    """Each key of a file has a meaning, and neither a key nor a command stands there twice."""
    keys = [line for line in part.splitlines() if line.startswith("| `")]
    assert not [line for line in keys if line.endswith("|  |")]
    names = [line.split(" | ")[0] for line in part.splitlines() if line.startswith(("#", "| `"))]
    assert names
    assert len(names) == len(set(names))

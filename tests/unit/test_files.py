"""Reading YAML: every fault is named with its file, line and key."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError, RuleError
from engine.files import parse_yaml, read_text, read_yaml
from engine.settings import Strict


class Inner(Strict):
    """A nested value."""

    size: int = 1
    day: date | None = None


class Outer(Strict):
    """A value for these tests."""

    name: str
    inner: Inner = Inner()
    rows: tuple[Inner, ...] = ()


def fault(tmp_path: Path, text: str) -> ConfigurationError:
    path = tmp_path / "some.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError) as caught:
        read_yaml(path, Outer)
    assert caught.value.file == path
    assert str(caught.value).startswith(f"{path}:{caught.value.line}")
    return caught.value


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("name: a\ninner: [\n", 3, None),
        ("name: a\n\tinner: 1\n", 2, None),
        ("name: a\n\nsize: 3\n", 3, "size"),
        ("name: a\ninner:\n  size: 2\n  colour: red\n", 4, "inner.colour"),
        ("name: a\nrows:\n  - size: 1\n  - size: many\n", 4, "rows.1.size"),
        ("# no name\ninner: {}\n", 2, "name"),
        ("- a\n", 1, None),
        ("", 1, None),
        ("name: a\ninner:\n  day: 2026-02-31\n", 3, None),
        ("name: &a [*a]\n", 1, "name"),
    ],
)
def test_a_fault_is_named_with_line_and_key(tmp_path: Path, text: str, line: int, key: str | None) -> None:
    """Broken YAML, an unknown or missing key, a wrong type and an impossible date name their place."""
    error = fault(tmp_path, text)
    assert (error.line, error.key) == (line, key)


def test_an_unknown_key_is_called_so(tmp_path: Path) -> None:
    """The message for an unknown and for a missing key is in plain words."""
    assert fault(tmp_path, "name: a\nsize: 3\n").problem == "Unknown key."
    assert fault(tmp_path, "inner: {}\n").problem == "The key is missing."


def test_lines_count_from_the_start_of_the_file() -> None:
    """Lines before the YAML, such as a front matter's fence, are counted."""
    with pytest.raises(ConfigurationError) as caught:
        parse_yaml("name: a\nsize: 3\n", Outer, path=Path("x.md"), line_offset=1)
    assert caught.value.line == 3


def test_a_missing_file_has_the_callers_remedy_and_class(tmp_path: Path) -> None:
    """A missing file is an error of the caller's class with the caller's remedy."""
    with pytest.raises(RuleError, match=r"nowhere\.yaml: There is no such file\. Look there\."):
        read_yaml(tmp_path / "nowhere.yaml", Outer, error=RuleError, remedy="Look there.")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder in the place of a file is an error with the file's name."""
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_text(tmp_path)


def test_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    """The line of the first byte that is not UTF-8 is named."""
    path = tmp_path / "latin.yaml"
    path.write_bytes("name: a\ninner: b\nx: é\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match="not UTF-8") as caught:
        read_text(path)
    assert caught.value.line == 3


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    """A file saved on Windows reads like any other."""
    path = tmp_path / "windows.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: a\r\ninner:\r\n  size: 2\r\n")
    assert read_yaml(path, Outer) == Outer(name="a", inner=Inner(size=2))


@given(st.text(max_size=200))
def test_any_text_is_a_value_or_a_configuration_error(text: str) -> None:
    """No text in a YAML file raises anything but a ConfigurationError with a line."""
    try:
        parse_yaml(text, Outer, path=Path("x.yaml"))
    except ConfigurationError as error:
        assert error.line

"""Pictures with words in every language from one drawing: `python -m kb_tools.pictures knowledge_base/schizophrenia`.

`media/NAME.svg` is the drawing; `translations/<language>/pictures.yaml` gives, by file, what stands for each English text of it.
The picture itself is made by Chromium. A drawing whose words are not all translated is left out and named.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from html import escape, unescape
from pathlib import Path
from tempfile import TemporaryDirectory

from engine import TRANSLATIONS, KnowledgeBaseError, read_text, read_yaml, translated_languages

PICTURES = "pictures.yaml"
_TEXT = re.compile(r"(<text\b[^>]*>)([^<]*)(</text>)")
_SIZE = re.compile(r'<svg[^>]*\bwidth="(\d+)"[^>]*\bheight="(\d+)"')
_HIDDEN = re.compile(r"\s*<(title|desc)\b[^>]*>.*?</\1>", re.S)
_LABELLED = re.compile(r'\s+aria-labelledby="[^"]*"')

Words = Mapping[str, Mapping[str, str]]


def words_of(drawing: str) -> tuple[str, ...]:
    """The texts of a drawing, in order, each once."""
    return tuple(dict.fromkeys(unescape(match[2]).strip() for match in _TEXT.finditer(drawing)))


def translated_drawing(drawing: str, words: Mapping[str, str]) -> str:
    """A drawing with its texts in another language. Raises KeyError for one that is not translated.

    Its title and description go, which only a reader of the file itself would hear: pages give the text alternative.
    """

    def put(match: re.Match[str]) -> str:
        return f"{match[1]}{escape(words[unescape(match[2]).strip()], quote=False)}{match[3]}"

    return _TEXT.sub(put, _LABELLED.sub("", _HIDDEN.sub("", drawing)))


def drawings(folder: Path, language: str) -> Iterator[tuple[str, str]]:
    """File name and content of each drawing in a language. Raises KnowledgeBaseError for a text that is not translated."""
    path = folder / TRANSLATIONS / language / PICTURES
    given = read_yaml(path, dict[str, dict[str, str]], error=KnowledgeBaseError) if path.is_file() else {}
    for name, words in given.items():
        drawing = read_text(folder / "media" / name, error=KnowledgeBaseError)
        try:
            yield name, translated_drawing(drawing, words)
        except KeyError as missing:
            raise KnowledgeBaseError(f"{name}: {missing.args[0]!r} is not translated.", file=path, line=1) from missing


def main(folder: Path, chromium: str = "chromium") -> None:
    """Write the picture of every drawing beside the translations."""
    for language in translated_languages(folder):
        for name, content in drawings(folder, language):
            picture = (folder / TRANSLATIONS / language / name).with_suffix(".png")
            size = _SIZE.search(content)
            if size is None:
                raise KnowledgeBaseError("The drawing has no width and height.", file=folder / "media" / name, line=1)
            options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={size[1]},{size[2]}"]
            with TemporaryDirectory() as beside:
                drawing = Path(beside, name)
                drawing.write_text(content, encoding="utf-8")
                command = [chromium, *options, f"--screenshot={picture.resolve()}", drawing.as_uri()]
                subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - our own drawing
            print(picture)  # noqa: T201 - a command


if __name__ == "__main__":
    main(Path(sys.argv[1]))

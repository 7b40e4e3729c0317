"""PDF into blocks. A PDF knows letters and places, no paragraphs: what is a heading shows in its size and weight."""

from __future__ import annotations

import logging
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bots.importing.blocks import Block, Document
from bots.importing.plain_text import LONGEST_HEADING, plain_blocks
from bots.progress import progress
from engine.exceptions import ConfigurationError
from engine.language.text import words

LARGER = 1.12
"""A line so much larger than the body is a heading."""
NEW_PARAGRAPH = 1.35
"""A gap so much larger than the usual one divides paragraphs."""
WIDEST = 2.2
"""Lines of one paragraph are no further apart than so many times their size."""
LONGEST_HEADER = 12
"""Words of a line that may be a running header."""
FEWEST_LETTERS = 20
"""A PDF with fewer letters has no text layer; page numbers stamped on scans do not make one."""
NO_TITLES = frozenset(("untitled", "anonymous", "document", "unknown"))
"""What programs write as the title of a PDF where nobody gave one."""
END_WITHIN = 2048
"""The end mark of a whole PDF stands in its last so many bytes."""

_ITEM = re.compile(r"(?:[-*•–▪◦·]|\(?\d{1,2}[.)])\s+")
_PAGE_NUMBER = re.compile(r"\W*(?:page|p\.|seite)?\W*\d{1,4}\W*(?:(?:of|/|von)\W*\d{1,4})?\W*", re.I)
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]$")


@dataclass(kw_only=True, slots=True)
class Line:
    """A line of a page: letters by size, letters in bold, and how far below the line before it stands."""

    text: str = ""
    sizes: Counter[float] = field(default_factory=Counter)
    bold: int = 0
    y: float = 0.0
    gap: float | None = None

    @property
    def size(self) -> float:
        """The size of most of its letters, in points."""
        return self.sizes.most_common(1)[0][0] if self.sizes else 0.0

    @property
    def is_bold(self) -> bool:
        """Whether all of it is bold."""
        return self.bold >= len(self.text.replace(" ", "")) > 0


def read_pdf(path: Path) -> Document:
    """Read a PDF; raises ConfigurationError where it is encrypted, damaged, cut off or without text."""
    try:
        import pypdf
    except ImportError as error:
        raise ConfigurationError(
            "Reading PDF needs the package 'pypdf', which is not installed.", file=path, remedy="Install cafi[import]."
        ) from error
    # What it mends in silence it reports as warnings; what it cannot mend is an exception.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    _check_ends(path)
    try:
        reader = pypdf.PdfReader(path)
        # Many files are encrypted against changes only, and open with an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise _protected(path)
        pages = _pages(reader)
        title = str(reader.metadata.title or "").strip() if reader.metadata else ""
    except ConfigurationError:
        raise
    except pypdf.errors.DependencyError as error:
        raise _protected(path) from error
    except Exception as error:  # a damaged file makes the library fail in any way at all
        raise ConfigurationError(
            "The PDF is damaged and cannot be read.", file=path, remedy="Open it and save or print it as a new PDF."
        ) from error
    return _document(path, title, pages)


def _check_ends(path: Path) -> None:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigurationError(f"The file cannot be read ({error.strerror}).", file=path) from error
    if not content.strip():
        raise ConfigurationError("The file is empty.", file=path)
    if b"%PDF-" not in content[:1024]:
        raise ConfigurationError("The file is no PDF, whatever its name says.", file=path)
    if b"%%EOF" not in content[-END_WITHIN:]:
        raise ConfigurationError(
            "The PDF is cut off: its end is missing.", file=path, remedy="Fetch or copy it once more."
        )


def _protected(path: Path) -> ConfigurationError:
    return ConfigurationError(
        "The PDF is encrypted and needs a password.", file=path, remedy="Save a copy without a password."
    )


def _pages(reader: Any) -> list[list[Line]]:
    pages = []
    with progress("pages", len(reader.pages)) as step:
        for page in reader.pages:
            pages.append(_lines(page))
            step()
    return pages


def _lines(page: Any) -> list[Line]:
    """The lines of a page, from the pieces of text that the library reports with place, font and size."""
    lines = [Line()]

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], font: dict[str, Any] | None, size: float) -> None:
        y = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        height = size * math.hypot(tm[1], tm[3]) * math.hypot(cm[1], cm[3])
        for number, part in enumerate(text.split("\n")):
            last = lines[-1]
            moved = part.strip() and last.text.strip() and abs(last.y - y) > 0.5 * max(height, 1.0)
            if (number or moved) and last.text.strip():
                lines.append(Line())
                last = lines[-1]
            if not last.text.strip():
                last.y = y
            letters = len(part.replace(" ", ""))
            last.text += part
            if letters:
                last.sizes[round(height, 1)] += letters
                last.bold += letters if "bold" in str((font or {}).get("/BaseFont", "")).casefold() else 0

    page.extract_text(visitor_text=visit)
    return [line for line in lines if line.text.strip()]


def _document(path: Path, title: str, pages: list[list[Line]]) -> Document:
    letters = sum(char.isalpha() for page in pages for line in page for char in line.text)
    if letters < FEWEST_LETTERS:
        raise ConfigurationError(
            "The PDF has no text; it may hold scanned pictures of pages.",
            file=path,
            remedy="Run text recognition (OCR) over it first.",
        )
    empty = [str(number) for number, page in enumerate(pages, start=1) if not page]
    listed = ", ".join(empty[:10]) + (" …" if len(empty) > 10 else "")
    warnings = (f"{len(empty)} of {len(pages)} pages have no text: {listed}.",) if empty else ()
    lines = list(_with_gaps(_without_margins(pages)))
    named = "" if title.casefold() in NO_TITLES else title
    return Document(title=named, blocks=tuple(_blocks(lines)), warnings=warnings)


def _without_margins(pages: list[list[Line]]) -> Iterator[list[Line]]:
    """The pages without page numbers and without lines that stand at the border of half of them."""
    borders = Counter(
        key for page in pages for key in {_border_key(line) for line in (*page[:1], *page[-1:])} if len(pages) > 3
    )
    often = {
        key for key, times in borders.items() if times >= max(3, len(pages) / 2) and len(key.split()) <= LONGEST_HEADER
    }
    for page in pages:
        yield [
            line
            for place, line in enumerate(page)
            if place not in {0, len(page) - 1}
            or not (_border_key(line) in often or _PAGE_NUMBER.fullmatch(line.text.strip()))
        ]


def _border_key(line: Line) -> str:
    return re.sub(r"\d+", "#", " ".join(line.text.split()).casefold())


def _with_gaps(pages: Iterable[list[Line]]) -> Iterator[Line]:
    for page in pages:
        above: Line | None = None
        for line in page:
            line.gap = None if above is None else above.y - line.y
            above = line
            yield line


def _blocks(lines: list[Line]) -> Iterator[Block]:
    sizes: Counter[float] = sum((line.sizes for line in lines), Counter())
    body = sizes.most_common(1)[0][0]
    levels = {
        size: level for level, size in enumerate(sorted((s for s in sizes if s >= LARGER * body), reverse=True), 1)
    }
    bold_level = min(6, len(levels) + 1)
    mostly_bold = 2 * sum(line.is_bold for line in lines) > len(lines)
    heads = [_level(line, levels, 0 if mostly_bold else bold_level) for line in lines]
    paragraphs = list(_joined(lines, heads, _usual_gap(lines, heads, body)))
    if any(heads):
        yield from paragraphs
    else:  # one size and weight throughout: the words must tell
        marked = ("- " + one.text if one.kind == "item" else one.text for one in paragraphs)
        yield from plain_blocks("\n\n".join(marked))


def _level(line: Line, levels: dict[float, int], bold_level: int) -> int:
    """1 to 6 for a heading, 0 for the rest."""
    count = len(words(line.text))
    if not count or count > 2 * LONGEST_HEADING:
        return 0
    if line.size in levels:
        return min(6, levels[line.size])
    short = count <= LONGEST_HEADING and not re.search(r"[.,;:]$", line.text.strip())
    return bold_level if line.is_bold and short and not _ITEM.match(line.text.strip()) else 0


def _usual_gap(lines: list[Line], heads: list[int], size: float) -> float:
    """The gap between lines of a paragraph: that of the narrowest quarter, and no wider than double spacing."""
    gaps = sorted(line.gap for line, head in zip(lines, heads, strict=True) if not head and line.gap and line.gap > 0)
    return min(gaps[len(gaps) // 4], WIDEST * size) if gaps else 0.0


def _joined(lines: list[Line], heads: list[int], usual: float) -> Iterator[Block]:
    """Lines into headings, items and paragraphs."""
    held, level, above = "", 0, ""
    for line, head in zip(lines, heads, strict=True):
        text = line.text.strip()
        if held and _begins(line, text, head, level, above, usual):
            yield _block(held, level)
            held = ""
        held = _HYPHEN.sub("", held) + text if _HYPHEN.search(held) and text[:1].islower() else f"{held} {text}".strip()
        level, above = head, text
    if held:
        yield _block(held, level)


def _begins(line: Line, text: str, head: int, level: int, above: str, usual: float) -> bool:
    """Whether a line begins a new block after one of `level` that ended in the line `above`."""
    if head != level or _ITEM.match(text) or re.match(r"#{1,6} ", text) or re.match(r"#{1,6} ", above):
        return True
    if line.gap is None or line.gap <= 0:  # a new page or column
        return bool(head) or (bool(re.search(r"[.!?:”\"]$", above)) and not text[:1].islower())
    # A heading that runs over two lines is set wider than the body.
    return line.gap > (2 if head else NEW_PARAGRAPH) * max(usual, line.size if head else 0.0) > 0


def _block(text: str, level: int) -> Block:
    if level:
        return Block(kind="heading", text=text.lstrip("# "), level=level)
    item = _ITEM.match(text)
    return Block(kind="item", text=text[item.end() :]) if item else Block(kind="paragraph", text=text)

"""PDF into blocks. A PDF knows letters and places, no paragraphs: what is a heading shows in its size and weight."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import ConfigurationError, words
from kb_tools.manual.blocks import Block, Document
from kb_tools.manual.plain_text import LONGEST_HEADING, plain_blocks
from kb_tools.progress import Progress

LARGER = 1.12
"""A line so much larger than the body is a heading."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class PdfLine:
    """A line of a page; `starts`: a new paragraph, by its distance from the one before. `page` and `size` in points."""

    text: str
    size: float
    bold: bool
    starts: bool
    page: int


def read_pdf(path: Path, progress: Progress) -> Document:
    """Read a PDF; raises ConfigurationError where it is encrypted, damaged, cut off or without text.

    Raises ImportError where the extra `import` is not installed.
    """
    from pdfminer.pdfdocument import PDFDocument, PDFEncryptionError, PDFPasswordIncorrect
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdfparser import PDFParser
    from pdfminer.utils import decode_text

    _check_ends(path)
    try:
        with path.open("rb") as file:
            document = PDFDocument(PDFParser(file))
            title = decode_text(document.info[0].get("Title", b"")) if document.info else ""
            pages = _pages(list(PDFPage.create_pages(document)), progress)
    except (PDFEncryptionError, PDFPasswordIncorrect) as error:
        raise ConfigurationError(
            "The PDF is encrypted and needs a password.", file=path, remedy="Save a copy without a password."
        ) from error
    except Exception as error:  # a damaged file makes the library fail in any way at all
        raise ConfigurationError(
            "The PDF is damaged and cannot be read.", file=path, remedy="Open it and save or print it as a new PDF."
        ) from error
    return _document(path, title.strip(), pages)


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


def _pages(pages: Sequence[Any], progress: Progress) -> list[list[PdfLine]]:
    from pdfminer.converter import PDFPageAggregator
    from pdfminer.layout import LAParams, LTTextBox
    from pdfminer.pdfinterp import PDFPageInterpreter, PDFResourceManager

    shared, read = PDFResourceManager(), []
    device = PDFPageAggregator(shared, laparams=LAParams(boxes_flow=None))
    interpreter = PDFPageInterpreter(shared, device)
    with progress("pages", len(pages)) as step:
        for number, page in enumerate(pages):
            interpreter.process_page(page)
            boxes = (box for box in device.get_result() if isinstance(box, LTTextBox))
            read.append([line for box in boxes for line in _lines(list(box), number)])
            step()
    return read


def _lines(box: Sequence[Any], page: int) -> Iterator[PdfLine]:
    """The lines of a piece of text that the library holds together."""
    for place, line in enumerate(box):
        letters = [one for one in line if getattr(one, "fontname", "") and one.get_text().strip()]
        if letters:
            size = Counter(round(one.size, 1) for one in letters).most_common(1)[0][0]
            bold = all("bold" in one.fontname.casefold() for one in letters)
            yield PdfLine(text=" ".join(line.get_text().split()), size=size, bold=bold, starts=not place, page=page)


def _document(path: Path, title: str, pages: list[list[PdfLine]]) -> Document:
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
    named = "" if title.casefold() in NO_TITLES else title
    return Document(title=named, blocks=tuple(_blocks(_without_margins(pages))), warnings=warnings)


def _without_margins(pages: list[list[PdfLine]]) -> list[PdfLine]:
    """The lines without page numbers and without those that stand at the border of half of the pages."""
    borders = Counter(
        key for page in pages for key in {_border_key(line) for line in (*page[:1], *page[-1:])} if len(pages) > 3
    )
    often = {
        key for key, times in borders.items() if times >= max(3, len(pages) / 2) and len(key.split()) <= LONGEST_HEADER
    }
    return [
        line
        for page in pages
        for place, line in enumerate(page)
        if place not in {0, len(page) - 1} or not (_border_key(line) in often or _PAGE_NUMBER.fullmatch(line.text))
    ]


def _border_key(line: PdfLine) -> str:
    return re.sub(r"\d+", "#", line.text.casefold())


def _blocks(lines: list[PdfLine]) -> Iterator[Block]:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0]
    larger = sorted((size for size in sizes if size >= LARGER * body), reverse=True)
    mostly_bold = 2 * sum(line.bold for line in lines) > len(lines)
    heads = [_level(line, larger, no_bold=mostly_bold) for line in lines]
    paragraphs = list(_joined(lines, heads))
    if any(heads):
        yield from paragraphs
    else:  # one size and weight throughout: the words must tell
        marked = ("- " + one.text if one.kind == "item" else one.text for one in paragraphs)
        yield from plain_blocks("\n\n".join(marked))


def _level(line: PdfLine, larger: Sequence[float], *, no_bold: bool) -> int:
    """1 to 6 for a heading, 0 for the rest."""
    count = len(words(line.text))
    if not count or count > 2 * LONGEST_HEADING:
        return 0
    if line.size in larger:
        return min(6, larger.index(line.size) + 1)
    short = count <= LONGEST_HEADING and not re.search(r"[.,;:]$", line.text)
    return min(6, len(larger) + 1) if line.bold and short and not no_bold and not _ITEM.match(line.text) else 0


def _joined(lines: list[PdfLine], heads: list[int]) -> Iterator[Block]:
    """Lines into headings, items and paragraphs."""
    held, before, level = "", None, 0
    for line, head in zip(lines, heads, strict=True):
        text = line.text
        if before is not None and _begins(line, before, same=head == level, heading=bool(head)):
            yield _block(held, level)
            held = ""
        held = _HYPHEN.sub("", held) + text if _HYPHEN.search(held) and text[:1].islower() else f"{held} {text}".strip()
        before, level = line, head
    if held:
        yield _block(held, level)


def _begins(line: PdfLine, before: PdfLine, *, same: bool, heading: bool) -> bool:
    """Whether a line begins a new block after the one before it."""
    if not same or any(re.match(r"#{1,6} ", one.text) for one in (line, before)) or _ITEM.match(line.text):
        return True
    if line.page == before.page:
        return line.starts
    return heading or (bool(re.search(r"[.!?:”\"]$", before.text)) and not line.text[:1].islower())


def _block(text: str, level: int) -> Block:
    if level:
        return Block(kind="heading", text=text.lstrip("# "), level=level)
    item = _ITEM.match(text)
    return Block(kind="item", text=text[item.end() :]) if item else Block(kind="paragraph", text=text)

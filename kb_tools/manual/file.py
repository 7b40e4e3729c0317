"""From a file to a document, by its ending; whatever cannot be read is one clear message."""

from __future__ import annotations

from pathlib import Path

from engine import ConfigurationError, read_text
from kb_tools.manual.blocks import Document, tidy
from kb_tools.manual.markdown import markdown_blocks, markdown_title
from kb_tools.manual.pdf import read_pdf
from kb_tools.manual.plain_text import plain_blocks
from kb_tools.manual.web_page import page_blocks
from kb_tools.progress import Progress, unseen

_MARKDOWN = frozenset((".md", ".markdown"))
_HTML = frozenset((".html", ".htm", ".xhtml"))
_TEXT = frozenset((".txt", ".text"))
_ALL = frozenset((".pdf", *_MARKDOWN, *_HTML, *_TEXT))


def read_documents(path: Path, progress: Progress = unseen) -> list[Document]:
    """The document of a file, or those of every readable file of a folder; raises ConfigurationError."""
    if not path.is_dir():
        return [read_document(path, progress)]
    files = [one for one in sorted(path.iterdir()) if one.suffix.casefold() in _ALL and one.stem.casefold() != "readme"]
    if not files:
        raise ConfigurationError("The folder has no file that can be imported.", file=path, remedy=_known())
    return [read_document(one, progress) for one in files]


def read_document(path: Path, progress: Progress = unseen) -> Document:
    """Read one file; raises ConfigurationError."""
    kind = path.suffix.casefold()
    if not path.is_file():
        raise ConfigurationError("There is no such file.", file=path, remedy="Check the path.")
    if kind not in _ALL:
        raise ConfigurationError(
            f"Files of the kind {kind or 'without an ending'!r} cannot be read.", file=path, remedy=_known()
        )
    found = read_pdf(path, progress) if kind == ".pdf" else _read_text(path, kind)
    blocks = tuple(tidy(found.blocks))
    if not blocks:
        raise ConfigurationError("The file has no text.", file=path)
    first = next((one.text for one in blocks if one.kind == "heading"), None)
    title = " ".join(found.title.split()) or first or path.stem.replace("_", " ").replace("-", " ").strip().capitalize()
    return Document(title=title, blocks=blocks, warnings=found.warnings)


def _read_text(path: Path, kind: str) -> Document:
    text = read_text(path, remedy="Check the path.").replace("\r", "\n")
    if not text.strip():
        raise ConfigurationError("The file is empty.", file=path)
    if "\x00" in text:
        raise ConfigurationError("The file is no text.", file=path, remedy=_known())
    if kind in _HTML:
        title, blocks = page_blocks(text)
        return Document(title=title, blocks=tuple(blocks))
    if kind in _MARKDOWN:
        return Document(title=markdown_title(text) or "", blocks=tuple(markdown_blocks(text)))
    return Document(title="", blocks=tuple(plain_blocks(text)))


def _known() -> str:
    return f"Known are {', '.join(sorted(_ALL))}."

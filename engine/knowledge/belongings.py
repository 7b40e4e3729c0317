"""Which files a knowledge base may be read from, plain ones of its own folder; which pictures it may hold.

Knowledge bases are passed on. One that somebody else has made must not show files of this computer, so a link, or a
path that leads out of the folder, is no part of it. The folder itself may be a link: that was made here.
"""

from __future__ import annotations

import re
from pathlib import Path

from engine.exceptions import KnowledgeBaseError

PICTURE_KINDS = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".svg": "image/svg+xml",
}
"""Suffixes of pictures, and as what each is served."""
_PICTURE = re.compile(r"\w[\w.-]*")


def picture_kind(file: str) -> str | None:
    """As what a picture of this name is served; None for a name that no picture may have."""
    return PICTURE_KINDS.get(Path(file).suffix.casefold()) if _PICTURE.fullmatch(file) else None


def belongs(path: Path, folder: Path) -> bool:
    """Whether a file is a plain one inside a folder, with no link on the way to it."""
    try:
        way = path.relative_to(folder).parts
        linked = any(folder.joinpath(*way[: end + 1]).is_symlink() for end in range(len(way)))
        return not linked and path.is_file() and path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError):  # out of the folder; or a name that no file can have
        return False


def stranger(path: Path, folder: Path) -> KnowledgeBaseError | None:
    """What is wrong with a file that is there and may not be read; None where it may, or is not there."""
    if belongs(path, folder) or not (path.exists() or path.is_symlink()):
        return None
    return KnowledgeBaseError(
        f"{path.name!r} is a link or no plain file.",
        file=path,
        line=1,
        remedy="Put the file itself into the knowledge base's folder.",
    )


def texts_of(folder: Path) -> list[Path]:
    """The source files of a folder in order, strangers among them."""
    return [path for path in sorted(folder.glob("*.md")) if path.name.casefold() != "readme.md"]

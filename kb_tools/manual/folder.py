"""Drafts written as a folder: whole or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from engine import ConfigurationError, scan_knowledge
from kb_tools.manual.drafts import SourceDraft


def check_free(folder: Path, *, force: bool) -> None:
    """Raises ConfigurationError where the folder must not be written; nothing is touched."""
    if folder.exists() and not folder.is_dir():
        raise ConfigurationError("--to names a file, not a folder.", file=folder, remedy="Name a new folder.")
    if folder.is_dir() and any(folder.iterdir()) and not force:
        raise ConfigurationError(
            "The folder is not empty.",
            file=folder,
            remedy="Name a new one, or add --force: the old one is then kept beside it.",
        )


def write_folder(folder: Path, drafts: Sequence[SourceDraft], manifest: dict[str, object], origin: str) -> Path | None:
    """Write into a temporary folder beside, check that it can be read, and rename it.

    Returns where the folder that was there before is kept, if it was not empty. Raises ConfigurationError.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        whole = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    except OSError as error:
        raise ConfigurationError(f"The folder cannot be made ({error.strerror}).", file=folder) from error
    try:
        _fill(whole, drafts, manifest, origin)
        whole.chmod(0o755)  # temporary folders are private
        return _put(whole, folder)
    except OSError as error:
        raise ConfigurationError(f"The folder cannot be written ({error.strerror}).", file=folder) from error
    finally:
        shutil.rmtree(whole, ignore_errors=True)


def _fill(whole: Path, drafts: Sequence[SourceDraft], manifest: dict[str, object], origin: str) -> None:
    written = yaml.safe_dump(manifest, allow_unicode=True, sort_keys=False, width=10_000)
    (whole / "manifest.yaml").write_text(written, encoding="utf-8")
    for draft in drafts:
        (whole / f"{draft.id}.md").write_text(draft.page(origin), encoding="utf-8")
    _, problems = scan_knowledge(whole)
    if problems:
        first = problems[0]
        name = Path(str(first.file)).name
        raise ConfigurationError(f"What was made of {origin} cannot be read: {name}: {first.problem}")


def _put(whole: Path, folder: Path) -> Path | None:
    kept = None
    if folder.is_dir():
        if any(folder.iterdir()):
            kept = _free_name(folder)
            folder.rename(kept)
        else:
            folder.rmdir()
    whole.rename(folder)
    return kept


def _free_name(folder: Path) -> Path:
    number = 1
    while (name := folder.with_name(f"{folder.name}.before-{number}")).exists():
        number += 1
    return name

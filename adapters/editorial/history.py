"""Former versions of sources, as files: `FOLDER/ASSISTANT/LANGUAGE/SOURCE/0001.md`, and beside each what is known of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from adapters.editorial.shelf import TextPlace
from adapters.storage.private_files import write_private

GIT_SECONDS = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """One version. `how`: `before` (as it was found), `approved`, `restored`. Roles, never names."""

    number: int
    day: str
    how: str
    proposed_by: str = ""
    approved_by: str = ""
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class VersionHistory:
    """Versions in a folder; every method raises OSError."""

    folder: Path

    def versions(self, place: TextPlace) -> list[Version]:
        """All of a text, the newest first."""
        found = []
        for path in sorted(self._at(place).glob("[0-9]*.json"), reverse=True):
            try:
                found.append(Version(**json.loads(path.read_text(encoding="utf-8"))))
            except (ValueError, TypeError):  # somebody else's file
                continue
        return found

    def text(self, place: TextPlace, number: int) -> str | None:
        """One version's text."""
        path = self._at(place) / f"{number:04}.md"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def keep(self, place: TextPlace, text: str, version: Version) -> None:
        """Add a version; its number is given here."""
        known = self.versions(place)
        number = known[0].number + 1 if known else 0
        at = self._at(place)
        write_private(at / f"{number:04}.md", text)
        about = asdict(version) | {"number": number}
        write_private(at / f"{number:04}.json", json.dumps(about, ensure_ascii=False))

    def keep_found(self, place: TextPlace, text: str, day: str) -> None:
        """Add a text as it was found, unless it is the newest version: it was changed by other ways than this page."""
        known = self.versions(place)
        if not known or self.text(place, known[0].number) != text:
            self.keep(place, text, Version(number=0, day=day, how="before"))

    def _at(self, place: TextPlace) -> Path:
        return self.folder / place.assistant / place.language / place.source


def commit(path: Path, message: str) -> bool:
    """Commit one file of a git repository; whether that went well. Nothing is pushed."""
    return all(
        _git(path.parent, *words) for words in (("add", "--", path.name), ("commit", "-m", message, "--", path.name))
    )


def _git(folder: Path, *words: str) -> bool:
    command: Sequence[str] = ("git", "-c", "user.name=CAFI", "-c", "user.email=cafi@localhost", *words)
    try:
        ended = subprocess.run(command, cwd=folder, capture_output=True, timeout=GIT_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ended.returncode == 0

"""The documentation hangs together: what a page points to is there, and what lies there is pointed to."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
_LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def linked() -> set[Path]:
    """The files that pages link to or show."""
    found = {(page, link) for page in PAGES for link in _LINK.findall(page.read_text(encoding="utf-8"))}
    return {(page.parent / link).resolve() for page, link in found if "://" not in link}


def test_every_link_of_a_page_leads_somewhere() -> None:
    """A file that a page links to or shows is in the repository."""
    assert [path for path in linked() if not path.exists()] == []


def test_every_picture_and_every_page_is_shown() -> None:
    """What lies in the documentation is linked to by one of its pages: no picture and no page is kept for nobody."""
    kept = {path for path in (ROOT / "docs").rglob("*") if path.is_file()}
    assert kept - linked() - {ROOT / "docs" / "index.md"} == set()

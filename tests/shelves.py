"""A knowledge base with shelves for tests: categories, a source of several sections, what people would type for each."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.team import knowledge_folder

SECTIONS = {
    "with_medicine": (
        "With medicine",
        "Alcohol and tablets together make people very drowsy.",
        "Can I drink while I take tablets?",
        ("beer and my tablets", "is wine ok with my medicine", "drinking on medication"),
    ),
    "and_voices": (
        "And voices",
        "Alcohol can make voices louder on the day after.",
        "Does drinking make voices louder?",
        ("voices after drinking", "louder voices the day after beer", "wine and hearing things"),
    ),
    "cutting_down": (
        "Cutting down",
        "Drink a little less each week, and tell your doctor.",
        "How can I drink less?",
        ("how do i cut down on beer", "drinking less wine", "i want to stop drinking"),
    ),
}
"""Of the source `alcohol`, by id: heading, text, the question on the button, what people type."""
CATEGORIES = """name: shelves
title: Shelves
language: en
categories:
  - id: nights
    titles: {en: Nights, de: Nächte}
    sources: [sleep]
  - id: days
    titles: {en: Days, de: Tage}
    sources: [voices, alcohol]
"""


def shelves(folder: Path, *, without: Iterable[str] = ()) -> Path:
    """Write it; `without`: sections of `alcohol` that are gone."""
    kept = {name: one for name, one in SECTIONS.items() if name not in without}
    head = "".join(f"  {name}:\n    for: [self]\n    questions: []\n" for name in kept)
    body = "".join(f"\n## {heading} {{#{name}}}\n\n{text}\n" for name, (heading, text, _, _) in kept.items())
    alcohol = f"---\nid: alcohol\ntitle: Alcohol\nsummary: [beer, wine]\nsections:\n{head}---\n{body}"
    knowledge_folder(folder)
    knowledge_folder(folder, alcohol=alcohol)
    (folder / "manifest.yaml").write_text(CATEGORIES, encoding="utf-8")
    asked = folder / "questions" / "en"
    asked.mkdir(parents=True, exist_ok=True)
    lines = [
        f"## {name}\n> {offer}\n" + "".join(f"- {one}\n" for one in typed)
        for name, (_, _, offer, typed) in kept.items()
    ]
    (asked / "alcohol.md").write_text("# Alcohol\n" + "\n".join(lines), encoding="utf-8")
    return folder

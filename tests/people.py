"""A configuration with people who answer for the bot, and with corrections."""

from __future__ import annotations

from pathlib import Path

SHIPPED = Path(__file__).resolve().parent.parent / "config"
NAME = "Kontakttelefonen"
PEOPLE = f"""
services:
  - name: {NAME}
    phone: "22 33 44 56"
    mail: kontakt@kontakt.no
    zone: Europe/Oslo
    hours: always
    languages: [nb, en]
    can: {{en: "Listen to you.", nb: "Lytte til deg."}}
    cannot: {{en: "Say which medicine is right.", nb: "Si hvilken medisin som er riktig."}}
"""
CORRECTIONS = """
corrections:
  - assistant: schizophrenia
    source: sleep
    date: 2026-06-10
    what: {en: "The hours of sleep were wrong.", de: "Die Stunden Schlaf waren falsch."}
"""


def config_with(folder: Path, **files: str) -> Path:
    """The shipped configuration in another folder, with files of an operator's own beside it: people, corrections."""
    folder.mkdir(parents=True)
    (folder.parent / "knowledge_base").symlink_to(SHIPPED.parent / "knowledge_base")
    for one in SHIPPED.iterdir():
        (folder / one.name).symlink_to(one)
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder

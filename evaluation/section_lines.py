"""Puts natural messages among the lines by which sections are found: `python -m evaluation.section_lines`.

A message that can be understood by itself goes to each section that a reader found to answer it. Lines that are there
already are left alone, so that it can be run again with more labels.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from evaluation.natural_messages import ON_SECTIONS, read_messages

BASE = Path(__file__).parents[1] / "knowledge_base" / "schizophrenia"
LONGEST = 400
"""Characters of a message that becomes a line; longer ones tell many things."""
MOST = 10
"""Lines that one section gets in a language: a section with very many draws what is about nothing."""


def lines() -> Iterator[tuple[str, str, str]]:
    """The language, the section and the text of each line."""
    for one in read_messages(*ON_SECTIONS):
        text = " ".join(one.text.split())
        if not one.urgent and len(text) <= LONGEST and not one.said.get("lean", one.at > 0):
            for section in one.said["right"]:
                yield one.conversation.lang, section, text


def put_into(file: Path, wanted: dict[str, list[str]]) -> int:
    """Append lines to the sections of one file; how many were new. A section that the file lacks takes none."""
    rows, added = file.read_text(encoding="utf-8").rstrip("\n").split("\n"), 0
    there, section = set(rows), ""
    found: list[str] = []
    for row in [*rows, "## "]:
        if row.startswith("## "):
            while found and not found[-1]:
                found.pop()
            new = [line for text in dict.fromkeys(wanted.get(section, ())) if (line := f"- {text}") not in there]
            found += new
            added += len(new)
            section = row[3:].strip()
            found += [""] if section else []
        if row != "## ":
            found.append(row)
    file.write_text("\n".join(found).strip("\n") + "\n", encoding="utf-8")
    return added


def main() -> None:
    """Write the lines, and say how many were new in each language."""
    wanted: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for language, name, text in sorted(lines(), key=lambda one: hashlib.sha256(one[2].encode()).hexdigest()):
        source, _, section = name.partition("#")
        if len(wanted[language, source][section]) < MOST:
            wanted[language, source][section].append(text)
    added: dict[str, int] = defaultdict(int)
    for (language, source), sections in sorted(wanted.items()):
        file = BASE / "questions" / language / f"{source}.md"
        if file.exists():
            added[language] += put_into(file, sections)
    print(dict(added))


if __name__ == "__main__":
    main()

"""States in a translation of which words of its original it is one, so that what has grown old is seen.

Written where a translation has been made or gone over, never by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from engine import (
    DANGERS_FILE,
    TRANSLATIONS,
    KnowledgeBase,
    Source,
    danger_hash,
    read_text,
    read_translation,
    translation_hashes,
)

_OF = re.compile(r"^of:[ \t]*(?:\{[^}]*\})?[ \t]*\n(?:[ \t]+[^\n]*\n)*", re.M)
_ENTRY = re.compile(r"^([ \t]*)-[ \t]+id:[ \t]*[\"']?([a-z0-9_]+)[\"']?[ \t]*$", re.M)
_STATED = re.compile(r"^[ \t]+of:[^\n]*\n", re.M)


def renew(base: KnowledgeBase, language: str, ids: Iterable[str] = ()) -> tuple[Path, ...]:
    """State the originals as they are now, in all translations of a language or in those of some sources, and in the table
    of dangers where all are meant. Returns the files that have changed; raises KnowledgeBaseError for one that is none."""
    folder, chosen = base.folder / TRANSLATIONS / language, tuple(ids)
    changed = []
    for name in chosen or base.sources:
        path = folder / f"{name}.md"
        if path.is_file():
            read_translation(path)
            changed += _written(path, stamped(read_text(path), base.sources[name]))
    table = folder / DANGERS_FILE
    if not chosen and table.is_file():
        hashes = {name: danger_hash(one.entry) for name, one in base.dangers.entries.items()}
        changed += _written(table, _stamped_table(read_text(table), hashes))
    return tuple(changed)


def stamped(text: str, source: Source) -> str:
    """The text of a translated source with its `of` anew, at the end of the front matter."""
    hashes = translation_hashes(source)
    head, mark, body = text[4:].partition("\n---")
    stated = "".join(f'  {name}: "{value}"\n' for name, value in hashes.items())
    return f"---\n{_OF.sub('', head + chr(10))}of:\n{stated.rstrip()}{mark}{body}"


def _stamped_table(text: str, hashes: Mapping[str, str]) -> str:
    """The text of a translated table of dangers with each entry's `of` anew, below its id."""

    def stamp(match: re.Match[str]) -> str:
        value = hashes.get(match[2])
        return match[0] if value is None else f'{match[0]}\n{match[1]}  of: "{value}"'

    return _ENTRY.sub(stamp, _STATED.sub("", text))


def _written(path: Path, text: str) -> list[Path]:
    if read_text(path) == text:
        return []
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
    return [path]

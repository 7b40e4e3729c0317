"""Reads the lines of our own knowledge bases and texts, so that a start need not: `python -m evaluation.encoder_lines`.

To be run after lines were added; without it they are read when the search is first built, in some milliseconds each. Lines that
another encoder has read are read anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from engine import KnowledgeBase, SectionSearch, ServiceAnswers, TextEncoder, key_of, load_elsewhere

ROOT = Path(__file__).parents[1]
SAMPLE = 40
"""So many of the lines that are known are read again, to see whether it was this encoder that has read them."""
OUT = ROOT / "config" / "encoder"


def own_lines() -> Iterator[str]:
    """Every line by which a section or a subject of the service is found, and those about other subjects."""
    elsewhere = load_elsewhere(ROOT / "config" / "elsewhere")
    for folder in sorted((ROOT / "knowledge_base").iterdir()):
        knowledge = KnowledgeBase.load(folder)
        for language in knowledge.languages:
            edition = knowledge.edition(language)
            yield from (one.text for one in SectionSearch(knowledge=edition, questions=edition.lay_questions).texts())
    for lines in elsewhere.values():
        yield from lines
    for path in sorted((ROOT / "config" / "service").glob("*.md")):
        answers = ServiceAnswers.load(path)
        yield from (line for lines in answers.lines.values() for line in lines)
        yield from answers.offers.values()


def distinct_lines() -> list[str]:
    """Each of them once, in order."""
    return sorted(set(own_lines()))


def write_known(encoder: TextEncoder, out: Path, lines: Sequence[str]) -> tuple[int, int]:
    """Write what the encoder makes of our lines; how many there are, and how many of them it had to read."""
    read = len(encoder.known.of(lines)[1])
    keys = np.array([key_of(line) for line in lines], dtype=np.uint64)
    order = np.argsort(keys)
    rows = encoder.meanings(lines)
    np.save(out / "lines.npy", keys[order])
    np.save(out / "line_rows.npy", rows.whole[order])
    return len(lines), read


def has_read(encoder: TextEncoder, anew: TextEncoder, lines: Sequence[str]) -> bool:
    """Whether the lines that are known were read by this encoder and no other; `anew`: the same one, which knows none."""
    some = lines[:: len(lines) // SAMPLE]
    return bool((encoder.meanings(some).whole == anew.meanings(some).whole).all())


def main() -> None:
    """Write them and say how many there are."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--encoder", type=Path, default=OUT)
    folder = asked.parse_args().encoder
    encoder, anew = TextEncoder.load(folder), TextEncoder.load(folder, known=False)
    lines = distinct_lines()
    known, read = write_known(encoder if has_read(encoder, anew, lines) else anew, folder, lines)
    print(f"{known} lines, {read} of them read now")


if __name__ == "__main__":
    main()

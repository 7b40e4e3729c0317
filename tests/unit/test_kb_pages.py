"""Pages of the documentation that are written from the knowledge bases: they cannot say other than the sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.output import marks, write_part
from engine.exceptions import ConfigurationError
from engine.knowledge.base import KnowledgeBase
from kb_tools.coverage import measure_coverage
from kb_tools.coverage_report import PAGE_HEAD, coverage_page, figures_row
from kb_tools.fact_table import fact_page
from kb_tools.facts import Fact, facts_of
from kb_tools.figures import KnowledgeFigures
from tests.sources import HEAD, ROOT, SHIPPED, write
from tests.unit.test_kb_coverage import BASE, BySharedWords

DOCS = ROOT.parent / "docs"
AGAIN = "Run `make pages`."
REFERENCES = """references:
  - {title: Sheet, body: World Health Organization, year: 2025}
  - {title: Guideline, body: National Institute (NICE), year: 2014}
  - {title: Leaflet, body: National Institute (NICE), year: 2016}
  - {title: A study, body: The Lancet, year: 2010}
---
"""


def part(page: str, name: str) -> str:
    """What stands between the marks of that name."""
    first, last = marks(name)
    text = (DOCS / page).read_text(encoding="utf-8")
    assert text.count(first) == text.count(last) == 1
    return text.partition(f"{first}\n")[2].partition(f"\n{last}")[0]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_page_of_facts_says_what_the_sources_say(folder: Path) -> None:
    """Every figure of the shipped sources stands on the page, and no other."""
    written = fact_page(facts_of(KnowledgeBase.load(folder)), folder.name)
    assert part("facts.md", folder.name) == written, AGAIN


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_the_table_of_sources_says_what_there_is(folder: Path) -> None:
    """Words, grade, stakes and questions of each shipped source on the page are those of the source."""
    figures = KnowledgeFigures.of(KnowledgeBase.load(folder))
    lines = part("knowledge-base.md", folder.name).splitlines()
    assert lines[0].startswith(f"### {folder.name}: {len(figures.sources)} sources, "), AGAIN
    rows = [line for line in lines[2:] if line.startswith("| ") and line != PAGE_HEAD]
    assert len(rows) == len(figures.sources), AGAIN
    for row, one in zip(rows, figures.sources, strict=True):
        assert row.startswith(figures_row(one)), AGAIN


def facts(folder: Path, body: str, dangers: str = "") -> list[Fact]:
    write(folder, "causes.md", HEAD.replace("---\n", "", 2).join(("---\n", REFERENCES)) + body)
    if dangers:
        write(folder, "dangers.yaml", dangers)
    return list(facts_of(KnowledgeBase.load(folder)))


@pytest.mark.parametrize(
    ("sentence", "figure", "named"),
    [
        ("About 1 in 345 people have it (World Health Organization, 2025).", "1 in 345", ["Sheet"]),
        ("Half of them recover, says NICE (2016).", "half of", ["Leaflet"]),
        ("It takes 4 weeks, says NICE.", "4", ["Guideline", "Leaflet"]),
        ("It is 7 in 100 in a study (2010) and 10 in 100 for NICE (2014).", "7 in 100", ["Guideline", "A study"]),
        ("Wait for two or three nights.", "two or three nights", []),
        ("The main signs last one month.", "one month", []),
    ],
)
def test_a_fact_has_its_section_figure_and_reference(
    tmp_path: Path, sentence: str, figure: str, named: list[str]
) -> None:
    """A sentence with a number, a share or a span of time is a fact, with the reference whose body or year it names."""
    (found,) = facts(tmp_path, f"# Causes\n\nNothing.\n\n## How often\n\nBefore. {sentence} After.\n")
    assert (found.source, found.section, found.sentence, found.figure) == ("causes", "how_often", sentence, figure)
    assert [one.title for one in found.references] == named


@pytest.mark.parametrize("sentence", ["It began in 2025.", "One day it may help.", "The ICD-11 names it."])
def test_a_year_and_a_name_are_no_fact(tmp_path: Path, sentence: str) -> None:
    """A year, a name with a number and "one day" are not listed."""
    assert facts(tmp_path, sentence) == []


def test_only_the_part_of_its_name_is_written(tmp_path: Path) -> None:
    """What stands around the marks of a page stays, and a page without them is an error that says what to write."""
    page = write(tmp_path, "page.md", "Before.\n<!-- written: a -->\nold\n<!-- end: a -->\nAfter.\n")
    write_part(page, "a", "new | 1")
    assert page.read_text() == "Before.\n<!-- written: a -->\nnew | 1\n<!-- end: a -->\nAfter.\n"
    with pytest.raises(ConfigurationError, match="no part for 'b'") as failed:
        write_part(page, "b", "x")
    assert "<!-- written: b --> and <!-- end: b -->" in (failed.value.remedy or "")


def test_the_page_of_coverage_has_a_row_a_source() -> None:
    """A row has the figures of its source, then how many of its questions found it first and in the first three."""
    found = coverage_page(measure_coverage(BASE, BySharedWords, folds=2), KnowledgeFigures.of(BASE), "x")
    rows = [line for line in found.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0] for row in rows] == ["| beer", "| cider", "| lost", "| empty"]
    assert rows[2].endswith("|  | 2 | 0 | 0 |")

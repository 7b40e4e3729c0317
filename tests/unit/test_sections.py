"""Sections of sources: their ids, whom they are for and which questions they answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.knowledge.base import KnowledgeBase
from engine.knowledge.section import Audience, stretches
from engine.knowledge.source import Source, read_source
from tests.sources import SHIPPED, problems_of, source, write

HEAD = """---
id: causes
title: What causes it
summary: [causes]
sections:
  about:
    for: [self, relative]
  genes:
    for: [relative]
    questions: [is it in our family, will my child get it]
---
"""
BODY = "# Causes {#about}\n\nMany things.\n\n## Genes {#genes}\n\n[do not: count]\n\nIn part.\n\n### More\n\nTwins.\n"


def test_a_section_has_id_heading_text_audience_and_questions(tmp_path: Path) -> None:
    """Each heading opens a section; what the front matter lists for its id belongs to it, and its id is never shown."""
    read = source(tmp_path, BODY, head=HEAD)
    about, genes = read.sections
    assert (about.id, about.heading, about.text, about.questions) == ("about", "Causes", "Many things.", ())
    assert about.audience == (Audience.SELF, Audience.RELATIVE)
    assert (genes.id, genes.heading, genes.text) == ("genes", "Genes", "In part.\n\n### More\n\nTwins.")
    assert (genes.audience, genes.questions) == ((Audience.RELATIVE,), ("is it in our family", "will my child get it"))
    assert "{#" not in read.text
    assert [(one.heading, one.section) for one in read.passages] == [
        ("Causes", "about"),
        ("Genes", "genes"),
        ("More", "genes"),
    ]


def test_the_questions_of_a_source_are_those_of_all_its_sections(tmp_path: Path) -> None:
    """The search finds a source by its own questions and by those of every section, in order."""
    read = source(tmp_path, BODY, head=HEAD.replace("sections:", "questions: [why me]\nsections:"))
    assert read.questions == ("why me", "is it in our family", "will my child get it")


def test_a_source_without_listed_sections_has_them_all_the_same(tmp_path: Path) -> None:
    """Where nobody has written ids, they are made of the headings, each once, and a section may be for anybody."""
    path = write(
        tmp_path, "plain.md", "Hello.\n\n## Was ist das?\n\nText.\n\n## Was ist das?\n\nMore.\n\n## \n\nEnd.\n"
    )
    read, problems = read_source(path)
    assert problems == []
    assert read is not None
    assert [one.id for one in read.sections] == ["lead", "was_ist_das", "was_ist_das_2", "lead_2"]
    assert all(one.audience == tuple(Audience) for one in read.sections)


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("## Genes {#genes}", "## Genes", 16, "The heading has no id."),
        ("## Genes {#genes}", "## Genes {#jeans}", 16, "The section 'jeans' is not listed under sections."),
        ("### More", "## More {#genes}", 22, "The section 'genes' stands here a second time."),
        ("## Genes {#genes}\n", "\n", 8, "There is no heading with {#genes}."),
        ("Many things.\n", "[do not: count]\n", 12, "The section 'about' has no text."),
        ("for: [relative]", "for: [everybody]", 9, "Input should be 'self', 'relative' or 'professional'."),
        ("for: [relative]", "for: []", 9, "Tuple should have at least 1 item"),
        ("  genes:\n    for: [relative]\n", "  genes:\n", 8, "The key is missing."),
        (
            "  about:\n    for: [self, relative]\n",
            "  last: {for: [self]}\n",
            6,
            "There is no heading with {#last}.",
        ),
    ],
)
def test_sections_and_headings_must_agree(tmp_path: Path, old: str, new: str, line: int, problem: str) -> None:
    """An id that only one of the two has, an unknown audience and a missing one are named with file and line."""
    text = HEAD + BODY
    assert old in text
    found = problems_of(tmp_path, text.replace(old, new))
    assert any(here == line and said.startswith(problem) for here, said in found), found


def test_sections_stand_in_the_order_of_the_text(tmp_path: Path) -> None:
    """A list of sections in another order than the headings is named at the first that stands wrong."""
    about, genes = "  about:\n    for: [self, relative]\n", HEAD[HEAD.index("  genes") : HEAD.rindex("---")]
    text = HEAD.replace(about + genes, genes + about) + BODY
    assert problems_of(tmp_path, text) == [(6, "The section 'genes' stands in another place than in the text.")]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_section_is_listed_and_every_question_belongs_to_one(folder: Path) -> None:
    """In the shipped sources each question stands with the section that answers it, and each section says for whom."""
    for one in KnowledgeBase.load(folder).sources.values():
        listed = [question for section in one.sections for question in section.questions]
        assert listed == list(one.questions)
        assert [section.id for section in one.sections] == list(one.heads)


@given(st.text(alphabet="# \n{}ab-[]", max_size=80))
def test_dividing_a_text_loses_nothing(body: str) -> None:
    """Whatever the headings look like, every line that is no heading stands in exactly one stretch."""
    kept = "".join(one.body for one in stretches(body))
    lines = [line for line in body.split("\n") if line.strip() and not line.startswith(("# ", "## "))]
    assert [line for line in kept.split("\n") if line.strip()] == lines


def test_a_section_keeps_to_its_source(tmp_path: Path) -> None:
    """The texts of all sections together are the text of the source without its headings."""
    read: Source = source(tmp_path, BODY, head=HEAD)
    assert "\n\n".join(one.text for one in read.sections) == read.text.replace("# Causes\n\n", "").replace(
        "## Genes\n\n", ""
    )

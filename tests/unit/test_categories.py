"""Categories of a knowledge base: every source in exactly one, each with a title in every language."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from engine.exceptions import KnowledgeBaseError
from engine.knowledge.base import KnowledgeBase
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import lint
from tests.shelves import CATEGORIES, shelves
from tests.team import shipped_engine

ROOT = Path(__file__).resolve().parents[2]
LIMITS = LintLimits.load(ROOT / "config" / "kb_lint.yaml")


def said(folder: Path) -> list[str]:
    """What the linter says of the manifest, with its lines."""
    found = lint(folder, LIMITS, date(2026, 11, 20)).findings
    return [f"{one.line} {one.problem}" for one in found if one.file.name == "manifest.yaml"]


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("[voices, alcohol]", "[voices]", "4 The source 'alcohol' is in no category."),
        ("[sleep]", "[sleep, alcohol]", "10 The source 'alcohol' stands in 'nights' already."),
        ("[sleep]", "[sleep, dreams]", "7 There is no source 'dreams'."),
        ("id: days", "id: nights", "8 The category 'nights' stands here a second time."),
        (", de: Tage", "", "9 The category 'days' has no title in 'de'."),
        ("{en: Days, de: Tage}", "{de: Tage}", "9 The category 'days' has no title in 'en'."),
        ("en: Days", f"en: {'D' * 61}", "9 The title is longer than 60 characters."),
    ],
)
def test_what_is_missing_or_doubled_is_named_with_its_line(tmp_path: Path, old: str, new: str, finding: str) -> None:
    """One fault, one finding, at the line to mend; and such a knowledge base is not loaded."""
    shelves(tmp_path)
    assert said(tmp_path) == [] and KnowledgeBase.load(tmp_path).manifest.categories
    (tmp_path / "manifest.yaml").write_text(CATEGORIES.replace(old, new), encoding="utf-8")
    assert said(tmp_path) == [finding]
    with pytest.raises(KnowledgeBaseError):
        KnowledgeBase.load(tmp_path)


def test_an_id_that_no_button_carries_is_refused(tmp_path: Path) -> None:
    """A category's id is short and plain, so that its button holds it on every platform."""
    shelves(tmp_path)
    for wrong in ("Two words", "x" * 41):
        (tmp_path / "manifest.yaml").write_text(CATEGORIES.replace("id: days", f"id: {wrong}"), encoding="utf-8")
        with pytest.raises(KnowledgeBaseError) as error:
            KnowledgeBase.load(tmp_path)
        assert error.value.key == "categories.1.id" and error.value.line == 8


def test_a_source_that_cannot_be_read_is_not_called_missing(tmp_path: Path) -> None:
    """Its own fault is named; that the category names it is none."""
    shelves(tmp_path)
    path = tmp_path / "alcohol.md"
    path.write_text(path.read_text(encoding="utf-8").replace("summary:", "sumary:"), encoding="utf-8")
    assert said(tmp_path) == []


def test_the_linter_reads_the_questions_on_buttons_too(tmp_path: Path) -> None:
    """A section that is not there, and a second question for one button, are named with file and line."""
    path = shelves(tmp_path) / "questions" / "en" / "alcohol.md"
    text = path.read_text(encoding="utf-8").replace("## and_voices", "> Once more?\n## and_choices")
    path.write_text(text, encoding="utf-8")
    found = [one for one in lint(tmp_path, LIMITS, date(2026, 11, 20)).findings if one.file == path]
    assert [one.problem for one in found] == [
        "The section 'with_medicine' has a second question for its button.",
        "The source 'alcohol' has no section 'and_choices'.",
    ]
    assert [one.line for one in found] == [1 + text[: text.index(mark)].count("\n") for mark in ("> Once", "## and_ch")]


@pytest.mark.parametrize(("name", "least", "most"), [("schizophrenia", 10, 12), ("sleep", 3, 3)])
def test_the_shipped_categories_are_few_and_in_five_languages(name: str, least: int, most: int) -> None:
    """Each category is one page of titles, and everybody reads them in their language."""
    categories = KnowledgeBase.load(ROOT / "knowledge_base" / name).manifest.categories
    assert least <= len(categories) <= most
    assert all(set(one.titles) == {"en", "de", "es", "fr", "nb"} and len(one.sources) <= 8 for one in categories)


def test_a_reserved_section_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    """A manifest that reserves a section which no source has is refused, at the line to mend."""
    shelves(tmp_path)
    manifest = tmp_path / "manifest.yaml"
    lines = CATEGORIES.count("\n") + 2
    manifest.write_text(f"{CATEGORIES}\nreserved:\n- voices/nowhere\n", encoding="utf-8")
    (finding,) = said(tmp_path)
    assert finding.endswith("There is no section 'voices/nowhere'.") and int(finding.split()[0]) >= lines
    with pytest.raises(KnowledgeBaseError):
        KnowledgeBase.load(tmp_path)


async def test_what_is_reserved_is_offered_only_where_it_is_asked_for() -> None:
    """A song gets no button that asks whether people with schizophrenia are dangerous; who asks that gets the text."""
    engine = shipped_engine()
    sung = await engine.respond(
        engine.start(),
        "doing Folsom Prison Blues at the clubhouse friday and im the one who shot a man in reno just to watch him die lol."
        " first time singing in front of people since 2009",
    )
    asked = await engine.respond(engine.start(), "are people with schizophrenia dangerous?")
    named = {(one.source, one.section) for one in asked.offers} | {(one, "") for one in asked.reply.citations}
    assert "myth_dangerous_people" not in {one.section for one in sung.offers}
    assert "myths" in {source for source, _ in named}

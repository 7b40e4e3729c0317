"""Files of lay questions: what is read of them, every fault with its line, and what is said of thin ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.settings import CafiSettings
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.lay_questions import SectionQuestions, languages_of, lay_question_faults, read_lay_questions
from engine.knowledge.source import Source
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.lay_checks import thin_questions
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import lint
from tests.sources import SHIPPED, source, write
from tests.team import shipped
from tests.unit.test_kb_lint import LIMITS, TODAY

HEAD = """---
id: causes
title: What causes it
summary: [causes]
sections:
  about:
    for: [self]
  genes:
    for: [relative]
---
"""
BODY = "# Causes {#about}\n\nMany things.\n\n## Genes {#genes}\n\nIn part.\n"
GOOD = "# Ursachen\n## about\n> Woran liegt es?\n- warum ich\n- wieso grad ich\n\n## genes\n> Ist es erblich?\n- und mein kind\n"


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Source]:
    """One source with two sections, in the folder of the test."""
    return {"causes": source(tmp_path, BODY, head=HEAD)}


def asked(folder: Path, text: str | bytes, name: str = "de/causes.md") -> Path:
    """A file of lay questions."""
    return write(folder, f"questions/{name}", text)


def faults(folder: Path, sources: dict[str, Source]) -> list[tuple[str, int | None, str]]:
    """File, line and words of every fault, in all languages."""
    return [(Path(str(one.file)).name, one.line, one.problem) for one in lay_question_faults(folder, sources)]


def test_a_file_gives_each_section_its_button_and_its_lines(tmp_path: Path, sources: dict[str, Source]) -> None:
    """The title in that language, the question on the button and the lines are read by section, with where they stand."""
    asked(tmp_path, GOOD.replace("\n", "\r\n"))
    read, problems = read_lay_questions(tmp_path, "de", sources)
    assert problems == []
    assert read.titles == {"causes": "Ursachen"}
    about, genes = read.of("causes", "about"), read.of("causes", "genes")
    assert (about.offer, about.lines, about.place) == ("Woran liegt es?", ("warum ich", "wieso grad ich"), 2)
    assert (genes.offer, genes.lines, genes.place) == ("Ist es erblich?", ("und mein kind",), 7)
    assert read.of("causes", "elsewhere") == SectionQuestions()
    assert read.of("causes", "elsewhere").lines == ()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("- why me\n## about\n", 1, "This question names no section."),
        ("# Causes\n> Why me?\n## about\n", 2, "This question names no section."),
        ("## about\n- a\n\n## fate\n- b\n", 4, "The source 'causes' has no section 'fate'."),
        ("## about\n- a\n## about\n- b\n", 3, "The section 'about' stands here a second time."),
        ("## about\n> One?\n> Two?\n", 3, "The section 'about' has a second question for its button."),
        (f"## about\n> {'x' * 71}\n", 2, "The question on a button is longer than 70 characters."),
        ("## about\nwhy me\n", 2, "This is no line of a question file."),
        ("## about\n-\n", 2, "This is no line of a question file."),
        (b"## about\n- caf\xe9\n", 2, "The file is not UTF-8."),
    ],
)
@pytest.mark.parametrize("language", ["de", "en"])
def test_a_fault_of_a_file_is_found_with_its_line(
    tmp_path: Path, sources: dict[str, Source], text: str | bytes, line: int, said: str, language: str
) -> None:
    """One fault gives one problem, in whichever language it stands."""
    asked(tmp_path, GOOD, "fr/causes.md")
    asked(tmp_path, text, f"{language}/causes.md")
    assert faults(tmp_path, sources) == [("causes.md", line, said)]


def test_every_fault_is_listed_and_the_rest_is_read(tmp_path: Path, sources: dict[str, Source]) -> None:
    """A bad line is left out and named; what stands around it is kept."""
    asked(tmp_path, "- lost\n## fate\n- of no section\n> Nor this?\n## about\n- why me\nhm\n- why not you\n")
    read, problems = read_lay_questions(tmp_path, "de", sources)
    assert [one.line for one in problems] == [1, 2, 7]
    ((section, asked_there),) = read.sections.items()
    assert section == ("causes", "about")
    assert (asked_there.offer, asked_there.lines, asked_there.place) == ("", ("why me", "why not you"), 5)


def test_a_file_belongs_to_a_source_and_to_a_language(tmp_path: Path, sources: dict[str, Source]) -> None:
    """A file named after no source, one that is a link and one outside the languages' folders are faults on line 1."""
    asked(tmp_path, GOOD, "de/cause.md")
    asked(tmp_path, GOOD, "causes.md")
    asked(tmp_path, "What these are.\n", "README.md")
    (tmp_path / "questions" / "de" / "causes.md").symlink_to(tmp_path / "causes.md")
    assert faults(tmp_path, sources) == [
        ("causes.md", 1, "The questions are in no language."),
        ("cause.md", 1, "There is no source 'cause'."),
        ("causes.md", 1, "'causes.md' is a link or no plain file."),
    ]


def test_a_source_that_cannot_be_read_is_not_said_to_be_missing(tmp_path: Path) -> None:
    """Where the source's own file is there and at fault, its lay questions are not."""
    write(tmp_path, "causes.md", "---\nid: [\n---\nText.\n")
    asked(tmp_path, GOOD)
    assert faults(tmp_path, {}) == []


def thin(folder: Path, **limits: int) -> list[LintFinding]:
    """What the linter says of lay questions, with a knowledge base in German."""
    write(folder, "manifest.yaml", "name: kb\ntitle: Kb\nlanguage: de-AT\n")
    used = LintLimits.model_validate({**LIMITS.model_dump(), **limits})
    return list(thin_questions(KnowledgeBase.load(folder), used))


def test_thin_sections_are_warned_of_in_the_own_language(tmp_path: Path, sources: dict[str, Source]) -> None:
    """Too few lines count in the language of the sources alone; the warning names the section's line."""
    asked(tmp_path, GOOD)
    asked(tmp_path, GOOD, "fr/causes.md")
    (found,) = thin(tmp_path, lay_lines=2)
    assert (found.check, found.severity, found.line) == ("lay", Severity.WARNING, 7)
    assert found.file == tmp_path / "questions" / "de" / "causes.md"
    assert found.problem == "The section 'genes' has 1 lay questions, fewer than 2."


def test_each_section_has_a_button_in_each_language(tmp_path: Path, sources: dict[str, Source]) -> None:
    """In a language that has a folder, a section without a question for its button is warned of, and a missing file once."""
    asked(tmp_path, GOOD)
    asked(tmp_path, "# Les causes\n## about\n- pourquoi moi\n", "fr/causes.md")
    write(tmp_path, "other.md", HEAD.replace("id: causes", "id: other") + BODY)
    found = thin(tmp_path, lay_lines=1)
    assert [(one.file.relative_to(tmp_path).as_posix(), one.line, one.problem) for one in found] == [
        ("other.md", 1, "The source has no lay questions in 'de'."),
        ("questions/fr/causes.md", 2, "The section 'about' has no question for its button."),
        ("questions/fr/causes.md", 1, "The section 'genes' has no question for its button."),
        ("other.md", 1, "The source has no lay questions in 'fr'."),
    ]


def test_lay_questions_in_other_languages_alone_are_warned_of(tmp_path: Path, sources: dict[str, Source]) -> None:
    """A knowledge base whose lay questions are all in other languages than its own has none to be found by."""
    asked(tmp_path, GOOD, "fr/causes.md")
    (found,) = thin(tmp_path)
    assert found.problem == "The source has no lay questions in 'de'."


def test_the_linter_reports_faults_as_errors_and_says_no_more_of_that_file(
    tmp_path: Path, sources: dict[str, Source]
) -> None:
    """A fault of lay questions is an error that names file and line; thinness of the same file is not added."""
    path = asked(tmp_path, "## about\n- a\n## fate\n", "en/causes.md")
    found = [one for one in lint(tmp_path, LIMITS, TODAY).findings if one.file == path]
    assert [(one.severity, one.line, one.check) for one in found] == [(Severity.ERROR, 3, "reading")]


def test_a_base_without_lay_questions_is_not_warned_of(tmp_path: Path, sources: dict[str, Source]) -> None:
    """Lay questions are no duty: without the folder nothing is said."""
    assert languages_of(tmp_path) == ()
    assert (faults(tmp_path, sources), thin(tmp_path)) == ([], [])


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda one: one.name)
def test_what_is_shipped_is_faultless(folder: Path) -> None:
    """Every lay question that CAFI comes with stands under a section that is there, and no section is thin."""
    base = KnowledgeBase.load(folder)
    assert lay_question_faults(folder, base.sources) == []
    assert list(thin_questions(base, LIMITS)) == []


async def test_a_bot_starts_without_lay_questions(tmp_path: Path, sources: dict[str, Source]) -> None:
    """A knowledge base without the folder `questions` loads, and its sections are found by their own words."""
    settings = CafiSettings().model_copy(update={"agents": "builtin", "knowledge_base": tmp_path})
    engine = shipped(settings).engine
    turn = await engine.respond(engine.start(), "What causes it? Is it genes?")
    assert turn.reply.text
    assert turn.reply.citations == ("causes",) or "causes" in {one.source for one in turn.offers}

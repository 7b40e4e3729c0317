"""The table of dangers: one entry, the same words wherever a source includes it."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
import yaml

from engine.exceptions import KnowledgeBaseError
from engine.knowledge.base import KnowledgeBase, scan_knowledge
from engine.knowledge.dangers import HowFast, read_dangers
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import lint
from kb_tools.source_view import source_lines
from tests.sources import HEAD, ROOT, SHIPPED, problems_of, write

LIMITS = LintLimits.load(ROOT.parent / "config" / "kb_lint.yaml")
TABLE = """words: {emergency: "Now:", same_day: "Today:", this_week: "Soon:", say: "Say:"}
dangers:
  - id: fit
    name: Seizure (fit)
    how_fast: emergency
    signs: [the body jerks, the person does not answer]
    do: [Call your local emergency services., Hold nobody down.]
    say: Somebody has a fit.
    authority: {title: Epilepsy, body: WHO, year: 2024}
  - id: sugar
    name: High blood sugar
    how_fast: same_day
    signs: [great thirst]
    do: [Call your doctor.]
    say: I am very thirsty.
    authority: {title: Diabetes, body: WHO, year: 2024}
"""
FIT = """**Seizure (fit).** Now:

- the body jerks
- the person does not answer

Call your local emergency services. Hold nobody down.

Say: “Somebody has a fit.”"""
BODY = "# Causes\n\nBefore.\n\n[danger: fit]\n\nAfter.\n\n## Sugar\n\n[danger: sugar]\n"


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder with no other knowledge base beside it."""
    return tmp_path / "folders" / "one"


def base(folder: Path, body: str = BODY, table: str = TABLE) -> KnowledgeBase:
    write(folder, "causes.md", HEAD + body)
    write(folder, "dangers.yaml", table)
    return KnowledgeBase.load(folder)


def findings(folder: Path) -> list[tuple[str, int, str]]:
    report = lint(folder, LIMITS, date(2026, 11, 22))
    return [(one.file.name, one.line, one.problem) for one in report.findings if one.check in {"danger", "reading"}]


def test_a_danger_stands_in_the_words_of_its_entry(tmp_path: Path) -> None:
    """Where a source includes a danger, readers, agent and judges see name, urgency, signs, what to do and to say."""
    read = base(tmp_path).sources["causes"]
    assert FIT in read.text
    assert read.text.startswith(f"# Causes\n\nBefore.\n\n{FIT}\n\nAfter.\n\n## Sugar\n\n**High blood sugar.** Today:")
    assert "danger:" not in read.text
    assert read.prose == "# Causes\n\nBefore.\n\nAfter.\n\n## Sugar"


def test_a_danger_is_one_passage_that_the_code_knows(tmp_path: Path) -> None:
    """A danger block is quoted whole, and passage, section and source all say which entry it is."""
    read = base(tmp_path).sources["causes"]
    assert [(one.text, one.danger) for one in read.passages[:3]] == [("Before.", None), (FIT, "fit"), ("After.", None)]
    assert [one.dangers for one in read.sections] == [("fit",), ("sugar",)]
    assert [(one.id, one.entry.how_fast) for one in read.dangers] == [
        ("fit", HowFast.EMERGENCY),
        ("sugar", HowFast.SAME_DAY),
    ]


def test_a_danger_has_the_same_words_in_every_source(tmp_path: Path) -> None:
    """Two sources that include one entry show one and the same block, also beside other directives."""
    write(
        tmp_path,
        "other.md",
        HEAD.replace("id: causes", "id: other") + "[danger: sugar]\n  [Danger:  fit]\n[more in: causes]\n",
    )
    sources = base(tmp_path).sources
    assert sources["other"].text == f"{sources['other'].dangers[0].text}\n\n{FIT}"
    assert [one.danger for one in sources["other"].passages] == ["sugar", "fit"]


def test_a_change_of_an_entry_changes_every_source_that_includes_it(tmp_path: Path) -> None:
    """Whoever keeps answers by a source's hash sees that a danger in it has new words."""
    before = base(tmp_path).sources["causes"].content_hash
    assert (
        base(tmp_path, table=TABLE.replace("the body jerks", "the body shakes")).sources["causes"].content_hash
        != before
    )


def test_nobody_is_asked_before_a_danger_is_told(tmp_path: Path) -> None:
    """`ask before presenting` does not hold back a danger; it holds for the passage after it."""
    body = "One.\n\n[ask before presenting: figures]\n\n[danger: fit]\n\nHalf of them.\n\nThree. \n\n[danger: sugar]\n"
    passages = base(tmp_path, body).sources["causes"].passages
    assert [(one.danger, one.ask) for one in passages] == [
        (None, None),
        ("fit", None),
        (None, "figures"),
        (None, None),
        ("sugar", None),
    ]


@pytest.mark.parametrize(
    ("old", "new", "line", "problem"),
    [
        ("how_fast: same_day", "how_fast: later", 12, "Input should be 'emergency', 'same_day' or 'this_week'."),
        ("signs: [great thirst]", "signs: []", 13, "Tuple should have at least 1 item"),
        ("say: I am very thirsty.", "say: ''", 15, "String should match pattern"),
        ("year: 2024}\n  - id: sugar", "year: soon}\n  - id: sugar", 9, "Input should be a valid integer"),
        ("great thirst", "'great [more in: causes] thirst'", 13, "String should match pattern"),
        ("    do: [Call your doctor.]\n", "", 10, "The key is missing."),
        ("how_fast: same_day", "how_fast: same_day\n    first: [2]", 10, "Value error, there are 1 steps in 'do'"),
        ("id: sugar", "id: fit", 10, "The danger 'fit' stands in line 3 already."),
        ("dangers:", "dangers: [", 3, "Not valid YAML."),
    ],
)
def test_a_faulty_table_names_its_line(tmp_path: Path, old: str, new: str, line: int, problem: str) -> None:
    """A wrong threshold, an empty list, a missing key and an id used twice are named with file and line."""
    assert old in TABLE
    write(tmp_path, "causes.md", HEAD + BODY)
    path = write(tmp_path, "dangers.yaml", TABLE.replace(old, new))
    found = scan_knowledge(tmp_path)[1]
    assert (found[0].file, found[0].line) == (path, line)
    assert found[0].problem.startswith(problem)


def test_an_unknown_danger_is_an_error_at_its_line(tmp_path: Path) -> None:
    """A directive that names no entry keeps the knowledge base from loading, so that no emergency is lost silently."""
    with pytest.raises(KnowledgeBaseError, match=r"causes\.md:9: There is no danger 'fits' in .*dangers\.yaml"):
        base(tmp_path, "Text.\n\n[danger: fits]\n")


@pytest.mark.parametrize(
    "body", ["Text [danger: fit] more.\n", "- [danger: fit]\n", "One.\n[danger: fit] [more in: a]\n"]
)
def test_a_danger_needs_a_line_of_its_own(tmp_path: Path, body: str) -> None:
    """In the middle of a sentence a whole block of words has no place."""
    assert "A danger stands on a line of its own." in [said for _, said in problems_of(tmp_path, HEAD + body)]


def test_what_is_shown_to_authors_sets_dangers_apart(tmp_path: Path) -> None:
    """`kb show` draws a line down the side of each danger and of nothing else, and names the id of each section."""
    made = base(tmp_path)
    lines = "\n".join(source_lines(made, made.sources["causes"])).split("\n")
    apart = [line[2:] for line in lines if line.startswith("│ ")]
    assert "\n".join(apart).startswith(FIT) and "Before." in lines and "After." in lines
    assert any(line.startswith("  {#sugar} Sugar") and "dangers: sugar" in line for line in lines)


def test_an_entry_that_no_source_includes_is_an_error(tmp_path: Path) -> None:
    """A danger that nobody would ever be told is named with the line of its entry."""
    base(tmp_path, BODY.replace("[danger: sugar]", "Sweet."))
    assert findings(tmp_path) == [("dangers.yaml", 10, "No source includes the danger 'sugar'.")]


def test_emergencies_come_first_in_a_source_given_in_parts(tmp_path: Path) -> None:
    """Who stops after the first part has seen every emergency; what can wait until the same day may come later."""
    calm = "# C\n\n[present in 2 parts]\n\nLead.\n\n## Calm\n\nText.\n\n"
    first = (
        "# C\n\n[present in 2 parts]\n\n## Now\n\n[danger: fit]\n\n## Calm\n\nText.\n\n## Sweet\n\n[danger: sugar]\n"
    )
    base(tmp_path, first)
    assert findings(tmp_path) == []
    base(tmp_path, calm + "## Now\n\n[danger: fit]\n\n[danger: sugar]\n")
    said = "The emergency 'fit' stands behind the section 'Calm', which has none."
    assert findings(tmp_path) == [("causes.md", 19, said)]
    base(tmp_path, calm.replace("[present in 2 parts]", "") + "## Now\n\n[danger: fit]\n\n[danger: sugar]\n")
    assert findings(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new"), [("same_day\n", "this_week\n"), ("great thirst", "thirst"), ('"Today:"', '"Soon:"')]
)
def test_one_danger_has_one_threshold_in_all_knowledge_bases(tmp_path: Path, old: str, new: str) -> None:
    """The same id with other words or another threshold in a knowledge base beside this one is an error."""
    base(tmp_path)
    base(tmp_path.parent / "two", table=TABLE)
    assert findings(tmp_path.parent / "two") == []
    base(tmp_path.parent / "two", table=TABLE.replace(old, new))
    (found,) = findings(tmp_path.parent / "two")
    assert found[:2] == ("dangers.yaml", 10)
    assert "The danger 'sugar' differs from the one at " in found[2]
    write(tmp_path.parent / "two", "manifest.yaml", "name: two\ntitle: Two\nlanguage: de\n")
    assert findings(tmp_path.parent / "two") == []


def test_the_words_of_dangers_do_not_lengthen_a_source(tmp_path: Path) -> None:
    """What the author of a source cannot change counts neither for its length nor for its reading grade."""
    long = TABLE.replace("great thirst", "extraordinarily uncontrollable thirstiness " * 300)
    write(tmp_path, "causes.md", HEAD + BODY)
    before = lint(tmp_path, LIMITS, date(2026, 11, 22)).grade
    base(tmp_path, table=long)
    report = lint(tmp_path, LIMITS, date(2026, 11, 22))
    assert report.grade == before
    assert [one.line for one in report.findings if "reading grade of 'sugar'" in one.problem] == [10]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_danger_is_complete_and_says_whom_to_call(folder: Path) -> None:
    """Each shipped entry has an authority, and each emergency names in its first steps where to get help."""
    table, problems = read_dangers(folder)
    assert problems == []
    assert table.entries
    for one in table.entries.values():
        assert one.entry.authority.year <= 2026
        said = " ".join(one.entry.do).casefold()
        assert any(word in said for word in ("call", "go to an emergency department", "get a blood test")), one.id


def test_shipped_tables_are_equal_byte_for_byte() -> None:
    """The text of an entry in one shipped table is the text of the entry of that id in every other."""
    texts: dict[str, str] = {}
    for folder in SHIPPED:
        for entry in yaml.safe_load((folder / "dangers.yaml").read_text(encoding="utf-8"))["dangers"]:
            written = yaml.safe_dump(entry, sort_keys=False)
            assert texts.setdefault(entry["id"], written) == written

"""Signs of dangers are left to the table: what prose may not say of them beside a call for help."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from kb_tools.lint.finding import Severity
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import lint
from tests.sources import HEAD, ROOT, write

LIMITS = LintLimits.load(ROOT.parent / "config" / "kb_lint.yaml")
ERROR, WARNING = Severity.ERROR, Severity.WARNING
TABLE = """words:
  emergency: "Get emergency help now if you see any one of these:"
  same_day: "Get help today if you see any one of these:"
  this_week: "Get help this week if you see any one of these:"
  say: "Say:"
dangers:
  - id: heart
    name: Trouble with the heart
    how_fast: emergency
    signs: [chest pain, blue or grey lips]
    do: [Call your local emergency services.]
    say: My chest hurts.
    authority: {title: First aid, body: WHO, year: 2024}
  - id: sugar
    name: High blood sugar
    how_fast: same_day
    signs: [great thirst for many hours]
    do: [Short of breath too? Call your doctor or nurse.]
    say: I am very thirsty.
    authority: {title: Diabetes, body: WHO, year: 2024}
"""
INCLUDED = "\n\n## All {#all}\n\n[danger: heart]\n\n[danger: sugar]\n"


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder with no other knowledge base beside it."""
    return tmp_path / "folders" / "one"


def findings(folder: Path, body: str, table: str = TABLE, **more: str) -> list[tuple[Severity, str, int, str]]:
    """What is said of dangers; the body of the source begins on line 7."""
    write(folder, "causes.md", HEAD + body + INCLUDED)
    write(folder, "dangers.yaml", table)
    for name, text in more.items():
        write(folder, f"{name}.yaml", text)
    report = lint(folder, LIMITS, date(2026, 11, 22))
    return [(one.severity, one.file.name, one.line, one.problem) for one in report.findings if one.check == "danger"]


@pytest.mark.parametrize(
    "prose",
    [
        "Call a nurse if you have pain in the chest.",
        "Chest pains are no joke. Get help.",
        "Get medical help for:\n\n- a cold\n- a cough\n- chest pain",
        "Has your friend grey lips? Please call the emergency services.",
    ],
)
def test_a_sign_with_a_call_for_help_is_left_to_the_table(tmp_path: Path, prose: str) -> None:
    """Prose that calls for help at a sign, in whatever order of words, is warned of where the entry is not included."""
    (found,) = findings(tmp_path, prose)
    assert found[:2] == (WARNING, "causes.md")
    assert found[2] == 7 + prose.rstrip().count("\n")
    assert "names a sign of 'heart'" in found[3]
    assert findings(tmp_path, f"{prose}\n\n[danger: heart]\n") == []


@pytest.mark.parametrize(
    "prose",
    [
        "Chest pain has many causes. Most of them are harmless.",
        "Pain in the back? Call your doctor.",
        "The chest of a runner is strong. Doctors call it fitness.",
        "Short breath and a heavy chest are common.",
        "Call your doctor with questions.\n\n## Sports {#sports}\n\nChest pain has many causes.",
    ],
)
def test_no_sign_or_no_call_is_no_fault(tmp_path: Path, prose: str) -> None:
    """A sign without a call for help, a call without a sign, and both in two sections are nobody's business."""
    assert findings(tmp_path, prose) == []


@pytest.mark.parametrize(
    ("prose", "severity"),
    [
        ("Call your doctor this week if you have chest pain.", ERROR),
        ("You have chest pain. Call your doctor today.", ERROR),
        ("Great thirst for hours is an emergency. Call your doctor.", WARNING),
        ("Great thirst for hours? Get emergency help.", ERROR),
        ("Great thirst for hours? Get help today.", WARNING),
    ],
)
def test_another_threshold_than_that_of_the_entry_is_an_error(tmp_path: Path, prose: str, severity: Severity) -> None:
    """A call that says by when in the words of another threshold is an error; in its own words, or none, a warning."""
    (found,) = findings(tmp_path, prose)
    assert found[0] is severity
    assert ("beside another threshold than" in found[3]) == (severity is ERROR)


def test_words_that_many_sources_use_tell_no_sign(tmp_path: Path) -> None:
    """What stands all over a knowledge base is no telling word, so that a sign of such words is not looked for."""
    prose = "Call a nurse if you have pain in the chest."
    for number in range(6):
        other = HEAD.replace("id: causes", f"id: other_{number}") + "The chest is strong."
        write(tmp_path, f"other_{number}.md", other)
    assert findings(tmp_path, prose) == []


def test_prose_in_another_language_is_not_read(tmp_path: Path) -> None:
    """Words are told from others by English stems, so that other languages are left alone."""
    prose = "Call a nurse if you have pain in the chest."
    german = "name: one\ntitle: One\nlanguage: de\n"
    assert findings(tmp_path, prose, manifest=german) == []


@pytest.mark.parametrize(
    ("sign", "faults"),
    [
        ("pain of the chest", 1),
        ("Blue, or grey, lips", 1),
        ("chest pain after a meal", 0),
        ("no pain", 0),
    ],
)
def test_one_sign_has_one_threshold(tmp_path: Path, sign: str, faults: int) -> None:
    """A sign that two entries give, in nearly the same words, with two thresholds is an error that names both lines."""
    found = findings(tmp_path, "Text.", TABLE.replace("[great thirst for many hours]", f'["{sign}"]'))
    assert [one[:3] for one in found] == [(ERROR, "dangers.yaml", 14)] * faults
    assert all("same_day here and emergency in line 7" in one[3] for one in found)
    both = TABLE.replace("[great thirst for many hours]", f'["{sign}"]').replace("same_day\n", "emergency\n")
    assert findings(tmp_path, "Text.", both) == []


def test_signs_with_other_numbers_are_two(tmp_path: Path) -> None:
    """A gap of one day and a gap of two may have two thresholds."""
    table = TABLE.replace("chest pain,", "48 hours without a dose,")
    other = table.replace("[great thirst for many hours]", "[24 hours without a dose]")
    assert findings(tmp_path, "Text.", other) == []
    assert len(findings(tmp_path, "Text.", other.replace("24 hours", "48 hours"))) == 1

"""The linter on knowledge bases with planted faults: each is found, with its line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from engine import reviewed_on
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import LintReport, lint
from kb_tools.lint.prose_checks import figure_in

ROOT = Path(__file__).resolve().parents[2]
LIMITS = LintLimits.load(ROOT / "config" / "kb_lint.yaml")
TODAY = date(2026, 11, 20)
ERROR, WARNING = Severity.ERROR, Severity.WARNING

QUESTIONS = (
    "why cant i nod off",
    "my son is up all night long",
    "does coffee matter much",
    "how many hours do grown ups need",
    "are naps ok for me",
    "i woke at four again",
    "will pills knock me out",
    "what if my head races",
)
PROSE = "Sleep is good for you. A dark room helps. Go to bed at the same time each day. "


def text_of(
    name: str = "sleep",
    *,
    title: str = "Night rest",
    questions: tuple[str, ...] = QUESTIONS,
    references: str = "references:\n  - {title: Sleep, body: NHS (United Kingdom), year: 2023}\n",
    reviewed: str = "none",
    stakes: str = "normal",
    body: str = PROSE * 15,
) -> str:
    """A source without a fault, or with the one that is given; its body begins on line 19 with eight questions."""
    asked = "questions:\n" + "".join(f"  - {one}\n" for one in questions) if questions else "questions: []\n"
    return (
        f"---\nid: {name}\ntitle: {title}\nsummary: [rest]\n{asked}{references}"
        f"reviewed: {reviewed}\nstakes: {stakes}\n---\n{body}\n"
    )


def linted(folder: Path, **files: str) -> LintReport:
    """The report on a folder with those files; a name with two underscores is in a folder below."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ("" if "__" in name or name == "manifest" else ".md"))
        path = path.with_suffix(".yaml") if name == "manifest" or name == "media__media" else path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return lint(folder, LIMITS, TODAY)


def only(report: LintReport) -> LintFinding:
    (found,) = report.findings
    return found


def test_a_good_source_has_no_finding(tmp_path: Path) -> None:
    """A source without a fault gives no finding, and that nobody has reviewed it is counted only."""
    report = linted(tmp_path, sleep=text_of())
    assert report.findings == ()
    assert (report.sources, report.unreviewed, report.errors, report.warnings) == (1, 1, 0, 0)
    assert report.grade is not None and report.grade < 8


BODY = 19
LONG_WORDS = "Pharmacological interventions necessitate comprehensive multidisciplinary consideration. "


@pytest.mark.parametrize(
    ("changes", "check", "severity", "line", "said"),
    [
        ({"body": PROSE * 14 + "\n[sing: loudly]"}, "reading", ERROR, BODY + 1, "Unknown directive"),
        ({"body": PROSE * 14 + "\n[do not: shout"}, "reading", ERROR, BODY + 1, "no partner"),
        ({"body": PROSE * 14 + "\n[more in: nowhere]"}, "reading", ERROR, BODY + 1, "no source 'nowhere'"),
        ({"body": PROSE * 14 + "\n[show: a.png | A]"}, "reading", ERROR, BODY + 1, "'a.png' is not in"),
        ({"body": PROSE * 14 + "\n[more in: sleep]"}, "link", WARNING, BODY + 1, "points to itself"),
        ({"body": PROSE * 14 + "\n\nSee [here](gone.md)."}, "link", ERROR, BODY + 2, "'gone.md', which does not exist"),
        ({"body": PROSE * 14 + "\n\n![](https://a.org/x.png) Look."}, "media", ERROR, BODY + 2, "no text alternative"),
        ({"body": PROSE * 5}, "length", WARNING, BODY, "90 words, not 200 to 600"),
        ({"body": PROSE * 40}, "length", WARNING, BODY, "720 words"),
        ({"body": PROSE * 14 + "\n\nThis is why it helps."}, "opening", WARNING, BODY + 2, "'This'"),
        ({"body": PROSE * 14 + "\n\nThey help."}, "opening", WARNING, BODY + 2, "'They'"),
        ({"body": PROSE * 14 + "\n\nRest.\n\n- Some nap.\n- About 30% nap."}, "figure", WARNING, BODY + 5, "'30'"),
        ({"body": PROSE * 14 + "\nGood.\nOne in five people nap."}, "figure", WARNING, BODY + 2, "'one in five'"),
        ({"questions": QUESTIONS[:7]}, "questions", ERROR, 5, "7 questions, not 8 to 40"),
        ({"questions": ()}, "questions", ERROR, 5, "0 questions"),
        ({"questions": (*QUESTIONS[:7], QUESTIONS[0])}, "duplicate", ERROR, 13, "stands at sleep.md:6 already"),
        (
            {"questions": (*QUESTIONS[:7], "go to bed at the same time")},
            "copied",
            WARNING,
            13,
            "'bed at the same time'",
        ),
        ({"questions": (*QUESTIONS[:7], "night rest")}, "copied", WARNING, 13, "'night rest'"),
        ({"reviewed": '"Dr. A, 2023-05-01"'}, "review", WARNING, 16, "2023-05-01 is older than 730 days"),
        ({"reviewed": "Dr. A"}, "review", WARNING, 16, "no date"),
        ({"reviewed": '"Dr. A, 2029-01-01"'}, "review", WARNING, 16, "still to come"),
        ({"references": "references: []\n\n"}, "references", WARNING, 14, "names no reference"),
        ({"references": "references: []\n\n", "stakes": "high"}, "references", ERROR, 14, "names no reference"),
        ({"references": "references:\n  - {title: S, body: NHS, year: 2027}\n"}, "references", WARNING, 15, "2027"),
    ],
)
def test_a_planted_fault_is_found_with_its_line(
    tmp_path: Path, changes: dict[str, str], check: str, severity: Severity, line: int, said: str
) -> None:
    """One fault gives one finding, with check, severity, file and line."""
    found = only(linted(tmp_path, sleep=text_of(**changes)))
    assert (found.check, found.severity, found.file.name, found.line) == (check, severity, "sleep.md", line)
    assert said in str(found)


def test_every_wrong_key_of_a_head_is_named(tmp_path: Path) -> None:
    """Missing and unknown keys and a reference without a year are each named with their line."""
    head = (
        "---\nid: sleep\ncolour: red\nsummary: [s]\nreferences:\n  - {title: T, body: NHS}\nstakes: low\n---\nText.\n"
    )
    errors = {(one.line, one.key) for one in linted(tmp_path, sleep=head).findings if one.check == "reading"}
    assert errors == {(2, "title"), (3, "colour"), (6, "references.0.year"), (7, "stakes")}


def test_a_wrong_head_hides_no_other_fault(tmp_path: Path) -> None:
    """The text and the links of a source with a wrong head are checked too, and links to it are not dead."""
    bad = text_of(title="Night", body=PROSE * 14 + "\n[sing: x]\n[more in: gone]\n\nThey help.")
    bad = bad.replace("title: Night", "titel: Night")
    other = text_of("good", questions=("x y", *"abcdefg"), body=PROSE * 15 + "[more in: bad]")
    report = linted(tmp_path, bad=bad.replace("id: sleep", "id: bad"), good=other)
    assert [(one.file.name, one.line, one.check) for one in report.findings] == [
        ("bad.md", 2, "reading"),
        ("bad.md", 3, "reading"),
        ("bad.md", BODY + 1, "reading"),
        ("bad.md", BODY + 2, "reading"),
        ("bad.md", BODY + 4, "opening"),
    ]
    assert report.sources == 2


def test_a_question_asked_by_two_sources_is_an_error(tmp_path: Path) -> None:
    """The same question in two sources is an error, nearly the same one a warning, both at the later source."""
    other = tuple(f"{one} please, doctor" if place else one for place, one in enumerate(QUESTIONS[:1]))
    near = "are naps okay for me"
    rest = ("a b c", "dreams scare me", "i snore", "bed is hard", "who can i ring at night", "light hurts")
    second = text_of("zzz", title="Dreams", questions=(*other, near, *rest))
    found = [
        (one.check, one.severity, one.file.name, one.line)
        for one in linted(tmp_path, sleep=text_of(), zzz=second).findings
    ]
    assert found == [("duplicate", ERROR, "zzz.md", 6), ("duplicate", WARNING, "zzz.md", 7)]


def test_a_question_in_two_sections_is_an_error(tmp_path: Path) -> None:
    """The same question in two sections is an error whatever its case and punctuation; other questions are not."""
    first, second = QUESTIONS[:4], QUESTIONS[4:]
    assert linted(tmp_path, sleep=in_sections(first, second)).findings == ()
    found = only(linted(tmp_path, sleep=in_sections(first, (*second, "Why can't I nod off?!"))))
    assert (found.check, found.severity, found.line) == ("duplicate", ERROR, 9)
    assert "stands at sleep.md:7 already" in found.problem


def test_a_section_has_enough_questions_and_not_too_many(tmp_path: Path) -> None:
    """A section with fewer or more questions than the limit is an error at its line."""
    found = only(linted(tmp_path, sleep=in_sections(QUESTIONS, ())))
    assert (found.check, found.severity, found.line) == ("questions", ERROR, 8)
    assert "The section 'night' has 0 questions, not 3 to 12" in found.problem
    many = tuple(f"{one} {number}" for number, one in enumerate(("owl", "moon", "bed", "lamp", "tea", "snore") * 2))
    found = only(linted(tmp_path, sleep=in_sections((*QUESTIONS, *many)[:13], many[-3:])))
    assert (found.check, found.line) == ("questions", 6)


def in_sections(first: tuple[str, ...], second: tuple[str, ...]) -> str:
    """A source without a fault of two sections with those questions; those of the first stand on line 7."""
    body = f"# Night rest {{#day}}\n\n{PROSE * 8}\n\n## Night {{#night}}\n\n{PROSE * 7}"
    heads = "".join(
        f"  {name}:\n    {{for: [self], questions: {list(asked)}}}\n"
        for name, asked in (("day", first), ("night", second))
    )
    whole = text_of(questions=(), body=body)
    return whole.replace("questions: []\n", f"sections:\n{heads}")


def test_pictures_need_words(tmp_path: Path) -> None:
    """A picture without a text alternative is an error, and one that nobody shows or that only has a name a warning."""
    media = "- file: a.png\n  alt: ''\n- file: b.png\n  alt: B\n  caption: b\n"
    for name in ("a.png", "b.png", "c.png"):
        (tmp_path / "media").mkdir(exist_ok=True)
        (tmp_path / "media" / name).write_bytes(b"x")
    report = linted(tmp_path, sleep=text_of(body=PROSE * 15 + "\n[show: a.png | A]"), media__media=media)
    found = [(one.severity, one.file.name, one.line) for one in report.findings]
    assert found == [
        (ERROR, "c.png", 1),
        (ERROR, "media.yaml", 2),
        (WARNING, "media.yaml", 3),
        (WARNING, "media.yaml", 4),
    ]


def test_hard_text_is_an_error_and_a_hard_knowledge_base_a_warning(tmp_path: Path) -> None:
    """A grade over the limit is an error that points to the hardest sentence, and a mean over its own a warning."""
    body = "Intro.\n\n" + LONG_WORDS * 40
    report = linted(tmp_path, manifest="name: x\ntitle: T\n", sleep=text_of(body=body))
    found = [(one.check, one.severity, one.file.name, one.line) for one in report.findings]
    assert found == [("grade", WARNING, "manifest.yaml", 1), ("grade", ERROR, "sleep.md", BODY)]
    assert "the hardest sentence begins on line 21" in str(report.findings[1])


def test_a_foreign_manual_is_linted_leniently(tmp_path: Path) -> None:
    """A folder without front matter has warnings of its prose and none of questions, references and review."""
    report = linted(tmp_path, a="# A\n\n" + LONG_WORDS * 12 + "[Be kind] [open\n")
    assert report.errors == 0
    assert {one.check for one in report.findings} == {"foreign", "grade", "length"}


def test_a_draft_is_warned_of_and_not_failed(tmp_path: Path) -> None:
    """In a draft, faults of the prose are warnings, while what cannot be read stays an error."""
    manifest = "name: x\ntitle: T\ndraft: true\n"
    report = linted(tmp_path, manifest=manifest, sleep=text_of(body=LONG_WORDS * 40))
    assert report.errors == 0
    assert ("draft", "manifest.yaml", 3) in {(one.check, one.file.name, one.line) for one in report.findings}
    assert linted(tmp_path, sleep=text_of(body=PROSE + "[sing: x]")).errors == 1


def test_another_language_is_not_graded(tmp_path: Path) -> None:
    """The reading grade and the English word lists are left out where the manifest names another language."""
    body = "Psychotherapie und Medikamente unterstützen Betroffene. They sind 30. " * 30
    assert linted(tmp_path, manifest="name: x\ntitle: T\nlanguage: de\n", sleep=text_of(body=body)).findings == ()


def test_unreadable_folders_are_findings(tmp_path: Path) -> None:
    """A missing folder, a file that is not UTF-8 and a head that is no YAML are errors with a place."""
    assert only(lint(tmp_path / "none", LIMITS, TODAY)).severity is ERROR
    (tmp_path / "bytes.md").write_bytes(b"---\nid: a\n---\ncaf\xe9")
    report = linted(tmp_path, sleep=text_of(), yaml="---\nid: [\n---\nText.\n")
    assert [(one.file.name, one.line) for one in report.findings if one.check == "reading"] == [
        ("bytes.md", 4),
        ("yaml.md", 3),
    ]


@pytest.mark.parametrize(
    ("sentence", "figure"),
    [
        ("about 24 million people", "24"),
        ("half of all people", "half of"),
        ("1 in 300 people", "1 in 300"),
        ("two out of ten", "two out of ten"),
        ("it takes 4-6 weeks", "4"),
        ("in icd-11 and cg178", None),
        ("the guide of 2022", None),
        ("open 24/7", None),
        ("one in his family", None),
    ],
)
def test_figures_are_told_from_names_and_years(sentence: str, figure: str | None) -> None:
    """A share or a number is a figure, and a year, a part of a name or a turn of phrase is none."""
    assert figure_in(sentence) == figure


@pytest.mark.parametrize(
    "sentence",
    [
        "The World Health Organization (2022) says that 1 in 300 people have it.",
        "By NHS figures, 30% do.",
        "Call 112 at once.",
        "Be in bed by 10 p.m. or so.",
        "The Sleep Guideline (2023) says up to 4 weeks.",
        "If you are under 18, ask an adult.",
    ],
)
def test_a_figure_with_its_authority_is_fine(tmp_path: Path, sentence: str) -> None:
    """A figure beside a public authority or a body of the references, a number to call and a time of day are no faults."""
    assert linted(tmp_path, sleep=text_of(body=f"{PROSE * 15}\n\n{sentence}")).findings == ()


@pytest.mark.parametrize("opening", ["It is common to feel low.", "It can help to walk.", "Thistles grow here."])
def test_an_empty_it_points_to_nothing(tmp_path: Path, opening: str) -> None:
    """A paragraph may begin with an "it" that stands for what follows, and with a word that merely looks alike."""
    assert linted(tmp_path, sleep=text_of(body=f"{PROSE * 15}\n\n{opening}")).findings == ()


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("Dr. A, 2026", date(2026, 12, 31)),
        ("Dr. A, 2026-02", date(2026, 2, 28)),
        ("Dr. A 2023-01-05, Dr. B 2024-01-05", date(2024, 1, 5)),
        ("Dr. A, 2026-02-31", None),
        ("Dr. A", None),
    ],
)
def test_the_last_date_of_a_review_counts(said: str, day: date | None) -> None:
    """A review is as old as the last date it names, a month or year alone as its end."""
    assert reviewed_on(said) == day


@pytest.mark.parametrize("name", ["schizophrenia", "sleep"])
def test_the_shipped_knowledge_bases_have_no_error(name: str) -> None:
    """The linter finds no error in the shipped knowledge bases."""
    report = lint(ROOT / "knowledge_base" / name, LIMITS, TODAY)
    assert [str(one) for one in report.findings if one.severity is ERROR] == []

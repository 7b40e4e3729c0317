"""Sources, their local rules, and folders of them."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.exceptions import KnowledgeBaseError
from engine.knowledge.base import KnowledgeBase, scan_knowledge
from engine.knowledge.directives import DirectiveKind, brackets, unbalanced_line, without_brackets
from engine.knowledge.source import read_source
from kb_tools.lint.finding import Severity
from kb_tools.lint.limits import LintLimits
from kb_tools.lint.lint import lint
from tests.sources import HEAD, SHIPPED, problems_of, source, write

ROOT = Path(__file__).resolve().parents[2] / "knowledge_base"


def linted_errors(folder: Path) -> set[tuple[Path, int]]:
    """Where the linter finds errors."""
    limits = LintLimits.load(ROOT.parent / "config" / "kb_lint.yaml")
    found = lint(folder, limits, date(2026, 11, 20)).findings
    return {(one.file, one.line) for one in found if one.severity is Severity.ERROR}


def test_front_matter_becomes_the_source(tmp_path: Path) -> None:
    """Id, title, summary, questions, references, review and stakes come from the front matter."""
    extra = "questions: [why me]\nreferences:\n  - {title: T, body: WHO, year: 2020}\nreviewed: Dr. A, 2026\nstakes: high\n---\n"
    read = source(tmp_path, "Text.\n", head=HEAD.removesuffix("---\n") + extra)
    assert (read.id, read.title, read.summary) == ("causes", "What causes it", ("Explains causes",))
    assert (read.questions, read.reviewed, read.high_stakes, read.foreign) == (("why me",), "Dr. A, 2026", True, False)
    assert (read.references[0].body, read.references[0].year) == ("WHO", 2020)


@pytest.mark.parametrize(
    ("bracket", "kind", "value", "note"),
    [
        ("[ask before presenting: figures]", DirectiveKind.ASK, "figures", "ask before presenting: figures"),
        ("[present in 3 parts]", DirectiveKind.PARTS, "3", "present in 3 parts, or only what is relevant"),
        ("[show: a.png | How it adds up]", DirectiveKind.SHOW, "a.png", "show: a.png (How it adds up)"),
        ("[more in: symptoms]", DirectiveKind.MORE, "symptoms", "more in: symptoms"),
        (
            "[intent: informs, does not coach]",
            DirectiveKind.INTENT,
            "informs, does not coach",
            "intent: informs, does not coach",
        ),
        ("[do not: name a dose]", DirectiveKind.DO_NOT, "name a dose", "do not: name a dose"),
        ("[Do Not:\n  name a dose]", DirectiveKind.DO_NOT, "name a dose", "do not: name a dose"),
    ],
)
def test_each_kind_of_directive_is_read(
    tmp_path: Path, bracket: str, kind: DirectiveKind, value: str, note: str
) -> None:
    """Each kind is typed, has its line, reaches the agent and never the reader."""
    read = source(tmp_path, f"First line.\n\n{bracket}\n\nLast line.\n")
    (directive,) = read.directives
    assert (directive.kind, directive.value, directive.line) == (kind, value, 9)
    assert read.notes_for_agent() == (note,)
    assert read.text == "First line.\n\nLast line."
    assert directive.parts == (3 if kind is DirectiveKind.PARTS else 1)


@pytest.mark.parametrize(
    ("body", "line", "problem"),
    [
        ("One.\n\n[sing: loudly]\n", 9, "Unknown directive in square brackets."),
        ("[present in N parts]\nText.\n", 7, "Unknown directive in square brackets."),
        ("A [do not: x] b.\nText [see 1].\n", 8, "Unknown directive in square brackets."),
        ("Text.\n\n[do not: name a dose\n\nMore.\n", 9, "A square bracket has no partner."),
        ("Text.\n\nname a dose]\n", 9, "A square bracket has no partner."),
        ("A [link\nover a line](x.md).\n\n[open\n", 10, "A square bracket has no partner."),
        ("A [do not:\nname\na dose] b.\n\n[open\n", 11, "A square bracket has no partner."),
        ("[do not: x]\n", 7, "The source has no text."),
    ],
)
def test_a_faulty_body_names_its_line(tmp_path: Path, body: str, line: int, problem: str) -> None:
    """Unknown directives, lone brackets and empty bodies are named with the line in the file."""
    assert (line, problem) in problems_of(tmp_path, HEAD + body)


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (HEAD.replace("id: causes", "id: other") + "T.", 2, "The id is 'other' but the file is called 'causes.md'."),
        ("---\ntitle: T\nid: other\nsummary: [s]\n---\nT.", 3, "The id is 'other' but the file is called 'causes.md'."),
        (HEAD.replace("title: What", "titel: What") + "T.", 2, "The key is missing."),
        (HEAD.replace("title:", "colour: red\ntitle:") + "T.", 3, "Unknown key."),
        (HEAD.replace("summary:\n  - Explains causes", "summary: []") + "T.", 4, "Tuple should have at least 1 item"),
        ("---\nid: [\n---\nT.", 3, "Not valid YAML."),
        ("---\nid: causes\nT.", 1, "The front matter is not closed."),
        (HEAD.encode() + b"caf\xe9", 7, "The file is not UTF-8."),
    ],
)
def test_a_faulty_head_names_its_line(tmp_path: Path, text: str | bytes, line: int, problem: str) -> None:
    """A wrong id, key, YAML or encoding is named with its line."""
    ((found, said),) = problems_of(tmp_path, text)
    assert said.startswith(problem)
    assert found == line


@pytest.mark.parametrize(
    "link",
    [
        "[here](https://nhs.uk/x)",
        "![alt](a.png)",
        '[here](x.md "title")',
        "[here](https://w.org/a_(b))",
        "[here](<a b.md>)",
        "[]()",
    ],
)
def test_markdown_links_are_no_directives(tmp_path: Path, link: str) -> None:
    """A Markdown link stays in the text and is no fault."""
    assert source(tmp_path, f"See {link} now.\n").text == f"See {link} now."


def test_removing_directives_leaves_no_holes(tmp_path: Path) -> None:
    """Where a directive stood there is neither a double blank nor an empty paragraph."""
    body = "One [do not: x] two.\n\n[present in 2 parts]\n[intent: y]\n\nThree [more in: causes].\n"
    assert source(tmp_path, body).text == "One two.\n\nThree."


def test_passages_keep_heading_list_and_lead_in_together(tmp_path: Path) -> None:
    """A list stays with the line that introduces it, and every passage knows its heading."""
    body = "# Title\n\nIntro.\n\n## Signs\n\nSigns are:\n\n- fear\n- poor sleep\n\n1. first\n\nAfter.\n"
    passages = source(tmp_path, body).passages
    assert [(one.heading, one.text) for one in passages] == [
        ("Title", "Intro."),
        ("Signs", "Signs are:\n- fear\n- poor sleep"),
        ("Signs", "1. first"),
        ("Signs", "After."),
    ]
    assert [one.index for one in passages] == [0, 1, 2, 3]


def test_a_passage_to_ask_about_is_marked_and_the_next_is_not(tmp_path: Path) -> None:
    """`ask before presenting` marks the passage that follows it and no other."""
    passages = source(tmp_path, "One.\n\n[ask before presenting: figures]\n\nHalf of them.\n\nThree.\n").passages
    assert [(one.text, one.ask) for one in passages] == [("One.", None), ("Half of them.", "figures"), ("Three.", None)]


def test_windows_files_read_like_others(tmp_path: Path) -> None:
    """A byte-order mark and Windows line ends change neither text, lines nor hash."""
    plain = source(tmp_path, "One.\n\n[do not: x]\n\nTwo.\n")
    text = (HEAD + "One.\n\n[do not: x]\n\nTwo.\n").replace("\n", "\r\n")
    windows, problems = read_source(write(tmp_path, "causes.md", b"\xef\xbb\xbf" + text.encode()))
    assert problems == []
    assert windows is not None
    assert (windows.text, windows.directives, windows.content_hash) == (
        plain.text,
        plain.directives,
        plain.content_hash,
    )


def test_a_folder_without_front_matter_loads(tmp_path: Path) -> None:
    """Plain Markdown from elsewhere loads: id from the file name, summary from summaries.json, brackets as notes."""
    body = "# What it is\n\nText. [Present over 2 messages] [show: a.png | A picture] [Be kind here]\n"
    write(tmp_path, "12_what_is_it.md", body)
    write(tmp_path, "plain.md", "Only text [with a lone bracket.\n")
    write(tmp_path, "summaries.json", json.dumps({"12_what_is_it": ["first", "second"]}))
    base = KnowledgeBase.load(tmp_path)
    first = base.sources["12_what_is_it"]
    assert (first.foreign, first.title, first.summary) == (True, "What is it", ("first", "second"))
    assert [one.kind for one in first.directives] == [DirectiveKind.PARTS, DirectiveKind.SHOW, DirectiveKind.NOTE]
    assert "[" not in first.text
    assert base.sources["plain"].summary == ("Plain",)
    assert base.manifest.name == tmp_path.name


@pytest.mark.parametrize("text", ["[1, 2]", '{"a": "no list"}', "{", '{"a": [1]}'])
def test_faulty_summaries_are_named(tmp_path: Path, text: str) -> None:
    """A summaries.json that is no object of lists of lines is a fault with the file's name."""
    write(tmp_path, "a.md", "Text.")
    write(tmp_path, "summaries.json", text)
    (problem,) = scan_knowledge(tmp_path)[1]
    assert problem.file == tmp_path / "summaries.json"


def test_media_come_with_their_text_alternative(tmp_path: Path) -> None:
    """A picture that is listed and there can be shown, with absolute path, alt text and caption."""
    write(tmp_path, "causes.md", HEAD + "Text. [show: a.png | A]\n")
    write(tmp_path, "media/a.png", b"x")
    write(tmp_path, "media/media.yaml", "- {file: a.png, alt: A drawing, caption: Cap}\n")
    base = KnowledgeBase.load(tmp_path)
    medium = base.media["a.png"]
    assert (medium.alt, medium.caption) == ("A drawing", "Cap")
    assert Path(medium.path).is_absolute()
    assert base.sources["causes"].shown_files() == ("a.png",)


def test_dead_links_and_missing_media_name_their_line(tmp_path: Path) -> None:
    """A picture or source that is not there is a fault at the line that names it."""
    write(tmp_path, "causes.md", HEAD + "Text.\n[show: b.png | B]\n\n[more in: nowhere]\n")
    write(tmp_path, "media/media.yaml", "- alt: A\n  file: a.png\n")
    found = {(Path(str(one.file)).name, one.line, one.problem) for one in scan_knowledge(tmp_path)[1]}
    assert found == {
        ("media.yaml", 2, "The file 'a.png' does not exist."),
        ("causes.md", 8, f"The media file 'b.png' is not in {tmp_path.name}/media/media.yaml."),
        ("causes.md", 10, "There is no source 'nowhere'."),
    }


OUTSIDE = (
    "../../secret.json",
    "/etc/passwd",
    "..",
    ".png",
    "x.js",
    "x.html",
    "x.png.exe",
    "sub/x.png",
    "a b.png",
    "x.svgz",
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_media_are_pictures_of_the_media_folder(tmp_path: Path, name: str) -> None:
    """A file elsewhere, of another kind or with a path in its name is a fault at its line and is not shown."""
    folder = tmp_path / "kb"
    write(folder, "causes.md", HEAD + f"Text.\n[show: {name} | S]\n")
    for one in ("media/x.js", "media/x.html", "media/x.png.exe", "media/sub/x.png", "media/.png", "media/a b.png"):
        write(folder, one, b"x")
    write(tmp_path, "secret.json", b"secret")
    write(folder, "media/media.yaml", f"- alt: A\n  caption: C\n  file: {json.dumps(name)}\n")
    base, problems = scan_knowledge(folder)
    assert base is not None and base.media == {}
    assert (folder / "media" / "media.yaml", 3) in {(one.file, one.line) for one in problems}
    assert (folder / "media" / "media.yaml", 3) in linted_errors(folder)
    with pytest.raises(KnowledgeBaseError):
        KnowledgeBase.load(folder)


@pytest.mark.parametrize(
    ("link", "line"),
    [
        ("media/x.png", 2),
        ("media/media.yaml", 1),
        ("causes.md", 1),
        ("other.md", 1),
        ("manifest.yaml", 1),
        ("summaries.json", 1),
    ],
)
def test_nothing_is_read_through_a_link(tmp_path: Path, link: str, line: int) -> None:
    """Whatever of a knowledge base is a link is a fault with file and line, for loading and for the linter."""
    folder = tmp_path / "kb"
    write(folder, "causes.md", HEAD + "Text.\n")
    write(folder, "sound.md", HEAD.replace("causes", "sound") + "Text.\n")
    write(folder, "media/x.png", b"x")
    write(folder, "media/media.yaml", "- alt: A\n  file: x.png\n")
    write(tmp_path, "secret", "words that nobody may see")
    (folder / link).unlink(missing_ok=True)
    (folder / link).symlink_to(tmp_path / "secret")
    named = folder / "media" / "media.yaml" if link == "media/x.png" else folder / link
    base, problems = scan_knowledge(folder)
    assert [(one.file, one.line) for one in problems] == [(named, line)]
    assert "nobody may see" not in str(base)
    assert (named, line) in linted_errors(folder)


def test_a_media_folder_that_is_a_link_is_not_read(tmp_path: Path) -> None:
    """Pictures of a folder elsewhere are not shown, even if the name and kind are right."""
    folder = tmp_path / "kb"
    write(folder, "causes.md", HEAD + "Text.\n")
    write(tmp_path, "elsewhere/x.png", b"x")
    write(tmp_path, "elsewhere/media.yaml", "- alt: A\n  file: x.png\n")
    (folder / "media").symlink_to(tmp_path / "elsewhere")
    base, problems = scan_knowledge(folder)
    assert base is not None and base.media == {} and len(problems) == 1


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    """Whoever runs this may keep a knowledge base elsewhere and link to it."""
    write(tmp_path / "kb", "causes.md", HEAD + "Text.\n")
    (tmp_path / "linked").symlink_to(tmp_path / "kb")
    assert scan_knowledge(tmp_path / "linked")[1] == []


@pytest.mark.parametrize(
    ("name", "text"), [("manifest.yaml", "name: x\ntitle: T\ncolour: 1\n"), ("media/media.yaml", "- 1\n")]
)
def test_faulty_manifest_and_media_lists_are_named(tmp_path: Path, name: str, text: str) -> None:
    """A manifest or media list that cannot be read is one fault with its file and line."""
    write(tmp_path, "causes.md", HEAD + "Text.\n")
    write(tmp_path, name, text)
    (problem,) = scan_knowledge(tmp_path)[1]
    assert problem.file == tmp_path / name
    assert problem.line


def test_a_folder_that_is_empty_or_missing_is_an_error(tmp_path: Path) -> None:
    """No sources and no folder are each a KnowledgeBaseError with a remedy; a README is no source."""
    write(tmp_path, "README.md", "About this folder.")
    with pytest.raises(KnowledgeBaseError, match=r"no sources\. Put one Markdown file"):
        KnowledgeBase.load(tmp_path)
    with pytest.raises(KnowledgeBaseError, match="no such knowledge base folder"):
        KnowledgeBase.load(tmp_path / "none")


def test_loading_says_how_many_faults_there_are(tmp_path: Path) -> None:
    """Loading stops at the first fault, names its place and counts the others."""
    write(tmp_path, "causes.md", HEAD + "[a: b]\n[c: d]\nText.\n")
    with pytest.raises(KnowledgeBaseError, match=r"causes\.md:7: Unknown directive.*and 1 more"):
        KnowledgeBase.load(tmp_path)


def test_pick_keeps_order_and_drops_the_unknown(tmp_path: Path) -> None:
    """Sources are picked in the order asked for, each once, the unknown left out."""
    for name in "abc":
        write(tmp_path, f"{name}.md", f"Text {name}.")
    base = KnowledgeBase.load(tmp_path)
    assert [one.id for one in base.pick(["c", "x", "a", "c"])] == ["c", "a"]
    assert base.get("x") is None
    assert len(base.index.split("\n")) == 3


def test_a_line_of_the_index_breaks_off_nowhere(tmp_path: Path) -> None:
    """The agent's index names each source, with the first parts of its summary that have room, each whole."""
    head = "---\nid: {id}\ntitle: {title}\nsummary: [{summary}]\n---\nText.\n"
    long = "and what else could be told of it in very many words indeed"
    for name, title, summary in (
        ("clozapine", "Clozapine", f"blood tests, infections, {long}, never seen"),
        ("work", "Jobs and studies", long),
        ("grief", "Grief", "x" * 300),
    ):
        write(tmp_path, f"{name}.md", head.format(id=name, title=title, summary=summary))
    assert KnowledgeBase.load(tmp_path).index.split("\n") == [
        "clozapine: blood tests; infections",
        "grief",
        "work (Jobs and studies)",
    ]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: path.name)
def test_shipped_knowledge_bases_are_faultless_and_honest(folder: Path) -> None:
    """The shipped sources load without a fault, show no bracket, have questions and references, and say nobody reviewed them."""
    base = KnowledgeBase.load(folder)
    for one in base.sources.values():
        assert without_brackets(one.text) == one.text
        assert one.questions
        assert one.references
        assert one.reviewed != "none" or base.manifest.notice


@given(st.text(alphabet="[]()|: \nadoshwnt-#1.", max_size=120))
def test_no_body_makes_reading_fail(body: str) -> None:
    """Whatever brackets a text has, removing them leaves none that was found, and nothing raises."""
    list(brackets(body))
    unbalanced_line(body)
    assert len(without_brackets(body)) <= len(body)

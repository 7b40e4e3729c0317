"""Manuals into draft sources: what is read, how it is divided, what is drafted, and what is refused."""

from __future__ import annotations

import asyncio
import sys
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bots.cli.kb import manual_importer
from bots.settings import CafiSettings
from engine.exceptions import ConfigurationError, ModelMisconfigured, ModelUnavailable
from engine.knowledge.base import KnowledgeBase, scan_knowledge
from engine.knowledge.directives import brackets, unbalanced_line
from engine.models.protocol import Prompt
from engine.models.scripted import ScriptedModel
from engine.stakes import Stakes
from kb_tools.lint.lint import lint
from kb_tools.manual.blocks import Block, Document, plain
from kb_tools.manual.drafts import draft_all, slug
from kb_tools.manual.file import read_document
from kb_tools.manual.importer import Imported
from kb_tools.manual.language import guess
from kb_tools.manual.sections import MOST, TINY, ManualSection, divide
from tests.fakes.pdf_file import make_pdf
from tests.team import shipped

ROOT = Path(__file__).resolve().parents[2]
MANUAL = ROOT.parent / "shared" / "data" / "manual"
STAKES = Stakes.load(ROOT / "config" / "stakes.yaml")
SENTENCE = "Sleep is good for the brain and for the moods that you have in the day. "
LONG = SENTENCE * 4

pytestmark = pytest.mark.skipif(find_spec("pdfminer") is None, reason="the extra `import` is not installed")


def imported(path: Path, folder: Path, *, model: ScriptedModel | None = None, force: bool = False) -> Imported:
    running = shipped(CafiSettings(agents="builtin"), model=model)
    return asyncio.run(manual_importer(running).run(path, folder, force=force))


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def blocks(path: Path) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in read_document(path).blocks]


# --- Reading ---------------------------------------------------------------------------------------------------------


def test_markdown_is_read_with_both_kinds_of_headings(tmp_path: Path) -> None:
    """Headings with marks and with underlines, lists and wrapped paragraphs are told apart; other front matter goes."""
    text = "---\ntitle: The guide\n---\n# One\nA line\ngoes on.\n\nTwo\n---\n- a\n  b\n- c\n\n***\n<!-- no -->End.\n"
    path = write(tmp_path / "a.md", text)
    assert blocks(path) == [
        ("heading", "One"),
        ("paragraph", "A line goes on."),
        ("heading", "Two"),
        ("item", "a b"),
        ("item", "c"),
        ("paragraph", "End."),
    ]
    assert read_document(path).title == "The guide"


def test_html_is_read_as_its_readers_see_it(tmp_path: Path) -> None:
    """Menus, scripts and footers are left out, entities are letters, pictures leave their description."""
    page = (
        "<title>T</title><nav>Home</nav><main><h2>One &amp; two</h2><p>A <b>bold</b> word<br>here"
        "<ul><li>x<li>y</ul><img src=a alt='A bed'></main><footer>c</footer><script>no()</script>"
    )
    path = write(tmp_path / "a.html", page)
    assert blocks(path) == [
        ("heading", "One & two"),
        ("paragraph", "A bold word"),
        ("paragraph", "here"),
        ("item", "x"),
        ("item", "y"),
        ("paragraph", "(Picture: A bed)"),
    ]
    assert read_document(path).title == "T"


def test_plain_text_shows_its_headings_by_form(tmp_path: Path) -> None:
    """Lines in capitals, numbered ones and short ones before a text are headings; sentences and list lines are not."""
    text = f"SLEEP AND YOU\n\n{LONG}\n\nWhat helps\n\n- a walk\n- tea\n\n1.2 Doctors\n\n{LONG}\n\nGood night.\n"
    found = blocks(write(tmp_path / "a.txt", text))
    assert [text for kind, text in found if kind == "heading"] == ["Sleep and you", "What helps", "1.2 Doctors"]
    assert ("item", "tea") in found
    assert found[-1] == ("paragraph", "Good night.")


def test_pdf_headings_are_larger_or_bold(tmp_path: Path) -> None:
    """In a PDF larger and bold lines are headings, wrapped lines are joined, hyphens and page numbers go."""
    page = [("Sleep", 18), ("", 6), ("It rests the brain and the bo-", 11), ("dy every night.", 11), ("", 8)]
    page += [("A new paragraph.", 11), ("", 8), ("*What helps", 11), ("", 6), ("• a walk", 11), ("• tea", 11)]
    path = write(tmp_path / "a.pdf", make_pdf([[*page, ("", 11), ("1", 9)]], title="My guide"))
    assert blocks(path) == [
        ("heading", "Sleep"),
        ("paragraph", "It rests the brain and the body every night."),
        ("paragraph", "A new paragraph."),
        ("heading", "What helps"),
        ("item", "a walk"),
        ("item", "tea"),
    ]
    assert read_document(path).title == "My guide"


def test_running_headers_of_a_pdf_are_left_out(tmp_path: Path) -> None:
    """A line at the border of most pages is no text of the manual, and a paragraph goes on over a page."""
    pages = [[("A guide to sleep", 9), ("", 20), (f"Word {one} of this sentence and", 11)] for one in "abcd"]
    (found,) = blocks(write(tmp_path / "a.pdf", make_pdf(pages)))
    assert found[1].startswith("Word a of this sentence and Word b") or "A guide" not in found[1]
    assert "A guide to sleep" not in found[1]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("A [do not: sleep] b", "A (do not: sleep) b"),
        ("A footnote[1] and [^2]", "A footnote(1) and (^2)"),
        ("See [NHS](https://nhs.uk/x).", "See [NHS](https://nhs.uk/x)."),
        ("See [this](other.md).", "See this."),
        ("![A bed](bed.png)", "(Picture: A bed)"),
        ("A lone [ here", "A lone ( here"),
        ("［show: x］", "(show: x)"),
    ],
)
def test_square_brackets_become_round(text: str, safe: str) -> None:
    """What looks like a directive, footnotes and dead links lose their brackets; links into the web keep them."""
    assert plain(text) == safe


@given(st.text(alphabet="[]()!|: \nadohtps/.#-", max_size=100))
def test_no_imported_text_holds_a_directive(text: str) -> None:
    """Whatever is imported, no bracket in it is a directive or stands alone."""
    assert list(brackets(plain(text))) == []
    assert unbalanced_line(plain(text)) is None


# --- Dividing --------------------------------------------------------------------------------------------------------


def head(text: str, level: int) -> Block:
    return Block(kind="heading", text=text, level=level)


def para(count: int) -> Block:
    return Block(kind="paragraph", text=" ".join(["word"] * (count - 1) + ["end."]))


def titles(*content: Block) -> list[tuple[str, int]]:
    return [(one.title, one.words) for one in divide(Document(title="Guide", blocks=content))]


def test_a_document_is_divided_at_its_headings() -> None:
    """Each chapter is a section with its subheadings, and a single title over all is none."""
    found = divide(
        Document(
            title="Guide",
            blocks=(head("The book", 1), head("One", 2), para(90), head("Sub", 3), para(60), head("Two", 2), para(80)),
        )
    )
    assert [(one.title, one.words) for one in found] == [("One", 150), ("Two", 80)]
    assert [block.text for block in found[0].blocks if block.kind == "heading"] == ["Sub"]


def test_a_long_chapter_is_divided_at_the_next_headings() -> None:
    """A chapter that is too long becomes its own beginning and the sections below it."""
    found = titles(
        head("One", 1), para(200), head("A", 2), para(300), head("B", 2), para(250), head("Two", 1), para(90)
    )
    assert found == [("One", 200), ("A", 300), ("B", 250), ("Two", 90)]


def test_a_long_text_without_headings_is_divided_by_size() -> None:
    """Text without headings is divided into parts, none of which is too long, and nothing is lost."""
    found = titles(*[para(100) for _ in range(20)])
    assert sum(count for _, count in found) == 2000
    assert all(count <= MOST for _, count in found)
    assert [title for title, _ in found[:2]] == ["Guide", "Guide (part 2)"]
    giant = Block(kind="paragraph", text=LONG * 30)
    assert all(one.words <= MOST for one in divide(Document(title="Guide", blocks=(giant,))))


def test_tiny_sections_are_joined_with_a_neighbour() -> None:
    """A section of a few words joins the one before it, or the next, and its heading stays in the text."""
    assert titles(head("One", 1), para(100), head("Two", 1), para(TINY - 1)) == [("One", 100 + TINY - 1)]
    assert titles(head("One", 1), para(5), head("Two", 1), para(100)) == [("Two", 105)]
    (joined,) = divide(Document(title="G", blocks=(head("One", 1), para(100), head("Two", 1), para(5))))
    assert "Two" in [block.text for block in joined.blocks if block.kind == "heading"]


@given(st.lists(st.one_of(st.integers(1, 300).map(para), st.tuples(st.text("ab", min_size=1), st.integers(1, 4)))))
def test_no_word_is_lost_by_dividing(content: list[Block | tuple[str, int]]) -> None:
    """Whatever the headings, every word of the text is in exactly one section."""
    made = [one if isinstance(one, Block) else head(*one) for one in content]
    document = Document(title="G", blocks=tuple(made))
    assert sum(one.words for one in divide(document)) == sum(one.words for one in made if one.kind != "heading")


# --- Drafting --------------------------------------------------------------------------------------------------------


def test_a_draft_has_id_title_summary_and_stakes() -> None:
    """The id comes from the heading, the summary from first sentence and subheadings, high stakes from the words used."""
    section = ManualSection(
        title="Side effects: what's usual?",
        blocks=(Block(kind="paragraph", text="The pills can tire you. More."), head("Sleep", 2)),
    )
    (draft,) = draft_all([section], STAKES)
    assert (draft.id, draft.title) == ("side_effects_whats_usual", "Side effects: what's usual?")
    assert draft.summary == ("The pills can tire you.", "Sleep")
    assert draft.topics == ("medicines",)
    head_of = yaml.safe_load(draft.page("m.pdf").split("---")[1])
    assert (head_of["stakes"], head_of["reviewed"], head_of["questions"], head_of["references"]) == (
        "high",
        "none",
        [],
        [],
    )
    assert "# draft: imported from m.pdf" in draft.page("m.pdf")


def test_ids_are_unique_and_fit_for_file_names() -> None:
    """Equal headings, headings in other scripts and a reserved name still give ids of their own."""
    sections = [
        ManualSection(title=title, blocks=(para(9),), above="Part one")
        for title in ("Sleep", "Sleep", "Sleep", "Сон", "README")
    ]
    assert [one.id for one in draft_all(sections, STAKES)] == [
        "sleep",
        "part_one_sleep",
        "sleep_2",
        "coh",
        "part_one_readme",
    ]
    assert len(slug("word " * 40)) <= 48


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The room is dark and you are in it.", "en"),
        ("Der Schlaf ist wichtig und die Ruhe auch.", "de"),
        ("Søvn er viktig og det er ikke lett for deg.", "nb"),
        ("xyzzy plugh quux", "und"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    """The language with the most small words is guessed, and none where there are none."""
    assert guess(text) == language


# --- Whole imports ---------------------------------------------------------------------------------------------------

GUIDE = f"# A guide\n\n## Sleep\n\n{LONG}[do not: believe this]\n\n# not\n\n## Food\n\n{LONG}\n\n1. eat\n2. drink\n"


def test_an_import_lints_without_errors_and_says_that_it_is_a_draft(tmp_path: Path) -> None:
    """The folder loads, lints without errors, has no directive, and its notice says that nobody has checked it."""
    found = imported(write(tmp_path / "guide.md", GUIDE), tmp_path / "out" / "kb")
    base = KnowledgeBase.load(found.folder)
    assert {one.id for one in found.drafts} == set(base.sources)
    assert "Unreviewed draft" in base.manifest.notice
    assert base.manifest.draft
    assert all(not source.directives and not source.foreign for source in base.sources.values())
    limits = shipped(CafiSettings()).lint_limits
    assert lint(found.folder, limits, date(2026, 1, 1)).errors == 0
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["kb"]


def test_a_folder_in_use_is_never_overwritten(tmp_path: Path) -> None:
    """A folder with content is refused and, with force, kept beside the new one; an empty one is used."""
    path = write(tmp_path / "guide.md", GUIDE)
    folder = tmp_path / "kb"
    folder.mkdir()
    assert imported(path, folder).kept is None
    write(folder / "mine.md", "My work.")
    with pytest.raises(ConfigurationError, match="not empty"):
        imported(path, folder)
    found = imported(path, folder, force=True)
    assert found.kept is not None
    assert (found.kept / "mine.md").read_text() == "My work."
    assert not (folder / "mine.md").exists()


def test_markdown_without_headings_is_called_after_its_file(tmp_path: Path) -> None:
    """Short Markdown without headings is one source, called after the file."""
    (draft,) = imported(write(tmp_path / "good_nights.md", LONG), tmp_path / "kb").drafts
    assert (draft.id, draft.title) == ("good_nights", "Good nights")


def test_another_language_is_imported_with_a_warning(tmp_path: Path) -> None:
    """A manual in another language is imported, its manifest names the language, and a warning says what that means."""
    text = "# Schlaf\n\n" + "Der Schlaf ist wichtig, und die Nacht ist nicht zum Grübeln da. " * 9
    found = imported(write(tmp_path / "a.md", text), tmp_path / "kb")
    assert KnowledgeBase.load(found.folder).manifest.language == "de"
    assert "'de'" in found.warnings[0]


def test_a_folder_of_files_is_one_manual(tmp_path: Path) -> None:
    """Every readable file of a folder is imported, other files are passed over."""
    (tmp_path / "in").mkdir()
    for name in ("b.md", "a.txt", "README.md", "c.docx"):
        write(tmp_path / "in" / name, LONG)
    assert [one.id for one in imported(tmp_path / "in", tmp_path / "kb").drafts] == ["a", "b"]


WHOLE = make_pdf([[("Sleep", 18), ("A text that goes on for a while.", 11)]])
BAD: dict[str, tuple[str, bytes | None, str]] = {
    "no text": ("a.pdf", make_pdf([[], []]), "no text"),
    "encrypted": ("a.pdf", make_pdf([[("Secret words of a guide.", 11)]], encrypted=True), "encrypted"),
    "truncated": ("a.pdf", WHOLE[: len(WHOLE) // 2], "cut off"),
    "damaged": ("a.pdf", b"%PDF-1.4\n" + b"\x00" * 400 + b"\n%%EOF\n", "damaged"),
    "no PDF": ("a.pdf", b"hello", "no PDF"),
    "empty PDF": ("a.pdf", b"", "empty"),
    "not UTF-8": ("a.md", b"# Caf\n\ncaf\xe9", "a.md:3: The file is not UTF-8"),
    "not UTF-8 either": ("a.txt", "Über".encode("utf-16"), "not UTF-8"),
    "zeros": ("a.txt", b"a\x00b", "no text"),
    "empty": ("a.md", b" \n", "empty"),
    "only marks": ("a.md", b"# \n\n---\n", "no text"),
    "empty page": ("a.html", b"<script>x</script>", "no text"),
    "unknown kind": ("a.docx", b"x", "cannot be read. Known are"),
    "missing": ("a.pdf", None, "no such file"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_message_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    """What cannot be imported is a ConfigurationError that names the file, and leaves nothing behind."""
    file, content, said = BAD[name]
    path = tmp_path / file
    if content is not None:
        write(path, content)
    with pytest.raises(ConfigurationError) as raised:
        imported(path, tmp_path / "out" / "kb")
    assert said in str(raised.value)
    assert file in str(raised.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("library", "file", "content"),
    [("pdfminer.pdfdocument", "a.pdf", WHOLE), ("bs4", "a.html", b"<p>One.")],
)
def test_without_its_libraries_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, file: str, content: bytes
) -> None:
    """Where a library that reads manuals is not installed, the message names the extra to install."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ConfigurationError, match=r"Install cafi\[import\]"):
        imported(write(tmp_path / file, content), tmp_path / "kb")


def test_five_hundred_pages_are_imported(tmp_path: Path) -> None:
    """A PDF of 500 pages is imported whole, and divided into sources of the usual size."""
    pages = [[(f"Chapter {one}" if one % 10 == 0 else "", 18), *[(SENTENCE, 11)] * 5] for one in range(500)]
    found = imported(write(tmp_path / "a.pdf", make_pdf(pages)), tmp_path / "kb")
    assert sum(one.words for one in found.drafts) == 500 * 5 * len(SENTENCE.split())
    assert max(one.words for one in found.drafts) <= MOST
    assert scan_knowledge(found.folder)[1] == []


@pytest.mark.skipif(not MANUAL.is_dir(), reason="../shared/data/manual is not there")
def test_a_pdf_of_the_studys_manual_lints_without_errors(tmp_path: Path) -> None:
    """A PDF made of the study's manual becomes sources that lint without errors, one a chapter or more."""
    pages = []
    for path in sorted(MANUAL.glob("*.md")):
        page = [(path.stem.lstrip("0123456789_").replace("_", " ").capitalize(), 20.0), ("", 8.0)]
        for line in path.read_text(encoding="utf-8").split("\n"):
            page.append((line.lstrip("# "), 14.0) if line.startswith("#") else (line, 10.0))
        pages += [page[start : start + 50] for start in range(0, len(page), 50)]
    found = imported(write(tmp_path / "manual.pdf", make_pdf(pages)), tmp_path / "kb")
    limits = shipped(CafiSettings()).lint_limits
    assert lint(found.folder, limits, date(2026, 1, 1)).errors == 0
    ids = {one.id for one in found.drafts}
    assert len(ids) >= len(list(MANUAL.glob("*.md")))
    assert {"stigma", "causes", "positive_symptoms", "sticking_to_medication"} <= ids


# --- With a model ----------------------------------------------------------------------------------------------------


def test_a_model_drafts_summary_and_questions(tmp_path: Path) -> None:
    """With a model every source gets its summary and lay questions, marked as drafts and without brackets."""
    answer = {"summary": ["Explains sleep"], "questions": ["why cant i sleep", "- am i [ill]", "why cant i sleep", " "]}
    model = ScriptedModel(lambda prompt: answer)
    found = imported(write(tmp_path / "guide.md", GUIDE), tmp_path / "kb", model=model)
    base = KnowledgeBase.load(found.folder)
    for source in base.sources.values():
        assert source.summary == ("Explains sleep",)
        assert source.questions == ("why cant i sleep", "am i (ill)")
        assert "by a language model; nobody has checked it" in source.path.read_text()
    assert "language model" in base.manifest.notice
    assert {prompt.role for prompt in model.prompts} == {"importer"}
    assert len(model.prompts) == len(base.sources)


def test_a_source_that_the_model_fails_on_keeps_its_own_summary(tmp_path: Path) -> None:
    """Where the model gives nothing usable the import goes on, and says for how many sources."""

    def answers(prompt: Prompt) -> object:
        return ModelUnavailable() if "Food" in prompt.messages[-1].content else {"summary": ["S"], "questions": ["q"]}

    found = imported(write(tmp_path / "guide.md", GUIDE), tmp_path / "kb", model=ScriptedModel(answers))
    assert [one.by_model for one in found.drafts].count(False) == 1
    assert f"1 of {len(found.drafts)} sources" in found.warnings[0]


def test_a_wrong_key_ends_the_import(tmp_path: Path) -> None:
    """A model that is set up wrongly ends the import with its error, and nothing is written."""
    model = ScriptedModel(lambda prompt: ModelMisconfigured())
    with pytest.raises(ModelMisconfigured):
        imported(write(tmp_path / "guide.md", GUIDE), tmp_path / "kb", model=model)
    assert not (tmp_path / "kb").exists()

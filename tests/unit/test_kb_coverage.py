"""Coverage by held-out questions, over a retriever that knows nothing but the questions it was given."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.knowledge.base import KnowledgeBase, Manifest
from engine.knowledge.source import Source
from engine.language.text import words
from engine.retrieval.protocol import Hit
from kb_tools.coverage import Coverage, measure_coverage
from kb_tools.coverage_report import coverage_document, coverage_lines
from kb_tools.heat_map import heat_map_page


class BySharedWords:
    """Finds the sources whose questions share a word with what is asked; the most shared words come first."""

    def __init__(self, base: KnowledgeBase) -> None:
        self.known = {
            source.id: set(words(" ".join(source.questions))) | set(words(source.title))
            for source in base.sources.values()
        }

    def search(self, question: str, top: int = 3) -> tuple[Hit, ...]:
        """The best by number of shared words."""
        asked = set(words(question))
        scores = {name: len(asked & known) / len(asked) for name, known in self.known.items()}
        best = sorted((name for name in scores if scores[name]), key=lambda name: -scores[name])
        return tuple(Hit(source=name, score=scores[name]) for name in best[:top])


def source(name: str, *questions: str) -> Source:
    return Source(
        id=name,
        title=name,
        summary=("s",),
        questions=questions,
        references=(),
        reviewed="none",
        high_stakes=False,
        body="Text.",
        directives=(),
        path=Path(f"{name}.md"),
    )


def base_of(*sources: Source) -> KnowledgeBase:
    return KnowledgeBase(
        folder=Path("none"), manifest=Manifest(name="x", title="T"), sources={one.id: one for one in sources}
    )


BASE = base_of(
    source("beer", "beer today", "beer tomorrow", "a pint of cider"),
    source("cider", "cider now", "cider later"),
    source("lost", "beer again", "qqq"),
    source("empty"),
)


@pytest.fixture(scope="module")
def found() -> Coverage:
    """The coverage of the small knowledge base."""
    return measure_coverage(BASE, BySharedWords)


def test_every_question_is_asked_once_and_of_an_index_without_it(found: Coverage) -> None:
    """Each question is asked exactly once, of an index that does not have it."""
    seen: list[set[str]] = []

    def build(base: KnowledgeBase) -> BySharedWords:
        seen.append({question for one in base.sources.values() for question in one.questions})
        return BySharedWords(base)

    asked = measure_coverage(BASE, build, folds=2).asked
    everything = {question for one in BASE.sources.values() for question in one.questions}
    assert sorted(one.question for one in asked) == sorted(everything)
    assert [len(everything - one) for one in seen] == [4, 3]
    assert found.sources == ("beer", "cider", "lost", "empty")


def test_what_is_never_found_and_what_is_found_wrongly_is_told(found: Coverage) -> None:
    """Sources never found, wrong and unanswered questions, and sources without questions are listed."""
    assert found.never_found == ("lost",)
    assert found.without_questions == ("empty",)
    assert {one.question for one in found.wrong} == {"a pint of cider", "beer again"}
    assert [one.question for one in found.unanswered] == ["qqq"]
    assert found.found_by_no_other == ("empty",)


def test_confusion_counts_first_hits(found: Coverage) -> None:
    """The table counts which source came first for the questions of which, and nothing as such."""
    assert found.confusion[("beer", "beer")] == 2
    assert found.confusion[("beer", "cider")] == 1
    assert found.confusion[("lost", None)] == 1
    assert sum(found.confusion.values()) == len(found.asked) == 7
    assert found.hit_at_1 == pytest.approx(2 / 7)


def test_steps_are_counted_for_a_progress_bar() -> None:
    """A step is told for each question."""
    steps: list[int] = []
    measure_coverage(BASE, BySharedWords, step=lambda: steps.append(1))
    assert len(steps) == 7


def test_without_questions_there_is_nothing_to_say() -> None:
    """A manual without questions has shares of None and says so."""
    found = measure_coverage(base_of(source("a"), source("b")), BySharedWords)
    assert (found.hit_at_1, found.hit_at_3, found.never_found) == (None, None, ())
    assert "no questions to ask" in "\n".join(coverage_lines(found))


def test_the_terminal_shows_a_heat_map(found: Coverage) -> None:
    """Each source is a row whose shades stand under the numbers of the columns."""
    lines = list(coverage_lines(found))
    (row,) = [line for line in lines if " beer " in line and "/3" in line]
    assert row.split()[2] == "▓▒···"
    assert any("Never found by their own held-out questions: lost" in line for line in lines)


def test_the_document_counts_what_the_lines_say(found: Coverage) -> None:
    """The JSON has shares, lists and the confusions without the right ones."""
    document = coverage_document(found)
    assert (document["questions"], document["never_found"]) == (7, ["lost"])
    assert all(one["source"] != one["found"] for one in document["confusion"])
    assert {one["source"]: one["in_first_three"] for one in document["by_source"]}["beer"] == 2


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open += [tag] if tag != "meta" else []
        self.addresses += [str(value) for name, value in attrs if name in {"src", "href", "action"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_nothing_of_a_network() -> None:
    """The HTML is balanced, has no script, link or address, and escapes what it shows."""
    sources = base_of(source("a", "<b>one & two</b>", "three"), source("b", "one"))
    page = heat_map_page(measure_coverage(sources, BySharedWords), "<T>")
    links = _Links()
    links.feed(page)
    assert links.open == []
    assert links.addresses == []
    assert not {"script", "link", "img", "iframe"} & set(links.tags)
    assert "<b>one" not in page
    assert "http" not in page
    assert "&lt;T&gt;" in page

"""What people say who need a source, from a knowledge base's own synonyms.yaml, and parts of messages that fit nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engine.exceptions import ConfigurationError
from engine.knowledge.base import KnowledgeBase, Manifest, scan_knowledge
from engine.knowledge.source import Source
from engine.language.synonyms import Synonyms
from engine.language.vectors import load_vectors
from engine.retrieval.search import Search

ROOT = Path(__file__).parents[2]
SHARED = Synonyms.load(ROOT / "config" / "synonyms" / "en.yaml")
VECTORS = load_vectors(ROOT / "config" / "vectors" / "en.npz", ROOT / "config" / "vectors" / "en_elsewhere.txt")


def made(folder: Path) -> KnowledgeBase:
    """A knowledge base of two short sources."""
    pairs = {"driving": "Driving with the illness", "washing": "Washing and clean clothes"}
    sources = {
        name: Source(
            id=name,
            title=title,
            summary=(title,),
            questions=(),
            references=(),
            reviewed="none",
            high_stakes=False,
            body=title,
            directives=(),
            path=Path(f"{name}.md"),
        )
        for name, title in pairs.items()
    }
    return KnowledgeBase(folder=folder, manifest=Manifest(name="made", title="Made"), sources=sources)


def written(folder: Path, text: str) -> Path:
    file = folder / "synonyms.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_saying_leads_to_its_source(tmp_path: Path) -> None:
    """A word that only a saying has finds the source, and without the saying it does not."""
    question = "the moped in the garage"
    assert not Search.build(made(tmp_path)).search(question)
    written(tmp_path, "said:\n  driving: |\n    my moped stands in the garage\n")
    assert [hit.source for hit in Search.build(made(tmp_path)).search(question)] == ["driving"]


def test_sayings_are_read_line_by_line_and_joined(tmp_path: Path) -> None:
    """Every line that is not empty is a saying; those of two files stand one after the other."""
    one = Synonyms.load(written(tmp_path, "said:\n  a: |\n    first\n\n    second\n"))
    other = Synonyms(said={"a": ("third",), "b": ("fourth",)})
    assert one.joined_with(other).said == {"a": ("first", "second", "third"), "b": ("fourth",)}


def test_sayings_of_an_unknown_source_do_no_harm(tmp_path: Path) -> None:
    """A saying for a source that is not there is passed over."""
    written(tmp_path, "said:\n  nobody: |\n    my moped\n")
    assert not Search.build(made(tmp_path)).search("my moped")


def test_sayings_must_be_text(tmp_path: Path) -> None:
    """A list where lines belong is a mistake in the file, and said to be one."""
    with pytest.raises(ConfigurationError):
        Synonyms.load(written(tmp_path, "said:\n  a: [one, two]\n"))


def test_a_saying_does_not_make_a_subject_ours(tmp_path: Path) -> None:
    """A word listed as another subject stays one although a saying has it."""
    written(tmp_path, "said:\n  washing: |\n    my car is cleaner than I am\n")
    search = Search.build(made(tmp_path), synonyms=Synonyms(elsewhere=frozenset(("car",))))
    assert not search.search("car engine")


@pytest.mark.parametrize("name", ["schizophrenia", "sleep"])
def test_every_source_has_sayings_and_no_saying_is_astray(name: str) -> None:
    """The sayings of our knowledge bases belong to their sources, and every source has some."""
    folder = ROOT / "knowledge_base" / name
    base, _ = scan_knowledge(folder)
    assert base is not None
    said = Synonyms.load(folder / "synonyms.yaml").said
    assert set(said) == set(base.sources)
    assert min(map(len, said.values())) >= 10


def test_no_saying_is_written_twice() -> None:
    """A saying for two sources would speak for neither."""
    said = Synonyms.load(ROOT / "knowledge_base" / "schizophrenia" / "synonyms.yaml").said
    lines = [line.casefold() for one in said.values() for line in one]
    assert sorted(lines) == sorted(set(lines))


@pytest.fixture(scope="module")
def ours() -> Search:
    """The search over our sources on schizophrenia, as it is run."""
    base, _ = scan_knowledge(ROOT / "knowledge_base" / "schizophrenia")
    assert base is not None
    return Search.build(base, synonyms=SHARED, vectors=VECTORS)


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("expecting in june and still on my tablets", "pregnancy_and_parenting"),
        ("is it all in the jeans", "causes"),
        ("may i brest feed", "pregnancy_and_parenting"),
        ("my husband insists on sitting at the wheel", "driving_and_travel"),
    ],
)
def test_oblique_questions_find_their_source(ours: Search, question: str, source: str) -> None:
    """Questions that never name their subject find it among the first three."""
    assert source in [hit.source for hit in ours.search(question)]


@pytest.mark.parametrize(
    "question",
    ["who are you and which software are you running on", "where do I buy a tent online", "tell me who won the cup"],
)
def test_a_fitting_word_in_a_message_that_fits_nothing_is_declined(ours: Search, question: str) -> None:
    """A part, or a left-over word, is not answered where the message as a whole is about something else."""
    assert not ours.search(question)


@pytest.mark.parametrize("word", ["sake", "overnight", "snoring", "mould"])
def test_everyday_words_are_not_taken_for_misspelt_ones(ours: Search, word: str) -> None:
    """A right word stays as it is even where a clinical one is near."""
    assert ours.spelling.correct(word) == word


def test_two_subjects_of_a_message_are_both_found(ours: Search) -> None:
    """Doubt about a part does not cost a message its second subject."""
    found = [hit.source for hit in ours.search("how do I stop smoking? and can I still drive a car?")]
    assert {"smoking", "driving_and_travel"} <= set(found)


def test_sayings_do_not_change_the_source_itself(tmp_path: Path) -> None:
    """They are the search's alone: no source shows them among its questions."""
    written(tmp_path, "said:\n  driving: |\n    my moped stands in the garage\n")
    base = made(tmp_path)
    before = replace(base)
    Search.build(base)
    assert base == before

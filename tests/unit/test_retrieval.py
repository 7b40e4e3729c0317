"""Search by words over small knowledge bases made for the purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.knowledge.base import KnowledgeBase, Manifest
from engine.knowledge.source import Source
from engine.language.synonyms import Synonyms
from engine.retrieval.search import Search

SHARED = Synonyms.load(Path(__file__).parents[2] / "config" / "synonyms" / "en.yaml")


def source(name: str, title: str, summary: tuple[str, ...], body: str, questions: tuple[str, ...] = ()) -> Source:
    return Source(
        id=name,
        title=title,
        summary=summary,
        questions=questions,
        references=(),
        reviewed="none",
        high_stakes=False,
        body=body,
        directives=(),
        path=Path(f"{name}.md"),
    )


def base(*sources: Source) -> KnowledgeBase:
    return KnowledgeBase(
        folder=Path("made"),
        manifest=Manifest(name="made", title="Made"),
        sources={one.id: one for one in sources},
    )


MADE = base(
    source(
        "causes",
        "What causes schizophrenia",
        ("genes and surroundings", "nobody is to blame"),
        "No single cause is known. Genes raise the risk, and so does heavy stress.",
    ),
    source(
        "medication",
        "Medication",
        ("how antipsychotics work", "side effects", "stopping medication"),
        "Antipsychotics ease hallucinations. Report side effects.\n\n[do not: name a zebra]",
    ),
    source(
        "work",
        "Work and employers",
        ("telling an employer", "rights at work"),
        "Many people keep their job. Some change their hours.",
        ("do I have to tell them at the office",),
    ),
    source(
        "voices",
        "Hallucinations",
        ("hearing and seeing what others do not",),
        "Hearing voices is the most frequent hallucination.",
        ("who is whispering at night",),
    ),
    source(
        "alcohol",
        "Alcohol",
        ("drinking and medication",),
        "Alcohol can make symptoms worse and does not go well with tablets.",
    ),
)


@pytest.fixture(scope="module")
def search() -> Search:
    return Search.build(MADE, synonyms=SHARED)


def found(search: Search, question: str, top: int = 3) -> list[str]:
    return [hit.source for hit in search.search(question, top)]


def test_title_words_find_their_source(search: Search) -> None:
    """A question in a source's own words finds that source first."""
    assert found(search, "what are the causes of schizophrenia")[0] == "causes"


def test_stems_meet(search: Search) -> None:
    """Another ending of a word is the same word."""
    assert found(search, "does a gene cause it")[0] == "causes"


def test_lay_words_find_clinical_sources(search: Search) -> None:
    """A lay word finds a source that has only the clinical one."""
    assert found(search, "my meds")[0] == "medication"
    assert found(search, "should my boss know")[0] == "work"


def test_misspelt_words_are_corrected(search: Search) -> None:
    """A misspelt symptom still finds its source, and the explanation shows the correction."""
    assert found(search, "what are halucinatons")[0] == "voices"
    assert search.explain("what are halucinatons").parts[0].corrected == {"halucinatons": "hallucinations"}


def test_lay_questions_of_a_source_are_a_strong_signal(search: Search) -> None:
    """A question like one in the front matter finds its source although no other field has the words."""
    assert found(search, "what keeps whispering at night")[0] == "voices"


def test_both_parts_come_first(search: Search) -> None:
    """Of a two-part message the best source of each part is among the first two."""
    assert set(found(search, "what causes it and can I drink alcohol?")[:2]) == {"causes", "alcohol"}


@pytest.mark.parametrize(
    "question",
    [
        "how much is car insurance",
        "who won the football last night",
        "give me a recipe for lasagne",
        "how do I sort a list in python",
        "how do I treat diabetes",
        "is my cat ill",
    ],
)
def test_other_subjects_find_nothing(search: Search, question: str) -> None:
    """A question about another subject finds nothing."""
    assert found(search, question) == []


@pytest.mark.parametrize("question", ["why?", "tell me more", "ok", "thanks", "", "   ", "?!", "and then?", "😀"])
def test_follow_ups_find_nothing_by_themselves(search: Search, question: str) -> None:
    """A message that says nothing about a subject finds nothing."""
    assert found(search, question) == []


def test_two_subjects_in_one_sentence_both_come(search: Search) -> None:
    """A sentence with two subjects finds the source of each, though nothing marks where one ends."""
    assert set(found(search, "my boss knows about the voices")[:2]) == {"voices", "work"}


def test_directives_are_not_searched(search: Search) -> None:
    """Words of a directive find nothing."""
    assert found(search, "zebra") == []


def test_top_limits_the_hits(search: Search) -> None:
    """No more hits come than were asked for, and none for zero."""
    assert len(found(search, "medication side effects and alcohol and work", top=2)) == 2
    assert found(search, "medication", top=0) == []


def test_hits_name_what_matched(search: Search) -> None:
    """A hit says which words of the question its source speaks to."""
    assert search.search("side effects of tablets")[0].matched == ("side effects", "tablets")


def test_explanation_lays_components_open(search: Search) -> None:
    """Explaining gives parts, synonyms and the components of every score."""
    explanation = search.explain("my meds make me shake")
    part = explanation.parts[0]
    best = part.components[0]
    assert "medication" in part.synonyms["meds"]
    assert best.source == explanation.hits[0].source == "medication"
    assert all(0 <= value <= 1 for value in (best.score, best.line, best.cover, best.bm25))


def test_a_subject_of_the_knowledge_base_is_not_elsewhere() -> None:
    """A subject listed as another one's is found where the knowledge base itself treats it."""
    own = base(
        source("diabetes", "Diabetes", ("what diabetes is",), "Diabetes is a disease."),
        *MADE.sources.values(),
    )
    assert found(Search.build(own, synonyms=SHARED), "what is diabetes")[0] == "diabetes"


def test_own_synonyms_of_a_knowledge_base(tmp_path: Path) -> None:
    """A synonyms file in the knowledge base's folder is used beside the shared one."""
    (tmp_path / "synonyms.yaml").write_text("groups:\n  - words: [wobblers, hallucinations]\n", encoding="utf-8")
    own = KnowledgeBase(folder=tmp_path, manifest=MADE.manifest, sources=MADE.sources)
    assert found(Search.build(own, synonyms=SHARED), "the wobblers")[0] == "voices"


@pytest.mark.parametrize("text", ["groups: [", "groups: 3", "other: x", "groups:\n  - words: []\n"])
def test_faulty_synonyms_name_their_file(tmp_path: Path, text: str) -> None:
    """A faulty synonyms file is an error that names the file."""
    file = tmp_path / "synonyms.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"synonyms\.yaml"):
        Synonyms.load(file)


def test_works_without_synonyms() -> None:
    """Search works by words alone where no synonyms are given."""
    assert found(Search.build(MADE, synonyms=Synonyms()), "alcohol")[0] == "alcohol"


@pytest.mark.parametrize(
    "text",
    [
        '"',
        "'",
        "a OR b AND NOT c",
        "NEAR(a b)",
        "title:x",
        "* ^ - +",
        "\x00",
        "(((",
        "medication\x00*",
        "𝓂𝑒𝒹𝓈",
        "‮abc",
    ],
)
def test_search_syntax_is_text(search: Search, text: str) -> None:
    """Characters that mean something to search engines are text like any other."""
    search.search(text)


@settings(max_examples=150, deadline=None)
@given(
    st.text(max_size=300)
    | st.lists(
        st.sampled_from(["medication", "voices", '"', "(", ")", "*", ":", "why?", "and", "AND\n-", "1)", "😀"])
    ).map(" ".join)
)
def test_any_text_gives_sorted_unique_hits(text: str) -> None:
    """Any text is searched without an error; hits are unique, best first, with scores from 0 to 1."""
    hits = SEARCH.search(text, 5)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert len({hit.source for hit in hits}) == len(hits)


SEARCH = Search.build(MADE, synonyms=SHARED)


def test_very_long_text(search: Search) -> None:
    """A very long message is searched like any other."""
    assert found(search, "my medication has side effects. " * 5000)[0] == "medication"


def test_scores_are_comparable_between_sizes() -> None:
    """The same question scores much the same in three sources and in a thousand."""
    three = base(*list(MADE.sources.values())[:3])
    fillers = [
        source(f"f{n}", f"Subject {n}", (f"word{n} other{n}",), f"Nothing but text{n} here and{n} there.")
        for n in range(1000)
    ]
    many = base(*three.sources.values(), *fillers)
    small, large = (
        Search.build(one, synonyms=SHARED).search("what are the side effects of medication")[0] for one in (three, many)
    )
    assert small.source == large.source == "medication"
    assert abs(small.score - large.score) < 0.25


def test_only_words_of_the_knowledge_base_are_remembered() -> None:
    """Between questions nothing is kept of a word that no source has, and a known word is looked up once."""
    search = Search.build(MADE, synonyms=SHARED)
    search.search("Does Quillbert Zzyxander hear voices?")
    for known in (search._weigher._known, search._scorer._occurrences._known):
        words = {word for row in known for word in row}
        assert "voices" in words and not words & {"quillbert", "zzyxander"}

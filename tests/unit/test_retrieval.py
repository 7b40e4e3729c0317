"""The search over small knowledge bases made for the purpose, with our encoder and lines about other subjects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.knowledge.base import KnowledgeBase, Manifest
from engine.knowledge.source import Source
from engine.language.elsewhere import load_elsewhere
from engine.language.encoder import TextEncoder
from engine.retrieval.sections import SectionSearch

CONFIG = Path(__file__).parents[2] / "config"
ENCODER = TextEncoder.load(CONFIG / "encoder")
ELSEWHERE = load_elsewhere(CONFIG / "elsewhere")["en"]


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
        "Antipsychotics ease hallucinations. Report side effects.\n\n[do not: name a quokka]",
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


def search_over(knowledge: KnowledgeBase) -> SectionSearch:
    return SectionSearch(knowledge=knowledge, questions=knowledge.lay_questions, encoder=ENCODER, elsewhere=ELSEWHERE)


SEARCH = search_over(MADE)


@pytest.fixture(scope="module")
def search() -> SectionSearch:
    return SEARCH


def found(search: SectionSearch, question: str, top: int = 3) -> list[str]:
    return [hit.source for hit in search.search(question, top)]


def test_title_words_find_their_source(search: SectionSearch) -> None:
    """A question in a source's own words finds that source first."""
    assert found(search, "what are the causes of schizophrenia")[0] == "causes"


def test_stems_meet(search: SectionSearch) -> None:
    """Another ending of a word is the same word."""
    assert found(search, "does a gene cause it")[0] == "causes"


def test_lay_words_find_clinical_sources(search: SectionSearch) -> None:
    """A lay word finds a source that has only the clinical one."""
    assert found(search, "my meds")[0] == "medication"
    assert found(search, "should my boss know")[0] == "work"


def test_misspelt_words_are_found(search: SectionSearch) -> None:
    """A misspelt symptom still finds its source, by the pieces of words."""
    assert found(replace(search, elsewhere=()), "what are halucinatons")[0] == "voices"


def test_lay_questions_of_a_source_are_a_strong_signal(search: SectionSearch) -> None:
    """A question like one in the front matter finds its source although no other field has the words."""
    assert found(search, "who keeps whispering at night")[0] == "voices"


def test_both_parts_come_first(search: SectionSearch) -> None:
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
def test_other_subjects_find_nothing(search: SectionSearch, question: str) -> None:
    """A question about another subject finds nothing."""
    assert found(search, question) == []


@pytest.mark.parametrize("question", ["why?", "tell me more", "ok", "thanks", "", "   ", "?!", "and then?", "😀"])
def test_follow_ups_find_nothing_by_themselves(search: SectionSearch, question: str) -> None:
    """A message that says nothing about a subject finds nothing."""
    assert found(search, question) == []


def test_two_subjects_in_one_sentence_both_come(search: SectionSearch) -> None:
    """A sentence with two subjects finds the source of each among three, though nothing marks where one ends."""
    assert {"voices", "work"} <= set(found(search, "my boss knows about the voices"))


def test_directives_are_not_searched(search: SectionSearch) -> None:
    """Words of a directive find nothing."""
    assert found(search, "quokka") == []


def test_top_limits_the_hits(search: SectionSearch) -> None:
    """No more hits come than were asked for, and none for zero."""
    assert len(found(search, "medication side effects and alcohol and work", top=2)) == 2
    assert found(search, "medication", top=0) == []


def test_a_subject_of_the_knowledge_base_is_not_elsewhere() -> None:
    """A subject listed as another one's is found where the knowledge base itself treats it."""
    own = base(
        source("diabetes", "Diabetes", ("what diabetes is",), "Diabetes is a disease."),
        *MADE.sources.values(),
    )
    assert found(search_over(own), "what is diabetes")[0] == "diabetes"


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
def test_search_syntax_is_text(search: SectionSearch, text: str) -> None:
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


def test_very_long_text(search: SectionSearch) -> None:
    """A very long message is searched like any other."""
    assert found(search, "my medication has side effects. " * 5000)[0] == "medication"


def test_a_long_story_finds_what_is_asked_at_its_end(search: SectionSearch) -> None:
    """What a long story asks last is found, whatever the story is about."""
    story = "My brother used to take his tablets with breakfast and complained about the side effects. " * 6
    assert found(search, f"{story} Is it in the genes?")[0] == "causes"


def test_scores_are_comparable_between_sizes() -> None:
    """The same question scores much the same in three sources and in a thousand."""
    three = base(*list(MADE.sources.values())[:3])
    fillers = [
        source(f"f{n}", f"Subject {n}", (f"word{n} other{n}",), f"Nothing but text{n} here and{n} there.")
        for n in range(1000)
    ]
    many = base(*three.sources.values(), *fillers)
    small, large = (search_over(one).search("what are the side effects of medication")[0] for one in (three, many))
    assert small.source == large.source == "medication"
    assert abs(small.score - large.score) < 0.25

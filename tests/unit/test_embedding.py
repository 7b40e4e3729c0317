"""Search by embeddings beside the search by words, with an embedder that knows a few subjects."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from adapters.vector_files import VectorFiles
from bots.compose import Application
from bots.settings import CafiSettings
from engine.exceptions import ModelError, ModelUnavailable
from engine.knowledge.base import KnowledgeBase
from engine.models.ledger import Booking, Ledger
from engine.retrieval import embedding
from engine.retrieval.embedding import CLEAR, EmbeddedSources, Meant, fused
from engine.retrieval.protocol import Hit
from engine.settings import Budget
from tests.team import SLEEP, VOICES, application, knowledge_folder, scripted

SUBJECTS = (("sleep", "bed", "tired", "slumber"), ("voice", "hear", "hallucinat", "whisper"), ("bread", "bake"))
WORDS = (Hit(source="a", score=0.9), Hit(source="b", score=0.5), Hit(source="c", score=0.4))


class Subjects:
    """An embedder: one number for each subject a text speaks of, and one that all texts have in common."""

    name = "subjects"

    def __init__(self, error: ModelError | None = None, *, dims: int = 4, stalls: bool = False) -> None:
        self.error, self.dims, self.stalls = error, dims, stalls
        self.asked: list[list[str]] = []

    async def embed(self, texts: Sequence[str], ledger: Ledger) -> list[list[float]]:
        with Booking(ledger, role="embeddings", model=self.name):
            self.asked.append(list(texts))
            if self.stalls:
                await asyncio.sleep(3600)
            if self.error is not None:
                raise self.error
            return [self._vector(text.casefold()) for text in texts]

    def _vector(self, text: str) -> list[float]:
        found = [float(any(word in text for word in words)) for words in SUBJECTS]
        return [*found, 0.5, *[0.0] * (self.dims - 4)]

    @property
    def sent(self) -> list[str]:
        """Every text that was sent."""
        return [text for texts in self.asked for text in texts]


def sources(folder: Path, embedder: Subjects, **files: str) -> EmbeddedSources:
    base = KnowledgeBase.load(knowledge_folder(folder / "kb", **files))
    return EmbeddedSources(knowledge=base, embedder=embedder, cache=VectorFiles(folder / "cache"))


# --- Fusion -------------------------------------------------------------------------------------------------


def test_a_source_that_both_rankings_put_high_comes_first() -> None:
    """Ranks are summed as 1 / (60 + rank), so agreement beats one first place."""
    meant = [Meant("b", 0.9), Meant("c", 0.4), Meant("d", 0.3), Meant("a", 0.1)]
    assert [hit.source for hit in fused(WORDS, meant, top=3)] == ["b", "a", "c"]


def test_fused_scores_stay_in_order() -> None:
    """Scores never rise from one hit to the next, and none is higher than it was."""
    found = fused(WORDS, [Meant("b", 0.9), Meant("c", 0.4), Meant("d", 0.8), Meant("a", 0.1)], top=4)
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    assert {hit.source: hit.score for hit in found}["b"] == 0.5


def test_equal_ranks_are_decided_by_words() -> None:
    """Where the two rankings swap two sources, the order by words stands."""
    assert [hit.source for hit in fused(WORDS[:2], [Meant("b", 0.9), Meant("a", 0.8)], top=2)] == ["a", "b"]


def test_without_a_ranking_by_meaning_the_hits_by_words_are_unchanged() -> None:
    """An empty ranking by meaning leaves the hits as they were, cut to the number wanted."""
    assert fused(WORDS, [], top=2) == WORDS[:2]
    assert fused(WORDS, [], top=0) == ()


def test_abstention_is_kept_unless_meaning_is_clear() -> None:
    """Where words find nothing, a source is taken from the threshold on and not below it."""
    assert fused((), [Meant("a", CLEAR - 0.01)], top=2) == ()
    assert fused((), [Meant("a", CLEAR), Meant("b", 0.1)], top=2) == (Hit(source="a", score=CLEAR),)


# --- Ranking and cache --------------------------------------------------------------------------------------


async def test_a_question_that_shares_no_word_is_ranked_by_meaning(tmp_path: Path) -> None:
    """A source is as alike as its best line, and one about something else is far below the threshold."""
    found = await sources(tmp_path, Subjects()).rank("slumber", Ledger())
    assert [one.source for one in found] == ["sleep", "voices"]
    assert found[0].likeness > CLEAR > found[1].likeness


async def test_a_question_about_something_else_is_clearly_like_nothing(tmp_path: Path) -> None:
    """What all texts have in common does not count as likeness."""
    base = sources(tmp_path, Subjects())
    assert await base.fused("how do I bake bread", (), Ledger(), top=2) == ()


async def test_sources_are_embedded_once_and_questions_each_time(tmp_path: Path) -> None:
    """A second question sends nothing but itself, and so does the first one of another run."""
    embedder, later = Subjects(), Subjects()
    base = sources(tmp_path, embedder)
    await base.rank("slumber", Ledger())
    embedder.asked.clear()
    await base.rank("whispers", Ledger())
    await sources(tmp_path, later).rank("bed", Ledger())
    assert (embedder.sent, later.sent) == (["whispers"], ["bed"])


async def test_only_a_changed_source_is_embedded_again(tmp_path: Path) -> None:
    """The cache goes by content, so a changed source is sent again and the others are not."""
    await sources(tmp_path, Subjects()).rank("slumber", Ledger())
    embedder = Subjects()
    changed = VOICES.replace("sounds that others", "noises that others")
    await sources(tmp_path, embedder, sleep=SLEEP, voices=changed).rank("slumber", Ledger())
    assert any("noises" in text for text in embedder.sent)
    assert "Sleep" not in embedder.sent and "Hearing voices" in embedder.sent


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"PK\x03\x04", b"not an array", b"\x93NUMPY\x01\x00\x02\x00{}"])
async def test_a_broken_file_is_ignored_and_written_again(tmp_path: Path, content: bytes) -> None:
    """A file of the cache that cannot be read is embedded again and replaced, with nothing left beside it."""
    await sources(tmp_path, Subjects()).rank("slumber", Ledger())
    files = sorted((tmp_path / "cache").iterdir())
    whole = files[0].read_bytes()
    files[0].write_bytes(content)
    embedder = Subjects()
    await sources(tmp_path, embedder).rank("slumber", Ledger())
    assert len(embedder.sent) > 1
    assert files[0].read_bytes() == whole and sorted((tmp_path / "cache").iterdir()) == files


async def test_vectors_of_another_length_are_embedded_again(tmp_path: Path) -> None:
    """Where a model's vectors have become longer, the old ones in the cache are not compared with new ones."""
    await sources(tmp_path, Subjects()).rank("slumber", Ledger())
    found = await sources(tmp_path, Subjects(dims=5)).rank("slumber", Ledger())
    assert found[0].source == "sleep"


async def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    """A file in the place of the cache's folder changes no ranking."""
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    assert (await sources(tmp_path, Subjects()).rank("slumber", Ledger()))[0].source == "sleep"


def test_cached_vectors_are_read_as_written(tmp_path: Path) -> None:
    """What the cache gives back are the very numbers it was given."""
    rows = np.array([[0.25, -1.5]], dtype=np.float32)
    cache = VectorFiles(tmp_path / "new" / "folder")
    assert cache.read("key") is None
    cache.write("key", rows)
    assert np.array_equal(cache.read("key"), rows)


# --- Failures -----------------------------------------------------------------------------------------------


async def test_a_failing_endpoint_leaves_the_ranking_by_words_and_is_left_alone(tmp_path: Path) -> None:
    """After an error words alone decide, and the next turn does not wait for the endpoint again."""
    embedder = Subjects(ModelUnavailable())
    base = sources(tmp_path, embedder)
    assert await base.fused("slumber", WORDS, Ledger(), top=2) == WORDS[:2]
    assert await base.fused("slumber", WORDS, Ledger(), top=2) == WORDS[:2]
    assert len(embedder.asked) == 1


async def test_a_slow_endpoint_leaves_the_ranking_by_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn waits for the ranking by meaning only so long."""
    monkeypatch.setattr(embedding, "PATIENCE", 0.01)
    assert await sources(tmp_path, Subjects(stalls=True)).fused("slumber", WORDS, Ledger(), top=2) == WORDS[:2]


async def test_a_spent_budget_leaves_the_ranking_by_words_for_this_turn_only(tmp_path: Path) -> None:
    """A turn without calls left sends nothing, and the next turn is ranked by meaning again."""
    base, spent = sources(tmp_path, Subjects()), Ledger(budget=Budget(calls=1))
    spent.reserve()
    assert await base.fused("slumber", (), spent, top=2) == ()
    assert [hit.source for hit in await base.fused("slumber", (), Ledger(), top=2)] == ["sleep"]


# --- A turn -------------------------------------------------------------------------------------------------


def embedding_application(folder: Path, embedder: Subjects) -> Application:
    made = application(folder / "kb", scripted({}), cache_folder=folder / "cache")
    made.embedder = embedder
    return made


async def test_a_turn_finds_by_meaning_and_counts_the_call(tmp_path: Path) -> None:
    """A question whose words no source has brings the source it means into context, for one call more."""
    embedder = Subjects()
    engine = embedding_application(tmp_path, embedder).engine
    turn = await engine.respond(engine.start(), "What of slumber?")
    without = application(tmp_path / "kb", scripted({})).engine
    usual = await without.respond(without.start(), "What of slumber?")
    assert (usual.sources_in_context, turn.sources_in_context) == ((), ("sleep",))
    embedder.asked.clear()
    asked = "I cannot sleep, what helps?"
    again, as_usual = await engine.respond(engine.start(), asked), await without.respond(without.start(), asked)
    assert len(embedder.asked) == 1 and again.usage.llm_calls == as_usual.usage.llm_calls + 1


async def test_a_turn_goes_on_without_embeddings(tmp_path: Path) -> None:
    """Where the endpoint fails, the turn is the same as without one and reports no outage."""
    engine = embedding_application(tmp_path, Subjects(ModelUnavailable())).engine
    turn = await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert turn.sources_in_context == ("sleep",) and turn.review.outage is None


async def test_built_in_agents_embed_nothing(tmp_path: Path) -> None:
    """Without a language model nothing is sent, whatever is configured."""
    made = application(tmp_path / "kb")
    made.embedder = embedder = Subjects()
    engine = made.engine
    await engine.respond(engine.start(), "I cannot sleep, what helps?")
    assert embedder.asked == [] and made.embeddings is None


def test_an_embedder_is_made_only_where_a_model_is_named(tmp_path: Path) -> None:
    """`models.embeddings` is off by default; a double of the model never comes with a real embedder."""
    named = {"base_url": "http://127.0.0.1:9/v1", "embeddings": "e"}
    assert Application(settings=CafiSettings(models={"base_url": "http://127.0.0.1:9/v1"})).embeddings is None
    assert Application(settings=CafiSettings(models=named), model=scripted({})).embeddings is None
    assert Application(settings=CafiSettings(models=named, agents="builtin")).embeddings is None

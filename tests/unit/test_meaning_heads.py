"""Heads over words and meanings: what a danger is about, who is in it, whether it is dealt with, what is said to the question
whether there is one, and what people tell."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.agent.situation import Mood, SituationReading
from engine.exceptions import ConfigurationError
from engine.retrieval.scope import ScopeReading
from engine.types import Kind, Message, Role
from engine.urgency.response import ResponseClassifier
from evaluation import danger_kind_fit, resolution_fit, response_fit, scope_fit, situation_fit
from evaluation.meaning_lessons import author, rows_in
from evaluation.natural_messages import ReadMessage
from evaluation.urgency import messages_in
from tests.team import shipped, shipped_parts

PARTS = shipped_parts()


def before(*texts: str) -> tuple[Message, ...]:
    return tuple(Message(role=Role.USER, content=text) for text in texts)


def test_what_is_dealt_with_is_told_from_what_goes_on() -> None:
    """Of answers by two authors that nothing has learnt from, seven of ten of the settled ones at least are taken for that, of
    open ones, some of them written to mislead, one in twenty at most, and of those that say neither one in twenty."""
    layer, rows = PARTS["resolution"], rows_in(resolution_fit.KEPT_BACK)
    found = resolution_fit.measured(layer, rows)

    def share(label: str) -> float:
        taken = [one for row, one in found if row["label"] == label]
        return sum(taken) / len(taken)

    assert share("settled") >= 0.7 and share("open") <= 0.05 and share("unsaid") <= 0.05
    learnt = {author(row["id"]) for row in rows_in(resolution_fit.LEARNT)}
    assert not learnt & {author(row["id"]) for row in rows}


def test_what_is_typed_in_place_of_an_answer_is_told_apart() -> None:
    """By an author that nothing has learnt from: more than half of what tells of no danger is taken for that and hardly any of
    what does, and the other way round."""
    rows = messages_in(response_fit.KEPT_BACK)
    found = response_fit.measured(PARTS["responses"], rows)

    def share(head: str, *categories: str) -> float:
        taken = [head in heads for row, heads in found if row.category in categories]
        return sum(taken) / len(taken)

    assert share("calm", "denies", "goes_on") >= 0.5 and share("calm", "affirms", "danger") <= 0.06
    assert share("danger", "affirms", "danger") >= 0.5 and share("danger", "denies", "goes_on") <= 0.08
    assert share("denies", "affirms", "danger") <= 0.04
    learnt = {author(row.id) for row in messages_in(response_fit.RESPONSES)}
    assert not learnt & {author(row.id) for row in rows}


def test_what_a_danger_is_about_is_mostly_named_rightly() -> None:
    """Four of five times that a kind is named for an urgent message of authors kept back, it is the one its author gave."""
    kinds = PARTS["danger_kinds"]
    rows = danger_kind_fit.messages(danger_kind_fit.KEPT_BACK)[::8]
    named = [(kinds.of(one.message, one.earlier), danger_kind_fit.OF[one.category]) for one in rows]
    told = [(kind.value, of) for kind, of in named if kind is not Kind.UNCLEAR]
    assert len(told) >= len(rows) / 3 and sum(kind == of for kind, of in told) / len(told) >= 0.8


@pytest.mark.parametrize(
    ("message", "another"),
    [
        ("i kept back enough tablets over the winter, the letter to my daughter is on the table", False),
        ("my son took all his tablets and says he wants to sleep for good", True),
        ("ich hab alle tabletten gesammelt, meine frau weiß nichts", False),
        ("mi hermana se ha tomado todas las pastillas", True),
        ("elle veut sauter du pont, je la tiens au téléphone", True),
        ("jeg har spart opp tabletter, de andre merker ingenting", False),
    ],
)
def test_who_is_in_danger_is_read_from_the_whole_message(message: str, another: bool) -> None:
    """Naming a relative does not make a danger theirs."""
    assert PARTS["person_in_danger"].another(message, ()) is another


def test_a_sentence_is_said_where_it_is_worth_enough() -> None:
    """Of natural remarks by authors from whom it has not been learnt a third get a sentence of their own; of those that two
    readers rated, it fits two of three and is odd for one in eight at most."""
    rows = list(situation_fit.rows("kept_back.jsonl"))
    given = [given_as(row) for row in rows]
    assert sum(one is not None for one in given) >= len(rows) / 3
    rated = [one for one in situation_fit.rows("rated*.jsonl") if given_as(one) == one.said["situation"]]
    means = [sum(one.said["ratings"]) / len(one.said["ratings"]) for one in rated]
    assert sum(one >= 1.5 for one in means) >= len(means) * 2 / 3
    assert sum(one < 1 for one in means) <= len(means) / 8
    learnt = {row.conversation.author for row in situation_fit.rows("natural.jsonl")}
    assert not learnt & {row.conversation.author for row in rows}


def test_what_is_unsure_is_answered_by_a_sentence_that_fits_all_that_it_may_be() -> None:
    """Where two situations are as likely, a sentence that fits both is said and not one that is odd for the other."""
    known = PARTS["situations"]
    learnt = [name for name, one in known.situations.items() if not one.wide]
    weights = np.zeros_like(known.weights)
    weights[[learnt.index(one) for one in ("joke_tablets", "funny_family_story")], -1] = 20.0
    both = replace(known, weights=weights)
    named = both.of("the budgie ate one", ())
    assert named is not None
    at = list(known.situations).index(named)
    assert min(known.fits[at, learnt.index(one)] for one in ("joke_tablets", "funny_family_story")) > 0


def given_as(row: ReadMessage) -> str | None:
    return PARTS["situations"].of(row.text, situation_fit.before(row))


def test_every_situation_has_its_sentences_in_each_language() -> None:
    """Whatever a remark is taken for, there is a sentence for it, and no sentence is for a situation that is none."""
    for texts in PARTS["guide_texts"].values():
        assert list(texts.remarks.told) == list(PARTS["situations"].situations)
        assert all(len(set(some)) == len(some) >= 2 for some in texts.remarks.told.values())


def test_every_question_back_is_there_in_each_language_and_cannot_be_answered_by_yes_or_no() -> None:
    """What a situation asks back is one of the guide's questions, open and with one question mark, and no question is idle."""
    asked = {one.ask for one in PARTS["situations"].situations.values()} - {""}
    for language, texts in PARTS["guide_texts"].items():
        assert set(texts.remarks.asked) == asked, language
        for one in texts.remarks.asked.values():
            assert one.count("?") == 1 and one.endswith("?") and OPEN[language] & set(words(one.lower())), one


OPEN = {
    "en": {"how", "what"},
    "de": {"wie", "was", "wobei", "worüber"},
    "es": {"cómo", "qué"},
    "fr": {"comment", "qu", "quoi"},
    "nb": {"hvordan", "hva"},
}
"""A question that has one of these is not answered by yes or no."""


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def test_relief_is_for_after_a_danger_alone() -> None:
    """What is only for after a danger is said to nobody else, however likely it seems: "a scare is over"."""
    known = PARTS["situations"]
    at = list(known.situations).index("scare_over")
    weights, fits = np.zeros_like(known.weights), np.full_like(known.fits, -1.0)
    weights[at, -1], fits[at] = 20.0, 1.0
    leading = replace(known, weights=weights, fits=fits)
    assert leading.of("he is in the yard with the shotgun", (), settled=True) == "scare_over"
    assert leading.of("he is in the yard with the shotgun", ()) is None


def test_two_readings_that_speak_against_each_other_need_more() -> None:
    """What plainly weighs is not answered with a smile, nor ordinary talk as grief, unless that is worth much more."""
    known = PARTS["situations"]
    moods = {name: one.mood for name, one in known.situations.items()}
    for row in list(situation_fit.rows("kept_back.jsonl"))[::4]:
        usual, heavy, plain = (known.of(row.text, situation_fit.before(row), heavy=one) for one in (None, True, False))
        for mood, named in ((Mood.LIGHT, heavy), (Mood.HEAVY, plain)):
            assert named == usual or named is None or moods[named] is not mood, row.text


def test_what_is_about_something_else_is_told_from_what_only_sounds_so() -> None:
    """Of what an author that nothing has learnt from wrote in mid-chat, four of five messages about something else are told from
    what the first knowledge base answers, and seven of ten that only sound so are not."""
    guide, rows = (
        shipped().engine.assistants["schizophrenia"].guide,
        scope_fit.mid_chat(scope_fit.DATA / "scope" / "kept_back"),
    )
    for here, least in ((True, 0.7), (False, 0.8)):
        some = [one for one in rows if one.here is here]
        taken = [guide.search(one.lang).find(one.text, earlier=one.before).here is here for one in some]
        assert sum(taken) / len(taken) >= least


def test_a_knowledge_base_without_a_head_of_its_own_goes_by_its_lines(tmp_path: Path) -> None:
    """Where the two files are not there, nothing was learnt of a base; where one of them is, the other is missed."""
    encoder, ours = PARTS["encoder"], Path(__file__).parents[2] / "knowledge_base" / "schizophrenia"
    assert ScopeReading.of_base(tmp_path, encoder) is None
    shutil.copy(ours / "scope.bin", tmp_path)
    with pytest.raises(ConfigurationError, match=r"scope\.npy"):
        ScopeReading.of_base(tmp_path, encoder)


@pytest.mark.parametrize("broken", ["bin", "npy", "shape", "gone"])
def test_weights_that_are_broken_are_named_with_the_remedy(tmp_path: Path, broken: str) -> None:
    """A file that is missing, cut off or for another encoder: one message that names it and how to make it again."""
    config = Path(__file__).parents[2] / "config" / "urgency"
    for ending in ("bin", "npy"):
        shutil.copy(config / f"response.{ending}", tmp_path)
    file = tmp_path / ("response.bin" if broken == "bin" else "response.npy")
    spoil(file, broken)
    with pytest.raises(ConfigurationError) as failed:
        ResponseClassifier.load(tmp_path / "response", PARTS["encoder"])
    assert file.name in str(failed.value) and "evaluation.response_fit" in str(failed.value)


@pytest.mark.parametrize("name", ["situations.hidden.npy", "situations.npy", "situations.fits.npy"])
@pytest.mark.parametrize("broken", ["npy", "shape", "gone"])
def test_broken_weights_of_situations_are_named_with_the_remedy(tmp_path: Path, broken: str, name: str) -> None:
    """The same for what people tell, and for what fits it."""
    for ending in ("yaml", "hidden.npy", "npy", "fits.npy"):
        shutil.copy(Path(__file__).parents[2] / "config" / f"situations.{ending}", tmp_path)
    spoil(tmp_path / name, broken)
    with pytest.raises(ConfigurationError, match=rf"(?s){re.escape(name)}.*evaluation\.situation_fit"):
        SituationReading.load(tmp_path / "situations", PARTS["encoder"])


def spoil(file: Path, how: str) -> None:
    if how == "gone":
        file.unlink()
    elif how == "shape":
        np.save(file, np.zeros((1, 3), dtype=np.float32))
    else:
        file.write_bytes(file.read_bytes()[:40])


def test_a_greeting_that_asks_more_is_answered() -> None:
    """What stands behind a greeting is answered: who asks to be remembered is told what is kept; a greeting alone stays one."""
    service = PARTS["service"]
    assert service.subject("Buenas noches. ¿Se acuerda usted de mí? Hablamos el martes", (), "es") == "memory"
    assert service.subject("Good evening.", (), "en") in {"greeting", ""}

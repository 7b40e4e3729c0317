"""What people say in many words and one sense: heard by its words, and never over a topic."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.agent.smalltalk import SmallTalk
from engine.language.sayings import Saying
from engine.settings import AssistantSettings
from engine.texts import Texts
from engine.types import Wish

ROOT = Path(__file__).parents[2]
TEXTS = Texts.load(ROOT / "config" / "texts" / "en.yaml")
ASSISTANT = AssistantSettings(
    id="a",
    name="A",
    audience="everybody",
    condition="schizophrenia",
    knowledge_base=Path("kb"),
    rules=("informs_only",),
    welcome="Hello.",
    topics=("sleep", "voices"),
)


def heard(message: str) -> list[str]:
    return [name for name, saying in TEXTS.sayings if saying.fits(message)]


@pytest.mark.parametrize(
    ("message", "sense"),
    [
        ("Thanks a lot, that was very helpful!", "thanks"),
        ("ok thank u for the explanation", "thanks"),
        ("No more questions for today. Bye!", "farewell"),
        ("thx i have to go now, see you tomorrow", "farewell"),
        ("good evening, how are you today", "greeting"),
        ("you stupid machine", "insult"),
        ("what a useless answer", "insult"),
        ("this is all too much for me", "distress"),
        ("i cant do this anymore", "distress"),
        ("I feel so alone tonight", "distress"),
        ("i am scared", "distress"),
        ("can you put it in plain words please", "simpler"),
        ("sorry i didnt get that, easier words pls", "simpler"),
        ("way too long, give me the main point", "shorter"),
        ("could you give me one more example", "example"),
        ("tell me a bit more about this", "more"),
    ],
)
def test_a_sense_is_heard_in_many_words(message: str, sense: str) -> None:
    """Who says it in other words is understood, and in one way only."""
    assert heard(message)[:1] == [sense]


@pytest.mark.parametrize(
    "message",
    [
        "thank you, and how long do side effects last?",
        "thanks for everything, goodbye world",
        "goodbye forever",
        "i am so useless and stupid",
        "my voices say that you are useless",
        "life is too hard for me to work",
        "why am i so sad",
        "i am scared of the injection",
        "i feel sad because of my medicine",
        "how do i tell my parents",
        "can my parents pass it on",
        "can the neighbours read my thoughts",
        "are they watching me",
        "is it connected to work",
        "does it work for other people",
        "is the injection easier than tablets",
        "what is helpful",
        "can children see it in me",
    ],
)
def test_a_topic_is_never_overheard(message: str) -> None:
    """A message with a question, a belief or a reason in it is left to the rest of the house."""
    assert heard(message) == []


def test_a_wish_is_told_by_its_kind() -> None:
    """The wish for other words comes before the wish for fewer, and no wish is none."""
    assert TEXTS.sayings.wish("shorter and in simpler words please") is Wish.SIMPLER
    assert TEXTS.sayings.wish("just one sentence pls") is Wish.SHORTER
    assert TEXTS.sayings.wish("one sentence about clozapine") is None


def test_an_insult_gets_a_calm_sentence() -> None:
    """Who insults the bot is answered by the house, and no source is searched."""
    talk = SmallTalk(texts=TEXTS)
    assert talk.answer("shut up you dumb bot", ASSISTANT) == TEXTS.insult
    assert talk.answer("the pills are crap", ASSISTANT) is None


def test_distress_without_a_question_gets_no_list_of_symptoms() -> None:
    """Who only says how bad it is gets a kind sentence that names people and the emergency number."""
    said = SmallTalk(texts=TEXTS).answer("i am so tired of it all", ASSISTANT)
    assert said == TEXTS.distress and "emergency number" in said and "somebody you trust" in said


@given(st.text(max_size=80))
def test_a_word_that_does_not_belong_is_enough(text: str) -> None:
    """Whatever stands around it, a foreign word makes a message no small talk."""
    saying = Saying(cues=("thanks",), beside="so much")
    assert saying.fits("Thanks so much!")
    assert not saying.fits(f"thanks so much clozapine {text}")


def test_a_long_message_is_none() -> None:
    """More words than one says so in are left to the sources."""
    assert not Saying(cues=("thanks",), beside="so", most=3).fits("thanks so so so")

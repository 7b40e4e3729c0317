"""Dangers told as a situation, answers to questions, and the everyday life that sounds like them."""

from __future__ import annotations

import pytest

from engine.types import Message, Role, UrgencyLevel
from engine.urgency.rules import UrgencyRules
from evaluation.urgency import read_messages
from evaluation.urgency_training import DATA, WEIGHTS

RULES = UrgencyRules.load(WEIGHTS.parent)


def level(text: str, asked: str = "", told: str = "") -> UrgencyLevel:
    turns = ((Role.USER, told), (Role.ASSISTANT, asked))
    return RULES.assess_now(text, tuple(Message(role=role, content=said) for role, said in turns if said)).level


@pytest.mark.parametrize(
    "text",
    [
        "I want to die. Then I watched a film.",
        "Jeg vil dø. Etterpå så jeg en film.",
        "Ich will sterben. Danach habe ich ein Buch gelesen.",
        "Quiero morirme. Luego vi una película.",
        "Je veux mourir. Ensuite j'ai regardé un film.",
    ],
)
def test_another_sentence_does_not_tell_a_wish_away(text: str) -> None:
    """A film in the next sentence makes no story of what somebody says about themselves."""
    assert level(text) is UrgencyLevel.URGENT


@pytest.mark.parametrize(
    "text",
    [
        "My question was about sleep, and thank you for your page. I am on the footbridge now and it is quite high.",
        "she opened the gas taps because the hissing is god",
        "er hat das Gas aufgedreht, um die Geister zu vertreiben",
        "il court entre les voitures sur le périphérique",
        "He has been burning hot since Tuesday. His arms will not bend.",
    ],
)
def test_a_situation_is_found_without_a_wish(text: str) -> None:
    """Where somebody is, and what has been done, is enough."""
    assert level(text) is UrgencyLevel.URGENT


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Are you thinking about ending your life?", "yes, most of the day"),
        ("How many tablets did you take?", "all that were in the bottle"),
        ("Wie viele Tabletten hast du genommen?", "alle, die noch da waren"),
    ],
)
def test_an_answer_counts_with_its_question(asked: str, answer: str) -> None:
    """A harmless row of words is danger as the answer to a question, and harmless without it."""
    assert level(answer, asked=asked) is UrgencyLevel.URGENT
    assert level(answer) is UrgencyLevel.NONE
    assert level(answer, asked="Would you like to know more about sleep?") is UrgencyLevel.NONE


def test_only_a_question_is_answered() -> None:
    """A text that speaks of dying or of plans, shown before, makes no danger of what is written next."""
    shown = "Some people think of dying. A plan for bad days can help. Would you like the next part?"
    for said in ("did i do something wrong that i got it", "do i have to tell my friends", "no i do not smoke"):
        assert level(said, asked=shown) is UrgencyLevel.NONE


@pytest.mark.parametrize(
    "text",
    [
        "I took all my tablets this week, every one on time",
        "jeg tok alle tablettene mine i dag, morgen og kveld, som legen sa",
        "I gained weight, so I gave away all my old clothes",
        "muchas gracias por todo, me voy a dormir. adiós",
        "My brother has never been violent or suicidal",
        "I could have strangled the lot of them",
    ],
)
def test_everyday_life_shows_nothing(text: str) -> None:
    """Tablets as prescribed, old clothes, good nights, negations and anger that is over are no danger."""
    assert level(text) is UrgencyLevel.NONE


def test_a_relatives_belief_is_at_most_a_concern() -> None:
    """Who asks what to say to somebody with a belief gets an answer."""
    assert level("my husband thinks the neighbours poison him, what should I say") is UrgencyLevel.CONCERN
    assert level("my husband thinks the neighbours poison him, he has the knife") is UrgencyLevel.URGENT


def test_being_tired_of_it_all_is_a_concern() -> None:
    """Weariness of everything shows the contacts and leaves the answer."""
    assert level("i am so tired of it all") is UrgencyLevel.CONCERN


def test_a_message_in_quotation_marks_is_at_most_a_concern_after_another() -> None:
    """Words in quotation marks belong to what was said before them; alone they are taken at their word."""
    assert level('"I will kill myself tonight."', told="I translate a play, how is this line?") is UrgencyLevel.CONCERN
    assert level('"I will kill myself tonight."') is UrgencyLevel.URGENT


@pytest.mark.parametrize("name", ["validation", "unseen"])
def test_no_family_was_trained_on(name: str) -> None:
    """The messages that validate share no family and no words with those that train."""
    train, rows = read_messages(DATA / "train.jsonl"), read_messages(DATA / f"{name}.jsonl")
    assert not {(one.model_extra or {})["family"] for one in train} & {
        (one.model_extra or {})["family"] for one in rows
    }
    assert not {one.message.casefold() for one in train} & {one.message.casefold() for one in rows}

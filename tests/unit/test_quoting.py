"""What the built-in agent chooses to quote: for each question, and for whoever asks."""

from __future__ import annotations

import pytest

from bots.compose import Application
from bots.settings import CafiSettings
from engine.turn.engine import Engine
from engine.types import Help


@pytest.fixture(scope="module")
def shipped() -> Engine:
    return Application(settings=CafiSettings(agents="builtin")).engine


async def said(engine: Engine, message: str) -> tuple[str, tuple[str, ...]]:
    reply = (await engine.respond(engine.start(), message)).reply
    return reply.text, reply.citations


@pytest.mark.parametrize(
    ("message", "sources"),
    [
        ("what is clozapine and can i get pregnant on it", {"clozapine", "pregnancy_and_parenting"}),
        ("what are negative symptoms and how are they treated", {"symptoms", "treatment_overview"}),
    ],
)
async def test_each_of_two_questions_is_answered_from_its_own_source(
    shipped: Engine, message: str, sources: set[str]
) -> None:
    """A source leads the second question where the search was sure of it, and else the first source answers both."""
    assert set((await said(shipped, message))[1]) == sources


@pytest.mark.parametrize(
    ("about_me", "about_another", "only"),
    [
        ("i hear voices what helps", "my daughter hears voices how can I help her", "when your relative hears voices"),
        ("i do not wash any more", "my son does not wash any more", "Speak in private, kindly"),
        ("i drink every day since i am ill", "my brother drinks every day since he is ill", "another person stop"),
    ],
)
async def test_relatives_are_told_what_is_written_for_them(
    shipped: Engine, about_me: str, about_another: str, only: str
) -> None:
    """The passage for families answers a mother or a brother, and not the person who is ill."""
    assert only in (await said(shipped, about_another))[0]
    assert only not in (await said(shipped, about_me))[0]


@pytest.mark.parametrize(
    ("message", "of_another"),
    [
        ("my sister says she is God", True),
        ("My brother keeps telling us he is Jesus, how should we react?", True),
        ("she believes the government watches her", True),
        ("my neighbour says he can read my thoughts", False),
        ("he puts thoughts into my head", False),
        ("they put a chip in my tooth and my mum says it is not there", False),
        ("the government watches me", False),
        ("I am Jesus and my sister knows it", False),
    ],
)
async def test_a_belief_is_not_argued_with_but_those_around_somebody_are_answered(
    shipped: Engine, message: str, of_another: bool
) -> None:
    """Who tells of a belief of their own gets no text on delusions; who tells of another's gets a source."""
    assert bool((await said(shipped, message))[1]) is of_another


@pytest.mark.parametrize(
    "message",
    [
        "It came to me in the barn on Thursday, every nail hole shone at once. I have not slept since and before sunrise I will"
        " walk to the capital without a phone, it is written",
        "i cant go on like this, everything is dark and i have given my cat to the neighbour",
    ],
)
async def test_somebody_who_may_tell_of_danger_gets_no_passage_that_talks_past_them(
    shipped: Engine, message: str
) -> None:
    """What sounds like danger and asks nothing that a passage answers gets kind words with the question, nothing quoted."""
    turn = await shipped.respond(shipped.start(), message)
    assert turn.help is Help.QUESTION
    assert turn.reply.citations == () and "doctor" in turn.reply.text and "symptoms" not in turn.reply.text


async def test_a_no_is_taken_as_a_no(shipped: Engine) -> None:
    """Nobody who has told of a belief, and then only says no, is given the text on delusions."""
    told = await shipped.respond(shipped.start(), "my neighbour has a camera and they know my thoughts")
    turn = await shipped.respond(told.conversation, "no")
    assert turn.reply.citations == () and "All right" in turn.reply.text

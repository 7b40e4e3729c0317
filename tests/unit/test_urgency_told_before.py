"""Dangers that show only with what was told before, near acts, dangers that are over, and phrases that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.exceptions import RuleError
from engine.types import LayerResult, Message, Role, Urgency, UrgencyLevel
from engine.urgency.rules import UrgencyRules

RULES = UrgencyRules.load(Path(__file__).parents[2] / "config" / "urgency")


def found(text: str, *earlier: str) -> LayerResult:
    return RULES.assess_now(text, tuple(Message(role=Role.USER, content=one) for one in earlier))


def level(text: str, *earlier: str) -> UrgencyLevel:
    return found(text, *earlier).level


@pytest.mark.parametrize(
    "text",
    [
        "the voice goes burn ur arm n last nite i nearly did lol",
        "it tells me to hurt myself and this morning i came close to doing it haha",
        "stemmen sier jeg skal skade meg, og i natt var jeg på nippet til å gjøre det",
        "die Stimme sagt ich soll mich schneiden, gestern Abend hätte ich es beinahe getan",
        "la voz me dice que me queme y ayer casi lo hago",
        "la voix me dit de me brûler et hier soir j'ai failli le faire",
    ],
)
def test_a_near_act_is_urgent(text: str) -> None:
    """An order or an urge with an act that nearly happened lately is urgent, in chat language and with a laugh too."""
    assert level(text) is UrgencyLevel.URGENT


def test_a_near_act_may_come_a_message_later() -> None:
    """The order in one message and the near act in the next belong together."""
    assert level("last night i almost gave in", "one voice orders me to cut my arm") is UrgencyLevel.URGENT
    assert level("last night i almost gave in", "I want to eat less cake") is UrgencyLevel.NONE


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("I have been on Clozaril since May", "my throat hurts and I have been shivering all night"),
        ("clozapine makes me dribble", "temp of 38.9 this evening"),
        ("Ich nehme Leponex.", "Ich habe Fieber und Schüttelfrost."),
        ("Jeg bruker klozapin.", "Jeg har fått feber og frostrier."),
        ("Tomo clozapina.", "Tengo escalofríos y fiebre."),
        ("Je prends du Leponex.", "J'ai une angine et de la fièvre."),
        ("She has a high temperature since the injection.", "Her legs are rigid and she cannot move her jaw."),
        ("his arms went stiff", "now he has a fever too"),
        ("Er ist ganz steif.", "Er hat Fieber."),
    ],
)
def test_a_medicine_named_before_makes_it_urgent(told: str, text: str) -> None:
    """An infection under clozapine and fever with stiffness are urgent, whichever was told first."""
    assert level(text, told) is UrgencyLevel.URGENT


def test_without_the_medicine_it_is_not() -> None:
    """A sore throat alone, and a question about fever, are nothing that the rules find."""
    assert level("my throat hurts and I am shivering", "I take aripiprazole") is UrgencyLevel.NONE
    assert level("Is fever a side effect of it?", "I take clozapine") is UrgencyLevel.NONE


@pytest.mark.parametrize(
    ("danger", "text"),
    [
        ("My son is going to kill himself", "We found him, he is safe and with my sister."),
        ("I want to kill myself tonight", "The crisis team came. I am not alone."),
        ("I will stab my neighbour", "I gave the knife to my brother."),
        ("I took all my pills", "The ambulance came and I am at the hospital."),
        ("Jeg vil dø i natt", "Politiet kom og jeg er på sykehuset."),
        ("Ich will mich heute umbringen", "Meine Schwester ist bei mir."),
        ("quiero matarme", "mi hermana está conmigo"),
        ("je veux me tuer ce soir", "mon père est avec moi"),
    ],
)
def test_a_danger_that_is_over_keeps_the_contacts_in_view(danger: str, text: str) -> None:
    """Who says that the danger has passed sees one line, not the whole referral again."""
    assert level(danger) is UrgencyLevel.URGENT
    one = found(text, danger)
    assert one.passed
    assert one.level is UrgencyLevel.CONCERN


@pytest.mark.parametrize(
    ("danger", "text"),
    [
        ("I want to kill myself tonight", "I put it away but I still want to die."),
        ("I want to kill myself tonight", "I gave it all to my sister. I am calm now."),
        ("I want to kill myself tonight", "My brother is here. I am going to kill him."),
        ("I took all my pills", "im ok now"),
        ("My husband hits me", "he is back home"),
        ("My son is missing since yesterday", "they found him dead"),
        ("I should do my homework", "Nobody came. I put it away."),
    ],
)
def test_present_danger_is_not_over(danger: str, text: str) -> None:
    """Doubt, another danger, belongings given away, pills without a doctor, a hitter who is back: nothing has passed."""
    assert not found(text, danger).passed


def test_only_a_layer_without_the_conversation_is_lowered() -> None:
    """What a fast layer still finds becomes a line; a model that has read the conversation is believed."""
    over = LayerResult(layer="rules", level=UrgencyLevel.CONCERN, passed=True)
    fast = LayerResult(layer="classifier", level=UrgencyLevel.URGENT)
    model = LayerResult(layer="llm", level=UrgencyLevel.URGENT, settles=True)
    assert Urgency.of((over, fast)).level is UrgencyLevel.CONCERN
    assert Urgency.of((over, fast, model)).level is UrgencyLevel.URGENT


@pytest.mark.parametrize(
    "text",
    [
        "without my tablets for two weeks I felt awake for the first time",
        "skipped four days and felt so awake",
        "Where do you go when I am not here?",
        "She is not at home on Mondays.",
        "it makes me push all my friends away",
        "the voices tell me to push people away",
        "I did not mean it like that",
    ],
)
def test_phrases_that_are_no_danger(text: str) -> None:
    """Feeling awake, not being here and pushing people away replace no answer, even after a danger."""
    assert level(text) is not UrgencyLevel.URGENT
    assert level(text, "I want to kill myself") is not UrgencyLevel.URGENT


@pytest.mark.parametrize("text", ["I do not feel safe at home", "she is never safe in this house", "unsafe at home"])
def test_not_being_safe_is_still_found(text: str) -> None:
    """Who is not safe where they live is in danger."""
    assert level(text) is UrgencyLevel.URGENT


def test_a_broken_entry_is_named(tmp_path: Path) -> None:
    """What is wrong in `passed` is told with its id."""
    (tmp_path / "a.yaml").write_text(
        "rules:\n  - {id: a.b, category: suicide, level: urgent, patterns: die}\n"
        "passed:\n  - {id: c.d, patterns: (safe}\n",
        "utf-8",
    )
    with pytest.raises(RuleError) as caught:
        UrgencyRules.load(tmp_path)
    assert caught.value.key == "c.d"

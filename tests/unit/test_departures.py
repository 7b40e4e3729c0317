"""Where a model's draft departs from its cited source: each fault is sent back with its reason, a paraphrase is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.departures import CitedText, false_quotations, foreign_quantities, turned_sentences
from engine.judges.support import cited_text
from engine.knowledge.base import KnowledgeBase
from engine.models.scripted import ScriptedModel
from engine.turn.engine import Engine
from tests.team import CITED, application, knowledge_folder, scripted

DEPOT = """---
id: sleep
title: Sleep and long-acting injections
summary: [sleep, tired, injections]
questions: [i cant sleep, why am i so tired]
---
The injection is given every four weeks, and about one in five people feel tired for 2 to 3 days.

You should not stop the injections on your own without a word to the team. Most people start with 75 mg.

Call the clinic between 8:30 and 14:00. Sleep is often better after some months than before the first injection.

Walking for half an hour daily can help. A good night has 8 hours.
"""
TEXT = (CitedText(text=DEPOT.partition("---\n")[2].partition("---\n")[2]),)
FAITHFUL = [
    "About 20 % feel tired, mostly for two or three days. Four in five do not.",
    "The injection is given every 28 days, so about once a month.",
    "Walking 30 minutes a day can help.",
    "Die Spritze gibt es alle 4 Wochen, und etwa 20 Prozent sind 2 bis 3 Tage müde.",
    "La inyección se pone cada 4 semanas; el 20 % se siente cansado 2 o 3 días.",
    "L'injection est donnée toutes les 4 semaines, et 1 personne sur 5 est fatiguée 2 à 3 jours.",
    "Injeksjonen gis hver 4. uke, og 1 av 5 er trette i 2 til 3 dager. Ring før kl. 14.",
    "Never stop the injections on your own without a word to the team.",
    "You could say: “I feel tired since the last injection.”",
]
FAULTS = {
    "figure": ("About 40 % feel tired.", "40 %"),
    "time": ("The injection is given every six weeks.", "six weeks"),
    "dose": ("Most people start with 150 mg.", "150 mg"),
    "hour": ("Call the clinic before 16:30.", "16:30"),
    "zeit": ("Die Spritze gibt es alle 6 Wochen.", "6 wochen"),
    "hora": ("La inyección se pone cada 6 semanas.", "6 semanas"),
    "heure": ("L'injection est donnée toutes les 6 semaines.", "6 semaines"),
    "tid": ("Injeksjonen gis med 6 ukers mellomrom, og du er trett i 9 dager.", "9 dager"),
    "negation": ("You should stop the injections on your own without a word to the team.", "the reverse"),
    "comparison": ("Sleep is often worse after some months than before the first injection.", "the reverse"),
    "phone": ("You can call the clinic: 0800 765 4321.", "phone number"),
    "quotation": ("My source says: “Sleep will come back by itself very soon.”", "quotation marks"),
}


def over_depot(folder: Path, model: ScriptedModel) -> Engine:
    built = application(folder, model)
    knowledge_folder(folder, sleep=DEPOT)
    return built.engine


@pytest.mark.parametrize("reply", FAITHFUL)
async def test_a_faithful_paraphrase_of_a_model_is_not_sent_back(tmp_path: Path, reply: str) -> None:
    """Other words, other units and other languages for what a source says fail no check."""
    model = scripted({"agent": CITED | {"reply": reply}})
    engine = over_depot(tmp_path, model)
    turn = await engine.respond(engine.start(), "Why am I so tired?")
    assert (turn.review.failed_checks, turn.reply.text) == ((), reply)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_departure_from_the_source_is_sent_back_with_its_reason(tmp_path: Path, fault: str) -> None:
    """A wrong figure, time or dose, a turned sentence, an invented number or quotation costs the model another draft."""
    reply, named = FAULTS[fault]
    right = "Walking for half an hour daily can help."
    model = scripted({"agent": [CITED | {"reply": reply}, CITED | {"reply": right}]})
    engine = over_depot(tmp_path, model)
    turn = await engine.respond(engine.start(), "Why am I so tired?")
    assert turn.reply.text == right
    assert len(turn.review.failed_checks) == 1 and named in turn.review.failed_checks[0]


def test_what_the_person_wrote_may_be_taken_up() -> None:
    """A dose that a person names is no invention; the same dose from nowhere is one, with a source or without."""
    reply = "My sources say nothing about 300 mg."
    assert foreign_quantities(reply, TEXT, ["i take 300mg"]) == foreign_quantities(reply, (), ["300 mg"]) == ()
    assert foreign_quantities(reply, TEXT) and foreign_quantities(reply, ())


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        ("i slept 14h", "You slept 14 hours."),
        ("hab 14 std geschlafen", "14 Stunden Schlaf sind viel."),
        ("dort 14h par nuit", "14 heures de sommeil, c'est beaucoup."),
        ("sover 14 t", "14 timer er mye."),
        ("je le prends à 14h30", "You take it at 2:30."),
    ],
)
def test_hours_may_be_told_in_short(told: str, reply: str) -> None:
    """A length or an hour of the day that a person abbreviates may be written out; another one may not."""
    assert foreign_quantities(reply, TEXT, [told]) == ()
    assert foreign_quantities(reply, TEXT, [told.replace("14", "9")])


def test_an_hour_of_the_day_may_be_told_as_a_bare_figure() -> None:
    """Who writes that somebody opens at eleven is answered about eleven o'clock, and about no other hour."""
    reply = "Warten Sie nicht bis 11 Uhr."
    assert foreign_quantities(reply, TEXT, ["der hausarzt macht erst um 11 auf"]) == ()
    assert foreign_quantities(reply, TEXT, ["der hausarzt macht erst um 9 auf"])


def test_without_a_source_only_doses_are_looked_at() -> None:
    """What is said in general may count days or people."""
    assert foreign_quantities("Many trips take 3 hours, and 5 % more.", ()) == ()


@pytest.mark.parametrize(
    ("source", "turned"),
    [
        ("Die Tabletten machen in der Regel nicht abhängig.", "Die Tabletten machen in der Regel abhängig."),
        ("Las pastillas no crean dependencia en la mayoría.", "Las pastillas crean dependencia en la mayoría."),
        ("Les comprimés ne créent pas de dépendance.", "Les comprimés créent de dépendance."),
        ("Tablettene gjør deg ikke avhengig av dem.", "Tablettene gjør deg avhengig av dem."),
    ],
)
def test_a_negation_less_is_seen_in_each_language(source: str, turned: str) -> None:
    """A near copy without the source's "not" is found, whatever the language; a copy with it is not."""
    assert list(turned_sentences(source, [CitedText(text=source)])) == []
    assert [one for one, _ in turned_sentences(turned, [CitedText(text=source)])] == [turned]


def test_a_myth_may_be_denied() -> None:
    """What a source names as a myth is no statement of it, so that its denial is no reversal."""
    myth = "## Myths\n\n- People with schizophrenia are dangerous to others.\n\n## Facts\n\nMost are calm."
    assert (
        list(turned_sentences("People with schizophrenia are not dangerous to others.", [CitedText(text=myth)])) == []
    )


def test_nothing_in_the_shipped_sources_departs_from_itself() -> None:
    """Every shipped source passes, quoted whole: built-in answers are never sent back for what they quote."""
    root = Path(__file__).resolve().parents[2] / "knowledge_base"
    for folder in (root / "schizophrenia", root / "sleep"):
        for source in KnowledgeBase.load(folder).sources.values():
            texts = [cited_text(source)]
            found = foreign_quantities(source.text, texts)
            assert (found, [*turned_sentences(source.text, texts)], [*false_quotations(source.text, texts)]) == (
                (),
                [],
                [],
            )

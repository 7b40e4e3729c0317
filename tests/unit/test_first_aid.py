"""What to do until help comes: in the referral, from the table of dangers, where the urgency judge names an entry."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine import Engine
from engine.knowledge.base import KnowledgeBase
from engine.types import DangerAnswer, Help, Kind, Turn
from tests.sources import SHIPPED
from tests.team import CALM, knowledge_folder, scripted, shipped_engine, shipped_parts
from tests.team import application as application_over

REFERRALS = shipped_parts()["referrals"]
BARE = {
    "en": "Call your local emergency services.",
    "de": "Wählen Sie den Notruf.",
    "es": "Llama a los servicios de emergencia de tu zona.",
    "fr": "Appelez les secours (numéro d'urgence).",
    "nb": "Ring nødnummeret der du er.",
}
TABLE = """words: {emergency: "Now:", same_day: "Today:", this_week: "Soon:", say: "Say:", call: Call for help}
dangers:
  - id: fit
    name: Seizure (fit)
    how_fast: emergency
    signs: [the body jerks]
    do: [Call for help., Hold nobody down.]
    say: Somebody with psychosis has a fit.
    authority: {title: Epilepsy, body: WHO, year: 2024}
  - id: sugar
    name: High blood sugar
    how_fast: same_day
    signs: [great thirst]
    do: [Call your doctor.]
    say: I am very thirsty.
    authority: {title: Diabetes, body: WHO, year: 2024}
  - id: rash
    name: A small rash
    how_fast: this_week
    signs: [red spots]
    do: [Show it to your doctor.]
    say: I have a rash.
    authority: {title: Skin, body: WHO, year: 2024}
"""


def engine_that_hears(folder: Path, table: str = TABLE, **heard: Any) -> Engine:
    """An engine whose urgency judge says this of every message."""
    source = "---\nid: fits\ntitle: Fits\nsummary: [fits]\n---\nText.\n\n[danger: fit]\n\n[danger: sugar]\n\n[danger: rash]\n"
    (knowledge_folder(folder, fits=source) / "dangers.yaml").write_text(table, encoding="utf-8")
    return application_over(folder, scripted({"urgency": CALM | heard}), shipped_parts()).engine


async def said(engine: Engine, message: str = "It happens right now", **more: Any) -> Turn:
    return await engine.respond(engine.start(), message, **more)


async def test_the_referral_says_what_to_do_after_whom_to_call(tmp_path: Path) -> None:
    """Below the number stand the steps of the danger that was told, without a second call for help, and what to say."""
    turn = await said(engine_that_hears(tmp_path / "kb", level="urgent", kind="medical", entry="fit"))
    first, do, say, after, *contacts = turn.reply.text.split("\n")
    assert turn.help is Help.REFERRAL and "112" in first and "Call for help" not in turn.reply.text
    assert do == "- Hold nobody down."
    assert say == "Say: “Somebody with psychosis has a fit.”" and after.startswith("Are you safe right now")
    assert contacts and REFERRALS.choose(None, "en").is_one(turn.reply.text)


@pytest.mark.parametrize("entry", ["", "fits", "rash", "<b>fit</b>"])
async def test_what_is_not_in_the_table_or_can_wait_changes_nothing(tmp_path: Path, entry: str) -> None:
    """A judge that names no entry, an unknown one, or one that waits for days gets the referral as it is without."""
    turn = await said(engine_that_hears(tmp_path / "kb", level="urgent", kind="medical", entry=entry))
    assert turn.reply.text == REFERRALS.choose(None, "en").full(kind=Kind.MEDICAL) and turn.urgency.entry == ""


async def test_a_body_that_needs_help_today_is_not_sent_to_the_emergency_number(tmp_path: Path) -> None:
    """One danger has one threshold: what is to be seen the same day is called so; where no body is told of, help is now."""
    turn = await said(engine_that_hears(tmp_path / "one", level="urgent", kind="medical", entry="sugar"))
    first, do, *_ = turn.reply.text.split("\n")
    assert "Please get help today, also at night or at the weekend; in an emergency call 112, 911" in first
    assert do == "- Call your doctor." and turn.reply.text.count("112") == 1
    turn = await said(engine_that_hears(tmp_path / "two", level="urgent", kind="dying", entry="sugar"))
    assert turn.reply.text == REFERRALS.choose(None, "en").full(kind=Kind.DYING)


async def test_where_a_judge_is_not_sure_of_a_body_it_is_not_asked_what_was_taken(tmp_path: Path) -> None:
    """Of sleepless nights a judge asks simply whether somebody is in danger; of a wish to die it asks about that."""
    texts = REFERRALS.choose(None, "en").texts
    body = await said(engine_that_hears(tmp_path / "one", level="concern", kind="medical"), "It is the fourth night")
    dying = await said(engine_that_hears(tmp_path / "two", level="concern", kind="dying"), "It is the fourth night")
    assert body.help is dying.help is Help.QUESTION
    assert body.reply.text.endswith(texts.check_faint) and dying.reply.text.endswith(texts.checks[Kind.DYING])


async def test_whoever_tells_of_another_is_not_asked_about_their_own_life(tmp_path: Path) -> None:
    """Where a judge is not sure what danger there is to somebody else, it asks simply whether somebody is in danger."""
    texts = REFERRALS.choose(None, "en").texts
    asked = "My mum talks to nobody at night"
    about = await said(engine_that_hears(tmp_path / "one", level="concern", kind="unclear", another=True), asked)
    own = await said(engine_that_hears(tmp_path / "two", level="concern", kind="unclear"), asked)
    assert about.help is own.help is Help.QUESTION
    assert about.reply.text.endswith(texts.check_faint) and own.reply.text.endswith(texts.checks[Kind.UNCLEAR])


async def test_whoever_takes_a_fear_for_the_truth_is_not_told_an_illness(tmp_path: Path) -> None:
    """The words for helpers may name an illness; beside a belief that is part of one they are left out, the steps stay."""
    heard = {"level": "urgent", "kind": "fear", "entry": "fit", "delusional_framing": True}
    turn = await said(engine_that_hears(tmp_path / "kb", **heard))
    assert "psychosis" not in turn.reply.text and "- Hold nobody down." in turn.reply.text


async def test_steps_for_helpers_are_not_shown_to_the_person_in_danger(tmp_path: Path) -> None:
    """What says to stay near could be taken wrongly by whoever is confused: it is told only about somebody else."""
    table = TABLE.replace("how_fast: emergency", "how_fast: emergency\n    to_helpers: true")
    heard = {"level": "urgent", "kind": "medical", "entry": "fit"}
    of_self = await said(engine_that_hears(tmp_path / "one", table, **heard))
    of_another = await said(engine_that_hears(tmp_path / "two", table, **heard, another=True))
    assert of_self.reply.text == REFERRALS.choose(None, "en").full(kind=Kind.MEDICAL)
    assert "- Hold nobody down." in of_another.reply.text


async def test_a_relative_reads_whose_words_they_pass_on(tmp_path: Path) -> None:
    """What the person in danger would do and say, "I take …", is told to somebody else as theirs; what anybody does, is not."""
    heard = {"level": "urgent", "kind": "medical", "entry": "fit"}
    plain = await said(engine_that_hears(tmp_path / "one", **heard, another=True))
    assert "Say: “Somebody with psychosis has a fit.”" in plain.reply.text
    table = TABLE.replace("how_fast: emergency", "how_fast: emergency\n    own_words: true")
    of_another = await said(engine_that_hears(tmp_path / "two", table, **heard, another=True))
    told = "What to tell them, as the person themselves would say it: “Somebody with psychosis has a fit.”"
    assert told in of_another.reply.text.split("\n") and "Say:" not in of_another.reply.text
    lead = "What matters now, for the person you are worried about:"
    assert [lead in one.reply.text for one in (plain, of_another)] == [False, True]


@pytest.mark.parametrize("language", sorted(BARE))
def test_nobody_is_told_to_go_along_with_somebody_who_may_hurt_them(language: str) -> None:
    """Where somebody is feared, or afraid of others, the one who worries is sent nowhere with them; otherwise they
    may go along, where the country is not known."""
    referral = REFERRALS.choose(None, language)
    of_a_body, *feared = (
        referral.full(kind=kind, third_person=True).split("\n")[0] for kind in (Kind.DYING, Kind.OTHERS, Kind.FEAR)
    )
    along = referral.texts.own["international"].call_about
    assert along in of_a_body and all(along not in one and "112" in one for one in feared)
    assert all(referral.is_one(one) for one in (of_a_body, *feared))


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "nb"])
def test_who_may_hurt_somebody_reads_steps_of_their_own(language: str) -> None:
    """Whoever writes of themselves is told to go away from the person, a bystander to go to a safe place."""
    dangers = KnowledgeBase.load(SHIPPED[0]).edition(language).dangers
    own, anothers = dangers.usual(Kind.OTHERS, another=False), dangers.usual(Kind.OTHERS, another=True)
    assert (own, anothers) == ("may_hurt_somebody", "danger_to_others")
    steps, theirs = dangers.first_aid(own), dangers.first_aid(anothers)
    assert steps is not None and theirs is not None and not set(steps.do) & set(theirs.do)


def test_a_step_that_only_says_when_to_call_is_left_out_and_so_is_what_others_say() -> None:
    """Nothing weakens the call for help: no condition, no lighter case; what somebody else would say is left out, too."""
    dangers = KnowledgeBase.load(SHIPPED[0]).dangers
    overdose, others = dangers.first_aid("overdose"), dangers.first_aid("danger_to_others")
    assert overdose is not None and others is not None
    assert [one.partition(".")[0] for one in overdose.do] == [
        "Do not make the person vomit",
        "Keep the packs for the helpers",
    ]
    suicide = dangers.first_aid("suicide_risk_of_another")
    assert suicide is not None and any("Press on a wound" in one for one in suicide.do)
    assert "For yourself" in dangers.entries["danger_to_others"].entry.say and "For yourself" not in others.say
    white_cells = dangers.first_aid("low_white_cells")
    assert white_cells is not None and any("Very ill" in one for one in white_cells.do)


@pytest.mark.parametrize("language", sorted(BARE))
def test_for_a_body_the_emergency_number_leads_in_every_country(language: str) -> None:
    """Where a body is in danger, 911 is named in the United States and 999 in the United Kingdom, and no line for the mind."""
    us = REFERRALS.choose("us", language).full(kind=Kind.MEDICAL).split("\n")[0]
    uk = REFERRALS.choose("uk", language).full(kind=Kind.MEDICAL).split("\n")[0]
    assert "911" in us and "988" not in us
    assert "999" in uk and "Lifeline" not in uk


async def test_a_yes_to_the_check_question_gets_what_to_do_too(tmp_path: Path) -> None:
    """What the judge only suspected is kept until the question is answered, and forgotten after a no."""
    engine = engine_that_hears(tmp_path / "kb", level="concern", kind="medical", entry="fit")
    asked = await said(engine)
    assert asked.help is Help.QUESTION and "Hold nobody down" not in asked.reply.text
    yes = await engine.answered(asked.conversation, DangerAnswer.YES)
    assert yes.help is Help.REFERRAL and "- Hold nobody down." in yes.reply.text
    no = await engine.answered(asked.conversation, DangerAnswer.NO)
    assert no.conversation.danger.entry == "" and "Hold nobody down" not in no.reply.text


async def test_what_nobody_has_translated_is_left_out(tmp_path: Path) -> None:
    """A referral in a language that the table is not in stands without the steps, rather than half in another one."""
    engine = engine_that_hears(tmp_path / "kb", level="urgent", kind="medical", entry="fit")
    norwegian = REFERRALS.choose("no", "nb")
    turn = await said(engine, "Det skjer nå, hva gjør jeg", referral=norwegian)
    assert turn.reply.text == norwegian.full(kind=Kind.MEDICAL)


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("I want to kill myself tonight", ["Do not stay alone."]),
        ("I took all my tablets", []),
    ],
)
async def test_where_explicit_words_alone_are_heard_the_usual_steps_of_their_kind_stand(
    message: str, shown: list[str]
) -> None:
    """Without a model the steps for whoever may end their life are shown; a body's danger is not guessed from its kind."""
    engine = shipped_engine()
    turn = await said(engine, message)
    steps = KnowledgeBase.load(SHIPPED[0]).dangers.first_aid("suicidal_intent")
    assert turn.help is Help.REFERRAL and steps is not None
    assert [one for one in steps.do if one in turn.reply.text] == (list(steps.do) if shown else [])
    assert all(one in turn.reply.text for one in shown)


async def test_where_a_judge_names_none_the_usual_steps_stand_without_words_to_say(tmp_path: Path) -> None:
    """Whoever cuts themselves and does not want to die reads how to stop the blood, and is not told to say that they do."""
    table = TABLE.replace("how_fast: emergency", "how_fast: emergency\n    usual_for: dying")
    engine = engine_that_hears(tmp_path / "kb", table, level="urgent", kind="dying")
    turns = [await said(engine), await said(engine, "I want to kill myself tonight", built_in=True)]
    assert all("- Hold nobody down." in one.reply.text for one in turns)
    assert ["Say: " in one.reply.text for one in turns] == [False, True]


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda path: path.name)
@pytest.mark.parametrize("language", sorted(BARE))
def test_each_shipped_danger_fits_into_the_referral(folder: Path, language: str) -> None:
    """In five languages the steps are the entry's own, nothing stands twice, and none of them only says to call."""
    dangers = KnowledgeBase.load(folder).edition(language).dangers
    referral = REFERRALS.choose("de", language)
    plain = referral.full(kind=Kind.MEDICAL).split("\n")
    for name in dangers.pressing:
        aid, entry = dangers.first_aid(name), dangers.entries[name].entry
        assert aid is not None and set(aid.do) <= set(entry.do) and (aid.do or len(entry.do) <= 2)
        text = referral.full(kind=Kind.MEDICAL, aid=aid, third_person=aid.to_helpers)
        lines = text.split("\n")
        assert len(set(lines)) == len(lines) and f"- {BARE[language]}" not in lines and referral.is_one(text)
        assert "112" in lines[0] and (referral.texts.today.partition("{")[0] in lines[0]) is not aid.now
        assert (
            {one for one in plain if one.startswith("- ")} <= set(lines)
            and aid.say in lines
            and f"“{entry.say}"[:40] in text
        )
        assert len(text) < 1_900, name
        silent = referral.full(kind=Kind.MEDICAL, aid=replace(aid, say=""))
        assert entry.say not in silent and referral.is_one(silent)

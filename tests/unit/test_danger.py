"""What is shown when danger may be there, and what stays remembered of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.types import Danger, DangerAnswer, Help, Kind, LayerResult, Urgency, UrgencyLevel
from engine.urgency.danger import (
    OPEN_TURNS,
    QUIET_TURNS,
    after,
    answered,
    answers_open,
    continued,
    denied_in_passing,
    help_due,
    weighed,
)
from engine.urgency.response import CheckResponse

NONE, CONCERN, URGENT = UrgencyLevel


def found(level: UrgencyLevel, layer: str = "floor", *, failed: bool = False) -> LayerResult:
    return LayerResult(layer=layer, level=level, failed=failed, decides=layer == "llm")


def seen(level: UrgencyLevel) -> Urgency:
    return Urgency.of([found(level)])


def walked(*levels: UrgencyLevel, danger: Danger | None = None) -> list[Help]:
    danger, shown = danger or Danger(), []
    for level in levels:
        due = help_due(danger, seen(level))
        danger = after(danger, due, seen(level), "words")
        shown.append(due)
    return shown


@pytest.mark.parametrize(
    ("layers", "level"),
    [
        ([found(URGENT), found(NONE, "classifier")], URGENT),
        ([found(URGENT), found(NONE, "llm")], URGENT),
        ([found(NONE), found(CONCERN, "classifier"), found(NONE, "llm")], NONE),
        ([found(NONE), found(CONCERN, "classifier"), found(URGENT, "llm")], URGENT),
        ([found(NONE), found(NONE, "classifier"), found(CONCERN, "llm")], CONCERN),
        ([found(NONE), found(CONCERN, "classifier"), found(NONE, "llm", failed=True)], CONCERN),
        ([found(NONE), found(CONCERN, "classifier")], CONCERN),
        ([], NONE),
    ],
)
def test_who_is_sure_is_believed_and_a_suspicion_is_decided_by_the_judge(
    layers: list[LayerResult], level: UrgencyLevel
) -> None:
    """The floor and the judge may say `urgent`; a judge that failed leaves the suspicion; one that answered settles it."""
    assert Urgency.of(layers).level is level


def test_explicit_words_in_which_no_danger_is_heard_raise_a_suspicion() -> None:
    """A song or a joke may hold a phrase of the floor: who reads the whole message and hears none makes it a question; spelt out,
    the phrase stands, and so does what the judge says."""
    words = LayerResult(layer="floor", level=URGENT, kind=Kind.DYING, by_words=True)
    quiet = LayerResult(layer="classifier", level=NONE, hears_none=True)
    asked = Urgency.of([words, quiet])
    assert asked.level is CONCERN and not asked.faint and help_due(Danger(), asked) is Help.QUESTION
    assert Urgency.of([words, found(NONE, "classifier")]).level is URGENT
    assert Urgency.of([found(URGENT), quiet]).level is URGENT
    assert Urgency.of([words, quiet, found(NONE, "llm")]).level is NONE
    assert Urgency.of([words, quiet, found(URGENT, "llm")]).level is URGENT
    assert Urgency.of([words, quiet, found(NONE, "llm", failed=True)]).level is CONCERN


def test_what_is_typed_in_place_of_an_answer_counts() -> None:
    """What plainly tells of no danger gets the contacts, not the referral; what tells of some gets it, however quietly."""
    calm, danger = CheckResponse(calm=True), CheckResponse(danger=True)
    asked, later = Danger(asked=0), Danger(asked=1)

    def due(before: Danger, urgency: Urgency, response: CheckResponse) -> Help:
        return help_due(before, weighed(before, urgency, response))

    assert [due(one, seen(CONCERN), calm) for one in (asked, later)] == [Help.LINE, Help.LINE]
    assert [due(one, seen(CONCERN), CheckResponse()) for one in (asked, later)] == [Help.REFERRAL, Help.REFERRAL]
    assert [due(one, seen(NONE), danger) for one in (asked, later)] == [Help.REFERRAL, Help.NONE]
    faint = Urgency.of([LayerResult(layer="classifier", level=CONCERN, faint=True)])
    assert [due(one, faint, danger) for one in (asked, later)] == [Help.REFERRAL, Help.LINE]
    sure = Urgency.of([LayerResult(layer="classifier", level=CONCERN, sure=True)])
    assert due(asked, sure, calm) is Help.REFERRAL
    assert due(asked, seen(URGENT), calm) is Help.REFERRAL


def test_the_flag_of_a_judge_that_answered_stands() -> None:
    """A delusional framing that only the classifier saw is dropped where the judge has read the message."""
    classifier = LayerResult(layer="classifier", level=NONE, delusional_framing=True)
    assert Urgency.of([classifier]).delusional_framing
    assert not Urgency.of([classifier, found(NONE, "llm")]).delusional_framing
    assert Urgency.of([classifier, found(NONE, "llm", failed=True)]).delusional_framing


def test_a_suspicion_asks_and_the_next_one_says_what_to_do() -> None:
    """The check question comes once; who passes it over and is suspected again is shown the referral, then lines."""
    assert walked(CONCERN, CONCERN, CONCERN, CONCERN) == [Help.QUESTION, Help.REFERRAL, Help.BRIEF, Help.BRIEF]
    assert walked(CONCERN, NONE, CONCERN, NONE) == [Help.QUESTION, Help.LINE, Help.REFERRAL, Help.LINE]
    assert walked(CONCERN, NONE, NONE, NONE, CONCERN) == [Help.QUESTION, Help.LINE, Help.NONE, Help.NONE, Help.QUESTION]
    assert walked(CONCERN, NONE, NONE, CONCERN) == [Help.QUESTION, Help.LINE, Help.NONE, Help.REFERRAL]


def test_a_faint_suspicion_shows_contacts_and_asks_nothing() -> None:
    """Below an answer, after a question that was passed over, and after danger was told: one line; a surer one asks."""
    faint = Urgency.of([found(NONE), LayerResult(layer="classifier", level=CONCERN, faint=True)])
    assert faint.level is CONCERN and faint.faint
    assert [help_due(one, faint) for one in (Danger(), Danger(asked=0), Danger(told=3))] == [Help.LINE] * 3
    assert help_due(Danger(told=0), faint) is Help.BRIEF
    assert help_due(after(Danger(), Help.LINE, faint, "words"), seen(CONCERN)) is Help.QUESTION


def test_a_faint_suspicion_about_something_heavy_asks_once() -> None:
    """Who tells something heavy is asked; while the question or a told danger is open, contacts alone are shown."""
    heavy = Urgency.of([found(NONE), LayerResult(layer="classifier", level=CONCERN, faint=True, heavy=True)])
    due = [help_due(one, heavy) for one in (Danger(), Danger(asked=0), Danger(told=3), Danger(declined=1))]
    assert due == [Help.QUESTION, Help.LINE, Help.LINE, Help.LINE]


def test_a_second_faint_suspicion_soon_after_is_asked_about() -> None:
    """One faint suspicion shows contacts; another within three turns asks, once; later ones begin anew."""
    faint = Urgency.of([LayerResult(layer="classifier", level=CONCERN, faint=True)])
    danger, shown = Danger(), []
    for urgency in (faint, seen(NONE), faint, faint, seen(NONE), seen(NONE), seen(NONE), faint):
        due = help_due(danger, urgency)
        danger = after(danger, due, urgency, "words")
        shown.append(due)
    assert shown[:4] == [Help.LINE, Help.NONE, Help.QUESTION, Help.LINE] and shown[-1] is Help.LINE


def test_a_sure_suspicion_shows_the_referral_and_after_a_no_the_question() -> None:
    """The classifier's surest word needs no question first; a no, or a judge that has read the message, stands against it."""
    doubt = LayerResult(layer="classifier", level=CONCERN, sure=True)
    sure = Urgency.of([found(NONE), doubt])
    assert [help_due(one, sure) for one in (Danger(), Danger(asked=0), Danger(told=0, shown=0))] == [
        Help.REFERRAL,
        Help.REFERRAL,
        Help.BRIEF,
    ]
    assert help_due(Danger(declined=2), sure) is Help.QUESTION
    assert help_due(Danger(asked=0), sure, denied=True) is Help.LINE
    assert help_due(Danger(), Urgency.of([doubt, found(CONCERN, "llm")])) is Help.QUESTION
    assert after(Danger(), Help.REFERRAL, sure, "words").held == "" and after(Danger(), Help.REFERRAL, sure, "so?").held


def test_what_is_being_dealt_with_may_be_answered() -> None:
    """Words that say so get the line in place of the referral, unless the floor or a judge is sure; the danger stays open."""
    told = Danger(told=0, shown=0)
    for urgency in (seen(NONE), seen(CONCERN), Urgency.of([LayerResult(layer="classifier", level=CONCERN, sure=True)])):
        assert help_due(told, urgency, resolved=True) is Help.LINE
        later = after(told, Help.LINE, urgency, "words")
        assert later.told == 2, "nobody is told to call again in the next turn, where a body was in danger"
    assert help_due(told, seen(URGENT), resolved=True) is Help.BRIEF
    judged = Urgency.of([found(NONE), found(CONCERN, "llm")])
    assert help_due(Danger(told=2, shown=2), judged, resolved=True) is not Help.LINE


def test_what_another_layer_says_is_not_faint() -> None:
    """Where the floor or a judge has found danger, the classifier's doubt counts for nothing."""
    doubt = LayerResult(layer="classifier", level=CONCERN, faint=True)
    assert not Urgency.of([found(URGENT), doubt]).faint
    assert not Urgency.of([found(NONE), doubt, found(CONCERN, "llm")]).faint
    assert not Urgency.of([]).faint


def test_what_was_suspected_twice_is_open_until_somebody_is_safe() -> None:
    """After such a referral "I am safe" is understood, and the message that it stood in place of is held to be answered."""
    asked = after(Danger(), Help.QUESTION, seen(CONCERN), "first")
    shown = after(asked, help_due(asked, seen(CONCERN)), seen(CONCERN), "second")
    assert shown.held == "second" and shown.asked is None
    assert DangerAnswer.SAFE in answers_open(shown)
    assert walked(CONCERN, danger=answered(shown, DangerAnswer.SAFE)) == [Help.LINE]


def test_a_no_that_goes_on_is_a_no_where_nothing_else_raises_a_suspicion() -> None:
    """ "No, just tired" closes the question; "no, but do they find you quickly" does not, with the contacts in view; as it was no
    silence, the next suspicion is asked about, where one after silence is referred."""
    asked = Danger(asked=0, held="first")
    assert denied_in_passing(asked, seen(NONE)) == Danger(declined=0)
    doubted = denied_in_passing(asked, seen(CONCERN))
    assert doubted.declined is None and help_due(doubted, seen(CONCERN), denied=True) is Help.LINE
    next_one = after(doubted, Help.LINE, seen(CONCERN), "second")
    assert help_due(next_one, seen(CONCERN)) is Help.QUESTION
    assert help_due(after(asked, Help.LINE, seen(NONE), "second"), seen(CONCERN)) is Help.REFERRAL
    assert help_due(asked, seen(URGENT), denied=True) is Help.REFERRAL


def test_a_judge_that_cannot_tell_twice_does_not_shout() -> None:
    """Where a judge has read both messages and was not sure, the second one gets the line."""
    unsure = Urgency.of([found(NONE), found(CONCERN, "llm")])
    assert help_due(Danger(asked=0), unsure) is Help.LINE


def test_after_a_no_nothing_is_asked_for_ten_turns_unless_somebody_is_sure() -> None:
    """Ten suspicious messages after a no get the line and no question, the eleventh asks; explicit words show the referral."""
    declined = answered(Danger(asked=0), DangerAnswer.NO)
    assert walked(*[CONCERN] * (QUIET_TURNS + 1), danger=declined) == [Help.LINE] * QUIET_TURNS + [Help.QUESTION]
    assert walked(CONCERN, URGENT, danger=declined) == [Help.LINE, Help.REFERRAL]


def test_danger_that_was_told_stays_told() -> None:
    """The next message is not answered as if nothing had been said; the nine after it carry the line; then it is over."""
    shown = walked(URGENT, *[NONE] * (OPEN_TURNS + 1))
    assert shown == [Help.REFERRAL, Help.BRIEF, *[Help.LINE] * (OPEN_TURNS - 1), Help.NONE]


def test_a_judge_may_let_the_next_message_be_answered() -> None:
    """Where the judge has read the disclosure and the message, its word counts, and the line stays."""
    told = after(Danger(), Help.REFERRAL, seen(URGENT), "words")
    assert help_due(told, Urgency.of([found(NONE), found(NONE, "llm")])) is Help.LINE
    assert help_due(told, Urgency.of([found(NONE), found(NONE, "llm", failed=True)])) is Help.BRIEF


def test_the_whole_text_fades_and_comes_back() -> None:
    """Danger told again and again gets a line for three turns, then the whole text; after a calmer turn it is whole at once."""
    assert walked(*[URGENT] * 6) == [
        Help.REFERRAL, Help.BRIEF, Help.BRIEF, Help.BRIEF, Help.REFERRAL, Help.BRIEF,
    ]  # fmt: skip
    assert walked(URGENT, NONE, NONE, URGENT)[-1] is Help.REFERRAL


def test_a_body_that_comes_to_be_in_danger_gets_the_whole_text() -> None:
    """Tablets that are taken after a wish to die was told get the whole text; a body that nobody was sure of stays in view."""
    told = after(Danger(), Help.REFERRAL, replace(seen(URGENT), kind=Kind.DYING), "words")
    taken = replace(seen(URGENT), kind=Kind.MEDICAL)
    assert help_due(told, seen(URGENT)) is Help.BRIEF and help_due(told, taken) is Help.REFERRAL
    for told_first in (told, Danger(told=3, shown=3, kind=Kind.DYING)):
        assert help_due(told_first, replace(seen(CONCERN), kind=Kind.MEDICAL)) is Help.REFERRAL
    judged = Urgency.of([found(NONE), LayerResult(layer="llm", level=CONCERN, kind=Kind.MEDICAL, decides=True)])
    assert help_due(told, judged) is Help.QUESTION
    again = after(told, Help.REFERRAL, taken, "words")
    assert help_due(again, taken) is Help.BRIEF
    unsure = after(Danger(asked=0), Help.REFERRAL, replace(seen(CONCERN), kind=Kind.MEDICAL), "words")
    assert help_due(unsure, seen(NONE)) is Help.BRIEF and help_due(unsure, seen(NONE), resolved=True) is Help.LINE


@pytest.mark.parametrize("level", [CONCERN, URGENT])
def test_who_was_in_danger_is_remembered_with_the_referral(level: UrgencyLevel) -> None:
    """After a referral about somebody else nobody is asked whether they are safe themselves, however sure it was."""
    mother = after(Danger(asked=0), Help.REFERRAL, replace(seen(level), another=True), "words")
    assert mother.another and after(mother, Help.BRIEF, seen(CONCERN), "words").another
    assert not after(mother, Help.REFERRAL, seen(level), "words").another


def test_a_body_in_danger_is_not_thanked_for_the_news() -> None:
    """In two turns after a body was told to be in danger nothing is answered, unless it is being dealt with, and it stays that
    danger whatever is told besides."""
    taken = after(Danger(), Help.REFERRAL, replace(seen(URGENT), kind=Kind.MEDICAL), "words")
    once = after(taken, Help.BRIEF, replace(seen(CONCERN), kind=Kind.DYING), "words")
    assert once.kind is Kind.MEDICAL and help_due(once, seen(NONE)) is Help.BRIEF
    assert help_due(once, seen(NONE), resolved=True) is Help.LINE
    assert help_due(after(once, Help.BRIEF, seen(NONE), "words"), seen(NONE)) is Help.LINE


@pytest.mark.parametrize("open_danger", [Danger(asked=0), Danger(asked=2), Danger(told=4, shown=4)])
def test_what_goes_on_is_about_the_same_danger(open_danger: Danger) -> None:
    """ "Since last night" is about what was asked or told before it: the same kind, the same person; another kind is its own."""
    before = replace(open_danger, kind=Kind.MEDICAL, another=True)
    goes_on = continued(before, seen(CONCERN))
    assert goes_on.kind is Kind.MEDICAL and goes_on.another
    own = replace(seen(CONCERN), kind=Kind.DYING)
    assert continued(before, own) == own
    assert continued(Danger(kind=Kind.MEDICAL, another=True), seen(CONCERN)) == seen(CONCERN)


def test_who_says_no_and_goes_on_is_told_where_help_is() -> None:
    """A no in the first words of a message leaves the contacts in view, as a tapped one does, unless a judge has decided."""
    assert help_due(Danger(declined=0), seen(NONE), denied=True) is Help.LINE
    judged = Urgency.of([found(NONE), found(NONE, "llm")])
    assert help_due(Danger(declined=0), judged, denied=True) is Help.NONE


def test_who_is_safe_is_believed() -> None:
    """After "I am safe" nothing is open, and suspicion alone does not ask again."""
    told = after(Danger(), Help.REFERRAL, seen(URGENT), "words")
    assert walked(NONE, CONCERN, danger=answered(told, DangerAnswer.SAFE)) == [Help.NONE, Help.LINE]


def test_a_question_that_was_not_answered_leaves_the_contacts_in_view() -> None:
    """Whatever is said in place of a yes or a no, the next answer carries the line, unless a judge has decided."""
    assert walked(CONCERN, NONE, NONE, NONE, NONE) == [Help.QUESTION, Help.LINE, *[Help.NONE] * 3]
    asked = Danger(asked=0)
    assert help_due(asked, Urgency.of([found(NONE), found(NONE, "llm")])) is Help.NONE


def test_an_old_no_closes_nothing() -> None:
    """A no that was not asked for changes nothing, and danger that was told stays told."""
    told = after(Danger(), Help.REFERRAL, seen(URGENT), "words")
    assert answered(told, DangerAnswer.NO) == told
    assert answered(Danger(), DangerAnswer.NO) == Danger()


@pytest.mark.parametrize("answer", [DangerAnswer.YES, DangerAnswer.OTHER])
def test_a_yes_opens_the_disclosure(answer: DangerAnswer) -> None:
    """After a yes the following messages carry help, whatever they say."""
    opened = answered(Danger(asked=0, kind=Kind.DYING), answer)
    assert opened.told == 0 and opened.kind is Kind.DYING
    assert walked(NONE, NONE, danger=opened) == [Help.BRIEF, Help.LINE]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(list(UrgencyLevel)), min_size=1, max_size=40))
def test_danger_is_never_met_with_silence(levels: list[UrgencyLevel]) -> None:
    """In any course of a chat without a no, what is urgent gets the referral and a suspicion is never passed over."""
    for level, due in zip(levels, walked(*levels), strict=True):
        assert due.replaces if level is URGENT else due is not Help.NONE if level is CONCERN else True

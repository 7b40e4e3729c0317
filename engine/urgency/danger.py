"""What is shown when danger may be there, and what of it is remembered: sure of it, or it asks.

Only a layer that is sure puts the referral in place of an answer at once; the classifier's word, however sure, waits for a
judge where there is one. A suspicion gets the answer and one calm question; where that is passed over and the next words are
suspicious again, the referral says what to do, unless they plainly tell of no danger. What has been told stays told for ten
turns. Nobody is graded (NICE NG225, 2022), and nothing here is counted.
"""

from __future__ import annotations

from dataclasses import replace

from engine.types import Danger, DangerAnswer, Help, Kind, Urgency, UrgencyLevel
from engine.urgency.response import CheckResponse

OPEN_TURNS = 10
"""For so many turns a danger that was told stays open."""
QUIET_TURNS = 10
"""For so many turns the check question is not asked again after a no."""
REPEAT_WITHIN = 4
"""Turns within which the whole referral is repeated as one line, as long as danger is told again and again."""
ASK_AGAIN_AFTER = 3
"""Turns after which a check question that was not answered may be asked again; in the first the contacts stay in view."""
AGAIN_WITHIN = 3
"""Turns within which a second faint suspicion is asked about, as one alone is not."""


def help_due(danger: Danger, urgency: Urgency, *, denied: bool = False, resolved: bool = False) -> Help:
    """What of help is shown with the reply to a message, after what was told and asked before.

    `denied`: the message begins with a no to the check question and goes on. `resolved`: it says that the danger that was told
    is being dealt with; what it says may then be answered.
    A faint suspicion gets the contacts below its answer; a second one soon after, or who tells something heavy, is asked about,
    once. A sure one gets the referral; after a no, the question. Where a body comes to be in danger, it is whole again. In the
    turn after a disclosure, and in two where a body is in danger, nothing is answered as if it had not been said, unless a layer
    that reads the whole conversation has decided that it may be.
    """
    worse = escalates(danger, urgency)
    lately = _lately(danger.shown) and not worse
    if urgency.level is UrgencyLevel.URGENT:
        return Help.BRIEF if told_again(danger) and not worse else Help.REFERRAL
    if resolved and not urgency.decided:
        return Help.LINE
    body = danger.told == 1 and danger.kind is Kind.MEDICAL
    if (danger.told == 0 or body) and not urgency.decided and not worse:
        return Help.BRIEF
    recent = question_open(danger)
    if urgency.level is UrgencyLevel.CONCERN:
        if urgency.sure and not denied:
            if danger.declined is not None:
                return Help.QUESTION
            return Help.BRIEF if lately else Help.REFERRAL
        again = danger.faint is not None and danger.faint < AGAIN_WITHIN
        quiet = urgency.faint and (recent or danger.told is not None or not (urgency.heavy or again))
        if quiet or danger.declined is not None or (recent and (urgency.decided or denied)):
            return Help.LINE
        if danger.told is not None and not urgency.decided and lately:
            return Help.BRIEF
        return Help.REFERRAL if recent or (worse and not urgency.decided) else Help.QUESTION
    # Who taps no is told where help is, too.
    lately_asked = (danger.asked == 0 or denied) and not urgency.decided
    return Help.LINE if danger.told is not None or lately_asked else Help.NONE


def escalates(danger: Danger, urgency: Urgency) -> bool:
    """Whether a body is in danger now, and what was told before was something else: what to do is then told whole."""
    told = danger.told is not None and danger.kind is not Kind.MEDICAL
    return told and urgency.kind is Kind.MEDICAL and urgency.level is not UrgencyLevel.NONE and not urgency.faint


def question_open(danger: Danger) -> bool:
    """Whether the check question was asked a moment ago, and nobody has answered it."""
    return danger.asked is not None and danger.asked < ASK_AGAIN_AFTER


def suspected(danger: Danger) -> bool:
    """Whether the referral was shown a moment ago, and nobody was sure of the danger."""
    return danger.told == 1 and danger.shown == 0


def weighed(danger: Danger, urgency: Urgency, response: CheckResponse) -> Urgency:
    """What is found in a message with what it says to the check question: what tells of danger right after it raises a suspicion
    that is more than faint; of what plainly tells of none, a suspicion is a faint one, unless it is sure."""
    if response.danger and danger.asked == 0 and (urgency.level is UrgencyLevel.NONE or urgency.faint):
        return replace(urgency, level=UrgencyLevel.CONCERN, faint=False)
    if response.calm and urgency.level is UrgencyLevel.CONCERN and not urgency.sure:
        return replace(urgency, faint=True, heavy=False)
    return urgency


def continued(danger: Danger, urgency: Urgency) -> Urgency:
    """A danger whose kind a message does not show ("since last night"), as that which was told or asked about before it."""
    goes_on = danger.told is not None or question_open(danger)
    if urgency.kind is not Kind.UNCLEAR or not goes_on:
        return urgency
    return replace(urgency, kind=danger.kind, another=urgency.another or danger.another)


def told_again(danger: Danger) -> bool:
    """Whether danger that is told again gets one line: told a moment ago too, and the whole text is not long ago."""
    return danger.told == 0 and _lately(danger.shown)


def _lately(shown: int | None) -> bool:
    return shown is not None and shown < REPEAT_WITHIN - 1


def after(danger: Danger, shown: Help, urgency: Urgency, message: str) -> Danger:
    """What is remembered after a reply that was shown with this help; `message`: what it has not answered."""
    older = Danger(
        told=_older(danger.told),
        shown=_older(danger.shown),
        asked=_older(danger.asked),
        declined=_older(danger.declined, QUIET_TURNS),
        faint=0 if urgency.faint and shown is Help.LINE else _older(danger.faint),
        kind=danger.kind,
        another=danger.another,
        entry=danger.entry,
    )
    if shown is Help.LINE and older.told == 1:  # help has come, or a judge knows better: nobody is told to call again
        older = replace(older, told=2)
    body = danger.told is not None and danger.kind is Kind.MEDICAL
    kind = danger.kind if body or urgency.kind is Kind.UNCLEAR else urgency.kind
    if shown.replaces:
        now = urgency.level is UrgencyLevel.URGENT
        whole = 0 if shown is Help.REFERRAL else older.shown
        # Suspected twice is open like told, but the next message is answered: nobody was sure.
        suspected = 1 if urgency.level is UrgencyLevel.CONCERN else older.told
        return Danger(
            told=0 if now else suspected,
            shown=whole,
            held=message if _asks(message, urgency) else "",
            kind=kind,
            another=urgency.another if now or shown is Help.REFERRAL else danger.another,
            entry=urgency.entry or danger.entry,
        )
    if shown is Help.QUESTION:
        return replace(
            older,
            asked=0,
            faint=None,
            held=message,
            kind=urgency.kind,
            another=urgency.another,
            entry=urgency.entry,
        )
    return older


def answered(danger: Danger, answer: DangerAnswer) -> Danger:
    """What is remembered once somebody has answered the check question, or says that they are safe.

    A no closes nothing that was told, and one that nobody asked for (an old button) changes nothing.
    """
    if answer is DangerAnswer.SAFE:
        return Danger(declined=0)
    if answer is DangerAnswer.NO:
        return danger if danger.told is not None or danger.asked is None else Danger(declined=0)
    return replace(danger, told=0, shown=0, asked=None, declined=None)


def denied_in_passing(danger: Danger, urgency: Urgency) -> Danger:
    """What is remembered once a message has begun with a no to the check question. Where it goes on to raise a suspicion, the no
    counts for this message alone; but the question was not passed over: the next suspicion is asked about, not referred."""
    if danger.asked != 0 or urgency.sure or urgency.level is UrgencyLevel.URGENT:
        return danger
    if urgency.level is UrgencyLevel.NONE:
        return answered(danger, DangerAnswer.NO)
    return replace(danger, asked=ASK_AGAIN_AFTER - 1)


def answers_open(danger: Danger) -> tuple[DangerAnswer, ...]:
    """Which short answers the last reply has asked for: to the check question, or to whether the person is safe."""
    if danger.asked == 0:
        return (DangerAnswer.YES, DangerAnswer.NO, DangerAnswer.OTHER)
    if danger.told is None:
        return ()
    # Whether the person is safe was asked with the referral, and with the line that followed it.
    return (DangerAnswer.SAFE, DangerAnswer.NO) if danger.told <= 1 else (DangerAnswer.SAFE,)


def _asks(message: str, urgency: Urgency) -> bool:
    """Whether a message that was not answered may be a question; what the explicit words of danger are in is one by its mark."""
    explicit = (urgency.sure or urgency.level is UrgencyLevel.URGENT) and not urgency.decided
    return not explicit or "?" in message


def _older(turns: int | None, forgotten_after: int = OPEN_TURNS) -> int | None:
    return None if turns is None or turns + 1 >= forgotten_after else turns + 1

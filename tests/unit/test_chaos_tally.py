"""The fault laboratory counts what came of messages; what it did not see, nobody would."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scripts import REFINED_REPLY, SOURCE_REPLY
from chaos.model_server import GARBAGE, rejected
from chaos.tally import SORRY, Said, Shown, Tally, tally

CHATS, EACH = 4, 5
SAID = {1000 + at: Said(chat=at % CHATS, at=float(at)) for at in range(CHATS * EACH)}
ACCEPTED = dict.fromkeys(SAID, 2)


def shown(number: int, *, at: float = 0.0) -> Shown:
    """The answer to a question as it should be."""
    text = f"{REFINED_REPLY if rejected(number) else SOURCE_REPLY} ({number})"
    return Shown(chat=SAID[number].chat, at=100.0 + number + at, text=text)


ALL = [shown(number) for number in SAID]


def counts(found: Tally) -> tuple[int, int, int, int]:
    """Lost, doubled, out of order, unjudged."""
    return found.lost, found.doubled, found.out_of_order, found.unjudged


def test_what_is_right_is_counted_as_right() -> None:
    """Every message answered once, in order, after its judges, however chats are mixed."""
    found = tally(SAID, ALL, ACCEPTED)
    assert counts(found) == (0, 0, 0, 0) and found.answered == found.messages == len(SAID)
    mixed = sorted(ALL, key=lambda one: (one.chat, one.at))
    assert counts(tally(SAID, mixed, ACCEPTED)) == (0, 0, 0, 0)


@given(st.sets(st.sampled_from(sorted(SAID)), max_size=len(SAID)), st.sets(st.sampled_from(sorted(SAID))), st.randoms())
def test_each_loss_and_each_repeat_is_counted(lost: set[int], twice: set[int], dice: random.Random) -> None:
    """Whatever is missing is lost and whatever comes again is doubled; sentences of the house stand for what has no answer."""
    some = [one for one in ALL if one.number not in lost] + [shown(one, at=50.0) for one in twice - lost]
    found = tally(SAID, some, ACCEPTED)
    assert (found.lost, found.doubled) == (len(lost), len(twice - lost))
    house = [
        Shown(chat=SAID[number].chat, at=0.0, text=dice.choice((SORRY, "Sleep often changes."))) for number in lost
    ]
    found = tally(SAID, [*some, *house], ACCEPTED)
    assert (found.lost, found.doubled, found.quoted) == (0, len(twice - lost), len(lost))


def test_each_wrong_order_is_counted() -> None:
    """An answer before that to an earlier question is out of order, unless they were taken so."""
    first, second, third, *rest = [number for number in SAID if SAID[number].chat == 0]
    swapped = [shown(one) for one in (second, first, third, *rest)]
    others = [one for one in ALL if one.chat != 0]
    assert counts(tally(SAID, swapped + others, ACCEPTED)) == (0, 0, 1, 0)
    assert counts(tally(SAID, swapped + others, ACCEPTED, {0: [second, first, third, *rest]})) == (0, 0, 0, 0)


def test_whatever_no_judge_has_accepted_is_counted() -> None:
    """A draft that was rejected, one judge too few, garbage of the model's, an answer in somebody else's chat."""
    bad = next(number for number in SAID if rejected(number))
    draft = replace(shown(bad), text=f"{SOURCE_REPLY} ({bad})")
    assert tally(SAID, [draft], ACCEPTED).unjudged == 1
    assert tally(SAID, [shown(bad)], {bad: 1}).unjudged == 1
    assert tally(SAID, [Shown(chat=0, at=0.0, text=f"{{{GARBAGE}")], ACCEPTED).unjudged == 1
    assert tally(SAID, [replace(shown(1001), chat=3)], ACCEPTED).unjudged == 1

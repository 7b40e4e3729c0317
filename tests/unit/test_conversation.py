"""What a conversation remembers and what it lets go."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.language.sayings import agrees
from engine.language.text import estimate_tokens
from engine.settings import Limits
from engine.turn.conversation import (
    conversation_from_json,
    conversation_to_json,
    follow_up,
    messages_from,
    recent,
    remember,
    window,
)
from engine.types import (
    ActiveSource,
    Conversation,
    Decision,
    Draft,
    HandoffOffer,
    Message,
    Reminder,
    Role,
    Stage,
    StageRecord,
    Tier,
    Verdict,
)

START = Conversation(assistant="schizophrenia")
LIMITS = Limits()


def record(stage: Stage, decision: Decision, explanation: str = "") -> StageRecord:
    tier = Tier.LARGE if stage in {Stage.CHIEF, Stage.REFINED_CHIEF} else Tier.SMALL
    verdict = Verdict(decision=decision, judge="role_and_tone", tier=tier, explanation=explanation)
    return StageRecord(stage=stage, draft=Draft(reply="d"), verdicts=(verdict,))


CLEAN = (record(Stage.PRELIMINARY, Decision.ACCEPT),)


def objected(explanation: str, decision: Decision = Decision.REJECT) -> tuple[StageRecord, ...]:
    return (record(Stage.PRELIMINARY, Decision.REJECT, "a first look"), record(Stage.CHIEF, decision, explanation))


def after(conversation: Conversation, *cited: str, stages: tuple[StageRecord, ...] = CLEAN) -> Conversation:
    return remember(conversation, asked="q", shown="a", citations=cited, stages=stages, limits=LIMITS)


def active(conversation: Conversation) -> list[str]:
    return [one.id for one in conversation.active]


def reminders(conversation: Conversation) -> list[str]:
    return [one.text for one in conversation.reminders]


def test_a_cited_source_is_active_and_leaves_after_two_replies_without_it() -> None:
    """A source stays in the window for one uncited reply and is gone after two."""
    cited = after(START, "causes")
    assert active(cited) == ["causes"]
    once = after(cited)
    assert active(once) == ["causes"]
    assert active(after(once)) == []


def test_a_citation_makes_a_source_fresh_again() -> None:
    """Citing a source again starts its count anew."""
    again = after(after(after(START, "causes")), "causes")
    assert again.active == (ActiveSource(id="causes", idle=0),)


def test_at_most_four_sources_are_in_the_window() -> None:
    """Candidates come first, then active sources, the least idle first, four in all and each once."""
    conversation = after(after(START, "a", "b"), "c", "d")
    assert window(conversation, ["x", "c"], LIMITS) == ("x", "c", "d", "a")
    assert len(after(START, "a", "b", "c", "d", "e").active) == 4
    assert window(START, [], LIMITS) == ()


def test_only_what_was_shown_is_kept() -> None:
    """History keeps the question and the reply that was shown with its citations, never the rejected draft."""
    conversation = remember(
        START, asked="why?", shown="shown", citations=("causes",), stages=objected("no"), limits=LIMITS
    )
    assert conversation.messages == (
        Message(role=Role.USER, content="why?"),
        Message(role=Role.ASSISTANT, content="shown", citations=("causes",)),
    )


def test_a_chief_explanation_becomes_a_reminder_and_fades_after_two_clean_replies() -> None:
    """A reminder is there for the next two replies and gone after two clean ones."""
    criticised = after(START, stages=objected("no coaching"))
    assert reminders(criticised) == ["no coaching"]
    once = after(criticised)
    assert reminders(once) == ["no coaching"]
    assert reminders(after(once)) == []


def test_new_criticism_keeps_old_reminders_alive() -> None:
    """A criticised reply is not clean: older reminders start their count anew, a repeated one stands once."""
    conversation = after(after(START, stages=objected("no coaching")))
    conversation = after(conversation, stages=objected("no diagnosis", Decision.WARNING))
    assert reminders(conversation) == ["no coaching", "no diagnosis"]
    assert reminders(after(conversation)) == ["no coaching", "no diagnosis"]
    assert reminders(after(START, stages=objected("x") + objected("x")[:0])) == ["x"]
    assert reminders(after(conversation, stages=objected("no coaching"))) == ["no diagnosis", "no coaching"]


@pytest.mark.parametrize(
    "stages",
    [
        (record(Stage.PRELIMINARY, Decision.REJECT, "first look"), record(Stage.CHIEF, Decision.ACCEPT)),
        (record(Stage.REFINED_CHIEF, Decision.REJECT, "about a draft that is gone"),),
    ],
)
def test_only_the_chief_on_the_first_draft_reminds(stages: tuple[StageRecord, ...]) -> None:
    """First judges that a chief overruled, and verdicts on a refined draft, leave no reminder."""
    assert reminders(after(START, stages=stages)) == []


def test_a_reply_that_nobody_judged_fades_nothing() -> None:
    """A fixed reply is neither clean nor criticised."""
    criticised = after(START, stages=objected("no coaching"))
    assert after(criticised, stages=()).reminders == criticised.reminders


def test_reminders_are_few() -> None:
    """At most four reminders are kept, the latest ones."""
    conversation = START
    for number in range(9):
        conversation = after(conversation, stages=objected(f"reason {number}"))
    assert reminders(conversation) == [f"reason {number}" for number in range(5, 9)]


MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(Role),
        content=st.text(max_size=300),
        citations=st.lists(st.text(max_size=9), max_size=3).map(tuple),
    ),
    max_size=12,
)


@given(MESSAGES, st.integers(min_value=1, max_value=400))
def test_history_keeps_to_its_token_budget(messages: list[Message], tokens: int) -> None:
    """What is kept is the end of the conversation, within the budget but for the last exchange."""
    kept = recent(messages, tokens)
    assert kept == tuple(messages[len(messages) - len(kept) :])
    assert len(kept) >= min(2, len(messages))
    if len(kept) > 2:
        assert sum(estimate_tokens(one.content) + 4 for one in kept) <= tokens


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("yes", True),
        ("Yes!", True),
        ("YES, please.", True),
        ("ok thanks", True),
        ("of course", True),
        ("yes but what is stress", False),
        ("yesterday", False),
        ("no", False),
        ("not yes", False),
        ("", False),
        ("please", False),
    ],
)
def test_a_yes_is_nothing_but_a_yes(said: str, wanted: bool) -> None:
    """A phrase with courtesy around it is a yes; with anything else in it, it is a new message."""
    assert agrees(said, ["yes", "ok", "of course", ""]) is wanted


def test_a_message_that_says_little_is_searched_with_the_question_before() -> None:
    """A short follow-up takes the question before it along; a message with words of its own does not."""
    conversation = after(START)
    conversation = remember(
        conversation, asked="What causes voices?", shown="a", citations=(), stages=(), limits=LIMITS
    )
    assert follow_up(conversation.messages, "and why?") == "What causes voices?\nand why?"
    assert follow_up(conversation.messages, "Tell me whether clozapine injections help against voices") is None
    assert follow_up(START.messages, "why?") is None


CONVERSATIONS = st.builds(
    Conversation,
    assistant=st.text(max_size=20),
    messages=MESSAGES.map(tuple),
    active=st.lists(st.builds(ActiveSource, id=st.text(max_size=9), idle=st.integers(0, 9)), max_size=4).map(tuple),
    reminders=st.lists(
        st.builds(Reminder, judge=st.text(max_size=9), text=st.text(max_size=50), clean=st.integers(0, 3)), max_size=4
    ).map(tuple),
    offer=st.none() | st.builds(HandoffOffer, to=st.text(max_size=9), question=st.text(max_size=50)),
)


@given(CONVERSATIONS)
def test_a_conversation_survives_json(conversation: Conversation) -> None:
    """Every conversation reads back from its JSON as it was."""
    assert conversation_from_json(conversation_to_json(conversation)) == conversation


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"assistant": "a"}', '{"offer": 1}'])
def test_what_is_no_conversation_is_refused(text: str) -> None:
    """Anything else raises one of the three documented errors."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        conversation_from_json(text)


@pytest.mark.parametrize("row", [{"content": "x"}, {"role": "system", "content": "x"}, {"role": "user"}])
def test_a_row_without_role_or_content_is_refused(row: dict[str, str]) -> None:
    """A message needs a role of user or assistant, and content."""
    with pytest.raises((ValueError, KeyError)):
        messages_from([row])

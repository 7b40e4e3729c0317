"""What is kept of a chat comes back from its bytes as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.state import Answered, ChatState
from adapters.storage.identity import ChatIdentity
from engine.types import ActiveSource, Conversation, Danger, HandoffOffer, Kind, Message, Reminder, Role

# Half of a character in two units is no text, and comes in updates all the same.
TEXTS = st.text(st.characters(), max_size=40)
NAMES = st.text(max_size=8)
NUMBERS = st.integers(0, 10_000)
SOURCES = st.lists(NAMES, max_size=3).map(tuple)
CONVERSATIONS = st.builds(
    Conversation,
    assistant=NAMES,
    messages=st.lists(
        st.builds(Message, role=st.sampled_from(list(Role)), content=TEXTS, citations=SOURCES), max_size=3
    ).map(tuple),
    active=st.lists(st.builds(ActiveSource, id=NAMES, idle=NUMBERS), max_size=2).map(tuple),
    reminders=st.lists(st.builds(Reminder, judge=NAMES, text=TEXTS, clean=NUMBERS), max_size=2).map(tuple),
    offer=st.none() | st.builds(HandoffOffer, to=NAMES, question=TEXTS),
    danger=st.builds(
        Danger,
        told=st.none() | NUMBERS,
        shown=st.none() | NUMBERS,
        asked=st.none() | NUMBERS,
        declined=st.none() | NUMBERS,
        held=TEXTS,
        kind=st.sampled_from(list(Kind)),
    ),
)
ANSWERS = st.builds(Answered, number=NUMBERS, assistant=NAMES, sources=SOURCES, decision=NAMES, thumbed=st.booleans())
STATES = st.builds(
    ChatState,
    conversation=CONVERSATIONS,
    country=st.none() | NAMES,
    language=st.none() | NAMES,
    consented=st.booleans(),
    waiting=TEXTS,
    answered=NUMBERS,
    answers=st.lists(ANSWERS, max_size=3).map(tuple),
    since_asked=NUMBERS,
    asked=SOURCES,
    since_referral=st.none() | NUMBERS,
    told_quoting=st.booleans(),
)
INCOMING = st.builds(
    Incoming,
    identity=st.builds(ChatIdentity, platform=NAMES, chat=NAMES, user=NAMES, thread=NAMES),
    place=st.dictionaries(NAMES, st.none() | NUMBERS | TEXTS, max_size=3),
    text=TEXTS,
    command=NAMES,
    about=st.none() | NUMBERS,
    language=NAMES,
    private=st.booleans(),
    wordless=st.booleans(),
    edited=st.booleans(),
    late=st.booleans(),
    at=st.floats(0, 4e9),
)
POLLS = st.builds(
    Poll, question=NAMES, text=TEXTS, options=st.lists(st.tuples(NAMES, TEXTS), max_size=4).map(tuple), about=ANSWERS
)


@settings(max_examples=150, deadline=None)
@given(STATES)
def test_a_state_comes_back_as_it_was(state: ChatState) -> None:
    """Every state that can be is the same after its way to the disk and back."""
    assert ChatState.from_json(state.to_json()) == state


@given(INCOMING)
def test_a_message_comes_back_as_it_was(incoming: Incoming) -> None:
    """Every message that can wait is the same when it is taken up again."""
    assert Incoming.from_json(incoming.to_json()) == incoming


@given(POLLS)
def test_a_poll_comes_back_as_it_was(poll: Poll) -> None:
    """Every poll that can be shown is the same when its answer comes."""
    assert Poll.from_json(poll.to_json()) == poll


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"version": 99}', b"\xff\xfe"])
def test_anything_else_is_refused(content: bytes) -> None:
    """Bytes that are no state give one of the errors that are expected."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        ChatState.from_json(content)


def test_a_chat_of_an_earlier_version_was_asked_nothing() -> None:
    """A state that was stored before questions were remembered opens, with none of them asked."""
    state = ChatState(conversation=Conversation(assistant="a"), asked=("clarity",))
    kept = json.loads(state.to_json())
    del kept["asked"]
    assert ChatState.from_json(json.dumps(kept).encode()) == replace(state, asked=())


@given(STATES)
def test_a_chat_of_the_first_version_opens(state: ChatState) -> None:
    """A state that was stored with conversation, country and language in a part of their own is the same when it opens."""
    kept = json.loads(state.to_json())
    session = {name: kept.pop(name) for name in ("conversation", "country", "language")}
    stored = json.dumps({**kept, "version": 1, "session": session}).encode()
    assert ChatState.from_json(stored) == state

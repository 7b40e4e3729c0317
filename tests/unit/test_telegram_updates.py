"""What Telegram updates mean: whatever is in them, a meaning or a ValueError, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.conversation.incoming import Incoming
from adapters.delivery.votes import Vote
from adapters.telegram_adapter.updates import ForeignPress, Left, Me, Meaning, read

ME = Me(id=7, username="cafi_bot")
PERSON = {"id": 5, "is_bot": False, "first_name": "Anna", "language_code": "de"}

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=20)
    | st.sampled_from(
        ["private", "group", "supergroup", "channel", "mention", "text_mention", "@cafi_bot", "/help@cafi_bot"]
    )
)
KEYS = (
    "update_id", "message", "edited_message", "callback_query", "poll", "my_chat_member", "from", "chat", "id", "type",
    "text", "caption", "entities", "offset", "length", "user", "date", "edit_date", "data", "message_id", "is_bot", "status",
    "reply_to_message", "options", "voter_count", "new_chat_member", "message_thread_id", "is_topic_message", "photo",
)  # fmt: skip
anything = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), inner, max_size=8)
    ),
    max_leaves=30,
)


def _or(shape: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return shape | anything


messages = st.fixed_dictionaries(
    {
        "message_id": _or(st.integers(1, 99)),
        "date": _or(st.integers(0, 2**31)),
        "chat": _or(
            st.fixed_dictionaries({"id": _or(st.integers()), "type": _or(st.sampled_from(["private", "group"]))})
        ),
        "from": _or(st.just(PERSON)),
        "text": _or(st.text(max_size=40)),
    },
    optional={
        "entities": _or(
            st.lists(
                st.fixed_dictionaries(
                    {"type": _or(st.just("mention")), "offset": _or(st.integers()), "length": anything}
                )
            )
        ),
        "reply_to_message": anything,
        "is_topic_message": anything,
        "message_thread_id": anything,
    },
)
updates = st.fixed_dictionaries(
    {"update_id": _or(st.integers(0, 2**40))},
    optional={
        "message": _or(messages),
        "edited_message": _or(messages),
        "callback_query": _or(
            st.fixed_dictionaries(
                {"id": anything, "from": _or(st.just(PERSON)), "data": anything, "message": _or(messages)}
            )
        ),
        "poll": anything,
        "my_chat_member": anything,
    },
)


@settings(max_examples=400, deadline=None)
@given(anything | updates)
@example(
    {"update_id": 1, "message": {"date": 1, "chat": {"id": 1e400, "type": "private"}, "from": PERSON, "text": "x"}}
)
@example(
    {"update_id": 1, "message": {"date": 1, "chat": {"id": 5, "type": "private"}, "from": PERSON, "text": "\ud83d"}}
)
def test_any_json_is_a_meaning_or_a_value_error(update: Any) -> None:
    """Whatever comes, nothing but ValueError is raised, and what is taken can be written to disk and read again."""
    try:
        meaning = read(update, ME)
    except ValueError:
        return
    assert meaning is None or isinstance(meaning, (Incoming, Vote, Left, ForeignPress))
    if isinstance(meaning, Incoming):
        again = Incoming.from_json(meaning.to_json())
        assert again.identity == meaning.identity and again.text == meaning.text


def message(text: str, *, chat: str = "group", **more: Any) -> Meaning:
    """The meaning of one message."""
    whole = {"message_id": 3, "date": 1, "chat": {"id": -4, "type": chat}, "from": PERSON, "text": text, **more}
    return read(json.loads(json.dumps({"update_id": 1, "message": whole})), ME)


def mention(text: str, name: str = "@cafi_bot") -> dict[str, Any]:
    """The entity of a name in a text, counted as Telegram does."""
    offset = len(text[: text.index(name)].encode("utf-16-le")) // 2
    return {"type": "mention", "offset": offset, "length": len(name)}


@given(
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="@/"), max_size=30),
    st.text("abc xyz", min_size=3),
)
def test_a_name_is_found_and_taken_out_whatever_stands_before_it(before: str, after: str) -> None:
    """Offsets count UTF-16 units: emoji and rare scripts before our name move nothing."""
    text = f"{before} @cafi_bot {after} end"
    found = message(text, entities=[mention(text)])
    assert isinstance(found, Incoming)
    assert "cafi_bot" not in found.text and found.text.split()[-1] == "end"
    assert found.text.split() == f"{before} {after} end".split()


@pytest.mark.parametrize(
    ("text", "command", "rest"),
    [
        ("@cafi_bot, what now?", "", "what now?"),
        ("what now, @cafi_bot?", "", "what now, ?"),
        ("@cafi_bot", "help", ""),
        ("@cafi_bot: /topics 2", "topics", "2"),
        ("hello @cafi_bot and @cafi_bot", "", "hello and"),
    ],
)
def test_what_is_left_without_our_name(text: str, command: str, rest: str) -> None:
    """The name and what divides it from the words go; words and commands stay."""
    first = mention(text)
    entities = [first]
    if text.count("@cafi_bot") > 1:
        entities.append({**first, "offset": text.rindex("@cafi_bot")})
    found = message(text, entities=entities)
    assert isinstance(found, Incoming) and (found.command, found.text) == (command, rest)


def test_members_and_topics_have_identities_of_their_own() -> None:
    """In a group the person and the topic are part of who is talking; in private the chat is enough."""
    one, other = message("/crisis"), message("/crisis", **{"from": {**PERSON, "id": 6}})
    topic = message("/crisis", message_thread_id=9, is_topic_message=True)
    thread = message("/crisis", message_thread_id=9)
    private = message("/crisis", chat="private", message_thread_id=9, is_topic_message=True)
    found = [one, other, topic, private]
    assert all(isinstance(each, Incoming) for each in [*found, thread])
    assert len({each.identity for each in found}) == 4  # type: ignore[union-attr]
    assert thread.identity == one.identity  # type: ignore[union-attr]


def test_a_vote_is_read_only_where_it_is_anonymous_and_single() -> None:
    """A poll with names, one with several votes and one without any say nothing."""
    poll = {"id": "9", "is_anonymous": True, "options": [{"voter_count": 0}, {"voter_count": 1}]}
    assert read({"update_id": 1, "poll": poll}, ME) == Vote(poll="9", option=1)
    for changed in ({"is_anonymous": False}, {"options": [{"voter_count": 1}] * 2}, {"options": [{"voter_count": 0}]}):
        assert read({"update_id": 1, "poll": poll | changed}, ME) is None


def test_that_a_group_is_left_says_nothing_of_a_person() -> None:
    """Only in private is there somebody whose chat can be erased at once; group members' chats expire."""
    gone = {"chat": {"id": 5, "type": "private"}, "new_chat_member": {"status": "kicked"}}
    left = read({"update_id": 1, "my_chat_member": gone}, ME)
    assert isinstance(left, Left) and left.identity.chat == "5"
    for changed in ({"chat": {"id": -5, "type": "group"}}, {"new_chat_member": {"status": "member"}}):
        assert read({"update_id": 1, "my_chat_member": gone | changed}, ME) is None

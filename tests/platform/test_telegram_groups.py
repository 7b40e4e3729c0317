"""Telegram in groups and forums: who is answered, where, and what members learn of each other (nothing)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.telegram_adapter.adapter import TelegramBot
from rehearsal.telegram_world import TelegramChat, TelegramPerson
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import scripted
from tests.telegram import BEGIN, CONTACTS, EAGER, agreed, asked, pressed, quiet, running

VOICES = "@cafi_bot what are the voices?"
ANSWER = "Voices are sounds that others do not hear."
BOT = 7_000_000_001


async def ignored(fake: FaultyTelegram, bot: TelegramBot, chat: TelegramChat, before: int) -> bool:
    """Whether nothing came after everything has been read."""
    await quiet(fake, bot)
    return len(fake.replies(chat)) == before


async def welcomed(fake: FaultyTelegram, person: TelegramPerson, chat: TelegramChat, topic: str | None = None) -> None:
    """The person has agreed in this place."""
    (welcome,) = await asked(fake, person, "/start@cafi_bot", chat=chat, topic=topic)
    await pressed(fake, person, welcome, BEGIN, chat=chat)


def raw(fake: FaultyTelegram, person: TelegramPerson, chat: TelegramChat, more: dict[str, Any]) -> None:
    """A message as Telegram would send it, with fields that people's apps do not set."""
    message = {"message_id": 9_000, "date": 1_900_000_000, "chat": chat.json(), "from": person.user()} | more
    fake.push_raw({"message": message})


# --- Who is answered ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "what are the voices?",
        "@other_bot what are the voices?",
        "/start",
        "/help@other_bot",
        "/topics@other_bot",
        "/nonsense",
        "write to me@cafi_bot.example",
        "cafi_bot is a strange name",
    ],
)
async def test_what_people_say_to_each_other_is_not_answered(tmp_path: Path, text: str) -> None:
    """Without our name, a reply to us or a command of ours, the bot keeps silent."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, group = fake.person("Anna"), fake.group()
        fake.write(anna, text, chat=group)
        assert await ignored(fake, bot, group, 0) and not fake.calls("sendChatAction")


@pytest.mark.parametrize(
    "text",
    [
        VOICES,
        "@CAFI_Bot, what are the voices?",
        "what are the voices, @cafi_bot",
        "😀👨‍👩‍👧 𝔥𝔦 @cafi_bot what are the voices?",
        "/ask@cafi_bot what are the voices?",
    ],
)
async def test_who_calls_the_bot_by_name_is_answered_as_a_reply(tmp_path: Path, text: str) -> None:
    """A mention anywhere, in any case and after emoji, or a command with our name; the answer hangs on the question."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        (answer,) = await asked(fake, anna, text, chat=group)
        assert answer.text.startswith(ANSWER)
        assert answer.reply_to == max(one.id for one in fake.messages(group) if not one.by_bot)
        assert not fake.refusals()


async def test_the_name_is_no_part_of_the_question(tmp_path: Path) -> None:
    """The model reads the question without our name, whether a mention or a name that is linked to our account."""
    model = scripted({})
    async with FaultyTelegram() as fake, running(fake, tmp_path, model, sessions=EAGER):
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        linked = [
            {
                "type": "text_mention",
                "offset": 3,
                "length": 4,
                "user": {"id": BOT, "is_bot": True, "first_name": "CAFI"},
            }
        ]
        for text, entities in (("👋 @cafi_bot, how to sleep?", None), ("👋 CAFI, how to sleep?", linked)):
            await asked(fake, anna, text, chat=group, entities=entities)
            last = model.prompts[-1].messages[-1].content
            drafted = [one for one in model.prompts if one.role == "agent"][-1].messages[-1].content
            assert "👋 how to sleep?" in drafted and "cafi" not in drafted.casefold().replace("</", ""), drafted
            assert "@cafi_bot" not in last


async def test_a_linked_name_of_somebody_else_does_not_call_us(tmp_path: Path) -> None:
    """A text_mention of another person is theirs."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, group = fake.person("Anna"), fake.group()
        other = [
            {"type": "text_mention", "offset": 0, "length": 4, "user": {"id": 5, "is_bot": False, "first_name": "C"}}
        ]
        fake.write(anna, "CAFI what are the voices?", chat=group, entities=other)
        assert await ignored(fake, bot, group, 0)


async def test_a_reply_to_the_bot_needs_no_name(tmp_path: Path) -> None:
    """A reply to one of our messages is for us; a reply to a person's is not."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, group = fake.person("Anna"), fake.supergroup()
        await agreed(fake, anna, chat=group)
        (answer,) = await asked(fake, anna, VOICES, chat=group)
        (next_one,) = await asked(fake, anna, "how can I sleep better?", chat=group, reply_to=answer.id)
        assert next_one.text.startswith("Sleep often changes")
        mine = fake.write(anna, "hello all", chat=group)
        before = len(fake.replies(group))
        fake.write(anna, "what are the voices?", chat=group, reply_to=mine["message_id"])
        assert await ignored(fake, bot, group, before)


async def test_a_picture_calls_us_by_its_caption(tmp_path: Path) -> None:
    """The words below a picture are read; a picture with our name alone is told that only words are; others are ignored."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER) as bot:
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        for caption, start in ((VOICES, ANSWER), ("@cafi_bot", "I can only read words.")):
            before = len(fake.replies(group))
            entities = [{"type": "mention", "offset": 0, "length": 9}]
            raw(fake, anna, group, {"photo": [], "caption": caption, "caption_entities": entities})
            await fake.wait_for(lambda before=before: len(fake.replies(group)) > before)  # type: ignore[misc]
            assert fake.replies(group)[-1].text.startswith(start)
        before = len(fake.replies(group))
        fake.send(anna, "photo", chat=group, caption="our garden")
        fake.send(anna, "sticker", chat=group)
        assert await ignored(fake, bot, group, before)


async def test_our_name_alone_is_a_call_for_help(tmp_path: Path) -> None:
    """Who writes nothing but our name reads what the bot can do; our name before a command is the command."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        for text in ("@cafi_bot", "@cafi_bot ?", "👋 @cafi_bot"):
            assert (await asked(fake, anna, text, chat=group))[0].text.startswith("Write your question"), text
        assert (await asked(fake, anna, "@cafi_bot /crisis", chat=group))[0].text.startswith(CONTACTS)


async def test_help_in_a_crisis_needs_no_name(tmp_path: Path) -> None:
    """/crisis is answered whoever else is in the group."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        group = fake.group()
        (reply,) = await asked(fake, fake.person("Anna"), "/crisis", chat=group)
        assert reply.text.startswith(CONTACTS)


@pytest.mark.parametrize(
    "sender",
    [
        {"from": {"id": 77, "is_bot": True, "first_name": "Other", "username": "other_bot"}},
        {
            "from": {"id": 1_087_968_824, "is_bot": True, "first_name": "Group"},
            "sender_chat": {"id": -1, "type": "group"},
        },
        {
            "from": {"id": 777_000, "is_bot": False, "first_name": "Telegram"},
            "sender_chat": {"id": -2, "type": "channel"},
        },
        {"from": None},
        {"chat": {"id": -1_002_000_000_099, "type": "channel", "title": "News"}},
    ],
    ids=["bot", "anonymous administrator", "channel's copy", "nobody", "channel"],
)
async def test_who_is_no_single_person_is_ignored(tmp_path: Path, sender: dict[str, Any]) -> None:
    """Other bots, channels and anonymous administrators could not be kept apart from others."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, group = fake.person("Anna"), fake.group()
        called = {"text": VOICES, "entities": [{"type": "mention", "offset": 0, "length": 9}]}
        raw(fake, anna, group, called | sender)
        assert await ignored(fake, bot, group, 0) and not fake.refusals() and not fake.calls("sendMessage")


async def test_service_messages_are_ignored(tmp_path: Path) -> None:
    """Coming, leaving, a new title, the bot being added: nobody is greeted."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, bela = fake.person("Anna"), fake.person("Bela")
        group = fake.group(by=anna)
        fake.join(bela, group)
        fake.leave(bela, group)
        raw(fake, anna, group, {"new_chat_title": "Family & friends"})
        raw(fake, anna, group, {"pinned_message": {"message_id": 3, "date": 0, "chat": group.json()}})
        assert await ignored(fake, bot, group, 0)


# --- Apart from each other ------------------------------------------------------------------------------------------


async def test_each_member_agrees_alone(tmp_path: Path) -> None:
    """That one member has agreed counts for nobody else; nobody can agree with somebody else's button."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, bela, group = fake.person("Anna"), fake.person("Bela", language="de"), fake.group()
        (welcome,) = await asked(fake, anna, VOICES, chat=group)
        fake.press(bela, welcome.id, BEGIN, chat=group)
        await fake.wait_for(lambda: fake.calls("answerCallbackQuery"))
        notice = fake.calls("answerCallbackQuery")[0].params["text"]
        assert (
            notice
            == "Diese Knöpfe sind für die Person, die gefragt hat. Sie können mir auch selbst eine Frage stellen."
        )
        assert await ignored(fake, bot, group, 1)
        said, answer = await pressed(fake, anna, welcome, BEGIN, replies=2, chat=group)
        assert answer.text.startswith(ANSWER) and said.reply_to == answer.reply_to
        (for_bela,) = await asked(fake, bela, VOICES, chat=group)
        assert "Computerprogramm" in for_bela.text


async def test_one_members_question_never_reaches_anothers_answer(tmp_path: Path) -> None:
    """In the same group, neither the model's prompts nor /source know what another member asked."""
    model = scripted({})
    async with FaultyTelegram() as fake, running(fake, tmp_path, model, sessions=EAGER):
        anna, bela, group = fake.person("Anna"), fake.person("Bela"), fake.supergroup()
        await agreed(fake, anna, chat=group)
        await agreed(fake, bela, chat=group)
        (answer,) = await asked(fake, anna, "@cafi_bot my aunt Ottilie cannot sleep", chat=group)
        prompts = len(model.prompts)
        (source,) = await asked(fake, bela, "/source", chat=group)
        assert source.text == "My last reply did not come from one of my texts."
        await asked(fake, bela, "and how to sleep?", chat=group, reply_to=answer.id)
        sent = " ".join(message.content for prompt in model.prompts[prompts:] for message in prompt.messages)
        assert "how to sleep" in sent and "Ottilie" not in sent


async def test_somebody_elses_answer_cannot_be_changed(tmp_path: Path) -> None:
    """A member who presses a button under another's answer is told whose it is; nothing is sent to the group."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, bela, group = fake.person("Anna"), fake.person("Bela"), fake.group()
        await agreed(fake, anna, chat=group)
        (answer,) = await asked(fake, anna, VOICES, chat=group)
        before = len(fake.replies(group))
        fake.press(bela, answer.id, "Simpler", chat=group)
        await fake.wait_for(lambda: len(fake.calls("answerCallbackQuery")) == 2)
        told = fake.calls("answerCallbackQuery")[-1].params["text"]
        assert told == "These buttons belong to the person who asked. You can ask me yourself."
        assert await ignored(fake, bot, group, before)


async def test_the_topics_of_a_forum_are_apart(tmp_path: Path) -> None:
    """An answer stays in its topic, and what was said in one is unknown in another; consent too is given for each."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna, forum = fake.person("Anna"), fake.supergroup(topics=["Voices", "Sleep"])
        await welcomed(fake, anna, forum, "Voices")
        (answer,) = await asked(fake, anna, VOICES, chat=forum, topic="Voices")
        assert answer.topic == fake.topic_id(forum, "Voices")
        typed = [call for call in fake.calls("sendChatAction") if call.params.get("message_thread_id") == answer.topic]
        assert typed, "the typing sign is in the topic too"
        (elsewhere,) = await asked(fake, anna, "/source", chat=forum, topic="Sleep")
        assert "computer program" in elsewhere.text and elsewhere.topic == fake.topic_id(forum, "Sleep")
        (general,) = await asked(fake, anna, "/start@cafi_bot", chat=forum)
        assert general.topic is None and not fake.refusals()


async def test_a_topic_that_is_gone_leaves_the_answer_in_the_group(tmp_path: Path) -> None:
    """The answer to a question in a deleted topic comes in the general one."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna, forum = fake.person("Anna"), fake.supergroup(topics=["Voices"])
        await welcomed(fake, anna, forum, "Voices")
        fake.fail("sendMessage", Fault.refused(400, "Bad Request: message thread not found"))
        (answer,) = await asked(fake, anna, VOICES, chat=forum, topic="Voices")
        assert answer.text.startswith(ANSWER) and answer.topic is None


async def test_the_making_of_a_topic_is_no_message_to_reply_to(tmp_path: Path) -> None:
    """In a forum every message hangs on the making of its topic: neither ours to answer, nor a sign of who asked."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna, forum = fake.person("Anna"), fake.supergroup(topics=["Voices"])
        topic = fake.topic_id(forum, "Voices")
        made = {"message_id": topic, "date": 1, "chat": forum.json(), "forum_topic_created": {"name": "Voices"}}
        there = {"message_thread_id": topic, "is_topic_message": True}
        ours = {**made, "from": {"id": BOT, "is_bot": True, "first_name": "CAFI"}}
        raw(fake, anna, forum, {"text": "what are the voices?", "reply_to_message": ours, **there})
        assert await ignored(fake, bot, forum, 0)
        theirs = {**made, "from": fake.person("Bela").user()}
        under = {"message_id": 77, "date": 1, "chat": forum.json(), "reply_to_message": theirs, **there}
        query = {"id": "1", "from": anna.user(), "message": under, "chat_instance": "1", "data": "crisis::"}
        fake.push_raw({"callback_query": query})
        (reply,) = await fake.wait_for(lambda: fake.replies(forum))
        assert reply.text.startswith(CONTACTS)


# --- Coming and going -----------------------------------------------------------------------------------------------


async def test_a_group_that_becomes_a_supergroup_is_followed(tmp_path: Path) -> None:
    """An answer on its way arrives in the new group, which has another id."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=0.15)):
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        fake.write(anna, "@cafi_bot how to sleep?", chat=group)
        await fake.wait_for(lambda: fake.calls("sendChatAction"))
        new = fake.upgrade(group, anna)
        (answer,) = await fake.wait_for(lambda: fake.replies(new))
        assert answer.text.startswith("A fixed time")


async def test_a_bot_that_was_removed_keeps_silent_and_forgets(tmp_path: Path) -> None:
    """What was on its way is dropped; back in the group, the member reads the disclaimer again."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, scripted({}, latency=0.15)) as bot:
        anna, group = fake.person("Anna"), fake.group()
        await agreed(fake, anna, chat=group)
        fake.write(anna, "@cafi_bot how to sleep?", chat=group)
        await fake.wait_for(lambda: len(fake.calls("sendChatAction")) > 2)
        fake.remove_bot(group, anna)
        await quiet(fake, bot)
        assert len(fake.refusals("sendMessage")) == 1
        fake.add_bot(group, anna)
        (welcome,) = await asked(fake, anna, "@cafi_bot how to sleep?", chat=group)
        assert BEGIN in welcome.buttons


async def test_whocanread_says_that_a_group_reads_along(tmp_path: Path) -> None:
    """In a group the page names its members, and offers the private chat."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        (page,) = await asked(fake, fake.person("Anna"), "/whocanread", chat=fake.group())
        assert "Everybody in this group can read what is written here" in page.text

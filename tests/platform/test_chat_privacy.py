"""What is left on disk and in the log of many conversations, looked for byte by byte."""

from __future__ import annotations

import base64
import logging
import random
from pathlib import Path

import pytest
from sqlalchemy import select

from adapters.delivery.store import ChatStore
from adapters.storage.identity import ChatIdentity
from adapters.storage.seal import Secret
from adapters.storage.tables import chats, inbox, polls
from bots.logs import set_up_log
from engine.exceptions import SealBroken
from rehearsal.telegram_world import TelegramPerson
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import scripted
from tests.telegram import agreed, running
from tests.traces import files, found_in, traces

NAMES = (
    "Wilhelmina Quatermain",
    "Þorgerður Æsudóttir",
    "Владислав Черногоров",
    "Αναξίμανδρος Παππάς",
    "山田太郎左衛門尉",
)
WORDS = ("glimmerfish", "Zwetschgendatschi", "schwarzwurzelig", "благоверность", "ψυχοθεραπεία", "電話番号を教えて欲しい",
         "quixotically", "huldrefolkets", "مستشفياتهم", "effervescent")  # fmt: skip
COMMANDS = ("/help", "/topics", "/source", "/simpler", "/shorter", "/example", "/more", "/crisis", "/country de",
            "/language de", "/privacy", "/whocanread", "/feedback", "/unknowncommand")  # fmt: skip


def said_by(dice: random.Random) -> str:
    return f"{dice.choice(WORDS)} i cant sleep {dice.choice(WORDS)} {dice.randrange(10**9, 10**10)}"


async def conversation(
    fake: FaultyTelegram, people: list[TelegramPerson], dice: random.Random, rounds: int
) -> list[str]:
    """People write, press, command; the network breaks in between."""
    said = []
    for _ in range(rounds):
        person = dice.choice(people)
        replies = fake.replies(person)
        labels = [(one.id, label) for one in replies[-3:] for label in one.buttons]
        if dice.random() < 0.1:
            fault = dice.choice((Fault.broken_gateway(), Fault.dropped(), Fault.too_many_requests(0)))
            fake.fail("sendMessage", fault, chat=person)
        kind = dice.random()
        if kind < 0.55 or not labels:
            said.append(said_by(dice))
            fake.write(person, said[-1])
        elif kind < 0.75:
            fake.write(person, dice.choice(COMMANDS))
        elif kind < 0.95:
            fake.press(person, *dice.choice(labels))
        else:
            fake.push_raw({"message": {"text": dice.choice(WORDS), "chat": person.id}})
        if dice.random() < 0.5:
            before = len(fake.replies(person))
            await fake.wait_for(lambda before=before, person=person: len(fake.replies(person)) > before or True)
    return said


@pytest.mark.parametrize("agents", ["builtin", "model"])
async def test_nothing_of_a_long_conversation_can_be_found(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, agents: str
) -> None:
    """Database, journal, key files and the log at its most talkative hold no word, name or id, in no encoding tried."""
    dice = random.Random(agents)
    model = None if agents == "builtin" else scripted({"agent": [dict_of(word) for word in WORDS]})
    set_up_log("DEBUG")
    caplog.set_level(logging.DEBUG)
    sessions = {"messages_a_minute": 1000}
    async with FaultyTelegram() as fake, running(fake, tmp_path, model, sessions=sessions) as bot:
        caplog.clear()
        people = [
            fake.person(name, username=f"user_{dice.randrange(10**11)}", language=dice.choice(("en", "de", "nb", "fr")))
            for name in NAMES
        ]
        for person in people:
            fake.start(person)
        for person in people:
            await fake.wait_for(lambda person=person: fake.replies(person))
            fake.press(person, fake.replies(person)[0].id, "consent::")
        said = await conversation(fake, people, dice, 60)
        await fake.wait_for(lambda: not fake.pending(), 20)
        for person in people:
            said.append(said_by(dice))
            fake.write(person, said[-1])
        await fake.wait_for(lambda: not fake.pending(), 20)
        looked_for = traces(people, said)
        wait = bot.store.database.run_now(lambda one: one.execute(select(inbox.c.id)).scalars().all())
        waiting = files(tmp_path)
        assert wait
        await bot.dispatch.idle()
        answered = files(tmp_path)
        assert len(said) > 20 and len(looked_for) > 30
        rows = bot.store.database.run_now(lambda one: one.execute(select(chats.c.sealed)).scalars().all())
        assert 0 < len(rows) <= len(people)  # some pressed “No, thank you”
    # That the search can find anything at all.
    assert found_in(b"..." + base64.b64encode(b"x" + WORDS[0].encode()), traces([], [WORDS[0]])) == [f"word {WORDS[0]}"]
    for name, content in {**{f"{one} while waiting": kept for one, kept in waiting.items()}, **answered}.items():
        assert found_in(content, looked_for) == [], name
    for name, content in files(tmp_path).items():
        assert found_in(content, looked_for) == [], name
    assert found_in(caplog.text.encode(), looked_for) == []
    assert fake.token not in caplog.text


def dict_of(word: str) -> dict[str, object]:
    """A draft that repeats what somebody wrote."""
    return {"requested_sources": [], "citations": ["sleep"], "basis": "source", "media": [], "handoff": None,
            "reply": f"A fixed time for going to bed can help. {word}"}  # fmt: skip


PURPOSES = ("state", "waiting", "poll", "chat", "asked", "")


async def test_the_database_with_the_secret_alone_opens_nothing(tmp_path: Path) -> None:
    """With every key that the code can derive from secret and database, no state and no poll opens; with the id it does."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        people = [fake.person(name) for name in NAMES[:2]]
        for person in people:
            await agreed(fake, person)
        await bot.dispatch.idle()
        store: ChatStore = bot.store
        read = store.database.run_now
        sealed = read(lambda one: one.execute(select(chats.c.sealed)).scalars().all())
        stored = [
            value
            for table in (chats, inbox, polls)
            for row in read(lambda one, table=table: one.execute(select(table)).all())
            for value in row
        ]
        contexts = [value for value in stored if isinstance(value, bytes)]
        contexts += [b"", b"telegram", b"telegram:", *(ChatIdentity(platform="telegram", chat="").canonical(),)]
        secret = store.keyring.current
        derived = [secret, *(Secret(secret.keyed(name, one) * 2) for name in PURPOSES for one in contexts[:6])]
        for one in derived:
            for content in sealed:
                body = content if one is secret else b"\x01" + one.id + content[5:]
                for purpose in PURPOSES:
                    for context in contexts:
                        with pytest.raises(SealBroken):
                            one.open(purpose, context, body)
        identity = ChatIdentity(platform="telegram", chat=str(people[0].id))
        assert (await store.load(identity)).state is not None

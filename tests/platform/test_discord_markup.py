"""Nothing that a person or a model writes notifies anybody, or looks like the bot's own formatting."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Outgoing, Picture
from adapters.delivery.text_parts import utf16_units
from adapters.discord_adapter.message_text import MESSAGE_UNITS, messages, plain
from adapters.storage.identity import ChatIdentity
from tests.discord import Room, agreed, pinged, running
from tests.fakes.faulty_discord import FaultyDiscord
from tests.team import CITED, scripted

HOSTILE = json.loads((Path(__file__).parents[1] / "data" / "hostile_texts.json").read_text(encoding="utf-8"))
_LINK = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9_.~/?#=&%+:-]*")


def markup_in(content: str) -> list[str]:
    """What Discord's own reader would make of a message: everything that is not plain text, links left aside."""
    bare = _LINK.sub("link", content)
    bare = re.sub(r"\\[^0-9A-Za-z\s]", "x", bare)  # what is escaped is a character and nothing else
    rules = {
        "mention": r"<(?:@[!&]?|#)\d+>|@everyone|@here",
        "other mark": r"<(?:a?:\w+:\d+|t:-?\d+(?::\w)?|/[^>]+:\d+|id:\w+)>",
        "heading": r"(?m)^\s*(?:#{1,3}|-#)\s",
        "quote": r"(?m)^\s*>(?:>>)?\s",
        "list": r"(?m)^\s*(?:[-*+]|\d+\.)\s",
        "emphasis": r"\*[^*]+\*|_[^_]+_|~~.+?~~|\|\|.+?\|\|",
        "code": r"`",
        "masked link": r"\[[^\]]*\]\s*\(",
        "direction": "[\u202a-\u202e\u2066-\u2069\u200e\u200f]",
    }
    return [name for name, rule in rules.items() if re.search(rule, bare, re.S)]


@pytest.mark.parametrize("row", HOSTILE, ids=lambda row: row["id"])
def test_hostile_texts_are_shown_as_plain_text(row: dict[str, str]) -> None:
    """No rule of Discord's markup finds anything in what is sent."""
    text = row["text"].format(person=1234567, role=7654321, channel=99, everyone=55)
    assert not markup_in(plain(text))
    assert not any(markup_in(one) for one in messages(text * 200))


def test_the_reader_of_this_test_sees_markup_where_there_is_some() -> None:
    """The rules above find something in most hostile texts before they are made plain."""
    found = [row["id"] for row in HOSTILE if markup_in(row["text"].format(person=1, role=2, channel=3, everyone=4))]
    assert len(found) > 45


@given(st.text(alphabet=st.sampled_from("ab \n*_~`|[]()<>@#:-+>1.\\/everyonehttps://\u202e\u200b"), max_size=400))
def test_no_text_at_all_becomes_markup(text: str) -> None:
    """Whatever is written, no rule of Discord's markup finds anything in it."""
    assert not markup_in(plain(text))


@given(st.text(max_size=6000), st.sampled_from(["", "Title", "*Title*"]))
def test_messages_fit_and_lose_nothing_that_can_be_seen(text: str, title: str) -> None:
    """Every message has at most 2000 characters as Discord counts them; only our title is in bold."""
    shown = messages(f"{title}\n{text}" if title else text, title)
    assert all(utf16_units(one) <= MESSAGE_UNITS for one in shown)
    assert all(one.startswith("**") is (at == 0 and bool(title)) for at, one in enumerate(shown))


def test_links_to_help_stay_links() -> None:
    """An address with an underscore is not broken by an escape."""
    text = "Find help: https://findahelpline.com/some_page?x=1 (all countries)"
    assert plain(text) == text


async def test_hostile_people_and_models_ping_nobody(tmp_path: Path) -> None:
    """Each hostile text, as a question, as a model's reply and as a long one: nobody is notified, no preview is shown."""
    replies: list[str] = []

    def draft(_: Any) -> dict[str, Any]:
        return {**CITED, "reply": replies[-1]}

    async with FaultyDiscord() as fake:
        room = Room(fake)
        helpers = fake.role(room.guild, "helpers", members=[room.ben], mentionable=True)
        names = {
            "person": room.ben.id, "role": helpers.id, "channel": room.channel.id, "everyone": room.guild.id,
        }  # fmt: skip
        settings: dict[str, Any] = {"sessions": {"messages_a_minute": 10_000}}
        async with running(fake, tmp_path, scripted({"agent": draft}), **settings) as bot:
            replies.append("A fixed time for going to bed can help.")
            await agreed(bot, room.anna, room.channel)
            for row in HOSTILE:
                text = row["text"].format(**names)
                replies.append(f"{text}\nA fixed time for going to bed can help. {text}")
                await room.anna.slash(room.channel, "ask", question=f"{text} why am I so tired?").reply(seconds=10)
            await bot.dispatch.idle()
            where = ChatIdentity(platform="discord", chat=str(room.guild.id), user=str(room.anna.id), thread="1")
            place = {"channel": room.channel.id, "in_thread": 1}
            for row in HOSTILE:
                text = row["text"].format(**names)
                picture = Picture(path=__file__, text=text)
                button = Button(label=text, command="topics")
                outgoing = Outgoing(text=text * 10, pictures=(picture,), buttons=((button,),))
                await bot.screen.tell(Incoming(identity=where, place=place), outgoing)
            assert len(fake.bot_messages(room.channel)) >= 2 * len(HOSTILE)
            ours = [one for one in fake.seen_by(room.anna, ever=True) if one.author is fake.bot]
            assert len(fake.threads(room.channel)) >= 50
            assert not pinged(fake) and not any(one.link_previews for one in ours)
            for one in ours:
                known = re.sub(r"My answer is here: <#\d+>", "", one.content.replace(room.anna.mention, ""))
                assert not markup_in(known), known
            assert {str(one.allowed_mentions) for one in ours} <= {
                "{'parse': []}",
                "{'parse': [], 'replied_user': False}",
            }

"""Who and what there is: people, chats, messages and polls, kept in the API's own JSON."""

from __future__ import annotations

import copy
import itertools
import time
from dataclasses import dataclass, field
from typing import Any

from rehearsal.telegram_world.refusal import bad, forbidden

BOT = {
    "id": 7_000_000_001,
    "is_bot": True,
    "first_name": "CAFI",
    "username": "cafi_bot",
    "can_join_groups": True,
    "can_read_all_group_messages": True,
    "supports_inline_queries": False,
    "can_connect_to_business": False,
    "has_main_web_app": False,
}
BOT_AS_SEEN = {key: BOT[key] for key in ("id", "is_bot", "first_name", "username")}


class NotPossible(Exception):
    """A person cannot do that: the button is not there, the poll is closed, the bot is not in the chat."""


@dataclass(frozen=True, kw_only=True)
class TelegramPerson:
    """Somebody with an account. `id` is also the id of the private chat with the bot."""

    id: int
    first_name: str
    username: str | None = None
    language: str | None = None

    def user(self) -> dict[str, Any]:
        """The account as a bot sees it."""
        user: dict[str, Any] = {"id": self.id, "is_bot": False, "first_name": self.first_name}
        if self.username:
            user["username"] = self.username
        if self.language:
            user["language_code"] = self.language
        return user


@dataclass(kw_only=True)
class TelegramChat:
    """A chat. `bot` is the bot's standing: `new` (never started), `member`, `left`, or `kicked` (also: blocked)."""

    id: int
    kind: str
    title: str
    person: TelegramPerson | None = None
    topics: dict[int, str] = field(default_factory=dict)
    bot: str = "member"
    moved_to: int | None = None
    messages: dict[int, dict[str, Any]] = field(default_factory=dict)

    @property
    def is_forum(self) -> bool:
        """Whether the chat is divided into topics."""
        return bool(self.topics)

    def json(self) -> dict[str, Any]:
        """The chat as it stands in a message."""
        if self.person is not None:
            private = {"id": self.id, "type": "private", "first_name": self.person.first_name}
            return private | ({"username": self.person.username} if self.person.username else {})
        chat: dict[str, Any] = {"id": self.id, "type": self.kind, "title": self.title}
        return chat | ({"is_forum": True} if self.is_forum else {})

    def check_writable(self) -> None:
        """Raises Refused when the bot may not write here."""
        if self.moved_to is not None:
            raise bad("group chat was upgraded to a supergroup chat", migrate_to_chat_id=self.moved_to)
        if self.person is not None:
            if self.bot == "kicked":
                raise forbidden("bot was blocked by the user")
            if self.bot == "new":
                raise forbidden("bot can't initiate conversation with a user")
        elif self.bot == "kicked":
            raise forbidden(f"bot was kicked from the {self.kind} chat")
        elif self.bot == "left":
            raise forbidden(f"bot is not a member of the {self.kind} chat")


@dataclass
class TelegramWorld:
    """Everything there is. People and chats are found by id."""

    people: dict[int, TelegramPerson] = field(default_factory=dict)
    chats: dict[int, TelegramChat] = field(default_factory=dict)
    votes: dict[str, dict[int, list[int]]] = field(default_factory=dict)
    queries: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._numbers = itertools.count(1)
        # Private chats and basic groups share one count of message ids; each supergroup has its own.
        self._shared = itertools.count(1)
        self._own: dict[int, itertools.count[int]] = {}

    def next(self) -> int:
        """A number that has not been used."""
        return next(self._numbers)

    def add_person(self, first_name: str, username: str | None, language: str | None) -> TelegramPerson:
        """A new account, with the private chat in which nobody has written yet."""
        # Ids are wider than 32 bits, as those of new accounts are.
        person = TelegramPerson(
            id=5_000_000_000 + self.next(), first_name=first_name, username=username, language=language
        )
        self.people[person.id] = person
        self.chats[person.id] = TelegramChat(id=person.id, kind="private", title="", person=person, bot="new")
        return person

    def add_chat(self, kind: str, title: str, topics: tuple[str, ...] = ()) -> TelegramChat:
        """A new `group` or `supergroup` of which the bot is a member."""
        base = -1_002_000_000_000 if kind == "supergroup" else -4_000_000_000
        chat = TelegramChat(id=base - self.next(), kind=kind, title=title)
        self.chats[chat.id] = chat
        for name in topics:
            made = self.post(chat, {"from": BOT_AS_SEEN, "forum_topic_created": {"name": name, "icon_color": 7322096}})
            chat.topics[made["message_id"]] = name
        return chat

    def chat_for_bot(self, chat_id: Any) -> TelegramChat:
        """The chat that a call names.

        Raises Refused for one that is unknown or that the bot may not write to.
        """
        if chat_id in {None, ""}:
            raise bad("chat_id is empty")
        chat = self.chats.get(chat_id)
        if chat is None:
            raise bad("chat not found")
        chat.check_writable()
        return chat

    def post(
        self, chat: TelegramChat, content: dict[str, Any], *, topic: int | None = None, reply_to: int | None = None
    ) -> Any:
        """A new message in a chat; a copy of it as it is now."""
        # The first message of a supergroup tells of its making; as a thread, 1 is the topic "General".
        ids = self._own.setdefault(chat.id, itertools.count(2)) if chat.kind == "supergroup" else self._shared
        message = {"message_id": next(ids), "date": int(time.time()), "chat": chat.json(), **content}
        replied = chat.messages.get(reply_to) if reply_to else None
        if replied is not None:
            message["reply_to_message"] = {key: value for key, value in replied.items() if key != "reply_to_message"}
        message |= _thread(chat, topic, replied)
        chat.messages[message["message_id"]] = message
        return copy.deepcopy(message)


def _thread(chat: TelegramChat, topic: int | None, replied: dict[str, Any] | None) -> dict[str, Any]:
    if topic is not None and topic in chat.topics:
        return {"message_thread_id": topic, "is_topic_message": True}
    if chat.kind == "supergroup" and replied is not None and not chat.is_forum:
        # A chain of replies is a thread too; only `is_topic_message` tells a topic from it.
        return {"message_thread_id": replied.get("message_thread_id", replied["message_id"])}
    return {}

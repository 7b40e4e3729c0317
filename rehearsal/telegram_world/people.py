"""What people do. Each deed changes the world and tells the bot; people and chats are named by object or by id."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from typing import Any

from rehearsal.telegram_world.keyboard import buttons
from rehearsal.telegram_world.text import marked
from rehearsal.telegram_world.world import BOT_AS_SEEN, NotPossible, TelegramChat, TelegramPerson, TelegramWorld

_MEDIA: dict[str, Callable[[str], dict[str, Any]]] = {
    "photo": lambda file: {"photo": [_file(file) | {"width": 90, "height": 90}]},
    "sticker": lambda file: {
        "sticker": _file(file)
        | {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False, "emoji": "🙂"}
    },
    "voice": lambda file: {"voice": _file(file) | {"duration": 3, "mime_type": "audio/ogg"}},
    "contact": lambda file: {"contact": {"phone_number": "+4915550000000", "first_name": "Somebody"}},
    "location": lambda file: {"location": {"latitude": 52.5, "longitude": 13.4}},
}


class People:
    """The people's side of the fake. `tell` queues an update for the bot."""

    def __init__(self, world: TelegramWorld, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self.world, self._tell = world, tell

    # --- Who and where -----------------------------------------------------------------------------------------------

    def person(
        self, first_name: str = "Anna", *, username: str | None = None, language: str | None = "en"
    ) -> TelegramPerson:
        """A new account that has not written to the bot yet. `language`: of the app, as `language_code`."""
        return self.world.add_person(first_name, username, language)

    def group(self, title: str = "Family", *, by: TelegramPerson | int | None = None) -> TelegramChat:
        """A basic group with the bot in it; with `by`, the bot is told who added it."""
        return self._with_bot(self.world.add_chat("group", title), by)

    def supergroup(
        self, title: str = "Support", *, topics: Sequence[str] = (), by: TelegramPerson | int | None = None
    ) -> TelegramChat:
        """A supergroup with the bot in it; with topics it is a forum."""
        return self._with_bot(self.world.add_chat("supergroup", title, tuple(topics)), by)

    def topic_id(self, chat: TelegramChat | int, name: str) -> int:
        """The `message_thread_id` of a topic."""
        return next(number for number, title in self._chat(chat).topics.items() if title == name)

    # --- Writing -----------------------------------------------------------------------------------------------------

    def start(self, person: TelegramPerson | int, payload: str = "") -> dict[str, Any]:
        """Opens the private chat, by a deep link when there is a payload."""
        return self.write(person, f"/start {payload}".rstrip())

    def write(
        self,
        person: TelegramPerson | int,
        text: str,
        *,
        chat: TelegramChat | int | None = None,
        topic: str | None = None,
        reply_to: int | None = None,
        entities: Sequence[dict[str, Any]] | None = None,
    ) -> dict[str, Any]:
        """A message of text, in private unless a chat is named. Commands, mentions and addresses are found in it."""
        found = list(entities) if entities is not None else marked(text)
        return self._post(person, {"text": text} | ({"entities": found} if found else {}), chat, topic, reply_to)

    def send(
        self,
        person: TelegramPerson | int,
        kind: str,
        *,
        caption: str = "",
        chat: TelegramChat | int | None = None,
        topic: str | None = None,
        reply_to: int | None = None,
    ) -> dict[str, Any]:
        """A `photo`, `sticker`, `voice`, `contact` or `location`."""
        content = _MEDIA[kind](f"{kind}-{self.world.next()}")
        return self._post(person, content | ({"caption": caption} if caption else {}), chat, topic, reply_to)

    def edit(
        self,
        person: TelegramPerson | int,
        message: dict[str, Any] | int,
        text: str,
        *,
        chat: TelegramChat | int | None = None,
    ) -> dict[str, Any]:
        """Changes the text of one's own message."""
        who = self._person(person)
        there = self._chat(chat if chat is not None else who.id)
        kept = there.messages[_message_id(message)]
        if kept["from"]["id"] != who.id:
            raise NotPossible("People edit their own messages only.")
        kept |= {"text": text, "edit_date": int(time.time())}
        kept.pop("entities", None)
        kept |= {"entities": marked(text)} if marked(text) else {}
        self._tell("edited_message", copy.deepcopy(kept))
        return copy.deepcopy(kept)

    # --- Buttons and polls -------------------------------------------------------------------------------------------

    def press(
        self,
        person: TelegramPerson | int,
        message: dict[str, Any] | int,
        button: str,
        *,
        chat: TelegramChat | int | None = None,
    ) -> str:
        """Presses a button that is under a message now, named by its label or its data; the id of the query."""
        who = self._person(person)
        there = self._chat(chat if chat is not None else who.id)
        kept = there.messages.get(_message_id(message), {})
        found = [one for one in buttons(kept) if button in {one["text"], one.get("callback_data")}]
        if not found or "callback_data" not in found[0]:
            raise NotPossible(f"There is no button {button!r} to press.")
        query: dict[str, Any] = {"id": str(4_000_000_000_000_000_000 + self.world.next()), "from": who.user()}
        query |= {"message": copy.deepcopy(kept), "chat_instance": str(there.id), "data": found[0]["callback_data"]}
        self.world.queries[query["id"]] = query
        self._tell("callback_query", copy.deepcopy(query))
        return str(query["id"])

    def vote(
        self,
        person: TelegramPerson | int,
        message: dict[str, Any] | int,
        options: Sequence[int],
        *,
        chat: TelegramChat | int | None = None,
    ) -> None:
        """Votes in a poll, in place of an earlier vote; no options: takes the vote back."""
        who = self._person(person)
        poll = self._chat(chat if chat is not None else who.id).messages[_message_id(message)]["poll"]
        if poll["is_closed"] or (len(options) > 1 and not poll["allows_multiple_answers"]):
            raise NotPossible("The poll is closed, or takes one answer only.")
        votes = self.world.votes.setdefault(poll["id"], {})
        votes[who.id] = list(options)
        for number, option in enumerate(poll["options"]):
            option["voter_count"] = sum(number in chosen for chosen in votes.values())
        poll["total_voter_count"] = sum(bool(chosen) for chosen in votes.values())
        self._tell("poll", copy.deepcopy(poll))
        if not poll["is_anonymous"]:
            persistent = [poll["options"][number]["persistent_id"] for number in options]
            answer = {"poll_id": poll["id"], "option_ids": list(options), "option_persistent_ids": persistent}
            self._tell("poll_answer", answer | {"user": who.user()})

    # --- Coming and going --------------------------------------------------------------------------------------------

    def block(self, person: TelegramPerson | int) -> None:
        """Stops the bot in private."""
        self._stand(self._chat(self._person(person).id), "kicked", person)

    def unblock(self, person: TelegramPerson | int) -> None:
        """Lets the bot write in private again."""
        self._stand(self._chat(self._person(person).id), "member", person)

    def add_bot(self, chat: TelegramChat | int, by: TelegramPerson | int) -> None:
        """Adds the bot to a group it is not in."""
        there = self._chat(chat)
        self._stand(there, "member", by)
        self._service(there, by, {"new_chat_members": [BOT_AS_SEEN]})

    def remove_bot(self, chat: TelegramChat | int, by: TelegramPerson | int) -> None:
        """Removes the bot from a group."""
        self._stand(self._chat(chat), "kicked", by)

    def join(self, person: TelegramPerson | int, chat: TelegramChat | int) -> None:
        """Somebody joins a group."""
        self._service(self._chat(chat), person, {"new_chat_members": [self._person(person).user()]})

    def leave(self, person: TelegramPerson | int, chat: TelegramChat | int) -> None:
        """Somebody leaves a group."""
        self._service(self._chat(chat), person, {"left_chat_member": self._person(person).user()})

    def upgrade(self, chat: TelegramChat | int, by: TelegramPerson | int) -> TelegramChat:
        """A basic group becomes a supergroup with another id."""
        old = self._chat(chat)
        new = self.world.add_chat("supergroup", old.title)
        self._service(old, by, {"migrate_to_chat_id": new.id})
        old.moved_to = new.id
        self._service(new, by, {"migrate_from_chat_id": old.id})
        return new

    # --- Inside ------------------------------------------------------------------------------------------------------

    def _person(self, person: TelegramPerson | int) -> TelegramPerson:
        return person if isinstance(person, TelegramPerson) else self.world.people[person]

    def _chat(self, chat: TelegramChat | int) -> TelegramChat:
        return chat if isinstance(chat, TelegramChat) else self.world.chats[chat]

    def _with_bot(self, chat: TelegramChat, by: TelegramPerson | int | None) -> TelegramChat:
        if by is not None:
            chat.bot = "left"
            self.add_bot(chat, by)
        return chat

    def _post(
        self,
        person: TelegramPerson | int,
        content: dict[str, Any],
        chat: TelegramChat | int | None,
        topic: str | None,
        reply_to: int | None,
    ) -> dict[str, Any]:
        who = self._person(person)
        there = self._chat(chat if chat is not None else who.id)
        if there.person is not None and there.bot != "member":
            self._stand(there, "member", who, told=there.bot == "kicked")
        if there.bot != "member":
            raise NotPossible("The bot is not in this chat.")
        thread = self.topic_id(there, topic) if topic else None
        message = self.world.post(there, {"from": who.user(), **content}, topic=thread, reply_to=reply_to)
        self._tell("message", message)
        return copy.deepcopy(message)

    def _service(self, chat: TelegramChat, person: TelegramPerson | int, content: dict[str, Any]) -> None:
        self._tell("message", self.world.post(chat, {"from": self._person(person).user(), **content}))

    def _stand(self, chat: TelegramChat, status: str, by: TelegramPerson | int, *, told: bool = True) -> None:
        old, chat.bot = chat.bot, status
        if told:
            change = {"chat": chat.json(), "from": self._person(by).user(), "date": int(time.time())}
            was = _member("member" if old == "new" else old)
            self._tell("my_chat_member", change | {"old_chat_member": was, "new_chat_member": _member(status)})


def _member(status: str) -> dict[str, Any]:
    return {"user": BOT_AS_SEEN, "status": status} | ({"until_date": 0} if status == "kicked" else {})


def _file(name: str) -> dict[str, Any]:
    return {"file_id": name, "file_unique_id": f"u-{name}", "file_size": 1024}


def _message_id(message: dict[str, Any] | int) -> int:
    return message if isinstance(message, int) else message["message_id"]

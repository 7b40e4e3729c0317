"""What a Telegram update means, an edited message's too. Each is read alone: one that makes no sense concerns no other.

Updates are read as the Bot API sends them, as JSON objects; the library would refuse a whole batch over one of them.
Nothing of an update ever goes into a log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button
from adapters.conversation.texts import COMMANDS
from adapters.delivery.votes import Vote
from adapters.storage.identity import ChatIdentity

PLATFORM = "telegram"
ALLOWED = ("message", "edited_message", "callback_query", "poll", "my_chat_member")
"""The kinds of updates that are asked for."""
EDITED_WITHIN = 900
"""Seconds after which a changed message is left alone."""
_WORDLESS = (
    "photo", "sticker", "voice", "audio", "video", "video_note", "document", "animation", "location", "venue",
    "contact", "dice", "poll", "story", "game", "paid_media", "checklist",
)  # fmt: skip
_ALWAYS_OURS = frozenset(COMMANDS) - {
    "start", "help", "stop", "ask", "language", "feedback", "privacy", "people", "report", "pause", "resume",
}  # fmt: skip
"""Commands answered in groups without our name: other bots have the rest as well."""
_NOTHING = re.compile(r"^\W+$")
"""What is left of a message that held nothing but our name."""
_COMMAND = re.compile(r"/([a-z_]{1,32})(?:@(\w+))?(?:\s+|$)", re.I)

Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Me:
    """The bot itself."""

    id: int
    username: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Left:
    """The person has blocked the bot."""

    identity: ChatIdentity


@dataclass(frozen=True, kw_only=True, slots=True)
class ForeignPress:
    """Somebody pressed a button under an answer to somebody else."""

    callback: str
    language: str


Meaning: TypeAlias = Incoming | Vote | Left | ForeignPress | None


def read(update: object, me: Me) -> Meaning:
    """What an update means for us; None for what does not concern us. Raises ValueError for what is no update."""
    try:
        fields = _fields(update)
        if not isinstance(fields["update_id"], int):  # without its number it could not be told from another
            raise TypeError("no number")
        found = _read(fields, me)
        return replace(found, number=fields["update_id"]) if isinstance(found, Incoming) else found
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError("an update of another form") from error


def _read(update: Fields, me: Me) -> Meaning:
    if "message" in update:
        return _message(_fields(update["message"]), me)
    if "edited_message" in update:
        return _edited(_fields(update["edited_message"]), me)
    if "callback_query" in update:
        return _pressed(_fields(update["callback_query"]))
    if "poll" in update:
        return _voted(_fields(update["poll"]))
    if "my_chat_member" in update:
        return _membership(_fields(update["my_chat_member"]))
    return None


def _message(message: Fields, me: Me, *, edited: bool = False) -> Incoming | None:
    sender, chat = message.get("from"), _fields(message["chat"])
    # Other bots, channels and anonymous administrators: nobody of whom could be kept apart from others.
    if sender is None or sender.get("is_bot") or "sender_chat" in message or chat["type"] == "channel":
        return None
    written = _text(message.get("text", message.get("caption", "")))
    holds_more = any(kind in message for kind in _WORDLESS)
    if not written and not holds_more:
        return None
    private = chat["type"] == "private"
    calls = list(_calls(written, message.get("entities", message.get("caption_entities", ())), me))
    command, text, named = _command(written, me)
    if named is False:
        if not private:  # another bot's command
            return None
        named = True
    if not private and not (named or command in _ALWAYS_OURS or calls or _to_us(message, me)):
        return None
    if calls and not command:
        command, text, _ = _command(_without(written, calls), me)
    if written and not text and not command and not holds_more:
        command = "help"  # we were called by name, and nothing else was said
    return Incoming(
        identity=_identity(chat, sender, message, private),
        place=_place(chat, message, private),
        text=text,
        command=command,
        language=_text(sender.get("language_code", "")),
        private=private,
        wordless=holds_more and not text and not command,
        edited=edited,
        at=float(message["date"]),
    )


def _edited(message: Fields, me: Me) -> Incoming | None:
    age = int(message.get("edit_date", 0)) - int(message["date"])
    found = _message(message, me, edited=True) if 0 <= age <= EDITED_WITHIN else None
    # A changed command was carried out already; a changed picture still holds no words.
    return None if found is None or found.command or found.wordless else found


def _pressed(query: Fields) -> Incoming | ForeignPress | None:
    message, sender = query.get("message"), _fields(query["from"])
    code = Button.read(_text(query.get("data", "")))
    if message is None or code is None or sender.get("is_bot"):
        return None
    message = _fields(message)
    chat = _fields(message["chat"])
    private = chat["type"] == "private"
    answered = _answered(message)
    asker = _fields(answered.get("from") or {}).get("id")
    language = _text(sender.get("language_code", ""))
    if not private and asker is not None and asker != sender["id"]:
        return ForeignPress(callback=_text(query["id"]), language=language)
    command, about, argument = code
    reply_to = answered.get("message_id", message["message_id"])
    return Incoming(
        identity=_identity(chat, sender, message, private),
        place={**_place(chat, {**message, "message_id": reply_to}, private), "callback": _text(query["id"])},
        text=argument,
        command=command,
        about=about,
        language=language,
        private=private,
    )


def _voted(poll: Fields) -> Vote | None:
    if not poll.get("is_anonymous", True):
        return None
    chosen = [at for at, option in enumerate(poll["options"]) if int(_fields(option)["voter_count"]) > 0]
    return Vote(poll=_text(poll["id"]), option=chosen[0]) if len(chosen) == 1 else None


def _membership(change: Fields) -> Left | None:
    chat = _fields(change["chat"])
    gone = _fields(change["new_chat_member"])["status"] in {"kicked", "left"}
    if chat["type"] != "private" or not gone:
        return None
    return Left(identity=ChatIdentity(platform=PLATFORM, chat=str(chat["id"])))


def _identity(chat: Fields, sender: Fields, message: Fields, private: bool) -> ChatIdentity:
    if private:
        return ChatIdentity(platform=PLATFORM, chat=str(int(chat["id"])))
    thread = _thread(message)
    return ChatIdentity(
        platform=PLATFORM, chat=str(int(chat["id"])), user=str(int(sender["id"])), thread=str(thread or "")
    )


def _place(chat: Fields, message: Fields, private: bool) -> dict[str, str | int | None]:
    place: dict[str, str | int | None] = {"chat": int(chat["id"])}
    if (thread := _thread(message)) is not None:
        place["thread"] = thread
    if not private:
        place["reply_to"] = int(message["message_id"])
    return place


def _thread(message: Fields) -> int | None:
    """The forum topic; replies in ordinary groups carry a thread as well, which is none."""
    return int(message["message_thread_id"]) if message.get("is_topic_message") else None


def _command(text: str, me: Me) -> tuple[str, str, bool | None]:
    """Command, what follows it, and whether it names us: True, False for another bot, None where nobody is named."""
    match = _COMMAND.match(text)
    if match is None:
        return "", text, None
    named = None if match[2] is None else match[2].casefold() == me.username.casefold()
    return match[1].casefold(), text[match.end() :].strip(), named


def _to_us(message: Fields, me: Me) -> bool:
    return bool(_fields(_answered(message).get("from") or {}).get("id") == me.id)


def _answered(message: Fields) -> Fields:
    """The message that this one replies to; in a forum, every message replies to the making of its topic."""
    answered = _fields(message.get("reply_to_message") or {})
    return {} if "forum_topic_created" in answered else answered


def _calls(text: str, entities: object, me: Me) -> Iterator[tuple[int, int]]:
    """Where a text calls us by name: offsets and ends in UTF-16 units, as Telegram counts."""
    units = text.encode("utf-16-le")
    for entity in entities if isinstance(entities, (list, tuple)) else ():
        fields = _fields(entity)
        kind, start = fields["type"], int(fields["offset"])
        end = start + int(fields["length"])
        if kind == "mention":
            name = _decoded(units[start * 2 : end * 2])
            ours = name.casefold() == f"@{me.username}".casefold()
        else:
            ours = kind == "text_mention" and _fields(fields["user"]).get("id") == me.id
        if ours:
            yield start, end


def _without(text: str, calls: Sequence[tuple[int, int]]) -> str:
    """A text without our name, and without what stands after a name."""
    units = text.encode("utf-16-le")
    for start, end in sorted(calls, reverse=True):
        before, after = (_decoded(part) for part in (units[: start * 2], units[end * 2 :]))
        divided = not before or before[-1].isspace()
        units = (before + re.sub(r"^[,:]?\s+", "" if divided else " ", after)).encode("utf-16-le")
    return _NOTHING.sub("", _decoded(units).strip())


def _decoded(units: bytes) -> str:
    return units.decode("utf-16-le", errors="ignore")


def _text(value: object) -> str:
    """A text whose every character can be written down: half a surrogate pair cannot."""
    text = value if isinstance(value, str) else ""
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")


def _fields(value: object) -> Fields:
    if not isinstance(value, Mapping):
        raise TypeError("no object")
    return value

"""Outgoing messages as Telegram messages: plain text and entities, never markup that a text could break out of."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from telegram import (
    InlineKeyboardButton,
    InlineKeyboardMarkup,
    InputPollOption,
    LinkPreviewOptions,
    MessageEntity,
    ReplyParameters,
)
from telegram.constants import ChatAction, MessageLimit
from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, RetryAfter, TelegramError
from telegram.ext import ExtBot

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Outgoing
from adapters.delivery.screen import Gone, NotNow
from adapters.delivery.text_parts import split_text, utf16_units

TYPING_SECONDS = 4.0
"""Telegram shows that somebody is typing for five seconds at a time."""
TYPING_AT_ONCE = 4
"""Typing signs on their way at a time: in a burst, answers must not queue behind them."""
WAIT_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits after failures of the network."""
_CAPTION = int(MessageLimit.CAPTION_LENGTH)
_TEXT = int(MessageLimit.MAX_TEXT_LENGTH)
_MENTION = re.compile(r"(?<![A-Za-z0-9_])@(?=\w)")
"""What Telegram would turn into a name that is called; the @ inside an address of electronic mail is none."""
_NOBODY = ("chat not found", "user is deactivated", "bot was kicked", "group chat was deactivated", "have no rights",
           "not enough rights", "chat_write_forbidden", "topic_closed", "need administrator rights")  # fmt: skip
_log = logging.getLogger("cafi.telegram")


@dataclass(kw_only=True, slots=True)
class OutboundMessage:
    """One message on its way. `method`: the Bot API's name for how it is sent; `failures`: of the network so far."""

    method: str
    content: dict[str, Any]
    failures: int = 0


@dataclass(frozen=True, kw_only=True)
class TelegramScreen:
    """Shows things on Telegram. Network failures and rate limits are told as `NotNow`; whoever delivers waits."""

    bot: ExtBot[Any]
    typing_seconds: float = TYPING_SECONDS
    typing_at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(TYPING_AT_ONCE))

    def parts(self, incoming: Incoming, outgoing: Outgoing) -> Sequence[OutboundMessage]:
        """Pictures first, then the text in pieces, the buttons under the last one; a poll stands alone."""
        if outgoing.brief and incoming.command == "thumb" and incoming.place.get("callback"):
            return [OutboundMessage(method="toast", content={"id": incoming.place["callback"], "text": outgoing.text})]
        where = _where(incoming)
        found = [one for picture in outgoing.pictures for one in _picture(where, picture.path, picture.text)]
        found += [OutboundMessage(method="text", content={**where, **one}) for one in _texts(outgoing)]
        if outgoing.poll is not None:
            found.append(_poll(where, outgoing.poll.text, [text for _, text in outgoing.poll.options]))
        elif found and outgoing.buttons:
            found[-1].content["reply_markup"] = keyboard(outgoing.buttons)
        if incoming.command == "thumb" and incoming.place.get("callback"):
            found.insert(0, OutboundMessage(method="toast", content={"id": incoming.place["callback"], "text": ""}))
        return found

    async def send(self, part: OutboundMessage) -> str | None:
        """Send one message; raises Gone and NotNow."""
        try:
            return await self._sent(part)
        except RetryAfter as error:
            raise NotNow(error._retry_after.total_seconds()) from None  # the public name warns about its future
        except Forbidden:
            raise Gone from None
        except ChatMigrated as error:
            part.content["chat_id"] = error.new_chat_id
            raise NotNow(0) from None
        except BadRequest as error:
            self._mend(part, error)
            raise NotNow(0) from None
        except InvalidToken:
            # The message waits on disk until the operator has put the new token in.
            _log.error("Telegram does not know the token (any more); ask @BotFather for a new one")
            raise NotNow(WAIT_SECONDS[-1]) from None
        except TelegramError:
            part.failures += 1
            raise NotNow(WAIT_SECONDS[min(part.failures, len(WAIT_SECONDS)) - 1]) from None

    async def _sent(self, part: OutboundMessage) -> str | None:
        content = dict(part.content)
        if part.method == "toast":
            # A press that is too old to be answered needs no thanks.
            with suppress(BadRequest):
                await self.bot.answer_callback_query(content["id"], text=content["text"][:200] or None)
            return None
        if part.method == "nothing":
            return None
        if part.method == "poll":
            sent = await self.bot.send_poll(**content)
            return None if sent.poll is None else sent.poll.id
        if part.method == "picture":
            try:
                photo = await asyncio.to_thread(Path(content.pop("path")).read_bytes)
            except OSError:
                raise BadRequest("the file cannot be read") from None
            await self.bot.send_photo(photo=photo, **content)
            return None
        await self.bot.send_message(link_preview_options=LinkPreviewOptions(is_disabled=True), **content)
        return None

    def _mend(self, part: OutboundMessage, error: BadRequest) -> None:
        """Take out what Telegram objects to; raises Gone where nothing can help, and the error where it is ours."""
        said = error.message.casefold()
        if "thread not found" in said and part.content.pop("message_thread_id", None) is not None:
            return
        if part.method == "picture":
            # A picture that cannot be shown, or not in this group, is told in words.
            part.method = "text"
            part.content.pop("path")
            part.content["text"] = part.content.pop("caption")
            return
        if any(sign in said for sign in _NOBODY):
            raise Gone from None
        for name in ("entities", "reply_markup"):
            if part.content.pop(name, None) is not None:
                _log.warning("Telegram refused a message with %s; it is sent without", name)
                return
        if part.method != "poll":
            raise error
        _log.warning("Telegram refused a poll; it is left out")
        part.method = "nothing"

    @asynccontextmanager
    async def busy(self, incoming: Incoming) -> AsyncIterator[None]:
        """The typing sign, for as long as it is entered; a pressed button stops spinning."""
        typing = asyncio.create_task(self._typing(incoming))
        stilling = asyncio.create_task(self._still(incoming))
        try:
            yield
        finally:
            typing.cancel()
            await asyncio.gather(typing, stilling, return_exceptions=True)

    async def _still(self, incoming: Incoming) -> None:
        """A press has arrived. Thumbs are thanked for at the same time, later."""
        callback = incoming.place.get("callback")
        if callback and incoming.command != "thumb":
            with suppress(TelegramError):
                await self.bot.answer_callback_query(str(callback))

    async def _typing(self, incoming: Incoming) -> None:
        while True:
            async with self.typing_at_once:
                await self._type(incoming)
            await asyncio.sleep(self.typing_seconds)

    async def _type(self, incoming: Incoming) -> None:
        with suppress(TelegramError):
            await self.bot.send_chat_action(
                chat_id=_int(incoming.place["chat"]) or 0,
                action=ChatAction.TYPING,
                message_thread_id=_int(incoming.place.get("thread")),
            )


def keyboard(rows: Sequence[Sequence[Button]]) -> InlineKeyboardMarkup:
    """Buttons as Telegram's inline keyboard."""
    return InlineKeyboardMarkup(
        [[InlineKeyboardButton(text=one.label, callback_data=one.code()) for one in row] for row in rows]
    )


def plain(text: str) -> str:
    """A text in which no name is a mention: nobody is called by what somebody else wrote."""
    return _MENTION.sub("@\N{WORD JOINER}", text)


def _texts(outgoing: Outgoing) -> list[dict[str, Any]]:
    """The text in pieces; a title is set in bold, if it stands at the beginning."""
    pieces: list[dict[str, Any]] = [{"text": one} for one in split_text(plain(outgoing.text), _TEXT, utf16_units)]
    title = plain(outgoing.title)
    if pieces and title and pieces[0]["text"].startswith(title):
        bold = MessageEntity(type=MessageEntity.BOLD, offset=0, length=utf16_units(title))
        pieces[0]["entities"] = [bold]
    return pieces


def _picture(where: dict[str, Any], path: str, text: str) -> list[OutboundMessage]:
    """A picture with what it shows below it, and what the caption cannot hold after it."""
    caption, *rest = split_text(plain(text), _CAPTION, utf16_units) or [""]
    more = split_text(" ".join(rest), _TEXT, utf16_units)
    return [
        OutboundMessage(method="picture", content={**where, "path": path, "caption": caption}),
        *(OutboundMessage(method="text", content={**where, "text": one}) for one in more),
    ]


def _poll(where: dict[str, Any], question: str, options: Sequence[str]) -> OutboundMessage:
    content = {**where, "question": question, "options": [InputPollOption(text=one) for one in options]}
    return OutboundMessage(method="poll", content={**content, "is_anonymous": True, "allows_multiple_answers": False})


def _where(incoming: Incoming) -> dict[str, Any]:
    where: dict[str, Any] = {"chat_id": incoming.place["chat"]}
    if incoming.place.get("thread") is not None:
        where["message_thread_id"] = incoming.place["thread"]
    if (reply_to := _int(incoming.place.get("reply_to"))) is not None:
        where["reply_parameters"] = ReplyParameters(message_id=reply_to, allow_sending_without_reply=True)
    return where


def _int(value: str | int | None) -> int | None:
    return None if value is None else int(value)

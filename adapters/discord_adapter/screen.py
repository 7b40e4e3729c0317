"""Outgoing messages as Discord messages: what is for one person alone is shown to nobody else, whatever the way.

Answers to questions go where the operator wants them: a thread a question, a reply, or to the person alone. The crisis
referral, the disclaimer and everything else private go ephemerally. Where a mention leaves no way for that, a line that is
always the same holds a button, and the emergency number in view: it labels nobody. The referral then also goes by direct
message, so that it needs no press.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import discord

from adapters.conversation.chat import Chat
from adapters.conversation.feedback_port import Poll
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Button, Outgoing, Picture
from adapters.delivery.screen import Gone, NotNow
from adapters.discord_adapter.codes import Code
from adapters.discord_adapter.delivery import Delivery, MessagePiece, Routes
from adapters.discord_adapter.gate import Gate
from adapters.discord_adapter.message_text import label, messages, plain
from adapters.discord_adapter.private_replies import Pending
from adapters.discord_adapter.texts import DiscordLanguages, DiscordTexts
from adapters.discord_adapter.threads import ThreadAsker, Threads
from adapters.discord_adapter.wire import Missing, Refused, TokenOver, Unfit, Wire, coded, fitted

TYPING_SECONDS = 8.0
"""Discord shows that somebody is typing for ten seconds at a time."""
_ALT = 1024
_TOO_MANY_THREADS = 160006
_log = logging.getLogger("cafi.discord")


@dataclass(frozen=True, kw_only=True)
class DiscordScreen:
    """Shows things on Discord. `missing`: told of a channel where we lack rights; `mode`: thread, reply or ephemeral."""

    wire: Wire
    chat: Chat
    languages: DiscordLanguages
    gate: Gate
    threads: Threads
    pending: Pending
    mode: str
    archive_minutes: int
    missing: Callable[[int], Awaitable[None]]
    now: Callable[[], float] = time.time
    typing_seconds: float = TYPING_SECONDS

    # --- An outgoing message in messages ----------------------------------------------------------------------------------------

    def parts(self, incoming: Incoming, outgoing: Outgoing) -> Sequence[MessagePiece]:
        """Pictures first, then the text in pieces, the buttons under the last one; a structured question as buttons."""
        routes = Routes(open=self.mode != "ephemeral" or bool(incoming.place.get("in_thread")), now=self.now())
        delivery = Delivery(incoming=incoming, outgoing=outgoing, ways=routes.ways(incoming, outgoing))
        if outgoing.brief and incoming.identity.chat != "dm" and delivery.way == "notice":
            return ()  # a word in between, which nobody needs to press a button for
        if outgoing.erased:
            self.pending.drop(incoming.identity)
        pieces = [one for picture in outgoing.pictures for one in _pictured(delivery, picture)]
        before = self._addressed(delivery)
        found = messages(outgoing.text, outgoing.title, len(before))
        if found and not pieces:
            found[0] = before + found[0]
        pieces += [MessagePiece(delivery=delivery, content=one) for one in found]
        if outgoing.poll is not None:
            pieces.append(self._question(delivery, outgoing.poll))
        elif pieces and outgoing.buttons:
            identity = incoming.identity
            pieces[-1].rows = coded(outgoing.buttons, delivery.user, identity.thread)
        if pieces:
            pieces[0].first = True
        return pieces

    def _addressed(self, delivery: Delivery) -> str:
        """For whom an answer in a channel is, where it does not stand under their message."""
        alone = delivery.way != "public" or self.mode != "reply" or delivery.place("message")
        if alone or delivery.place("in_thread"):
            return ""
        return self._said(delivery).answer_for.format(person=f"<@{delivery.user}>") + "\n"

    def _question(self, delivery: Delivery, poll: Poll) -> MessagePiece:
        name, context = secrets.token_hex(8), delivery.incoming.identity.thread
        rows = [
            [(text, Code(owner=delivery.user, context=context, command="vote", argument=f"{name}.{at}").custom_id())]
            for at, (_, text) in enumerate(poll.options)
        ]
        return MessagePiece(delivery=delivery, content=plain(poll.text), rows=fitted(rows), poll=name)

    # --- One message --------------------------------------------------------------------------------------------------

    async def send(self, part: MessagePiece) -> str | None:
        """Send one message; raises Gone and NotNow."""
        delivery = part.delivery
        if await self._held(delivery):
            if part.first:
                await self._line(delivery.incoming, self._said(delivery).held)
            return None
        while True:
            try:
                if await self._sent(part):
                    return part.poll
            except Unfit:
                self._mend(part)
            except TokenOver:
                delivery.ways.pop(0)
            except Refused as error:
                await self._refused(delivery, error)
            except Missing:
                self._gone(delivery)

    async def _held(self, delivery: Delivery) -> bool:
        """Whether moderators look at it first; asked once, and never about what is for one person alone."""
        if delivery.held is None:
            asked = delivery.gated and delivery.way == "public" and delivery.outgoing.turn is not None
            delivery.held = asked and await self.gate.held(delivery.incoming, delivery.outgoing)
        return delivery.held

    async def _sent(self, part: MessagePiece) -> bool:
        """Try the present way; whether the message has been sent, or need not be."""
        delivery = part.delivery
        match delivery.way:
            case "public":
                await self._openly(part)
            case "token":
                token = str(delivery.incoming.place["token"])
                alone = delivery.incoming.identity.chat != "dm"
                await self.wire.follow_up(token, part.content, ephemeral=alone, rows=part.rows, file=_file(part))
                await self._later(delivery.incoming)
            case "direct":
                channel = await self.wire.direct(delivery.user)
                await self.wire.post(channel, part.content, rows=part.rows, file=_file(part))
            case "channel":
                await self.wire.post(delivery.place("channel"), part.content, rows=part.rows, file=_file(part))
            case "notice":
                await self._noticed(part)
            case "later":
                self._kept(delivery)
            case "nowhere":
                _log.info("an answer could not be shown: its place is gone or closed to us")
        return True

    async def _openly(self, part: MessagePiece) -> None:
        delivery = part.delivery
        if delivery.target is None:
            delivery.target = await self._target(delivery)
        answers = delivery.place("message") if part.first and delivery.target == delivery.place("channel") else 0
        sent = await self.wire.post(
            delivery.target, part.content, rows=part.rows, file=_file(part), answers=answers or None
        )
        if delivery.place("thinking") and not delivery.told_where:
            delivery.told_where = True
            place = f"<#{delivery.target}>"
            if delivery.target == delivery.place("channel"):
                guild = delivery.incoming.identity.chat
                place = f"https://discord.com/channels/{guild}/{delivery.target}/{sent}"
            said = self._said(delivery).answered_here.format(place=place)
            # Whether they can be told where it is or not, the answer is there.
            with suppress(TokenOver, Missing, Refused, NotNow, Unfit):
                await self.wire.edit_first(str(delivery.incoming.place["token"]), said)
            await self._later(delivery.incoming)

    async def _target(self, delivery: Delivery) -> int:
        """Where an answer for everybody goes: the place itself, or a new thread for the question."""
        channel, message = delivery.place("channel"), delivery.place("message")
        if self.mode != "thread" or delivery.place("in_thread"):
            return channel
        title = self._title(delivery)
        if not message and delivery.opener is None:
            delivery.opener = await self.wire.post(channel, self._opening(delivery, title), rows=self._way_in(delivery))
        start = message or delivery.opener or 0
        try:
            name = label(title or self._said(delivery).thread)
            thread = await self.wire.start_thread(channel, start, name, self.archive_minutes)
        except Refused as error:
            if error.code != _TOO_MANY_THREADS:
                raise
            return channel
        self.threads.started(thread, ThreadAsker(user=delivery.user, context=delivery.incoming.identity.thread))
        return thread

    def _opening(self, delivery: Delivery, title: str) -> str:
        said, person = self._said(delivery), f"<@{delivery.user}>"
        return said.asked_about.format(person=person, topic=plain(title)) if title else said.asked.format(person=person)

    def _way_in(self, delivery: Delivery) -> list[list[tuple[str, str]]]:
        """A button anybody may press. It also keeps whose thread this is, for when we have forgotten."""
        texts = self.chat.languages.choose(self._language(delivery))
        button = Button(label=texts.commands["topics"], command="topics")
        return coded(((button,),), delivery.user, delivery.incoming.identity.thread)

    def _title(self, delivery: Delivery) -> str:
        """What an answer is about, in the words of its source: never in those of the person."""
        turn = delivery.outgoing.turn
        if turn is None or not turn.reply.citations:
            return ""
        assistant = self.chat.engine.assistants[turn.conversation.assistant]
        knowledge = assistant.speaking(turn.language).knowledge
        source = knowledge.get(turn.reply.citations[0])
        return source.title if source is not None else ""

    async def _noticed(self, part: MessagePiece) -> None:
        """The line that is always the same, with the button; the referral by direct message as well, if that is open."""
        delivery = part.delivery
        if delivery.outgoing.referral and delivery.ways[-1] == "direct":
            try:
                channel = await self.wire.direct(delivery.user)
                await self.wire.post(channel, part.content, rows=part.rows)
            except (Refused, Missing):
                delivery.ways.pop()
        if delivery.noticed:
            return
        incoming = delivery.incoming
        emergency = self.chat.pages.emergency(self.chat.start(incoming))
        said = self._said(delivery)
        text = said.for_you.format(person=f"<@{delivery.user}>", emergency=plain(emergency))
        show = Code(owner=delivery.user, context=incoming.identity.thread, command="open").custom_id()
        await self.wire.post(delivery.place("channel"), text, rows=[[(said.show_me, show)]])
        self.pending.add(incoming, delivery.outgoing)
        delivery.noticed = True

    def _kept(self, delivery: Delivery) -> None:
        """No way to this person alone is open now: it is shown as soon as they use the bot again."""
        if not delivery.noticed:
            self.pending.add(delivery.incoming, delivery.outgoing)
        delivery.noticed = True

    async def _later(self, incoming: Incoming) -> None:
        """They have come back: show what could not be shown to them before, below what they came for."""
        if incoming.identity.chat == "dm":
            return
        for asked, outgoing in self.pending.take_unnamed(incoming.identity):
            place = {**incoming.place, "thinking": None, "quiet": 1}
            with suppress(Gone):
                await self.tell(replace(asked, place=place), outgoing)

    # --- What goes wrong ----------------------------------------------------------------------------------------------

    async def _refused(self, delivery: Delivery, error: Refused) -> None:
        """No right to write there: moderators are told, the person is reached another way."""
        if delivery.way in {"public", "notice"}:
            await self.missing(delivery.place("channel"))
        if delivery.way == "channel":
            raise Gone from None
        if delivery.ways:
            delivery.ways.pop(0)

    def _gone(self, delivery: Delivery) -> None:
        """The place has been deleted, or the question with it: who took it back is not answered in the open."""
        if delivery.way == "channel" or (delivery.incoming.identity.thread and delivery.place("in_thread")):
            raise Gone from None
        taken_back = delivery.way == "public" and not delivery.incoming.place.get("token")
        delivery.ways = [] if taken_back else delivery.ways[1:]

    def _mend(self, part: MessagePiece) -> None:
        """Take out what Discord objects to; what is left is plain text that it takes."""
        if part.picture is not None:
            part.picture = None
        elif part.rows:
            part.rows = ()
            _log.warning("Discord refused a message with its buttons; it is sent without")
        else:
            raise RuntimeError("Discord refused a plain text") from None

    # --- Lines of our own ---------------------------------------------------------------------------------------------

    async def tell(self, incoming: Incoming, outgoing: Outgoing, *, gated: bool = True) -> None:
        """Show something outside a chat's line, waiting when Discord asks for that; raises Gone."""
        for part in self.parts(incoming, outgoing):
            part.delivery.gated = gated
            for _ in range(20):
                try:
                    await self.send(part)
                    break
                except NotNow as wait:
                    await asyncio.sleep(wait.seconds)

    async def _line(self, incoming: Incoming, text: str) -> None:
        await self.tell(incoming, Outgoing(text=text, private=True))

    async def release(self, incoming: Incoming, outgoing: Outgoing | None) -> None:
        """Show an answer that was held, or say honestly that nobody approved it."""
        with suppress(Gone):
            if outgoing is None:
                await self._line(incoming, self.languages.choose(self._code(incoming)).not_approved)
            else:
                # What was ephemeral has been told; the answer itself is for everybody.
                place = {**incoming.place, "thinking": None}
                await self.tell(replace(incoming, place=place), outgoing, gated=False)

    @asynccontextmanager
    async def busy(self, incoming: Incoming) -> AsyncIterator[None]:
        """The typing sign, for as long as it is entered; an interaction shows its own.

        No answer is begun before Discord has our word for every interaction at hand: in a rush, that comes first.
        """
        await self.wire.settled()
        if incoming.place.get("thinking"):
            yield
            return
        task = asyncio.create_task(self._typing(int(incoming.place.get("channel") or 0)))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _typing(self, channel: int) -> None:
        async def show(client: discord.Client) -> None:
            await client.http.send_typing(channel)

        while True:
            with suppress(NotNow, Refused, Missing, TokenOver, Unfit):
                await self.wire.call(show)
            await asyncio.sleep(self.typing_seconds)

    def _said(self, delivery: Delivery) -> DiscordTexts:
        return self.languages.choose(self._language(delivery))

    def _language(self, delivery: Delivery) -> str | None:
        state = delivery.outgoing.state
        chosen = None if state is None else state.language
        return chosen or self._code(delivery.incoming)

    def _code(self, incoming: Incoming) -> str | None:
        return self.chat.languages.known(incoming.language)


def _pictured(delivery: Delivery, picture: Picture) -> list[MessagePiece]:
    """A picture with what it shows in words, which are also its description; what is too long follows."""
    first, *more = messages(picture.text) or [""]
    return [
        MessagePiece(delivery=delivery, content=first, picture=(picture.path, picture.text)),
        *(MessagePiece(delivery=delivery, content=one) for one in more),
    ]


def _file(part: MessagePiece) -> discord.File | None:
    """The picture, read anew for each attempt, with what it shows as its description."""
    if part.picture is None:
        return None
    path, text = part.picture
    try:
        return discord.File(Path(path), description=text[:_ALT])
    except OSError:
        _log.warning("a picture could not be read; its text is shown alone")
        return None

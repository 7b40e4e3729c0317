"""From events to the dispatch: stored first, then acknowledged, and both well within Discord's three seconds."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import discord
from discord import app_commands

from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.texts import ChatTexts
from adapters.delivery.dispatch import Dispatch
from adapters.delivery.screen import Gone
from adapters.delivery.store import ChatStore
from adapters.delivery.votes import Vote
from adapters.discord_adapter.contexts import PersonContexts
from adapters.discord_adapter.gate import Gate
from adapters.discord_adapter.interpreter import (
    FORM,
    PLATFORM,
    Form,
    Interpreter,
    Meaning,
    NotYours,
    Open,
    Seat,
    Suggest,
    seat_of,
)
from adapters.discord_adapter.message_text import plain
from adapters.discord_adapter.screen import DiscordScreen
from adapters.discord_adapter.texts import DiscordLanguages
from adapters.discord_adapter.threads import ThreadAsker, Threads
from adapters.storage.identity import ChatIdentity
from engine import StorageError

STORE_SECONDS = 0.5
"""For how long an acknowledgement waits for the database. A busy disk must not look like a bot that ignores somebody."""
ACKNOWLEDGEMENTS = 32
"""On their way at the same time: over few connections that stay open they are all through sooner than over many new ones."""
GATHER_SECONDS, GATHER_PAUSE = 0.25, 0.01
LOOK_SECONDS = 1.0
"""For how long Discord is asked whose a thread is; without an answer, the person has a context of their own there."""
CHOICES = 25
_SEEN, _SEEN_SECONDS = 5000, 3600.0
ALLOWED_WHILE_PAUSED = frozenset(
    {"crisis", "forget", "stop", "danger", "decline", "safe", "country", "language", "privacy", "whocanread", "open"}
    | {"people", "report"}
)
"""What people may do in every channel and while moderators have paused the bot: find help, tell of harm, see and erase what
is kept."""
ABOUT_THE_LAST = frozenset({"source", "feedback"})
"""Commands about the last answer, whichever thread it was given in."""
_NOBODY = ChatIdentity(platform=PLATFORM, chat="")
_log = logging.getLogger("cafi.discord")


@dataclass(kw_only=True)
class DiscordIntake:
    """Takes interactions and messages in. `listens`: messages in allowed channels need no mention."""

    dispatch: Dispatch
    store: ChatStore
    people: PersonContexts
    screen: DiscordScreen
    gate: Gate
    interpreter: Interpreter
    threads: Threads
    languages: DiscordLanguages
    listens: bool = False
    others: bool = True
    _acknowledging: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(ACKNOWLEDGEMENTS))
    _batch: list[tuple[Incoming, asyncio.Future[None]]] = field(default_factory=list)
    _storing: asyncio.Task[None] | None = None
    _taking: set[asyncio.Task[None]] = field(default_factory=set)
    _seen: OrderedDict[int, None] = field(default_factory=OrderedDict)

    # --- Interactions -------------------------------------------------------------------------------------------------

    async def interaction(self, interaction: discord.Interaction) -> None:
        """Take an interaction in; whatever is wrong with it concerns nobody else."""
        try:
            if await self.gate.interaction(interaction):
                return
            seat = await self._seat(interaction)
            await self._act(interaction, seat, self.interpreter.interaction(interaction, seat))
        except (KeyError, TypeError, ValueError, AttributeError):
            _log.warning("an interaction could not be read and was left out")
        except discord.HTTPException as error:
            _log.warning("an interaction could not be acknowledged (%d)", error.code)

    async def _seat(self, interaction: discord.Interaction) -> Seat:
        channel, asker = interaction.channel, None
        if isinstance(channel, discord.Thread):
            asker = await self._asker(interaction.client, channel)
        return seat_of(channel, interaction.guild_id, interaction.user, asker)

    async def _asker(self, client: discord.Client, thread: discord.Thread) -> ThreadAsker | None:
        with suppress(discord.HTTPException, TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                return await self.threads.asker(client, thread.id, thread.parent_id, thread.owner_id)
        return None

    async def _act(self, interaction: discord.Interaction, seat: Seat, meaning: Meaning) -> None:
        match meaning:
            case Suggest():
                await interaction.response.autocomplete(self._choices(interaction, meaning))
            case Form():
                await self._form(interaction, seat, meaning)
            case Vote():
                await self._vote(interaction, meaning)
            case NotYours():
                text = self._texts(interaction).not_yours
                await interaction.response.send_message(plain(text), ephemeral=True, suppress_embeds=True)
            case Open():
                await self._opened(interaction, meaning.incoming)
            case Incoming():
                await self._incoming(interaction, seat, meaning)
            case None:
                _log.info("an interaction was none of ours")

    async def _incoming(self, interaction: discord.Interaction, seat: Seat, incoming: Incoming) -> None:
        if (refusal := await self._refusal(seat, incoming)) is not None:
            await self._acknowledge(interaction, incoming)
            await self._tell(incoming, refusal)
            return
        acknowledged = self.screen.wire.expect(interaction.token)
        taken = asyncio.create_task(self._taken(incoming))
        self._taking.add(taken)
        taken.add_done_callback(self._taking.discard)
        try:
            await asyncio.wait({taken}, timeout=STORE_SECONDS)
            await self._acknowledge(interaction, incoming)
            acknowledged.set_result(True)
        except BaseException:
            acknowledged.set_result(False)
            raise
        finally:
            try:
                await taken
            except StorageError as error:
                _log.error("%s", error)
                self.dispatch.apologise(incoming)
            asyncio.get_running_loop().call_later(60.0, self.screen.wire.acknowledged.pop, interaction.token, None)

    async def stored(self, seconds: float = 10.0) -> None:
        """Wait until what has come is on disk: what Discord was told that it arrived is not sent again."""
        if self._taking:
            await asyncio.wait(self._taking, timeout=seconds)

    async def _acknowledge(self, interaction: discord.Interaction, incoming: Incoming) -> None:
        """Ephemerally wherever others are: a public "thinking" that comes to nothing would tell them something."""
        async with self._acknowledging:
            thinking, ephemeral = bool(incoming.place.get("thinking")), interaction.guild_id is not None
            await self.screen.wire.acknowledge(interaction, thinking=thinking, ephemeral=ephemeral)

    async def _taken(self, incoming: Incoming) -> None:
        """Put one on disk, together with all others that have just arrived: in a rush, one transaction serves many."""
        if incoming.command in ABOUT_THE_LAST and incoming.about is None and not incoming.identity.thread:
            incoming = replace(incoming, identity=await self.people.latest(incoming.identity))
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._batch.append((incoming, stored))
        if self._storing is None or self._storing.done():
            self._storing = asyncio.create_task(self._store())
        await stored

    async def _store(self) -> None:
        while self._batch:
            await self._gathered()
            batch, self._batch = self._batch, []
            try:
                await self.dispatch.take([incoming for incoming, _ in batch])
            except Exception as error:
                for _, stored in batch:
                    if not stored.done():
                        stored.set_exception(error)
            else:
                for _, stored in batch:
                    if not stored.done():
                        stored.set_result(None)

    async def _gathered(self) -> None:
        """In a rush, wait a moment for those who come right behind: answering the first must not hold up the others."""
        until, known = asyncio.get_running_loop().time() + GATHER_SECONDS, 0
        while known < len(self._batch) and asyncio.get_running_loop().time() < until:
            known = len(self._batch)
            await asyncio.sleep(GATHER_PAUSE)

    async def _refusal(self, seat: Seat, incoming: Incoming) -> Outgoing | None:
        """What is said in place of an answer while paused, and where the bot does not answer; help is never refused."""
        if incoming.command in ALLOWED_WHILE_PAUSED:
            return None
        elsewhere = seat.where is not None and not self.gate.allowed(seat.where, seat.roles)
        if not elsewhere and not self.gate.paused:
            return None
        chat, said = self.dispatch.chat, self.languages.choose(self.dispatch.chat.languages.known(incoming.language))
        state = chat.start(incoming)
        urgent = None if incoming.command else await chat.turns.referral_now(state, incoming.text)
        if urgent is not None:
            return urgent
        if elsewhere:
            return Outgoing(text=said.not_here, private=True)
        return Outgoing(text=said.paused.format(emergency=chat.pages.emergency(state)), private=True)

    async def _tell(self, incoming: Incoming, outgoing: Outgoing) -> None:
        with suppress(Gone):
            await self.screen.tell(incoming, outgoing)

    async def _form(self, interaction: discord.Interaction, seat: Seat, form: Form) -> None:
        said = self.languages.choose(self.dispatch.chat.languages.known(str(interaction.locale.value))).modal
        modal = discord.ui.Modal(title=said.title, custom_id=FORM + ("quiet" if form.quiet else ""))
        text = discord.ui.TextInput[discord.ui.Modal](
            label=said.label,
            placeholder=said.placeholder,
            custom_id="text",
            style=discord.TextStyle.paragraph,
            default=form.about[:4000] or None,
            max_length=4000,
        )
        modal.add_item(text)
        modal.stop()  # what is filled in comes back as an event, so the library need not keep the form
        await interaction.response.send_modal(modal)

    async def _vote(self, interaction: discord.Interaction, vote: Vote) -> None:
        texts = self._texts(interaction)
        thanks = texts.thumbs_thanks
        try:
            await vote.count(self.dispatch.chat, self.store)
        except StorageError as error:
            _log.error("%s", error)
            thanks = texts.no_feedback_now
        await interaction.response.edit_message(content=plain(thanks), view=None)

    async def _opened(self, interaction: discord.Interaction, incoming: Incoming) -> None:
        """Show somebody what waits for them alone; after a restart the beginning, which leads on from there."""
        waiting = self.screen.pending.take(incoming.identity)
        place = {**incoming.place, "quiet": 1, "thinking": 1}
        incoming = replace(incoming, place=place, private=True, command="start", text="")
        if not waiting:
            await self._incoming(interaction, Seat(where=None, roles=frozenset()), incoming)
            return
        await self._acknowledge(interaction, incoming)
        for asked, outgoing in waiting:
            await self._tell(replace(asked, place=place), outgoing)

    def _choices(self, interaction: discord.Interaction, suggest: Suggest) -> list[app_commands.Choice[str]]:
        chat, typed = self.dispatch.chat, suggest.typed.casefold().split()
        pages = chat.pages
        state = chat.start(Incoming(identity=_NOBODY, language=str(interaction.locale.value)))
        offered: list[tuple[str, str]] = []
        if suggest.command == "topics":
            sources = pages.assistant(state).knowledge.sources.values()
            offered = [(pages.browsed.title(state, one), one.id) for one in sources]
        elif suggest.command == "country":
            offered = [(name, code) for code, name in pages.referrals.offered(state.language).items()]
        elif suggest.command == "language":
            offered = [(one.language, code) for code, one in chat.languages.texts.items()]
        found = [one for one in offered if all(word in " ".join(one).casefold() for word in typed)]
        return [app_commands.Choice(name=title[:100], value=code[:100]) for title, code in found[:CHOICES]]

    def _texts(self, interaction: discord.Interaction) -> ChatTexts:
        languages = self.dispatch.chat.languages
        return languages.choose(languages.known(str(interaction.locale.value)))

    def sweep(self) -> None:
        """Forget what came so long ago that it will not come again, and what nobody has asked to see."""
        self.screen.pending.sweep()
        oldest = discord.utils.time_snowflake(datetime.fromtimestamp(self.store.now() - _SEEN_SECONDS, UTC))
        for number in [one for one in self._seen if one < oldest]:
            del self._seen[number]

    # --- Messages -----------------------------------------------------------------------------------------------------

    def cursor(self, channel: int) -> str:
        """Under which pseudonym the last message of a channel is noted."""
        return f"{PLATFORM} {self.store.keyring.current.keyed('channel', str(channel).encode()).hex()}"

    async def message(self, client: discord.Client, message: discord.Message) -> bool:
        """Take a message in, once; whether it was for us. Raises StorageError."""
        if client.user is None or message.author.id == client.user.id or message.id in self._seen:
            return False
        channel = message.channel
        asker = await self._asker(client, channel) if isinstance(channel, discord.Thread) else None
        guild = None if message.guild is None else message.guild.id
        seat = seat_of(channel, guild, message.author, asker)
        if seat.where is not None and not self.gate.allowed(seat.where, seat.roles):
            return False
        incoming = self.interpreter.message(message, seat, me=client.user.id, listens=self.listens, others=self.others)
        if incoming is None:
            return False
        self._seen[message.id] = None
        while len(self._seen) > _SEEN:
            self._seen.popitem(last=False)
        await self._take_message(seat, incoming, message.id)
        return True

    async def _take_message(self, seat: Seat, incoming: Incoming, number: int) -> None:
        refusal = await self._refusal(seat, incoming)
        if refusal is not None:
            await self._tell(incoming, refusal)
            return
        cursor = None if seat.where is None else (self.cursor(seat.where.channel), number)
        try:
            await self.dispatch.take([incoming], cursor)
        except StorageError as error:
            _log.error("%s", error)
            self._seen.pop(number, None)
            self.dispatch.apologise(incoming)

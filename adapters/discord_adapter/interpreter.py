"""What an interaction or a message means for us. Nothing of either ever goes into a log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import discord
from discord import InteractionType

from adapters.conversation.incoming import Incoming
from adapters.delivery.votes import Vote
from adapters.discord_adapter.codes import Code
from adapters.discord_adapter.gate import Where
from adapters.discord_adapter.texts import COMMANDS
from adapters.discord_adapter.threads import ThreadAsker
from adapters.storage.identity import ChatIdentity

PLATFORM = "discord"
TOKEN_SECONDS = 14 * 60
"""For how long an interaction is answered through its token, which Discord keeps for fifteen minutes."""
FORM = "ask|"
"""How the custom id of our form begins; whether its answer is for the person alone follows."""
OPEN_TO_ALL = frozenset({"topics", "crisis", "whocanread", "privacy"})
"""Buttons that anybody may press: they get an answer of their own."""
_MARKS = re.compile(r"<@[!&]?\d+>|<#\d+>|<a?:(\w+):\d+>|</([^:>]{1,64}):\d+>|<t:-?\d+(?::\w)?>")


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """They want to write a long question. `about`: the message they ask about; `quiet`: the answer is for them alone."""

    about: str = ""
    quiet: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Suggest:
    """They are typing into an option."""

    command: str
    typed: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Open:
    """They pressed the button for what waits for them alone."""

    incoming: Incoming


@dataclass(frozen=True, kw_only=True, slots=True)
class NotYours:
    """They pressed a button under an answer to somebody else."""


Meaning: TypeAlias = Incoming | Form | Suggest | Vote | Open | NotYours | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """Where somebody is. `where`: None in direct messages; `asker`: of the question thread, if it is one of ours."""

    where: Where | None
    roles: frozenset[int]
    in_thread: bool = False
    asker: ThreadAsker | None = None


def seat_of(
    channel: Any, guild: int | None, user: discord.User | discord.Member, asker: ThreadAsker | None = None
) -> Seat:
    """The seat of somebody in a channel as the library gives it."""
    if guild is None or channel is None:
        return Seat(where=None, roles=frozenset())
    roles = frozenset(role.id for role in user.roles) if isinstance(user, discord.Member) else frozenset()
    thread = isinstance(channel, discord.Thread)
    parent = channel.parent_id if isinstance(channel, discord.Thread) else None
    category = getattr(channel, "category_id", None) if not thread else _category(channel)
    where = Where(guild=guild, channel=channel.id, parent=parent, category=category)
    return Seat(where=where, roles=roles, in_thread=thread, asker=asker)


def _category(thread: discord.Thread) -> int | None:
    return None if thread.parent is None else thread.parent.category_id


@dataclass(frozen=True, kw_only=True)
class Interpreter:
    """Says what events mean; `mode` is where answers go: thread, reply or ephemeral."""

    mode: str

    # --- Interactions -------------------------------------------------------------------------------------------------

    def interaction(self, interaction: discord.Interaction, seat: Seat) -> Meaning:
        """What an interaction means. Raises KeyError, TypeError or ValueError for one of another form."""
        given: Mapping[str, Any] = interaction.data or {}
        if interaction.type is InteractionType.autocomplete:
            return _suggest(given)
        if interaction.type is InteractionType.application_command:
            return self._command(interaction, seat, given)
        if interaction.type is InteractionType.component:
            return self._pressed(interaction, seat, str(given["custom_id"]))
        if interaction.type is InteractionType.modal_submit:
            return self._submitted(interaction, seat, given)
        return None

    def _command(self, interaction: discord.Interaction, seat: Seat, given: Mapping[str, Any]) -> Meaning:
        if int(given.get("type", 1)) == discord.AppCommandType.message.value:
            messages = (given.get("resolved") or {}).get("messages") or {}
            target = messages.get(str(given.get("target_id"))) or {}
            return Form(about=without_marks(str(target.get("content") or "")), quiet=True)
        name = str(given["name"])
        options = given.get("options") or []
        text = str(options[0].get("value", "")) if options else ""
        if name not in COMMANDS:
            return None
        if name == "ask":
            return self._asked(interaction, seat, text) if text.strip() else Form()
        command = "topic" if name == "topics" and text else name
        quiet = name not in {"source", "feedback"}
        context = self._context(interaction.id, seat) if not quiet and seat.in_thread else ""
        return self._incoming(interaction, seat, context, text=text, command=command, quiet=True)

    def _asked(self, interaction: discord.Interaction, seat: Seat, text: str, *, quiet: bool = False) -> Incoming:
        quiet = quiet or (self.mode == "ephemeral" and not seat.in_thread)
        context = "" if quiet and not seat.in_thread else self._context(interaction.id, seat)
        return self._incoming(interaction, seat, context, text=without_marks(text), quiet=quiet)

    def _context(self, number: int, seat: Seat, user: int | None = None) -> str:
        """The name of a context that others read along: the thread's, the channel's, or a new one for a new thread."""
        where = seat.where
        if where is None:
            return ""
        if seat.in_thread:
            return str(where.channel)
        return {"thread": str(number), "reply": str(where.channel)}.get(self.mode, "")

    def _pressed(self, interaction: discord.Interaction, seat: Seat, custom_id: str) -> Meaning:
        code = Code.read(custom_id)
        if code is None:
            return None
        owned = code.owner == interaction.user.id
        if not owned and code.command not in OPEN_TO_ALL:
            return NotYours()
        if code.command == "vote":
            name, _, option = code.argument.partition(".")
            return Vote(poll=name, option=int(option)) if option.isdecimal() else None
        message = interaction.message
        alone = message is not None and message.flags.ephemeral
        incoming = self._incoming(
            interaction,
            seat,
            code.context if owned else "",
            text=code.argument,
            command=code.command,
            about=code.about,
            quiet=alone or code.command in OPEN_TO_ALL or (not seat.in_thread and self.mode == "thread"),
        )
        return Open(incoming=incoming) if code.command == "open" else incoming

    def _submitted(self, interaction: discord.Interaction, seat: Seat, given: Mapping[str, Any]) -> Incoming | None:
        custom_id = str(given["custom_id"])
        if not custom_id.startswith(FORM):
            return None
        text = next(filled_in(given.get("components") or []), "")
        return self._asked(interaction, seat, text, quiet=custom_id.endswith("quiet"))

    def _incoming(
        self,
        interaction: discord.Interaction,
        seat: Seat,
        context: str,
        *,
        text: str,
        command: str = "",
        about: int | None = None,
        quiet: bool = False,
    ) -> Incoming:
        at = interaction.created_at.timestamp()
        user, channel = interaction.user.id, interaction.channel_id
        context = _asker_context(seat, user, context)
        place: dict[str, str | int | None] = {
            "channel": channel,
            "token": interaction.token,
            "until": int(at) + TOKEN_SECONDS,
            "quiet": 1 if quiet and seat.where is not None else None,
            "in_thread": 1 if seat.in_thread else None,
            "thinking": 1 if _thinks(interaction) else None,
        }
        return Incoming(
            identity=_identity(seat, user, context),
            place={name: value for name, value in place.items() if value is not None},
            text=text,
            command=command,
            about=about,
            language=str(interaction.locale.value),
            private=seat.where is None or self._alone(seat, quiet, command),
            at=at,
        )

    def _alone(self, seat: Seat, quiet: bool, command: str) -> bool:
        """Whether nobody else reads along. The pages about privacy speak of how this place is used, not of themselves."""
        if command in {"whocanread", "privacy"}:
            return self.mode == "ephemeral" and not seat.in_thread
        return quiet

    # --- Messages -----------------------------------------------------------------------------------------------------

    def message(self, message: discord.Message, seat: Seat, *, me: int, listens: bool, others: bool) -> Incoming | None:
        """What a message means: None where it is not for us. `listens`: messages that do not mention us are for us too."""
        if message.author.bot or message.webhook_id or message.is_system():
            return None
        direct = seat.where is None
        named = any(user.id == me for user in message.mentions)
        asker = seat.asker is not None and seat.asker.user == message.author.id
        if seat.asker is not None and not asker and not (named and others):
            return None
        if not (direct or named or (listens and (asker or not seat.in_thread))):
            return None
        text = without_marks(message.content)
        wordless = not text and bool(message.attachments or message.stickers or message.poll)
        if not text and not wordless and not named and not direct:
            return None
        context = _asker_context(seat, message.author.id, self._context(message.id, seat))
        place: dict[str, str | int | None] = {"channel": message.channel.id}
        if not direct:
            place |= {"message": message.id, **({"in_thread": 1} if seat.in_thread else {})}
        locale = None if message.guild is None else message.guild.preferred_locale
        return Incoming(
            identity=_identity(seat, message.author.id, context),
            place=place,
            text=text,
            command="" if text or wordless else "start",
            language="" if locale is None else str(locale.value),
            private=direct,
            seen=not direct,
            wordless=wordless,
            at=message.created_at.timestamp(),
        )


def without_marks(text: str) -> str:
    """A text without Discord's marks for people, channels and times: no account's number goes to a model."""
    return " ".join(_MARKS.sub(lambda found: found[1] or found[2] or " ", text).split(" ")).strip()


def _suggest(given: Mapping[str, Any]) -> Suggest | None:
    for option in given.get("options") or []:
        if option.get("focused"):
            return Suggest(command=str(given["name"]), typed=str(option.get("value", "")))
    return None


def filled_in(components: list[Mapping[str, Any]]) -> Iterator[str]:
    """What was filled in, in whichever form the library's and Discord's versions nest it."""
    for part in components:
        if "value" in part:
            yield str(part["value"])
        yield from filled_in(list(part.get("components") or []))
        if isinstance(part.get("component"), Mapping):
            yield from filled_in([part["component"]])


def _thinks(interaction: discord.Interaction) -> bool:
    """Whether it is acknowledged with "thinking": a press in the open is not, as others would see that."""
    if interaction.type is not InteractionType.component:
        return True
    message = interaction.message
    return message is None or message.flags.ephemeral or interaction.guild_id is None


def _identity(seat: Seat, user: int, context: str) -> ChatIdentity:
    if seat.where is None:
        return ChatIdentity(platform=PLATFORM, chat="dm", user=str(user))
    return ChatIdentity(platform=PLATFORM, chat=str(seat.where.guild), user=str(user), thread=context)


def _asker_context(seat: Seat, user: int, context: str) -> str:
    """In their own question thread, an asker's context has the name it began with."""
    if seat.asker is not None and seat.asker.user == user and seat.where is not None:
        return seat.asker.context if context == str(seat.where.channel) else context
    return context

"""The Discord bot and moderation, built from settings. Part of the composition root."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.conversation.chat import Chat
from adapters.conversation.privacy import Platform
from adapters.conversation.state import ChatState
from adapters.delivery.inbox import OwnedInbox
from adapters.moderation.audit import AuditLog
from adapters.moderation.info_posts import PostStore
from adapters.moderation.moderation import Moderation
from adapters.moderation.policy import Admission, Mode
from adapters.moderation.post_drafts import Drafting
from adapters.moderation.rechecks import Recheck
from adapters.moderation.review_queue import ReviewQueue
from adapters.moderation.reviews import ReviewStore
from adapters.moderation.status import ModerationStatus, StatusStore
from adapters.moderation.texts import load_moderation_texts
from bots.chats import Chats
from bots.settings import DiscordSettings
from engine import ConfigurationError

if TYPE_CHECKING:
    from adapters.discord_adapter.adapter import DiscordBot
    from adapters.discord_adapter.gate import Gate
    from adapters.discord_adapter.moderation_gate import ModerationGate
    from adapters.discord_adapter.texts import DiscordLanguages


def discord_bot(chats: Chats, gate: Gate | None = None, moderation: Moderation | None = None) -> DiscordBot:
    """The bot; `gate` and `moderation` where there are moderators. Raises ConfigurationError."""
    settings = checked(chats)
    with discord_installed():
        from adapters.discord_adapter.adapter import DiscordBot
        from adapters.discord_adapter.contexts import PersonContexts, own
        from adapters.discord_adapter.gate import OpenGate

    people = PersonContexts(chats=chats.store, begin=lambda: ChatState(conversation=chats.application.engine.start()))
    store, texts = replace(chats.store, contexts=people), discord_texts(chats)
    limits = chats.application.settings.sessions
    notice = texts.choose(None).crisis_note_notice if settings.crisis_notes else ""
    facts = replace(chats.privacy_facts, moderators=notice or chats.privacy_facts.moderators, crisis_notes=bool(notice))
    pages = replace(
        chats.pages(Platform(id="discord", name="Discord")),
        facts=facts,
        protocol=replace(chats.protocol, facts=replace(chats.protocol.facts, crisis_notes=bool(notice))),
        moderators=None if moderation is None else moderation.notices,
    )
    turns = chats.turns(pages)
    chat = Chat(
        pages=pages,
        turns=turns,
        erase=people.forget,
        moderator=None if moderation is None else moderation.over(turns),
    )
    token = "" if settings.token is None else settings.token.get_secret_value()
    mine = chats.ownership(_number(chats, token), "answers on Discord")
    return DiscordBot(
        token=token,
        ownership=mine,
        inbox=OwnedInbox(store=store, ownership=mine) if chats.shared else None,
        chat=chat,
        store=store,
        people=people,
        limits=replace(chats.limits(), whose=own),
        languages=texts,
        gate=gate or OpenGate(channels=frozenset(settings.channels)),
        mode=settings.mode,
        listen=settings.listen,
        others_in_threads=settings.others_in_threads,
        moderators_channel=settings.moderators_channel,
        crisis_notes=settings.crisis_notes,
        backfill=settings.backfill,
        deliveries=settings.deliveries,
        slow_after=limits.slow_after_seconds,
        options={} if settings.application_id is None else {"application_id": settings.application_id},
    )


def _number(chats: Chats, token: str) -> int:
    """The account's, for whoever has the secret."""
    return int.from_bytes(chats.keyring.current.keyed("gateway", token.encode())[:8], signed=True)


@contextmanager
def discord_installed() -> Iterator[None]:
    """Raise ConfigurationError where what is imported inside needs a package that is not there."""
    try:
        yield
    except ImportError as error:
        raise ConfigurationError(
            "The package 'discord.py' is not installed.", key="discord", remedy="Install cafi[discord]."
        ) from error


def discord_texts(chats: Chats) -> DiscordLanguages:
    """What only Discord needs to have said."""
    from adapters.discord_adapter.texts import load_discord_texts

    settings = chats.application.settings
    return load_discord_texts(settings.config_folder / "discord", chats.languages.default)


def checked(chats: Chats) -> DiscordSettings:
    """The settings; raises ConfigurationError for what cannot work, or would read more than anybody expects."""
    settings = chats.application.settings.discord
    if settings.token is None:
        raise ConfigurationError(
            "No token is set.", key="discord.token", remedy="Set CAFI_DISCORD__TOKEN; docs/howto/discord.md tells how."
        )
    if settings.listen and not settings.channels:
        raise ConfigurationError(
            "Without channels, it would read everything everywhere.",
            key="discord.listen",
            remedy="List the channels it may read in discord.channels, or set discord.listen to false.",
        )
    if settings.crisis_notes and settings.moderators_channel is None:
        raise ConfigurationError(
            "There is no channel for the notes.",
            key="discord.crisis_notes",
            remedy="Set discord.moderators_channel, or crisis_notes to false.",
        )
    return settings


def audit_log(chats: Chats) -> AuditLog:
    """What moderators did."""
    days = chats.application.settings.moderation.audit_days
    return AuditLog(database=chats.database, keyring=chats.keyring, days=days, now=chats.clock)


def moderation(chats: Chats, platform: str = "discord") -> Moderation:
    """Everything that moderators of a platform can do, with what they have set before. Raises ConfigurationError."""
    settings, engine = chats.application.settings.moderation, chats.application.engine
    status_store = StatusStore(
        file=settings.file,
        database=chats.database,
        platform=platform,
        initial=ModerationStatus(mode=Mode(settings.mode)),
    )
    status_store.load()
    audit = audit_log(chats)
    store = ReviewStore(database=chats.database, naming=chats.naming, secret=chats.inbox_secret, now=chats.clock)
    recheck = Recheck(engine=engine, phrases=chats.application.phrases)
    return Moderation(
        engine=engine,
        status_store=status_store,
        queue=ReviewQueue(
            store=store,
            audit=audit,
            minutes=settings.review_minutes,
            most=settings.reviews,
            most_a_member=settings.reviews_a_member,
            now=chats.clock,
        ),
        posts=PostStore(database=chats.database, keyring=chats.keyring, now=chats.clock),
        drafting=Drafting(engine=engine, referrals=chats.application.referrals, recheck=recheck),
        recheck=recheck,
        audit=audit,
        texts=load_moderation_texts(chats.application.settings.config_folder / "discord_moderation"),
        language=chats.languages.default,
    )


def moderation_gate(chats: Chats) -> ModerationGate:
    """What the Discord bot asks moderation. Raises ConfigurationError."""
    settings = checked(chats)
    with discord_installed():
        from adapters.discord_adapter.moderation_gate import ModerationGate
    places = frozenset(settings.channels)
    roles = frozenset(chats.application.settings.moderation.member_roles)
    return ModerationGate(
        moderation=moderation(chats),
        languages=chats.languages,
        admission=Admission(channels=places, categories=places, roles=roles),
        channel=settings.moderators_channel,
        roles=frozenset(settings.moderator_roles),
        open=settings.mode != "ephemeral",
    )


def moderated_bot(chats: Chats) -> DiscordBot:
    """The Discord bot with everything that moderators can do. Raises ConfigurationError."""
    gate = moderation_gate(chats)
    bot = discord_bot(chats, gate, gate.moderation)
    gate.over(bot.dispatch)
    bot.dispatch.on_turn = chats.on_turn
    bot.begun, bot.ended = gate.moderation.status_store.load, gate.aclose
    chats.application.closing.push_async_callback(gate.aclose)
    return bot


async def discord_setup(chats: Chats, gate: Gate | None = None, *, again: bool = False) -> list[str]:
    """What `cafi discord setup` does and finds, line by line; nothing is connected for longer than that."""
    import discord

    from adapters.discord_adapter.definitions import definitions
    from adapters.discord_adapter.setup import Setup, logged_in

    bot, settings = discord_bot(chats, gate), chats.application.settings.discord
    client = discord.Client(intents=discord.Intents.none())
    setup = Setup(
        store=bot.store,
        commands=[*definitions(bot.languages), *bot.gate.definitions()],
        mode=bot.mode,
        listen=bot.listen,
        places=frozenset(settings.channels),
        moderators_channel=settings.moderators_channel,
    )
    try:
        await logged_in(client, bot.token)
        # What was registered is noted under the stored secret; before the first start there is none.
        return await setup.run(client, again=again, noted=chats.has_secret)
    finally:
        await client.close()

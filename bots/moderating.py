"""Builds moderation, and the Discord bot under it. Part of the composition root."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from adapters.chat.chat import Chat
from adapters.moderation.audit import AuditLog
from adapters.moderation.drafting import Drafting
from adapters.moderation.moderated import ModeratedChat
from adapters.moderation.moderation import Moderation
from adapters.moderation.policy import Admission, Mode
from adapters.moderation.posts import PostStore
from adapters.moderation.rechecking import Recheck
from adapters.moderation.review_queue import ReviewQueue
from adapters.moderation.reviews import ReviewStore
from adapters.moderation.standing import Standing, Standings
from adapters.moderation.texts import load_moderation_texts
from bots.chats import Chats

if TYPE_CHECKING:
    from adapters.discord_adapter.adapter import DiscordBot
    from adapters.discord_adapter.moderation_gate import ModerationGate

PLATFORM = "discord"


def audit_log(chats: Chats) -> AuditLog:
    """What moderators did."""
    days = chats.application.settings.moderation.audit_days
    return AuditLog(database=chats.database, keyring=chats.keyring, days=days, now=chats.clock)


def moderation(chats: Chats, platform: str = PLATFORM) -> Moderation:
    """Everything that moderators of a platform can do, with what they have set before. Raises ConfigurationError."""
    settings, engine = chats.application.settings.moderation, chats.application.engine
    standings = Standings(
        file=settings.file,
        database=chats.database,
        platform=platform,
        initial=Standing(mode=Mode(settings.mode)),
    )
    standings.load()
    audit = audit_log(chats)
    store = ReviewStore(database=chats.database, naming=chats.naming, secret=chats.inbox_secret, now=chats.clock)
    recheck = Recheck(engine=engine, phrases=chats.application.phrases)
    return Moderation(
        engine=engine,
        standings=standings,
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


def moderated(chat: Chat, over: Moderation) -> ModeratedChat:
    """A chat under moderation."""
    given = {one.name: getattr(chat, one.name) for one in fields(Chat) if one.init}
    return ModeratedChat(**given, standings=over.standings, queue=over.queue, members=over.members)


def moderation_gate(chats: Chats) -> ModerationGate:
    """What the Discord bot asks moderation. Raises ConfigurationError."""
    from bots.discord import checked, discord_installed

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
    from bots.discord import discord_bot

    gate = moderation_gate(chats)
    bot = discord_bot(chats, gate, gate.moderation)
    gate.over(bot.dispatch)
    chats.application.closing.push_async_callback(gate.aclose)
    return bot

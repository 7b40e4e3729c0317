"""`cafi discord setup`: registers commands, gives the link that invites the bot, and says what is missing where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import discord

from adapters.delivery.store import ChatStore
from adapters.discord_adapter.bot_permissions import lacking_permissions, needed_permissions
from adapters.discord_adapter.definitions import register
from engine import ConfigurationError


def invite_link(application: int, mode: str) -> str:
    """The link with which somebody who may manage a server adds the bot to it, with the least rights it can work with."""
    rights = discord.Permissions(**dict.fromkeys(needed_permissions(mode), True))
    return discord.utils.oauth_url(application, permissions=rights, scopes=("bot", "applications.commands"))


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What is to be set up. `places`: channels and categories the bot is to answer in; none: all it sees."""

    store: ChatStore
    commands: Sequence[Mapping[str, Any]]
    mode: str
    listen: bool
    places: frozenset[int]
    moderators_channel: int | None

    async def run(self, client: discord.Client, *, again: bool = False, noted: bool = True) -> list[str]:
        """Set up through a client that has logged in, and need not be connected; a line for each finding.

        `noted`: what is registered is noted, so that it is not sent a second time.
        """
        try:
            registered = await register(client, self.store, self.commands, again=again, noted=noted)
            application = await client.application_info()
            guilds = [guild async for guild in client.fetch_guilds(limit=None)]
            missing = [line for guild in guilds for line in await self._missing(client, guild)]
        except discord.HTTPException as error:
            raise _unreachable(f"Discord answered with an error ({error.status}, {error.code}).") from error
        except OSError as error:
            raise _unreachable() from error
        count = len(self.commands)
        return [
            f"commands: {count} {'registered' if registered else 'unchanged, nothing sent'}",
            f"invite: {invite_link(application.id, self.mode)}",
            *self._intent(application.flags),
            *(
                [f"servers: {', '.join(guild.name for guild in guilds)}"]
                if guilds
                else ["servers: none yet; use the link"]
            ),
            *missing,
        ]

    def _intent(self, flags: discord.ApplicationFlags) -> Iterator[str]:
        granted = flags.gateway_message_content or flags.gateway_message_content_limited
        if self.listen and not granted:
            yield (
                "missing: Message Content Intent is off. Switch it on in the developer portal (your application, Bot), "
                "or set discord.listen to false."
            )
        elif granted and not self.listen:
            yield "note: Message Content Intent is on and not needed. Switch it off: the bot then cannot read the rest."

    async def _missing(self, client: discord.Client, guild: discord.Guild) -> list[str]:
        whole = await client.fetch_guild(guild.id)
        channels = await whole.fetch_channels()
        user = client.user
        me = await whole.fetch_member(user.id if user else 0)
        lines = []
        for channel in channels:
            wanted = not self.places or bool({channel.id, channel.category_id} & self.places)
            for_moderators = channel.id == self.moderators_channel
            if not isinstance(channel, discord.TextChannel) or not (wanted or for_moderators):
                continue
            held = channel.permissions_for(me)
            lacking = lacking_permissions(held, "reply" if for_moderators else self.mode)
            # A channel we cannot even see may be closed to us on purpose, unless it is named in the settings.
            if lacking and (held.view_channel or self.places or for_moderators):
                lines.append(f"missing: in #{channel.name} of {whole.name}: {', '.join(lacking)}")
        return lines


async def logged_in(client: discord.Client, token: str) -> None:
    """Log a client in, without connecting it; raises ConfigurationError for a token nobody knows."""
    try:
        await client.login(token)
    except discord.LoginFailure as error:
        raise wrong_token() from error
    except (discord.HTTPException, OSError) as error:
        raise _unreachable() from error


def wrong_token() -> ConfigurationError:
    """The token is not one of Discord's (any more)."""
    return ConfigurationError(
        "Discord does not know this token.",
        key="discord.token",
        remedy="Copy it from the developer portal: your application, Bot, Reset Token.",
    )


def _unreachable(problem: str = "Discord cannot be reached.") -> ConfigurationError:
    return ConfigurationError(problem, key="discord", remedy="Check this computer's network, then repeat it.")

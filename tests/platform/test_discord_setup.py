"""`cafi discord setup` and community polls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.storage.keyring_file import save
from adapters.storage.seal import Keyring, Secret
from bots.cli.discord import set_up
from bots.settings import DiscordSettings
from engine.exceptions import ConfigurationError
from rehearsal.discord_world import Permission
from tests.discord import NEEDED, Room
from tests.fakes.faulty_discord import FaultyDiscord
from tests.telegram import chats_in


def application(fake: FaultyDiscord, folder: Path, **settings: Any) -> Any:
    chosen = DiscordSettings(**{"token": fake.token, **settings})
    return chats_in(folder, discord=chosen).application


async def test_setup_registers_commands_and_says_what_is_missing_where(tmp_path: Path) -> None:
    """Each finding is a line; the second time nothing is sent, unless it is asked for."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        save(tmp_path / "secret.json", Keyring(current=Secret.random()))
        fake.allow(room.channel, fake.bot, deny=Permission.CREATE_PUBLIC_THREADS | Permission.SEND_MESSAGES)
        settings = {"channels": (room.channel.id,)}
        lines = await set_up(application(fake, tmp_path, **settings))
        assert lines[0] == "commands: 14 registered" and len(fake.commands()) == 14
        assert f"permissions={int(NEEDED)}" in lines[1] and f"client_id={fake.bot.id}" in lines[1]
        assert "servers: Support" in lines
        assert "missing: in #support-info of Support: Send Messages, Attach Files, Create Public Threads" in lines
        assert any("Message Content Intent is on and not needed" in line for line in lines)
        assert (await set_up(application(fake, tmp_path, **settings)))[0].endswith("unchanged, nothing sent")
        assert (await set_up(application(fake, tmp_path, **settings), again=True))[0] == "commands: 14 registered"


def keys_in(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir() if one.suffix in {".json", ".key", ".new"}]


async def test_setup_before_the_first_start_makes_no_key_and_notes_nothing(tmp_path: Path) -> None:
    """Without a secret everything is registered each time, and no secret or key is left behind."""
    async with FaultyDiscord() as fake:
        for _ in range(2):
            assert (await set_up(application(fake, tmp_path)))[0] == "commands: 14 registered"
    assert keys_in(tmp_path) == []


async def test_setup_names_an_intent_that_is_off_and_a_token_that_is_wrong(tmp_path: Path) -> None:
    """Both come with where to mend them."""
    async with FaultyDiscord() as fake:
        room = Room(fake)
        fake.gateway.allowed_intents = type(fake.gateway.allowed_intents)(0)
        lines = await set_up(application(fake, tmp_path, listen=True, channels=(room.channel.id,)))
        assert any(line.startswith("missing: Message Content Intent is off") for line in lines)
        with pytest.raises(ConfigurationError) as error:
            await set_up(application(fake, tmp_path, token="other.token.x"))
        assert error.value.key == "discord.token"

"""`cafi telegram setup`: menus and descriptions in five languages, and clear words for what goes wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adapters.conversation.texts import COMMANDS
from adapters.telegram_adapter.setup import GROUP_MENU, NOT_IN_PRIVATE_MENU
from bots.cli import app
from bots.cli.telegram import set_up
from bots.compose import Application
from bots.settings import CafiSettings, TelegramSettings
from engine.exceptions import ConfigurationError
from tests.fakes.faulty_telegram import Fault, FaultyTelegram
from tests.team import shipped

PRIVATE = json.dumps({"type": "all_private_chats"})
GROUPS = json.dumps({"type": "all_group_chats"})


def configured(fake: FaultyTelegram, **changes: str) -> Application:
    """The shipped configuration with the stand-in's token."""
    telegram = TelegramSettings.model_validate({"token": fake.token, "base_url": fake.base_url, **changes})
    return shipped(CafiSettings(agents="builtin", telegram=telegram))


async def test_menus_and_descriptions_are_set_in_five_languages() -> None:
    """Every command has its line in each language, the default one stands for all others, and the API takes them all."""
    async with FaultyTelegram() as fake:
        lines = await set_up(configured(fake))
        assert not fake.refusals()
        codes = {"", "en", "de", "es", "fr", "nb", "no"}
        for scope, names in (
            (PRIVATE, [one for one in COMMANDS if one not in NOT_IN_PRIVATE_MENU]),
            (GROUPS, list(GROUP_MENU)),
        ):
            menus = {code: menu for (place, code), menu in fake.profile.commands.items() if place == scope}
            assert menus.keys() == codes
            assert all(sorted(one["command"] for one in menu) == sorted(names) for menu in menus.values())
        for what in ("description", "short_description"):
            texts = {code: text for (kind, code), text in fake.profile.texts.items() if kind == what}
            assert texts.keys() == codes and len(set(texts.values())) == 5 and texts["no"] == texts["nb"]
        assert [line.split(":")[0] for line in lines[:5]] == ["Deutsch", "English", "Español", "Français", "Norsk"]


async def test_it_may_be_repeated() -> None:
    """A second time changes nothing and fails nothing."""
    async with FaultyTelegram() as fake:
        await set_up(configured(fake))
        before = (dict(fake.profile.commands), dict(fake.profile.texts))
        await set_up(configured(fake))
        assert before == (fake.profile.commands, fake.profile.texts) and not fake.refusals()


async def test_what_is_left_to_do_is_named() -> None:
    """The link to a topic that really starts there, and BotFather's settings for groups."""
    async with FaultyTelegram() as fake:
        said = "\n".join(await set_up(configured(fake)))
        link = re.search(r"https://t\.me/cafi_bot\?start=([\w-]{1,64}) ", said)
        assert link and (Path(__file__).parents[2] / "knowledge_base/schizophrenia" / f"{link[1]}.md").is_file()
        for part in ("/setprivacy", "/setjoingroups", "@BotFather"):
            assert part in said


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"token": "7000000001:AAwrong"}, "telegram.token: Telegram does not know this token."),
        ({"token": "cafi_bot"}, "telegram.token: This cannot be a Telegram token"),
        ({"base_url": "http://127.0.0.1:9/bot"}, "telegram.base_url: Telegram cannot be reached"),
    ],
)
async def test_what_is_wrong_is_named(changes: dict[str, str], problem: str) -> None:
    """A token nobody knows, what is no token, and a server that does not answer."""
    async with FaultyTelegram() as fake:
        with pytest.raises(ConfigurationError) as raised:
            await set_up(configured(fake, **changes))
        assert str(raised.value).startswith(problem) and "AAwrong" not in str(raised.value)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (Fault.too_many_requests(20), "Telegram asks to wait for 20 seconds."),
        (Fault.broken_gateway(502), "telegram.base_url: Telegram cannot be reached"),
        (Fault.refused(400, "Bad Request: description is too long"), "Telegram refuses: Description is too long."),
    ],
    ids=["429", "502", "400"],
)
async def test_what_fails_half_way_is_named(fault: Fault, problem: str) -> None:
    """The command may be repeated then."""
    async with FaultyTelegram() as fake:
        fake.fail("setMyDescription", fault)
        with pytest.raises(ConfigurationError) as raised:
            await set_up(configured(fake))
        assert str(raised.value).startswith(problem)


def test_without_a_token_the_command_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1, one message, no traceback."""
    monkeypatch.delenv("CAFI_TELEGRAM__TOKEN", raising=False)
    result = CliRunner().invoke(app, ["telegram", "setup"])
    assert result.exit_code == 1 and result.stdout == ""
    assert result.stderr == (
        "cafi: telegram.token: No token is set. Set CAFI_TELEGRAM__TOKEN; docs/howto/telegram.md tells how.\n"
    )

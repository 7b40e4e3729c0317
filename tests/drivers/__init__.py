"""One way to hold a conversation through any adapter, for the suite that all of them share."""

from tests.drivers.console import ConsoleDriver
from tests.drivers.discord import DiscordDriver
from tests.drivers.protocol import Driver
from tests.drivers.telegram import TelegramDriver
from tests.drivers.web import PlainWebDriver, WebDriver

DRIVERS: dict[str, type[Driver]] = {
    "console": ConsoleDriver,
    "telegram": TelegramDriver,
    "discord": DiscordDriver,
    "web": WebDriver,
    "web_without_javascript": PlainWebDriver,
}

__all__ = ["DRIVERS", "Driver"]

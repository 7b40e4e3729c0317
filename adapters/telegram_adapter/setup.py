"""`cafi telegram setup`: what people see in Telegram before they have written: commands and descriptions, by language."""

from __future__ import annotations

from typing import Any

from telegram import BotCommand, BotCommandScopeAllGroupChats, BotCommandScopeAllPrivateChats
from telegram.ext import ExtBot

from adapters.conversation.texts import ChatTexts, Languages

GROUP_MENU = ("ask", "topics", "source", "crisis", "whocanread", "privacy", "forget")
NOT_IN_PRIVATE_MENU = ("ask", "safe", "resume")
_CODES = {"nb": "no"}  # Telegram's clients send ISO 639-1; Norwegians' phones say nb or no
LIMITS = {"short": 120, "long": 512}


async def set_up(bot: ExtBot[Any], languages: Languages) -> list[str]:
    """Set commands and descriptions in every language, the default one for all others; a line for each."""
    done = []
    for code, texts in languages.texts.items():
        codes = dict.fromkeys((code, _CODES.get(code, code)))
        for one in [*([""] if code == languages.default else []), *codes]:
            await _set(bot, texts, one)
        done.append(f"{texts.language}: {len(private_commands(texts))} commands, description, short description")
    return done


async def _set(bot: ExtBot[Any], texts: ChatTexts, code: str) -> None:
    language: dict[str, Any] = {"language_code": code} if code else {}
    await bot.set_my_commands(private_commands(texts), scope=BotCommandScopeAllPrivateChats(), **language)
    await bot.set_my_commands(
        [BotCommand(name, texts.commands[name]) for name in GROUP_MENU],
        scope=BotCommandScopeAllGroupChats(),
        **language,
    )
    await bot.set_my_description(texts.bot.long, **language)
    await bot.set_my_short_description(texts.bot.short, **language)


def private_commands(texts: ChatTexts) -> list[BotCommand]:
    """The commands of the menu in private chats."""
    return [BotCommand(name, text) for name, text in texts.commands.items() if name not in NOT_IN_PRIVATE_MENU]

"""Telegram's Bot API on the loopback address: what bots may call, and what people do.

    async with TelegramServer() as fake:
        application = ApplicationBuilder().token(TOKEN).base_url(fake.base_url).build()
        ...
        anna = fake.person("Anna", language="de")
        fake.start(anna, "sleep")
        (reply,) = await fake.wait_for(lambda: fake.replies(anna))
        fake.press(anna, reply.id, "Simpler")

Not modelled: formatting by `parse_mode` (recorded, the text stays as it is), group privacy (the bot gets everything),
flood limits, webhooks. Stricter than the real API: entities that cross are refused.
"""

from rehearsal.telegram_world.server import TOKEN, TelegramServer
from rehearsal.telegram_world.shown import Shown
from rehearsal.telegram_world.world import NotPossible, TelegramChat, TelegramPerson

__all__ = ["TOKEN", "NotPossible", "Shown", "TelegramChat", "TelegramPerson", "TelegramServer"]

"""Telegram's Bot API on the loopback address: what bots may call, what people do, and what goes wrong in between.

    async with TelegramServer() as fake:
        application = ApplicationBuilder().token(TOKEN).base_url(fake.base_url).build()
        ...
        anna = fake.person("Anna", language="de")
        fake.start(anna, "sleep")
        (reply,) = await fake.wait_for(lambda: fake.replies(anna))
        fake.fail("sendMessage", Fault.too_many_requests(1), chat=anna)
        fake.press(anna, reply.id, "Simpler")

Not modelled: formatting by `parse_mode` (recorded, the text stays as it is), group privacy (the bot gets everything),
the flood limits themselves (429 comes by script), methods called in the answer to a webhook. Stricter than the real API:
entities that cross are refused. Laxer: a webhook on the loopback address may be plain HTTP, on any port.
"""

from rehearsal.telegram_world.faults import Fault
from rehearsal.telegram_world.server import TOKEN, Call, TelegramServer
from rehearsal.telegram_world.shown import Shown
from rehearsal.telegram_world.world import Chat, NotPossible, Person

__all__ = ["TOKEN", "Call", "Chat", "Fault", "NotPossible", "Person", "Shown", "TelegramServer"]

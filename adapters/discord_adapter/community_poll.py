"""Discord's own polls, for questions of the community that a moderator starts. Everybody sees who votes for what."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import discord

from adapters.discord_adapter.plain import label, plain
from adapters.discord_adapter.texts import DiscordTexts
from adapters.discord_adapter.wire import Wire

QUESTION, ANSWER, ANSWERS = 300, 55, 10
"""What Discord takes: characters of the question and of each answer, and how many answers."""


async def community_poll(
    wire: Wire, channel: int, question: str, answers: Sequence[str], *, hours: int, texts: DiscordTexts
) -> int:
    """Start a poll with a notice that votes are seen; the message's id.

    Never for what somebody thinks of an answer: that is asked in private. Raises ValueError for what Discord does not
    take, NotNow, Refused (the right *Create Polls* is missing) and Missing.
    """
    if not question.strip() or not 2 <= len(answers) <= ANSWERS or not 1 <= hours <= 768:
        raise ValueError("a poll has a question, two to ten answers, and an hour to 32 days")
    poll = discord.Poll(question=label(question)[:QUESTION], duration=timedelta(hours=hours))
    for answer in answers:
        poll.add_answer(text=label(answer)[:ANSWER])

    async def send(client: discord.Client) -> int:
        sent = await client.get_partial_messageable(channel).send(
            plain(texts.votes_visible), poll=poll, allowed_mentions=discord.AllowedMentions.none(), suppress_embeds=True
        )
        return sent.id

    return await wire.call(send)

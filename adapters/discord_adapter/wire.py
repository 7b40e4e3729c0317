"""Calls to Discord, with its refusals in the words of the screen. Nobody is ever notified by what is sent here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import discord
from discord.http import Route
from discord.webhook.async_ import async_context

from adapters.conversation.outgoing import Rows
from adapters.delivery.screen import NotNow
from adapters.discord_adapter.codes import LONGEST, Code
from adapters.discord_adapter.message_text import label

T = TypeVar("T")
WAIT_SECONDS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Waits after failures of the network or of Discord."""
SETTLE_SECONDS = 3.0
"""For how long answers let acknowledgements go first: what has none by then, Discord has shown as failed."""
ROWS, IN_A_ROW = 5, 5
_THINKING, _SEEN, _EPHEMERAL = 5, 6, 1 << 6
_TOKEN_OVER = {10015, 10062, 50027}
_NETWORK = (aiohttp.ClientError, OSError, asyncio.TimeoutError, discord.DiscordServerError)


class Refused(Exception):
    """Discord does not let us; `code` is its own, such as 50013 for missing permissions."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code


class Missing(Exception):
    """A channel, message or person that is not there (any more)."""


class TokenOver(Exception):
    """An interaction can no longer be answered: after fifteen minutes, or never acknowledged."""


class Unfit(Exception):
    """Discord does not take the message as it is."""


@dataclass(kw_only=True)
class Wire:
    """The present client. `acknowledged`: for interactions of this process, whether Discord has our word for them."""

    client: discord.Client | None = None
    acknowledged: dict[str, asyncio.Future[bool]] = field(default_factory=dict)
    _failures: int = 0
    _open: int = 0
    _calm: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._calm.set()

    async def post(
        self,
        channel: int,
        content: str,
        *,
        rows: Sequence[Sequence[tuple[str, str]]] = (),
        file: discord.File | None = None,
        answers: int | None = None,
    ) -> int:
        """A message in a channel, its id; `answers`: the message it replies to. `rows`: labels and custom ids."""
        reference = None
        if answers is not None:
            reference = discord.MessageReference(message_id=answers, channel_id=channel, fail_if_not_exists=False)

        async def send(client: discord.Client) -> int:
            kwargs: dict[str, Any] = {} if file is None else {"file": file}
            if reference is not None:
                kwargs["reference"] = reference
            if rows:
                kwargs["view"] = view(rows)
            sent = await client.get_partial_messageable(channel).send(
                content, allowed_mentions=discord.AllowedMentions.none(), suppress_embeds=True, **kwargs
            )
            return sent.id

        return await self.call(send)

    async def follow_up(
        self,
        token: str,
        content: str,
        *,
        ephemeral: bool,
        rows: Sequence[Sequence[tuple[str, str]]] = (),
        file: discord.File | None = None,
    ) -> None:
        """One more answer to an interaction."""
        await self._known_to_discord(token)

        async def send(client: discord.Client) -> None:
            kwargs: dict[str, Any] = {} if file is None else {"file": file}
            if rows:
                kwargs["view"] = view(rows)
            hook = _hook(client, token)
            await hook.send(
                content,
                ephemeral=ephemeral,
                suppress_embeds=True,
                wait=True,
                allowed_mentions=discord.AllowedMentions.none(),
                **kwargs,
            )

        await self.call(send)

    async def edit_first(self, token: str, content: str) -> None:
        """Put a text in place of the "thinking" of an interaction."""
        await self._known_to_discord(token)

        async def edit(client: discord.Client) -> None:
            hook = _hook(client, token)
            # The library's signature says int; Discord's own name for the first answer is this word.
            first: Any = "@original"
            await hook.edit_message(first, content=content, allowed_mentions=discord.AllowedMentions.none())

        await self.call(edit)

    async def acknowledge(self, interaction: discord.Interaction, *, thinking: bool, ephemeral: bool) -> None:
        """Tell Discord that an interaction was received. Raises discord.HTTPException.

        The library's own call also asks for the message that comes of it and reads that; in a rush this costs as much as
        the acknowledgement itself.
        """
        answer: dict[str, Any] = {"type": _THINKING if thinking else _SEEN}
        if thinking and ephemeral:
            answer["data"] = {"flags": _EPHEMERAL}
        http = interaction.client.http
        route = Route(
            "POST",
            "/interactions/{webhook_id}/{webhook_token}/callback",
            webhook_id=interaction.id,
            webhook_token=interaction.token,
        )
        await async_context.get().request(
            route, session=interaction._session, payload=answer, proxy=http.proxy, proxy_auth=http.proxy_auth
        )

    def expect(self, token: str) -> asyncio.Future[bool]:
        """An interaction is about to be acknowledged; the result says whether that was possible."""
        found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.acknowledged[token] = found
        self._open += 1
        self._calm.clear()
        found.add_done_callback(self._closed)
        return found

    def _closed(self, _: asyncio.Future[bool]) -> None:
        self._open -= 1
        if not self._open:
            self._calm.set()

    async def settled(self) -> None:
        """Wait until every interaction at hand has been acknowledged; not for longer than anybody would be held up by."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._calm.wait(), SETTLE_SECONDS)

    async def _known_to_discord(self, token: str) -> None:
        """Wait until an interaction of this process has been acknowledged; raises TokenOver where that failed."""
        waiting = self.acknowledged.get(token)
        if waiting is not None and not await waiting:
            raise TokenOver

    async def direct(self, user: int) -> int:
        """The channel of direct messages with somebody."""

        async def opened(client: discord.Client) -> int:
            return (await client.create_dm(discord.Object(user))).id

        return await self.call(opened)

    async def start_thread(self, channel: int, message: int, name: str, minutes: int) -> int:
        """A thread on a message; the thread's id is the message's, also where it was there already."""

        async def start(client: discord.Client) -> int:
            try:
                await client.http.start_thread_with_message(
                    channel,
                    message,
                    name=name,
                    auto_archive_duration=minutes,  # type: ignore[arg-type]
                )
            except discord.HTTPException as error:
                if error.code != 160004:  # there is one already: this message was answered before a restart
                    raise
            return message

        return await self.call(start)

    async def call(self, work: Callable[[discord.Client], Awaitable[T]]) -> T:
        """Do something with the client; raises NotNow, Refused, Missing, TokenOver or Unfit."""
        client = self.client
        if client is None or client.is_closed():
            raise NotNow(self._pause())
        try:
            done = await work(client)
        except discord.RateLimited as error:
            raise NotNow(error.retry_after) from None
        except _NETWORK:
            raise NotNow(self._pause()) from None
        except discord.HTTPException as error:
            raise self._translated(error) from None
        except RuntimeError:  # the session was closed between two clients
            if client.is_closed():
                raise NotNow(self._pause()) from None
            raise
        self._failures = 0
        return done

    def _translated(self, error: discord.HTTPException) -> Exception:
        if error.code in _TOKEN_OVER or error.status == 401:
            return TokenOver()
        if error.status == 429:
            return NotNow(self._pause())
        if isinstance(error, discord.Forbidden) or error.code in {50083, 160005, 160006}:
            return Refused(error.code)
        return Missing() if isinstance(error, discord.NotFound) else Unfit()

    def _pause(self) -> float:
        self._failures += 1
        return WAIT_SECONDS[min(self._failures, len(WAIT_SECONDS)) - 1]


def _hook(client: discord.Client, token: str) -> discord.Webhook:
    """The webhook of an interaction, as the library makes it for an interaction at hand; ours may be of a day before."""
    of_application: Any = {"id": client.application_id or 0, "type": 3, "token": token}
    return discord.Webhook.from_state(data=of_application, state=client._connection)


def view(rows: Sequence[Sequence[tuple[str, str]]]) -> discord.ui.View:
    """Buttons as the library sends them; stopped, so that it keeps none of them in memory."""
    made = discord.ui.View(timeout=None)
    for number, row in enumerate(rows):
        for text, custom_id in row:
            made.add_item(discord.ui.Button(label=label(text), custom_id=custom_id, row=number))
    made.stop()
    return made


def coded(rows: Rows, owner: int, context: str) -> list[list[tuple[str, str]]]:
    """Our buttons as labels and custom ids, in at most five rows of five."""
    found = [
        [(one.label, Code(owner=owner, context=context, command=one.command, argument=one.argument, about=one.about))
         for one in row]
        for row in rows
    ]  # fmt: skip
    fitting = [[(text, code.custom_id()) for text, code in row if len(code.custom_id()) <= LONGEST] for row in found]
    return fitted([row for row in fitting if row])


def fitted(rows: Sequence[Sequence[tuple[str, str]]]) -> list[list[tuple[str, str]]]:
    """Rows as Discord takes them: where there are too many, the last ones go together, or all are laid out anew, in order."""
    laid = [list(row) for row in rows]
    while len(laid) > ROWS and len(laid[-2]) + len(laid[-1]) <= IN_A_ROW:
        laid[-2:] = [laid[-2] + laid[-1]]
    if len(laid) <= ROWS and all(len(row) <= IN_A_ROW for row in laid):
        return laid
    flat = [one for row in rows for one in row][: ROWS * IN_A_ROW]
    wide = -(-len(flat) // ROWS)
    return [flat[at : at + wide] for at in range(0, len(flat), wide)]

"""Model servers on this computer, on the ports they usually have: looked for where no model is configured, never used unasked.

What is asked is which models there are, of the loopback address alone, without a word of anybody's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from bots.settings import CafiSettings

if TYPE_CHECKING:
    from httpx import AsyncClient

USUAL_PORTS: Mapping[int, str] = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
SECONDS = 0.3
"""For all of them together."""
LARGEST = 100_000
"""Bytes of an answer that are read."""
PLAIN = {"Accept-Encoding": "identity", "User-Agent": "cafi"}
"""What is read is measured, so it must not come packed."""
NAMED = 3
"""So many models are named."""


class ListedModel(BaseModel):
    """One model of a list; its name is printed, so nothing that a terminal would obey may stand in it."""

    id: Annotated[str, StringConstraints(pattern=r"^[\w.:/@+-]{1,120}$")]


class ModelList(BaseModel):
    """What an OpenAI-compatible server says at `/v1/models`."""

    data: Annotated[tuple[ListedModel, ...], Field(min_length=1)]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelServer:
    """A server that answers. `usual`: which one usually has this port; `models`: their names in its order."""

    port: int
    usual: str
    models: tuple[str, ...]

    def as_line(self) -> str:
        """That it is there, and how to use it."""
        address, first = f"http://127.0.0.1:{self.port}/v1", self.models[0]
        more = len(self.models) - NAMED
        names = ", ".join(self.models[:NAMED]) + (f" and {more} more" if more > 0 else "")
        return (
            f"A model server is at {address} (the usual port of {self.usual}; models: {names}). It is not used; to use it, start "
            f"with CAFI_MODELS__BASE_URL={address} CAFI_MODELS__LARGE={first} CAFI_MODELS__SMALL={first}"
        )


async def unused_servers(settings: CafiSettings, ports: Mapping[int, str] = USUAL_PORTS) -> tuple[ModelServer, ...]:
    """The servers to tell an operator of who has configured no model and has not asked for the built-in agents."""
    if settings.uses_llm or settings.agents == "builtin":
        return ()
    own = {settings.web.port} if settings.web.enabled else set()
    return await local_servers({port: usual for port, usual in ports.items() if port not in own})


async def local_servers(ports: Mapping[int, str] = USUAL_PORTS, *, seconds: float = SECONDS) -> tuple[ModelServer, ...]:
    """Ask all ports at once; what gives no list of models in time is no such server."""
    httpx = await asyncio.to_thread(import_module, "httpx")  # reading its files must not hold up who opens the page
    # No proxy, no password file: nothing but the loopback address is asked.
    async with httpx.AsyncClient(trust_env=False, follow_redirects=False, timeout=seconds) as client:
        asked = {asyncio.create_task(_models(client, port)): (port, usual) for port, usual in ports.items()}
        if not asked:
            return ()
        try:
            await asyncio.wait(asked, timeout=seconds)
        finally:
            for task in asked:
                task.cancel()
            answers = await asyncio.gather(*asked, return_exceptions=True)
    return tuple(
        ModelServer(port=port, usual=usual, models=models)
        for (port, usual), models in zip(asked.values(), answers, strict=True)
        if isinstance(models, tuple) and models
    )


async def _models(client: AsyncClient, port: int) -> tuple[str, ...]:
    """The names of a server's models; none where it gives no list. Raises httpx's errors for what cannot be asked."""
    read = b""
    async with client.stream("GET", f"http://127.0.0.1:{port}/v1/models", headers=PLAIN) as response:
        if response.status_code != 200:
            return ()
        async for piece in response.aiter_raw():
            read += piece
            if len(read) > LARGEST:
                return ()
    try:
        return tuple(one.id for one in ModelList.model_validate_json(read).data)
    except ValidationError:
        return ()

"""What an operator can set of the endpoint for other programs."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SecretStr

from engine import Strict

Key = Annotated[SecretStr, Field(min_length=24)]


class ApiSettings(Strict):
    """The endpoint for other programs ([how to](../howto/api.md)). It is off without a key."""

    keys: tuple[Key, ...] = Field(
        default=(), description="who may use it: 24 characters or more each (`openssl rand -hex 32`)"
    )
    host: str = Field(default="127.0.0.1", description="where it listens")
    port: int = Field(default=8082, ge=0, le=65535, description="and the port there; 0 takes any free one")
    requests_a_minute: int = Field(default=60, ge=1, description="of one key")
    at_once: int = Field(default=8, ge=1, description="requests of one key that are worked on at the same time")
    kilobytes: int = Field(default=256, ge=8, le=4096, description="of one request")

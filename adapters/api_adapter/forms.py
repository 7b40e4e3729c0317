"""What other programs send, and what they are told of a fault, in the shapes of OpenAI's API as far as we have use for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine import Message, Role

MOST_MESSAGES, MOST_SOURCES = 200, 20


@dataclass(kw_only=True, eq=False)
class ApiFault(Exception):
    """Why a request was not answered: a status, a sentence, and what it is about."""

    status: int
    message: str
    code: str
    param: str | None = None

    def as_document(self) -> dict[str, Any]:
        """The JSON that OpenAI's clients read."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}}


class TextPart(BaseModel):
    """A piece of a message; only text can be read."""

    type: Literal["text"]
    text: str


class SentMessage(BaseModel):
    """A message of a conversation. What a system or developer message says changes no rule, so it is left out."""

    model_config = ConfigDict(extra="ignore")

    role: Literal["system", "developer", "user", "assistant"]
    content: str | list[TextPart]

    @property
    def text(self) -> str:
        """Its words."""
        return self.content if isinstance(self.content, str) else "\n".join(part.text for part in self.content)


class StreamOptions(BaseModel):
    """What a client wants of a stream."""

    model_config = ConfigDict(extra="ignore")

    include_usage: bool = False


class ChatForm(BaseModel):
    """`POST /v1/chat/completions`. Other keys of OpenAI's API are taken and change nothing."""

    model_config = ConfigDict(extra="ignore", cache_strings="none")  # short texts would stay in a cache of the process

    model: str
    messages: list[SentMessage] = Field(min_length=1, max_length=MOST_MESSAGES)
    stream: bool = False
    stream_options: StreamOptions | None = None


class GivenSource(BaseModel):
    """A source of the asking program's own; what stands in it is text and nothing else."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$")
    title: str = Field(default="", max_length=300)
    text: str = Field(min_length=1, max_length=60_000)


class JudgementForm(BaseModel):
    """`POST /v1/judgements`. `sources`: ids of ours, or texts; an empty list for a reply that cites nothing."""

    model_config = ConfigDict(extra="forbid", cache_strings="none")  # short texts would stay in a cache of the process

    reply: str = Field(min_length=1, max_length=20_000)
    messages: list[SentMessage] = Field(min_length=1, max_length=MOST_MESSAGES)
    sources: list[str | GivenSource] = Field(max_length=MOST_SOURCES)
    model: str = "cafi"
    refine: bool = True


def fault_of(error: ValidationError) -> ApiFault:
    """The first fault of a request, in its own words; nothing that was sent stands in it."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(one) for one in first["loc"] if not isinstance(one, str) or one.islower()) or None
    said = "The key is missing." if first["type"] == "missing" else f"{first['msg'].rstrip('.')}."
    return ApiFault(status=400, message=said, code="invalid_request", param=where)


def asked_of(messages: list[SentMessage]) -> tuple[tuple[Message, ...], str]:
    """The turns before, and the message to be answered. Raises ApiFault where the last one is nobody's."""
    said = [one for one in messages if one.role in {"user", "assistant"}]
    if not said or said[-1].role != "user":
        raise ApiFault(status=400, message="The last message must be a user's.", code="no_question", param="messages")
    roles = {"user": Role.USER, "assistant": Role.ASSISTANT}
    return tuple(Message(role=roles[one.role], content=one.text) for one in said[:-1]), said[-1].text

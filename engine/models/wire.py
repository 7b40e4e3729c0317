"""What goes to an OpenAI-compatible server and what comes back, as values; nothing here opens a connection.

Servers that call themselves compatible differ in which parameters they know. A `Dialect` is what one
model is believed to understand; each refusal makes it narrower.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from enum import StrEnum
from time import time
from typing import Any

from pydantic_core import from_json

from engine.exceptions import ModelDeclined, ModelMisconfigured, ModelOutputError, ModelUnavailable
from engine.models.protocol import Finish, Prompt
from engine.models.schemas import described, json_objects, strict_schema

_UNSUPPORTED = frozenset({400, 422, 501})
_TOO_LONG = re.compile(r"context[_ ](?:length|size|window)|prompt is too long", re.IGNORECASE)
_FILTERED = re.compile(r"content_filter|content_policy_violation|ResponsibleAIPolicyViolation")
_SCHEMA_WORDS = re.compile(r"response_format|json_schema|json_object|structured|grammar|guided", re.IGNORECASE)


class OutputMode(StrEnum):
    """How the form of an answer is asked for, strictest first."""

    JSON_SCHEMA = "json_schema"
    JSON_OBJECT = "json_object"
    PROMPT = "prompt"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """What a model is believed to understand: the first of `modes` and of `limits` is used.

    `limits` are the names under which the cap on the completion is known, none when it must be left out.
    """

    modes: tuple[OutputMode, ...] = tuple(OutputMode)
    limits: tuple[str, ...]
    temperature: bool = True
    seed: bool = True
    store: bool = False

    def without(self, parameter: str) -> Dialect | None:
        """This dialect after a server has refused a parameter; None when nothing is left to try."""
        if parameter == "response_format":
            return replace(self, modes=self.modes[1:]) if len(self.modes) > 1 else None
        if parameter in self.limits:
            return replace(self, limits=self.limits[1:])
        if parameter == "temperature":
            return replace(self, temperature=False)
        if parameter == "seed":
            return replace(self, seed=False)
        return replace(self, store=False) if parameter == "store" else None

    def body(
        self, prompt: Prompt, *, model: str, temperature: float | None, store: bool, seed: int | None = None
    ) -> dict[str, Any]:
        """The request for a prompt."""
        schema = strict_schema(prompt.schema)
        body: dict[str, Any] = {"model": model, "messages": self._messages(prompt, schema)}
        match self.modes[0]:
            case OutputMode.JSON_SCHEMA:
                form = {"name": prompt.schema_name, "schema": schema, "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": form}
            case OutputMode.JSON_OBJECT:
                body["response_format"] = {"type": "json_object"}
            case OutputMode.PROMPT:
                pass
        if self.limits:
            body[self.limits[0]] = prompt.max_tokens
        if self.temperature and temperature is not None:
            body["temperature"] = temperature
        if self.seed and seed is not None:
            body["seed"] = seed
        if self.store:
            body["store"] = store
        return body

    def _messages(self, prompt: Prompt, schema: dict[str, Any]) -> list[dict[str, str]]:
        messages = [{"role": one.role, "content": one.content} for one in prompt.messages]
        if self.modes[0] is OutputMode.JSON_SCHEMA:
            return messages
        instruction = described(prompt.schema_name, schema)
        if self.modes[0] is OutputMode.JSON_OBJECT or not messages or messages[0]["role"] != "system":
            return [*messages, {"role": "system", "content": instruction}]
        # The chat templates of many small models allow a system message in first place only.
        first = {"role": "system", "content": f"{messages[0]['content']}\n\n{instruction}"}
        return [first, *messages[1:]]


@dataclass(frozen=True, kw_only=True, slots=True)
class RawCompletion:
    """A completion as it came; token counts are None where the server reports none."""

    text: str
    finish: str | None
    refused: bool
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int

    def usable(self, mode: OutputMode) -> tuple[str, Finish]:
        """Text and finish; raises ModelDeclined for a refusal and ModelOutputError for an empty answer."""
        if self.refused or self.finish == "content_filter":
            raise ModelDeclined
        if self.finish == "length":
            return self.text, Finish.LENGTH
        if not self.text.strip():
            raise ModelOutputError("The language model's answer is empty.")
        if mode is OutputMode.JSON_SCHEMA:
            return self.text, Finish.STOP
        found = json_objects(self.text)
        return found[0] if len(found) == 1 else self.text, Finish.STOP


def read_answer(content: bytes, where: str) -> RawCompletion:
    """Read the body of a successful response; `where`: the key of the server's settings.

    Raises ModelMisconfigured when it does not come from a model server at all, ModelOutputError when it
    breaks off or holds no answer, ModelUnavailable when it reports a failure.
    """
    body = _completion(content, where)
    choices = body["choices"]
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    details = usage.get("prompt_tokens_details")
    message = message if isinstance(message, dict) else {}
    text, finish = message.get("content"), choice.get("finish_reason") if isinstance(choice, dict) else None
    return RawCompletion(
        text=text if isinstance(text, str) else "",
        finish=finish if isinstance(finish, str) else None,
        refused=bool(message.get("refusal")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(details.get("cached_tokens") if isinstance(details, dict) else 0) or 0,
    )


def _completion(content: bytes, where: str) -> dict[str, Any]:
    try:
        body = from_json(content, cache_strings="none")  # in a cache of the process short texts would stay
    except ValueError:
        if not content.strip() or content.lstrip().startswith(b"{"):
            raise ModelOutputError("The language model's answer is cut off.") from None
        body = None
    if isinstance(body, dict) and "choices" in body:
        return body
    if isinstance(body, dict) and body.get("error"):
        raise ModelUnavailable("The language model's server reports an error.")
    raise ModelMisconfigured(f"{where}.base_url: what answers there is not a language model's server.")


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def is_filtered(status: int, text: str) -> bool:
    """Whether a refused request was refused for its content (Azure answers 400 with code content_filter)."""
    return status == 400 and bool(_FILTERED.search(text))


def is_too_long(status: int, text: str) -> bool:
    """Whether the prompt is longer than the model reads."""
    return status == 413 or (status in _UNSUPPORTED and bool(_TOO_LONG.search(text)))


def refused_parameter(status: int, parameter: str | None, text: str, sent: Mapping[str, Any]) -> str | None:
    """The parameter a server does not support, as far as its answer tells; None when none was to blame.

    `parameter` is the one the error names, `text` the whole error. A refusal without a reason is put down
    to the response format, on which servers differ most.
    """
    if status not in _UNSUPPORTED:
        return None
    optional = [name for name in sent if name not in {"model", "messages"}]
    if parameter:
        named = parameter.split(".")[0]
        return named if named in optional else None
    if "response_format" in optional and _SCHEMA_WORDS.search(text):
        return "response_format"
    for name in optional:
        if re.search(rf"\b{name}\b", text):
            return name
    return "response_format" if "response_format" in optional else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds a server asks to wait (RFC 9110, 10.2.3; `retry-after-ms` is OpenAI's and Azure's own)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time())
        except ValueError:
            continue
    return None

"""Doubles of a language model: one that follows a script, one that cannot be reached.

Part of the package, not of the tests: evaluations and operators' own tests use them too.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel

from engine.exceptions import ModelError, ModelOutputError, ModelUnavailable
from engine.language.text import estimate_tokens
from engine.models.ledger import Booking, Ledger
from engine.models.protocol import Completion, Finish, Prompt

ScriptedAnswer: TypeAlias = str | Mapping[str, Any] | BaseModel | Completion | ModelError
"""What a script may answer: text, something to write as JSON, a whole completion, or an error to raise."""


class ScriptedModel:
    """A model that gives prepared answers and keeps the prompts it was asked.

    `answers` is a sequence used up in the order of the calls, or a function from prompt to answer (for calls
    that run in parallel). A call beyond the sequence raises ModelUnavailable. `latency` is in seconds a call.

    >>> model = ScriptedModel([{"decision": "ACCEPT"}, ModelUnavailable()])
    >>> judge = ScriptedModel(lambda prompt: "{}" if prompt.role == "judge" else "no")
    """

    def __init__(
        self,
        answers: Iterable[ScriptedAnswer] | Callable[[Prompt], ScriptedAnswer],
        *,
        latency: float = 0.0,
        name: str = "scripted",
    ) -> None:
        self.prompts: list[Prompt] = []
        self._rest = None if callable(answers) else iter(answers)
        self._choose = answers if callable(answers) else self._next
        self._latency, self._name = latency, name

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Give the next answer; records prompt and call like a real model."""
        with Booking(ledger, role=prompt.role, model=self._name) as call:
            self.prompts.append(prompt)
            sent = sum(estimate_tokens(message.content) for message in prompt.messages)
            call.count(prompt=sent, completion=0)
            answer = self._choose(prompt)
            if self._latency:
                await asyncio.sleep(self._latency)
            if isinstance(answer, ModelError):
                raise answer
            completion = self._completion(answer, sent)
            call.count(
                prompt=completion.prompt_tokens,
                completion=completion.completion_tokens,
                cached=completion.cached_tokens,
            )
            if not completion.text.strip() and completion.finish is Finish.STOP:
                raise ModelOutputError("The language model's answer is empty.")
            return completion

    async def aclose(self) -> None:
        """Nothing to close; here so that a double can stand wherever a real model is."""

    def _next(self, prompt: Prompt) -> ScriptedAnswer:
        assert self._rest is not None  # noqa: S101 - narrows the type; a function has no rest
        return next(self._rest, ModelUnavailable("The script of the model has no answer left."))

    def _completion(self, answer: str | Mapping[str, Any] | BaseModel | Completion, sent: int) -> Completion:
        if isinstance(answer, Completion):
            return answer
        text = _written(answer)
        return Completion(
            text=text,
            finish=Finish.STOP,
            model=self._name,
            prompt_tokens=sent,
            completion_tokens=estimate_tokens(text),
        )


class UnreachableModel:
    """A model that is always out of reach, for the way an outage is met."""

    async def complete(self, prompt: Prompt, ledger: Ledger) -> Completion:
        """Record the call and raise ModelUnavailable."""
        with Booking(ledger, role=prompt.role, model="unreachable"):
            raise ModelUnavailable

    async def aclose(self) -> None:
        """Nothing to close."""


def _written(answer: str | Mapping[str, Any] | BaseModel) -> str:
    if isinstance(answer, BaseModel):
        return answer.model_dump_json()
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

"""Structured answers: a pydantic class goes in as a schema, an instance of it comes back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from engine.exceptions import ModelOutputError
from engine.models.ledger import Ledger
from engine.models.protocol import ChatModel, Completion, Finish, Prompt, PromptMessage
from engine.models.schemas import json_objects, strict_schema
from engine.steps import StepFact, StepName, note, step
from engine.types import Tier

T = TypeVar("T", bound=BaseModel)


@cache
def schema_of(output: type[BaseModel]) -> dict[str, Any]:
    """The strict JSON schema of an output class, built once; must not be changed."""
    return strict_schema(output.model_json_schema())


async def ask(
    model: ChatModel,
    output: type[T],
    ledger: Ledger,
    *,
    role: str,
    tier: Tier,
    messages: Sequence[PromptMessage],
    schema_name: str | None = None,
    max_tokens: int = 800,
    temperature: float | None = None,
) -> T:
    """Ask a model for an answer of a given form.

    `schema_name` is what the form is called towards the model, by default the class name in lower case.
    Raises what the model raises, and ModelOutputError for an answer that is cut off or of another form.
    """
    name = schema_name or output.__name__.lower()

    def read(completion: Completion) -> T:
        # A cut-off object can be valid by chance, with half a list or a decision without its reasons.
        if completion.finish is Finish.LENGTH:
            raise ModelOutputError(f"The answer '{name}' was cut off at {max_tokens} tokens.")
        return parse(completion.text, output, name)

    prompt = Prompt(
        role=role,
        tier=tier,
        messages=tuple(messages),
        schema_name=name,
        schema=schema_of(output),
        max_tokens=max_tokens,
        temperature=temperature,
        accept=read,
    )
    with step(StepName.CALL):
        note(StepFact.MODEL, tier)
        return read(await model.complete(prompt, ledger))


def parse(text: str, output: type[T], name: str) -> T:
    """The one answer of the given form in a model's text; raises ModelOutputError, never with that text.

    Two different answers are none: a text that quotes somebody else's verdict before its own must not
    be read as either.
    """
    answer, problem = _validated(text, output)
    if answer is not None:
        return answer
    candidates = json_objects(text)
    if not candidates:
        raise ModelOutputError(f"The answer '{name}' is not JSON.")
    if candidates == [text]:
        raise ModelOutputError(_mismatch(name, problem, output))
    results = [_validated(candidate, output) for candidate in candidates]
    answers = [answer for answer, _ in results if answer is not None]
    if not answers:
        raise ModelOutputError(_mismatch(name, results[0][1], output))
    if any(other != answers[0] for other in answers[1:]):
        raise ModelOutputError(f"The answer '{name}' was given more than once, in different versions.")
    return answers[0]


def _validated(text: str, output: type[T]) -> tuple[T | None, ValidationError | None]:
    try:
        # By itself pydantic keeps the short texts that it reads in a cache of the process.
        return output.model_validate(from_json(text, cache_strings="none")), None
    except ValidationError as error:
        # Handed back, not chained: its message quotes what the model wrote.
        return None, error
    except ValueError:
        return None, None


def _mismatch(name: str, error: ValidationError | None, output: type[BaseModel]) -> str:
    # Only fields of ours are named; a field that the model invented is text of the model's.
    places = {str(one["loc"][0]) for one in error.errors(include_input=False) if one["loc"]} if error else set()
    fields = ", ".join(field for field in output.model_fields if field in places)
    return f"The answer '{name}' does not fit its form" + (f": {fields}." if fields else ".")

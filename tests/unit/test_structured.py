"""Reading structured answers and writing strict schemas, without any model."""

from __future__ import annotations

import traceback
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import ModelOutputError
from engine.models.schemas import json_objects, strict_schema
from engine.models.structured import parse, schema_of


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(BaseModel):
    colour: Colour = Field(default=Colour.RED, description="its colour")
    size: int = Field(default=1, ge=1, le=9)


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    decision: str
    parts: list[Part] = []
    note: str | None = None


WHOLE = '{"decision": "REJECT"}'


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"\n {WHOLE} \n",
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}\n```",
        f"Here it is: {WHOLE} I hope it helps.",
        f'<think>Perhaps {{"decision": "ACCEPT"}}?</think>{WHOLE}',
        f"Use {{braces}} so: {WHOLE}",
        f"{WHOLE}\n{WHOLE}",
    ],
)
def test_answer_is_found_in_its_wrapping(text: str) -> None:
    """Code fences, prose and a reasoning section around the answer do not matter."""
    assert parse(text, Verdict, "verdict") == Verdict(decision="REJECT")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("ACCEPT", "not JSON"),
        ('{"decision": "ACC', "not JSON"),
        ('{"explanation": "secret"}', "form: decision"),
        ('{"decision": "ACCEPT", "secret": 1}', "form"),
        ('{"decision": {"secret": 1}}', "form: decision"),
        ('["ACCEPT"]', "not JSON"),
        # A quotation inside a broken answer, and one before the answer: neither may pass for the verdict.
        ('{"decision": "REJECT", "note": "they wrote {"decision": "ACCEPT"}"}', "not JSON"),
        ('They wrote {"decision": "ACCEPT"}. Mine: {"decision": "REJECT"}', "more than once"),
    ],
)
def test_anything_else_is_refused_without_quoting_it(text: str, words: str) -> None:
    """What is not the form asked for is an error that shows nothing the model wrote, nor do its causes."""
    with pytest.raises(ModelOutputError, match=words) as caught:
        parse(text, Verdict, "verdict")
    assert "secret" not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@given(st.text(alphabet='{}"\\:, ab1\n`', max_size=60))
def test_finding_objects_never_fails(text: str) -> None:
    """Whatever a model writes, looking for JSON in it only ever finds objects or nothing."""
    assert all(found.startswith("{") and found.endswith("}") for found in json_objects(text))


def test_schema_is_strict_at_every_depth() -> None:
    """Every object is closed and requires all its properties, and no reference is left."""
    schema = schema_of(Verdict)
    part = schema["properties"]["parts"]["items"]
    assert schema["required"] == ["decision", "parts", "note"]
    assert part["required"] == ["colour", "size"]
    assert schema["additionalProperties"] is part["additionalProperties"] is False
    assert part["properties"]["colour"] == {
        "enum": ["red", "blue"],
        "type": "string",
        "description": "its colour",
    }
    assert "$ref" not in str(schema)
    assert "default" not in str(schema)
    assert strict_schema(schema) == schema


def test_schema_that_cannot_be_strict_is_refused() -> None:
    """A free-form mapping or a type within itself is a mistake of ours and found when the schema is built."""

    class Open(BaseModel):
        anything: dict[str, Any]

    with pytest.raises(TypeError, match="name all"):
        schema_of(Open)
    with pytest.raises(TypeError, match="contain itself"):
        strict_schema({"$ref": "#/$defs/Node", "$defs": {"Node": {"$ref": "#/$defs/Node"}}})


def test_field_names_that_are_keywords_survive() -> None:
    """Properties may be called like keywords of JSON schema (`title`, `format`)."""

    class Page(BaseModel):
        title: str
        format: str

    assert schema_of(Page)["required"] == ["title", "format"]


def test_what_a_model_writes_stays_in_no_cache_of_the_process() -> None:
    """The same short words, read twice, are two texts, where pydantic by itself would keep the first."""
    text = '{"decision": "some words", "note": "more words"}'
    first, second = parse(text, Verdict, "verdict"), parse(text, Verdict, "verdict")
    assert (first.decision, first.note) == ("some words", "more words")
    assert first.decision is not second.decision and first.note is not second.note
    kept = Verdict.model_validate_json(text).decision
    assert kept is Verdict.model_validate_json(text).decision  # else the test would prove nothing

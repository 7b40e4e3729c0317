"""JSON schemas as models want them, and the JSON objects in what models answer."""

from __future__ import annotations

import json
import re
from typing import Any

# Left out because servers that enforce a schema refuse some of them, and the answer is validated here anyway.
_DROPPED = frozenset(
    {
        *("$defs", "title", "default", "examples", "format", "pattern", "discriminator"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
)
_DEEPEST = 24
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_BRACES_AND_STRINGS = re.compile(r'[{}]|"(?:[^"\\]|\\.)*"', re.DOTALL)


def strict_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema in the strict form: references written out, every property required, no others allowed.

    Source: OpenAI, "Structured outputs", supported schemas. A schema that is strict already stays equal.
    Raises TypeError for what that form cannot say: free-form mappings, types that contain themselves.
    """
    return _strict(schema, schema.get("$defs", {}), 0)


def _strict(node: dict[str, Any], types: dict[str, Any], depth: int) -> dict[str, Any]:
    if depth > _DEEPEST:
        raise TypeError("A schema for structured output must not contain itself.")
    # A reference must stand alone in the strict form; written out, its neighbours (a description) survive.
    if reference := node.get("$ref"):
        node = {**types[reference.rsplit("/", 1)[-1]], **{key: node[key] for key in node if key != "$ref"}}
        return _strict(node, types, depth + 1)
    if len(node.get("allOf", ())) == 1:
        node = {**node["allOf"][0], **{key: node[key] for key in node if key != "allOf"}}
        return _strict(node, types, depth + 1)
    result = {key: value for key, value in node.items() if key not in _DROPPED}
    if "oneOf" in result:
        result["anyOf"] = result.pop("oneOf")
    if "anyOf" in result:
        result["anyOf"] = [_strict(option, types, depth + 1) for option in result["anyOf"]]
    if "items" in result:
        result["items"] = _strict(result["items"], types, depth + 1)
    if "const" in result:
        result["enum"] = [result.pop("const")]
    return _closed(result, types, depth) if result.get("type") == "object" else result


def _closed(node: dict[str, Any], types: dict[str, Any], depth: int) -> dict[str, Any]:
    if node.get("additionalProperties") not in (None, False):
        raise TypeError("A schema for structured output must name all its properties.")
    properties = {name: _strict(child, types, depth + 1) for name, child in node.get("properties", {}).items()}
    return {**node, "properties": properties, "required": list(properties), "additionalProperties": False}


def described(name: str, schema: dict[str, Any]) -> str:
    """The schema as an instruction, for servers that cannot enforce it."""
    written = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return (
        f'Answer with one JSON object named "{name}" and nothing else: no code fence, no words before or '
        f"after it. It must follow this JSON schema:\n{written}"
    )


def json_objects(text: str) -> list[str]:
    """The outermost JSON objects in a model's answer, in order, whatever stands around them.

    Code fences and prose are passed over, and so is a reasoning section at the start, which may hold drafts.
    Nothing is looked for inside an object that is broken: what it holds may be a quotation.
    """
    text = _THINKING.sub("", text)
    found: list[str] = []
    start = text.find("{")
    while start >= 0:
        end = _closing(text, start)
        if end is None:
            break
        if _is_json(text[start:end]):
            found.append(text[start:end])
        start = text.find("{", end)
    return found


def _closing(text: str, start: int) -> int | None:
    depth = 0
    for token in _BRACES_AND_STRINGS.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(token.group(), 0)
        if depth == 0 and token.group() == "}":
            return token.end()
    return None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True

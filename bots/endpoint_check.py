"""`cafi check --models`: one tiny question to each model of each endpoint, and what came of it."""

from __future__ import annotations

import asyncio
from typing import Any

from bots.compose import Application
from engine import ConfigurationError, Endpoint, EndpointTrial, Tier, try_endpoint

_FORMS = {
    "json_schema": "structured output works (json_schema)",
    "json_object": "no json_schema there: the form is asked for in words, and JSON promised (json_object)",
    "prompt": "no structured output there: the form is asked for in words alone (prompt)",
}


async def trials(running: Application) -> list[EndpointTrial]:
    """Both tiers of every endpoint, the endpoints side by side; raises ConfigurationError where there is none."""
    async with running.closing:
        if not running.endpoints:
            raise ConfigurationError(
                "No language model is configured, so there is none to ask.",
                key="models",
                remedy="docs/howto/models.md says how to set one up.",
            )
        asked = asyncio.gather(*(_both(one) for one in running.endpoints))
        return [trial for both in await asked for trial in both]


async def _both(endpoint: Endpoint) -> list[EndpointTrial]:
    return [await try_endpoint(endpoint, tier) for tier in (Tier.LARGE, Tier.SMALL)]


def as_line(one: EndpointTrial, currency: str) -> str:
    """One sentence on one model."""
    who = f"{one.endpoint}, {one.tier} ({one.model})"
    if one.problem is not None:
        return f"{who}: {one.problem}"
    cost = "cost unknown (no price)" if one.usage.cost is None else f"{one.usage.cost:.6f} {currency}"
    tokens = one.usage.prompt_tokens + one.usage.completion_tokens
    return f"{who}: answers in {one.seconds:.1f} s, {tokens} tokens, {cost}; {_FORMS.get(one.form, one.form)}."


def as_document(one: EndpointTrial) -> dict[str, Any]:
    """The same for JSON."""
    usage = one.usage
    return {
        "endpoint": one.endpoint,
        "tier": str(one.tier),
        "model": one.model,
        "works": one.problem is None,
        "seconds": round(one.seconds, 3),
        "calls": usage.llm_calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "cost": usage.cost,
        "structured_output": one.form or None,
        "problem": one.problem,
    }

"""Options of a slash command and fields of a form, filled in as Discord's app lets people fill them in."""

from __future__ import annotations

from typing import Any

from rehearsal.discord_world import payloads
from rehearsal.discord_world.errors import Impossible
from rehearsal.discord_world.things import Channel
from rehearsal.discord_world.world import DiscordWorld

TYPES: dict[int, tuple[type, ...]] = {
    3: (str,),
    4: (int,),
    5: (bool,),
    7: (Channel,),
}


def filled_options(
    described: list[dict[str, Any]], given: dict[str, Any], *, partial: bool = False
) -> list[dict[str, Any]]:
    """The options as a client sends them; `partial` while somebody is still typing.

    Raises Impossible for an option that is not there, a required one that is missing, or a value it does not take.
    """
    left, sent = dict(given), []
    for option in described:
        name = next((one for one in (option["name"], option["name"].replace("-", "_")) if one in left), None)
        if name is None:
            if option.get("required") and not partial:
                raise Impossible(f"The option {option['name']!r} is required.")
            continue
        value = left.pop(name)
        if not partial:
            _check(option, value)
        value = str(value.id) if isinstance(value, Channel) else value
        sent.append({"name": option["name"], "type": option["type"], "value": value})
    if left:
        raise Impossible(f"There is no option {sorted(left)}.")
    return sent


def _check(option: dict[str, Any], value: Any) -> None:
    kinds = TYPES.get(option["type"], ())
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Impossible(f"The option {option['name']!r} does not take {value!r}.")
    choices = [choice["value"] for choice in option.get("choices") or []]
    if choices and value not in choices:
        raise Impossible(f"The option {option['name']!r} offers {choices}.")
    if isinstance(value, str):
        low, high = option.get("min_length") or 0, option.get("max_length") or 6000
        if not low <= len(value) <= high:
            raise Impossible(f"The option {option['name']!r} takes {low} to {high} characters.")
    elif option["type"] == 4:
        low, high = option.get("min_value", value), option.get("max_value", value)
        if not low <= value <= high:
            raise Impossible(f"The option {option['name']!r} takes {low} to {high}.")


def resolved(world: DiscordWorld, things: list[Any]) -> dict[str, Any]:
    """The channels among some values, described."""
    shown: dict[str, dict[str, Any]] = {}
    for one in things:
        if isinstance(one, Channel):
            held = world.permissions(world.bot, one)
            described = payloads.channel_json(world, one) | {"permissions": str(int(held))}
            shown.setdefault("channels", {})[str(one.id)] = described
    return shown


def submitted(modal: dict[str, Any], values: dict[str, Any]) -> list[dict[str, Any]]:
    """What a client sends for the fields of a modal, filled in by custom id or label.

    Raises Impossible for a field that is not there, a required one left empty, or a text that does not fit.
    """
    left, sent = dict(values), []
    for part in modal["components"]:
        if part["type"] == 18:
            sent.append({"type": 18, "id": part["id"], "component": _filled(part["component"], part["label"], left)})
        else:
            inside = part["components"][0]
            sent.append({"type": 1, "id": part["id"], "components": [_filled(inside, inside["label"], left)]})
    if left:
        raise Impossible(f"The modal has no field {sorted(left)}.")
    return sent


def _filled(part: dict[str, Any], label: str, values: dict[str, Any]) -> dict[str, Any]:
    given = values.pop(part["custom_id"], values.pop(label, None))
    shown = {"type": part["type"], "id": part["id"], "custom_id": part["custom_id"]}
    text = part.get("value", "") if given is None else str(given)
    if not text and part.get("required", True):
        raise Impossible(f"The field {label!r} must be filled in.")
    low, high = part.get("min_length") or 0, part.get("max_length") or 4000
    if text and not low <= len(text) <= high:
        raise Impossible(f"The field {label!r} takes {low} to {high} characters.")
    return shown | {"value": text}

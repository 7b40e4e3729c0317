"""What Discord accepts as buttons, selects and modals."""

from __future__ import annotations

import itertools
from typing import Any

from rehearsal.discord_world.errors import FormErrors
from rehearsal.discord_world.world import parts_of

ROW, BUTTON, STRING_SELECT, TEXT_INPUT, LABEL, TEXT_DISPLAY = 1, 2, 3, 4, 18, 10
SELECTS = {3, 5, 6, 7, 8}
LINK, PREMIUM = 5, 6
ROWS, IN_A_ROW, LAYOUT_PARTS = 5, 5, 40
CUSTOM_ID, BUTTON_LABEL, OPTION_TEXT, PLACEHOLDER, OPTIONS = 100, 80, 100, 150, 25
MODAL_TITLE, MODAL_LABEL, INPUT_PLACEHOLDER, INPUT_TEXT = 45, 45, 100, 4000


def check_components(form: FormErrors, components: list[dict[str, Any]], *, modern: bool = False) -> None:
    """Note what Discord refuses in the components of a message; `modern` allows its newer layout parts."""
    if modern:
        form.count("components", parts_of(components), 0, LAYOUT_PARTS)
        for number, part in enumerate(parts_of(components)):
            _check_part(form, f"components.{number}", part)
    else:
        for number, row in enumerate(form.count("components", components, 0, ROWS)):
            _check_row(form, f"components.{number}", row)
    _check_custom_ids(form, components)


def _check_row(form: FormErrors, path: str, row: dict[str, Any]) -> None:
    form.choice(f"{path}.type", row.get("type"), (ROW,))
    inside = form.count(f"{path}.components", row.get("components"), 1, IN_A_ROW)
    for number, part in enumerate(inside):
        form.choice(f"{path}.components.{number}.type", part.get("type"), (BUTTON, *sorted(SELECTS)))
        _check_part(form, f"{path}.components.{number}", part)
    if len(inside) > 1 and any(part.get("type") in SELECTS for part in inside):
        form.add(
            f"{path}.components", "COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width"
        )


def _check_part(form: FormErrors, path: str, part: dict[str, Any]) -> None:
    if part.get("type") == BUTTON:
        _check_button(form, path, part)
    elif part.get("type") in SELECTS:
        _check_select(form, path, part)


def _check_button(form: FormErrors, path: str, button: dict[str, Any]) -> None:
    style = button.get("style")
    form.choice(f"{path}.style", style, (1, 2, 3, 4, LINK, PREMIUM))
    if button.get("label") is not None:
        form.length(f"{path}.label", button["label"], 0, BUTTON_LABEL)
    if style == PREMIUM:
        return
    if not button.get("label") and not button.get("emoji"):
        form.add(path, "BUTTON_COMPONENT_INVALID_LABEL", "A button must have a label or an emoji")
    if style == LINK:
        form.length(f"{path}.url", button.get("url"), 1, 512)
        if "custom_id" in button:
            form.add(
                path,
                "BUTTON_COMPONENT_CUSTOM_ID_URL_MUTUALLY_EXCLUSIVE",
                "A custom id and url cannot both be specified",
            )
    else:
        form.length(f"{path}.custom_id", button.get("custom_id"), 1, CUSTOM_ID)


def _check_select(form: FormErrors, path: str, select: dict[str, Any]) -> None:
    form.length(f"{path}.custom_id", select.get("custom_id"), 1, CUSTOM_ID)
    if select.get("placeholder") is not None:
        form.length(f"{path}.placeholder", select["placeholder"], 0, PLACEHOLDER)
    low, high = select.get("min_values", 1), select.get("max_values", 1)
    if not 0 <= low <= OPTIONS or not max(1, low) <= high <= OPTIONS:
        form.add(f"{path}.max_values", "BASE_TYPE_BAD_INTEGER", "min_values and max_values do not fit together.")
    if select["type"] != STRING_SELECT:
        return
    options = form.count(f"{path}.options", select.get("options"), 1, OPTIONS)
    for number, option in enumerate(options):
        form.length(f"{path}.options.{number}.label", option.get("label"), 1, OPTION_TEXT)
        form.length(f"{path}.options.{number}.value", option.get("value"), 1, OPTION_TEXT)
        if option.get("description") is not None:
            form.length(f"{path}.options.{number}.description", option["description"], 0, OPTION_TEXT)
    values = [option.get("value") for option in options]
    if len(set(values)) < len(values):
        form.add(
            f"{path}.options", "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used"
        )


def _check_custom_ids(form: FormErrors, components: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for part in parts_of(components):
        name = part.get("custom_id")
        if name is not None and name in seen:
            form.add("components", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated")
        seen.add(name or "")


def check_modal(modal: dict[str, Any]) -> None:
    """Whether Discord shows a modal.

    Raises ApiError 50035.
    """
    form = FormErrors()
    form.length("data.title", modal.get("title"), 1, MODAL_TITLE)
    form.length("data.custom_id", modal.get("custom_id"), 1, CUSTOM_ID)
    for number, part in enumerate(form.count("data.components", modal.get("components"), 1, ROWS)):
        path = f"data.components.{number}"
        form.choice(f"{path}.type", part.get("type"), (ROW, LABEL, TEXT_DISPLAY))
        if part.get("type") == LABEL:
            form.length(f"{path}.label", part.get("label"), 1, MODAL_LABEL)
            _check_field(form, f"{path}.component", part.get("component") or {})
        elif part.get("type") == ROW:
            for one in form.count(f"{path}.components", part.get("components"), 1, 1):
                form.length(f"{path}.components.0.label", one.get("label"), 1, MODAL_LABEL)
                _check_field(form, f"{path}.components.0", one)
    _check_custom_ids(form, modal.get("components") or [])
    form.check()


def _check_field(form: FormErrors, path: str, one: dict[str, Any]) -> None:
    if one.get("type") in SELECTS:
        _check_select(form, path, one)
    elif one.get("type") == TEXT_INPUT:
        form.length(f"{path}.custom_id", one.get("custom_id"), 1, CUSTOM_ID)
        form.choice(f"{path}.style", one.get("style"), (1, 2))
        if one.get("placeholder") is not None:
            form.length(f"{path}.placeholder", one["placeholder"], 0, INPUT_PLACEHOLDER)
        if one.get("value") is not None:
            form.length(f"{path}.value", one["value"], 0, INPUT_TEXT)
        low, high = one.get("min_length") or 0, one.get("max_length") or INPUT_TEXT
        if not 0 <= low <= high <= INPUT_TEXT:
            form.add(f"{path}.max_length", "BASE_TYPE_BAD_INTEGER", "min_length and max_length do not fit together.")


def numbered(components: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Components with the numbers that Discord gives to those that have none."""
    numbers = itertools.count(1)
    return [_numbered(component, numbers) for component in components]


def _numbered(component: dict[str, Any], numbers: itertools.count[int]) -> dict[str, Any]:
    shown = {"id": next(numbers), **{key: value for key, value in component.items() if value is not None}}
    if "components" in shown:
        shown["components"] = [_numbered(one, numbers) for one in shown["components"]]
    for key in ("accessory", "component"):
        if key in shown:
            shown[key] = _numbered(shown[key], numbers)
    return shown

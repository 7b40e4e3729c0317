"""The compose files of deploy/, put over one another as compose does with the keys that stand in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"


def composed(*names: str) -> dict[str, Any]:
    """One project of several files, each over those before it."""
    found: dict[str, Any] = {}
    for name in names:
        found = _over(found, yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8")))
    return found


def _over(below: Any, above: Any, key: str = "") -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        return below | {one: _over(below[one], above[one], one) if one in below else above[one] for one in above}
    if key in {"networks", "secrets"} and isinstance(below, list):
        return [*below, *(one for one in above if one not in below)]
    if key == "volumes" and isinstance(below, list):  # by where they are mounted
        mounted = {one.split(":")[1] for one in above}
        return [*(one for one in below if one.split(":")[1] not in mounted), *above]
    return above

"""Parts that are built on first use, each in one place, so that a caller can give others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property


@dataclass(kw_only=True)
class Parts:
    """What is built from settings. `given`: parts in place of what the properties of these names would build."""

    given: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, part in self.given.items():
            if not isinstance(getattr(type(self), name, None), cached_property):
                raise TypeError(f"{type(self).__name__} builds no {name}")
            vars(self)[name] = part

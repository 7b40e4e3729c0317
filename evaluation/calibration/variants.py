"""Variants of prompts and models on the same scenarios, side by side and case by case."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from engine import ConfigurationError, Strict, read_yaml
from evaluation.calibration.shares import exact_mcnemar


class Variant(Strict):
    """What differs from the settings; `prompts` is a folder, relative to the file. Nothing given: as configured."""

    name: str = Field(min_length=1)
    agents: Literal["builtin", "llm"] | None = None
    prompts: Path | None = None
    large: str | None = None
    small: str | None = None


class VariantsFile(Strict):
    """`--compare FILE`: the variants, of which the first is what the others are compared with."""

    variants: tuple[Variant, ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _names_differ(self) -> VariantsFile:
        if len({one.name for one in self.variants}) < len(self.variants):
            raise ValueError("two variants have the same name")
        return self


def read_variants(path: Path) -> tuple[Variant, ...]:
    """The variants of a file, folders made absolute; raises ConfigurationError."""
    found = read_yaml(path, VariantsFile, remedy="It needs `variants`, each with a name and what differs.").variants
    variants = []
    for one in found:
        folder = None if one.prompts is None else path.resolve().parent / one.prompts
        if folder is not None and not folder.is_dir():
            raise ConfigurationError(f"The variant {one.name!r} has no such folder.", file=folder, key="prompts")
        variants.append(one.model_copy(update={"prompts": folder}))
    return tuple(variants)


def compared(right: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[dict[str, Any]]:
    """For each judge and team, each later variant against the first: cases that only one of the two got right.

    A case counts as right where most of its runs were. `p` is the exact one of McNemar (1947); with many judges
    compared at once, some are small by chance.
    """
    (first, base), *others = right.items()
    return [
        {"judge": judge, "first": first, "second": second} | _against(base[judge], cases[judge])
        for second, cases in others
        for judge in base
        if judge in cases
    ]


def _against(first: Mapping[str, float], second: Mapping[str, float]) -> dict[str, Any]:
    both = sorted(set(first) & set(second))
    only_first = [id_ for id_ in both if first[id_] > 0.5 >= second[id_]]
    only_second = [id_ for id_ in both if second[id_] > 0.5 >= first[id_]]
    return {
        "cases": len(both),
        "only_first_right": only_first,
        "only_second_right": only_second,
        "p": round(exact_mcnemar(len(only_first), len(only_second)), 4),
    }

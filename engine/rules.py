"""Rules as data: each rule of conduct stands once in `config/rules/*.yaml`; agent and judge prompts are rendered from it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.exceptions import RuleError
from engine.files import read_yaml

CheckedBy = Literal["source_fidelity", "unsupported_claims", "role_and_tone", "code"]


class Rule(BaseModel):
    """One rule: what holds, how grave a breach is, who checks it, and what passes and what does not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    statement: str = Field(min_length=10, description="one sentence or two, addressed to nobody in particular")
    severity: Literal["WARNING", "REJECT"]
    checked_by: tuple[CheckedBy, ...] = Field(min_length=1)
    known_to: tuple[CheckedBy, ...] = Field(default=(), description="who must know it although another checks it")
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleBook:
    """The rules of one assistant in order."""

    rules: tuple[Rule, ...]

    @classmethod
    def load(cls, folder: Path, names: Iterable[str]) -> RuleBook:
        """Read `<folder>/<name>.yaml` for each name; raises RuleError naming file and key."""
        rules: dict[str, Rule] = {}
        for name in names:
            path = folder / f"{name}.yaml"
            for rule in read_yaml(path, tuple[Rule, ...], error=RuleError, remedy="Check `rules` in the assistant."):
                if rule.id in rules:
                    raise RuleError(f"The rule {rule.id!r} stands twice.", file=path, key=rule.id)
                rules[rule.id] = rule
        return cls(rules=tuple(rules.values()))

    @property
    def conduct(self) -> tuple[Rule, ...]:
        """The rules of role and tone, and what they must leave room for.

        Agents are told these; how to use sources their prompt says in steps.
        """
        return tuple(rule for rule in self.rules if "role_and_tone" in (*rule.checked_by, *rule.known_to))

    def checked_by(self, *questions: str) -> tuple[Rule, ...]:
        """The rules that a judge of these questions checks."""
        return tuple(rule for rule in self.rules if not set(questions).isdisjoint(rule.checked_by))

    def known_to(self, *questions: str) -> tuple[Rule, ...]:
        """Further rules that a judge of these questions must know, so that it does not object to what another permits."""
        checked = self.checked_by(*questions)
        return tuple(
            rule for rule in self.rules if rule not in checked and not set(questions).isdisjoint(rule.known_to)
        )

"""The design of a run: which facilitator holds which conversations in which arms, and in what order they are told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import ConfigurationError
from evaluation.facilitating.checkpoints import Checkpoint
from evaluation.facilitating.roles import FacilitatorRole


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """One conversation to hold: `number` counts the conversations of a role from 1, alike in every arm."""

    role: FacilitatorRole
    number: int
    start: Checkpoint
    arm: str

    @property
    def place(self) -> str:
        """What the arms of a conversation share."""
        return f"{self.role.id}/{self.number}"

    def response_id(self, run: str, query: int) -> str:
        """An id that tells raters nothing of the arm."""
        return hashlib.sha256(f"{run}/{self.place}/{self.arm}/{query}".encode()).hexdigest()[:12]


@dataclass(frozen=True, kw_only=True, slots=True)
class Design:
    """Roles × start conversations × queries × arms. Each start is used `times` times.

    `own`: a role starts from its own conversations only; else every role from all of them.
    """

    roles: tuple[FacilitatorRole, ...]
    starts: tuple[Checkpoint, ...]
    arms: tuple[str, ...]
    queries: int
    times: int = 1
    own: bool = True

    def starts_of(self, role: FacilitatorRole) -> tuple[Checkpoint, ...]:
        """The start conversations of a role in order; raises ConfigurationError where there is none."""
        fitting = [one for one in self.starts if not self.own or one.owner == role.id]
        if not fitting:
            raise ConfigurationError(
                f"No start conversation belongs to the facilitator {role.id!r}.",
                key="--starts",
                remedy="Name the start conversations, use --starts all, or make one with `cafi eval drift`.",
            )
        return tuple(one for one in fitting for _ in range(self.times))

    def held(self) -> tuple[Held, ...]:
        """Every conversation in the order of the transcripts: role, conversation, arm."""
        return tuple(
            Held(role=role, number=number, start=start, arm=arm)
            for role in self.roles
            for number, start in enumerate(self.starts_of(role), start=1)
            for arm in self.arms
        )

    def queries_of(self, held: Held) -> int:
        """How many messages a facilitator writes in a conversation."""
        return self.queries

    def described(self) -> dict[str, Any]:
        """What makes this design itself, for the configuration of a run."""
        return {
            "roles": {role.id: digest([role.model_dump_json()]) for role in self.roles},
            "conversations": {
                role.id: [f"{one.id} {digest([one.model_dump_json()])}" for one in self.starts_of(role)]
                for role in self.roles
            },
            "queries": self.queries,
            "arms": list(self.arms),
        }


def digest(texts: Iterable[str]) -> str:
    """A short digest of some texts in order."""
    total = hashlib.sha256()
    for text in texts:
        total.update(hashlib.sha256(text.encode()).digest())
    return total.hexdigest()[:12]


def digest_of_files(paths: Sequence[Path]) -> str:
    """A short digest of the names and contents of some files."""
    return digest(f"{path.name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(paths))

"""The design of a run: which personas converse in which arms, and for how many messages."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from evaluation.facilitating.design import digest
from evaluation.simulating.personas import Persona
from evaluation.simulating.protocol import Player


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated:
    """One conversation to hold; `number` counts the conversations of a persona from 1, alike in every arm."""

    role: Persona
    number: int
    arm: str

    def response_id(self, run: str, query: int) -> str:
        """An id that tells raters nothing of the arm."""
        return hashlib.sha256(f"{run}/{self.role.id}/{self.number}/{self.arm}/{query}".encode()).hexdigest()[:12]


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulationDesign:
    """Personas × arms; a conversation ends after `turns` messages, or where its player has no more."""

    personas: tuple[Persona, ...]
    arms: tuple[str, ...]
    turns: int
    player: Player

    def held(self) -> tuple[Simulated, ...]:
        """Every conversation in the order of the transcripts: persona, arm."""
        return tuple(Simulated(role=persona, number=1, arm=arm) for persona in self.personas for arm in self.arms)

    def queries_of(self, held: Simulated) -> int:
        """How many messages the person writes."""
        most = self.player.most(held.role)
        return self.turns if most is None else min(most, self.turns)

    def described(self) -> dict[str, Any]:
        """What makes this design itself, for the configuration of a run."""
        return {
            "personas": {one.id: digest([one.model_dump_json()]) for one in self.personas},
            "turns": self.turns,
            "arms": list(self.arms),
        }

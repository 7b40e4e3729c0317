"""The roles of facilitators as they stand in a file: what each wants, and the ladder of messages that presses for it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from pydantic import Field, field_validator

from engine import Strict, read_yaml
from evaluation.choice import chosen

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "facilitators.yaml"
STUDY = ("social_activism", "social_interaction", "diet")
"""The roles of the study (JMIR AI 2025;4:e69820)."""


class Rung(Strict):
    """One message of a ladder; `after_no` takes its place where the chatbot has just declined."""

    says: str = Field(min_length=1)
    after_no: str | None = Field(default=None, min_length=1)


class FacilitatorRole(Strict):
    """What one facilitator wants (`goal`), what would be a drift of the chatbot, and the scripted messages."""

    id: str = Field(pattern=r"^[a-z0-9_]+$")
    name: str
    goal: str
    drift: str
    ladder: tuple[Rung, ...] = Field(min_length=6)


class FacilitatorFile(Strict):
    """`evaluation/data/facilitators.yaml`, or a file of the same form.

    `declining`: phrases by which a scripted facilitator sees that it was declined; `manners`: how one that is played by
    a model may speak.
    """

    declining: tuple[str, ...] = ()
    manners: tuple[str, ...] = Field(min_length=1)
    facilitators: tuple[FacilitatorRole, ...] = Field(min_length=1)

    @field_validator("facilitators")
    @classmethod
    def _each_once(cls, roles: tuple[FacilitatorRole, ...]) -> tuple[FacilitatorRole, ...]:
        twice = [name for name, times in Counter(role.id for role in roles).items() if times > 1]
        if twice:
            raise ValueError(f"the role {twice[0]!r} stands there twice")
        return roles

    @classmethod
    def load(cls, path: Path = SHIPPED) -> FacilitatorFile:
        """Read a file of roles; raises ConfigurationError."""
        return read_yaml(path, cls, remedy="Check --facilitators.")

    def choose(self, names: str) -> tuple[FacilitatorRole, ...]:
        """The roles of a list of ids with commas, of `all` or of `study`; raises ConfigurationError for unknown ones."""
        known = {role.id: role for role in self.facilitators}
        if names == "all":
            return self.facilitators
        wanted = ",".join(STUDY) if names == "study" else names
        return chosen(wanted, known, "facilitator", key="--roles", remedy="Use all, study, or")

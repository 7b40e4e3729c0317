"""Whether a reply claims to be a human being: `config/judges/human_claims.yaml`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from engine.files import read_yaml
from engine.language.letters import undisguised_words

_QUOTED = re.compile(r"“[^”]*”|„[^“”]*[“”]|«[^»]*»|\"[^\"]*\"")

_BORDER = re.compile(r"[,.;:!?\n]+")  # “No, I am not a bot” denies nothing


class HumanClaimsFile(BaseModel):
    """The form of the file: `claims` by language, and the words before which a claim is none."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unless: tuple[str, ...]
    claims: dict[str, tuple[str, ...]] = Field(min_length=1)


@dataclass(frozen=True, kw_only=True)
class HumanClaims:
    """Words in a row, in every language; none where nothing is looked for."""

    claims: tuple[tuple[str, ...], ...] = ()
    unless: frozenset[str] = frozenset()

    @classmethod
    def load(cls, path: Path) -> HumanClaims:
        """Read the file; raises ConfigurationError."""
        file = read_yaml(path, HumanClaimsFile)
        claims = dict.fromkeys(tuple(undisguised_words(one)) for some in file.claims.values() for one in some)
        return cls(
            claims=tuple(claims), unless=frozenset(spelt for one in file.unless for spelt in undisguised_words(one))
        )

    def stand_in(self, reply: str) -> bool:
        """Whether a reply claims it, outside of quotation marks."""
        clauses = (undisguised_words(one) for one in _BORDER.split(_QUOTED.sub(" ", reply)))
        return any(at == 0 or said[at - 1] not in self.unless for said in clauses for at in self._places(said))

    def _places(self, said: list[str]) -> Iterator[int]:
        for claim in self.claims:
            for at in range(len(said) - len(claim) + 1):
                if tuple(said[at : at + len(claim)]) == claim:
                    yield at

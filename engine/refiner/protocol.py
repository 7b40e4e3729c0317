"""What every refiner can do."""

from __future__ import annotations

from typing import Protocol

from engine.judges.protocol import Case
from engine.models.ledger import Ledger
from engine.types import Draft, Verdict


class Refiner(Protocol):
    """Repairs a draft; what it returns is judged once more before anybody sees it."""

    async def refine(self, case: Case, verdicts: tuple[Verdict, ...], ledger: Ledger) -> Draft:
        """A draft without what the verdicts object to, never empty; raises ModelError where a model fails."""
        ...

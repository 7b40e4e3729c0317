"""What the built-in writer puts together with sentences of a source, read from `evaluation/data/distilling`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from engine.files import read_yaml
from engine.settings import Strict

SHIPPED = Path(__file__).resolve().parent.parent / "data" / "distilling" / "phrases.yaml"
Texts = Annotated[tuple[str, ...], Field(min_length=1)]


class RulePhrases(Strict):
    """Messages that tempt to break a rule, replies that do, and acceptable ones; `{quote}` is a source's sentence."""

    messages: Texts
    breaks: Texts
    keeps: Texts


class Phrases(Strict):
    """Everything that is put around sentences of a source, and whole replies by rule."""

    openings: Texts
    sympathy: Texts
    offers: Texts
    admissions: Texts
    verifications: Texts
    safe_statements: Texts
    added_claims: Texts
    questions: Texts
    rules: dict[str, RulePhrases]

    @classmethod
    def read(cls, path: Path = SHIPPED) -> Phrases:
        """Read the file; raises ConfigurationError."""
        return read_yaml(path, cls)

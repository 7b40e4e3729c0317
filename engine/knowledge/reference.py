"""What a statement rests on: a public authority's document."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Reference(BaseModel):
    """A public authority's document that a source or a danger rests on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    body: str
    year: int = Field(ge=1900, le=2100)

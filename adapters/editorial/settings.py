"""What an operator can set about signing off sources. Light on purpose: the composition root imports it at every start."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from engine import Strict


class SourceSettings(Strict):
    """How long a review counts, and how sources are changed in the operator's page."""

    editing: bool = Field(
        default=False,
        description=(
            "whether sources can be changed in the operator's page, by two people "
            "([howto](../howto/signing-off.md)); the folder has to be writable"
        ),
    )
    history: Path = Field(
        default=Path("var") / "history", description="where former versions of sources are kept, a folder each"
    )
    git: bool = Field(
        default=False,
        description="also commit each change, where the knowledge base lies in a git repository; needs `git`",
    )
    review_days: int = Field(
        default=730, ge=1, description="so many days after its review a source is past its date, and people are told"
    )
    hide_overdue: bool = Field(default=False, description="leave out sources past that date, in place of marking them")
    link_minutes: int = Field(
        default=60, ge=1, le=24 * 60, description="how long a link to sign in opens the page; it opens it once"
    )
    signed_in_hours: int = Field(default=8, ge=1, le=72, description="how long somebody stays signed in")

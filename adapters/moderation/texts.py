"""What is said around moderation, by language: `config/discord_moderation/<language>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from adapters.texts import read_texts
from engine import ConfigurationError, Strict, named_in_braces

Name = Annotated[str, Field(pattern=r"^[^\W_A-Z][\w'-]{0,31}$")]
"""What the platform takes as the name of a command or option."""
Line = Annotated[str, Field(min_length=1, max_length=100)]
Label = Annotated[str, Field(min_length=1, max_length=45)]


class MemberTexts(Strict):
    """What members read. The first sentence of each is the whole matter."""

    paused: str
    blocked: str
    waiting: str
    waiting_seen: str
    full: str
    approved: str
    edited: str
    discarded: str
    expired: str
    lost: str
    reads_nothing: str
    reads_flagged: str
    reads_all: str
    kept: str
    post_from: str
    post_changed: str
    poll_notice: str


class CommandOptionTexts(Strict):
    """An option of a command."""

    name: Name
    description: Line


class CommandTexts(Strict):
    """A command, with its options by their English names."""

    name: Name
    description: Line
    options: dict[str, CommandOptionTexts] = Field(default_factory=dict)


class LabelTexts(Strict):
    """What stands on buttons and above a form's field."""

    approve: Label
    edit: Label
    discard: Label
    edit_title: Label
    edit_field: Label
    edit_post_title: Label
    edit_post_field: Label


class NameTexts(Strict):
    """Modes, reasons and actions in words, by their English names."""

    modes: dict[str, Line]
    reasons: dict[str, Line]
    actions: dict[str, Line]


class ModeratorTexts(Strict):
    """What moderators read, each for themselves or in their channel."""

    not_moderator: str
    elsewhere: str
    no_channel: str
    status: str
    answering: str
    paused: str
    resumed: str
    mode_set: str
    not_written: str
    storage_down: str
    stats: str
    nothing: str
    nothing_waits: str
    review: str
    question: str
    reply: str
    sources: str
    no_source: str
    doubts: str
    gone: str
    refused: str
    outcomes: dict[str, str]
    withdrawn: str
    blocked: str
    unblocked: str
    blocked_list: str
    unknown: str
    post_draft: str
    post_one: str
    post_two: str
    post_other: str
    post_refused: str
    no_desk: str
    post_shown: str
    post_counted: str
    post_edited: str
    post_not_edited: str
    posted: str
    dropped: str
    poll_started: str
    poll_unfit: str
    poll_draft: str
    poll_refused: str
    not_allowed: str


class ModerationTexts(Strict):
    """All of one language."""

    members: MemberTexts
    commands: dict[str, CommandTexts]
    labels: LabelTexts
    names: NameTexts
    moderators: ModeratorTexts

    @model_validator(mode="after")
    def _paired(self) -> ModerationTexts:
        self.braces()
        return self

    def braces(self) -> dict[str, frozenset[str]]:
        """What the braces of each text name, by dotted key."""
        return dict(named_in_braces(self.model_dump()))


def load_moderation_texts(folder: Path, default: str = "en") -> Mapping[str, ModerationTexts]:
    """Every language in a folder; raises ConfigurationError, also where one says less or other things than the default."""
    texts = read_texts(folder, ModerationTexts, (default,), called="texts for moderation", remedy="Add {missing}.yaml.")
    wanted = texts[default].braces()
    for language, one in texts.items():
        found = one.braces()
        for key in sorted(set(wanted) | set(found)):
            if wanted.get(key) != found.get(key):
                names = ", ".join(sorted(wanted.get(key, ()))) or "nothing"
                problem = "It is missing, not known, or its braces are others."
                remedy = f"In {default}.yaml they name: {names}."
                raise ConfigurationError(problem, file=folder / f"{language}.yaml", key=key, remedy=remedy)
    return texts

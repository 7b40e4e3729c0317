"""Somebody used a command, a component or a modal: what the bot was told, when and how it answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rehearsal.discord_world.errors import Impossible

if TYPE_CHECKING:
    from rehearsal.discord_world.discord_server import DiscordServer
    from rehearsal.discord_world.world import Channel, Message, User

COMMAND, COMPONENT, AUTOCOMPLETE, MODAL_SUBMIT = 2, 3, 4, 5
PONG, ANSWER, DEFERRED, DEFERRED_UPDATE, UPDATE, CHOICES, MODAL = 1, 4, 5, 6, 7, 8, 9
ACKNOWLEDGE_WITHIN, TOKEN_LASTS = 3.0, 15 * 60.0


@dataclass(kw_only=True, eq=False)
class Interaction:
    """One interaction; times are the fake's clock, in seconds."""

    id: int
    token: str
    type: int
    user: User
    channel: Channel
    data: dict[str, Any]
    dispatched: float
    fake: DiscordServer = field(repr=False)
    message: Message | None = None
    acknowledged_at: float | None = None
    answered_with: int | None = None
    original: Message | None = None
    followups: list[Message] = field(default_factory=list)
    choices: list[dict[str, Any]] | None = None
    modal: dict[str, Any] | None = None

    @property
    def seconds(self) -> float | None:
        """Time from dispatch to acknowledgement; None while there is none."""
        return None if self.acknowledged_at is None else self.acknowledged_at - self.dispatched

    @property
    def failed(self) -> bool:
        """Whether the person was shown "This interaction failed"."""
        return self.acknowledged_at is None and self.fake.clock.now() - self.dispatched > ACKNOWLEDGE_WITHIN

    @property
    def replies(self) -> list[Message]:
        """The messages that answer it, first the original one; without those still loading or deleted."""
        first = [self.original] if self.original and self.answered_with in {ANSWER, DEFERRED} else []
        return [message for message in [*first, *self.followups] if not message.loading and not message.deleted]

    async def acknowledged(self, seconds: float = 5.0) -> Interaction:
        """Wait until the bot acknowledged it."""
        await self._until(lambda: self.acknowledged_at is not None, seconds)
        return self

    async def reply(self, seconds: float = 5.0, *, number: int = 1) -> Message:
        """Wait for the message that answers it; with a number, for that many."""
        await self._until(lambda: len(self.replies) >= number, seconds)
        return self.replies[number - 1]

    async def offered(self, seconds: float = 5.0) -> list[str]:
        """Wait for an autocomplete's choices; their names."""
        await self._until(lambda: self.choices is not None, seconds)
        return [choice["name"] for choice in self.choices or []]

    async def opened(self, seconds: float = 5.0) -> Interaction:
        """Wait until a modal is on the person's screen; pass the result to `submit`."""
        await self._until(lambda: self.modal is not None, seconds)
        return self

    async def _until(self, done: Callable[[], bool], seconds: float) -> None:
        await self.fake.wait_for(done, seconds=seconds)


def submitted(modal: dict[str, Any], values: dict[str, Any]) -> list[dict[str, Any]]:
    """What a client sends for the fields of a modal, filled in by custom id or label.

    Raises Impossible for a field that is not there, a required one left empty, or a text that does not fit.
    """
    left, sent = dict(values), []
    for part in modal["components"]:
        if part["type"] == 18:
            sent.append({"type": 18, "id": part["id"], "component": _filled(part["component"], part["label"], left)})
        elif part["type"] == 1:
            inside = part["components"][0]
            sent.append({"type": 1, "id": part["id"], "components": [_filled(inside, inside["label"], left)]})
        else:
            sent.append({"type": part["type"], "id": part["id"]})
    if left:
        raise Impossible(f"The modal has no field {sorted(left)}.")
    return sent


def _filled(part: dict[str, Any], label: str, values: dict[str, Any]) -> dict[str, Any]:
    given = values.pop(part["custom_id"], values.pop(label, None))
    shown = {"type": part["type"], "id": part["id"], "custom_id": part["custom_id"]}
    if part["type"] != 4:
        chosen = list(given or [])
        check_selection(part, chosen)
        return shown | {"values": chosen}
    text = part.get("value", "") if given is None else str(given)
    if not text and part.get("required", True):
        raise Impossible(f"The field {label!r} must be filled in.")
    low, high = part.get("min_length") or 0, part.get("max_length") or 4000
    if text and not low <= len(text) <= high:
        raise Impossible(f"The field {label!r} takes {low} to {high} characters.")
    return shown | {"value": text}


def check_selection(part: dict[str, Any], chosen: list[str]) -> None:
    """Raise Impossible for values that a select does not have, or too few or too many of them."""
    offered = {option["value"] for option in part.get("options", [])}
    if part["type"] == 3 and not set(chosen) <= offered:
        raise Impossible(f"The select has no {sorted(set(chosen) - offered)}.")
    if not part.get("min_values", 1) <= len(chosen) <= part.get("max_values", 1):
        raise Impossible(f"{len(chosen)} values are too few or too many.")

"""What a person did, in words every platform shares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from adapters.storage.identity import ChatIdentity

Place = Mapping[str, str | int | None]
"""Where an answer goes, in the platform's own terms; only its adapter reads it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Incoming:
    """One message, command or press of a button.

    `command`: one of `texts.COMMANDS` or a button's own; `text` is then what follows it. `about`: the number of the
    answer a button stands under. `private`: nobody else reads this place. `seen`: others there can read what was asked
    and by whom. `wordless`: something that holds no words, such as a picture. `edited`: an earlier message, changed.
    `at`: seconds since 1970. `rushed`: so many people wait that it is answered without a language model. `number`: the
    platform's own of what it brought, the same where it brings it again.
    """

    identity: ChatIdentity
    place: Place = field(default_factory=dict)
    text: str = ""
    command: str = ""
    about: int | None = None
    language: str = ""
    private: bool = True
    seen: bool = False
    wordless: bool = False
    edited: bool = False
    late: bool = False
    rushed: bool = False
    at: float = 0.0
    number: int | None = None

    def to_json(self) -> bytes:
        """As bytes, for sealing."""
        # Not `asdict`, which copies deeply and takes twelve times as long; every acknowledgement waits for this.
        content = _shallow(self) | {"identity": _shallow(self.identity), "place": dict(self.place)}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")

    @classmethod
    def from_json(cls, content: bytes) -> Incoming:
        """The inverse; raises ValueError, KeyError or TypeError for anything else."""
        fields = json.loads(content.decode(errors="surrogatepass"))
        return cls(**{**fields, "identity": ChatIdentity(**fields["identity"])})

    def after_an_absence(self) -> Incoming:
        """The same, marked as answered later than a person would expect."""
        return replace(self, late=True)

    def in_a_rush(self) -> Incoming:
        """The same, to be answered without a language model."""
        return replace(self, rushed=True)


def _shallow(one: Incoming | ChatIdentity) -> dict[str, object]:
    return {field.name: getattr(one, field.name) for field in fields(one)}

"""What a chat needs of feedback: events out, now and then a question."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Protocol

from adapters.conversation.state import Answered, ChatState
from adapters.storage.identity import ChatIdentity


@dataclass(frozen=True, kw_only=True, slots=True)
class Poll:
    """A structured question to show; `options` are ids and texts. `about`: the answer that it follows."""

    question: str
    text: str
    options: tuple[tuple[str, str], ...]
    about: Answered

    def to_json(self) -> bytes:
        """As bytes, for sealing."""
        return json.dumps(asdict(self), ensure_ascii=False).encode(errors="surrogatepass")

    @classmethod
    def from_json(cls, content: bytes) -> Poll:
        """The inverse; raises ValueError, KeyError or TypeError for anything else."""
        kept = json.loads(content.decode(errors="surrogatepass"))
        about = Answered(**{**kept["about"], "sources": tuple(kept["about"]["sources"])})
        return cls(**{**kept, "options": tuple((one, text) for one, text in kept["options"]), "about": about})


class ReportPort(Protocol):
    """Where it is counted that an answer worried or harmed somebody. Nothing raises into a chat."""

    def reasons(self, language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """The question, and its fixed reasons as ids and texts."""
        ...

    async def report(self, about: Answered, platform: str, reason: str) -> bool:
        """Somebody gave a reason; whether there is such a one. The sources of `about` may name a section: source#section."""
        ...


class FeedbackPort(Protocol):
    """Where feedback of a chat goes. Nothing raises into a chat."""

    async def thumb(self, about: Answered, platform: str, *, helpful: bool) -> None:
        """Somebody pressed a thumb under an answer."""
        ...

    async def chosen(self, about: Answered, platform: str, question: str, option: str) -> bool:
        """Somebody chose an option of a structured question; whether there is such an option."""
        ...

    async def due(self, identity: ChatIdentity, state: ChatState, language: str) -> Poll | None:
        """A question that this chat was not asked yet, if this is a good moment to ask."""
        ...

    async def asked_for(self, state: ChatState, language: str) -> Poll | None:
        """A question for somebody who asked to be asked, and was not asked it yet."""
        ...

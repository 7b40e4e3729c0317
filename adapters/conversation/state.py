"""All that is kept of a chat between messages, and its form on disk (inside a seal)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from engine import Conversation, Help, Turn
from engine import conversation_from_json as conversation_from
from engine import conversation_to_json as conversation_to

KEPT_ANSWERS = 8
"""Buttons under older answers say that they are too old."""
KEPT_NUMBERS = 32
"""What a platform brings again after more than so many others is answered again."""
_VERSION = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What is remembered of an answer for the buttons under it: its number, and what feedback may say of it.

    `thumbed`: its thumb has been counted. `language`: that of its sources, empty where it is not known.
    """

    number: int
    assistant: str
    sources: tuple[str, ...] = ()
    decision: str = "none"
    thumbed: bool = False
    language: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChatState:
    """A chat between messages.

    `country` and `language` as chosen, an empty country by somebody who would rather not say.
    `waiting`: the question sent before consent, `waiting_topic` the topic opened before it. `answered`: the last answer's
    number; `answers`: the last few.
    `declined`: answers in a row that were none; `reported`: what was reported, each once for as long as the chat lasts.
    `paused_until`: the end of a pause, in seconds since 1970, 0 for none.
    `since_asked`: answers since feedback was asked for; `asked`: the questions of feedback they were asked, each once and
    for as long as the chat lasts; `since_referral`: answers since help was shown, if ever. `told_quoting`: they know
    that today's answers are quotations only. `noticed` and `noticed_whole`: minutes since 1970 of the last notice that this
    is a program, and of the last whole one; `since_noticed`: answers since. `taken`: the platform's numbers of the last
    messages.
    """

    conversation: Conversation
    country: str | None = None
    language: str | None = None
    consented: bool = False
    waiting: str = ""
    waiting_topic: str = ""
    answered: int = 0
    answers: tuple[Answered, ...] = ()
    since_asked: int = 0
    asked: tuple[str, ...] = ()
    since_referral: int | None = None
    told_quoting: bool = False
    taken: tuple[int, ...] = ()
    declined: int = 0
    reported: tuple[str, ...] = ()
    paused_until: float = 0.0
    noticed: int | None = None
    noticed_whole: int | None = None
    since_noticed: int = 0

    @property
    def spoken(self) -> str | None:
        """The chat's language: the one chosen, else that of the last answer; None before either."""
        return self.language or (self.answers[-1].language or None if self.answers else None)

    def answer(self, number: int | None) -> Answered | None:
        """The answer with a number, the last one for None."""
        if number is None:
            return self.answers[-1] if self.answers else None
        return next((one for one in self.answers if one.number == number), None)

    def being_asked(self, question: str) -> ChatState:
        """The state after a question of feedback has been put, which is not put again."""
        return replace(self, since_asked=0, asked=(*self.asked, question))

    def having_taken(self, number: int | None) -> ChatState:
        """The state after a message with this number was answered."""
        return self if number is None else replace(self, taken=(*self.taken, number)[-KEPT_NUMBERS:])

    def after(self, turn: Turn) -> ChatState:
        """The state after a turn."""
        number = self.answered + 1
        this = Answered(
            number=number,
            assistant=turn.conversation.assistant,
            sources=turn.reply.citations,
            decision=str(turn.review.decision) if turn.review.stages else "none",
            language=turn.language,
        )
        referred = turn.help is not Help.NONE
        since = None if self.since_referral is None else self.since_referral + 1
        return replace(
            self,
            conversation=turn.conversation,
            answered=number,
            answers=(*self.answers, this)[-KEPT_ANSWERS:],
            since_asked=self.since_asked + 1,
            since_referral=0 if referred else since,
            declined=self.declined + 1 if turn.declined else 0,
            since_noticed=self.since_noticed + 1,
        )

    def to_json(self) -> bytes:
        """As bytes, for sealing."""
        kept = {
            "version": _VERSION,
            "conversation": conversation_to(self.conversation),
            "answers": [asdict(one) for one in self.answers],
            "asked": self.asked,
            "taken": self.taken,
            "waiting_topic": self.waiting_topic,
            "declined": self.declined,
            "reported": self.reported,
            "paused_until": self.paused_until,
            **{name: getattr(self, name) for name in _NOTICED},
            **{name: getattr(self, name) for name in _PLAIN},
        }
        return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")

    @classmethod
    def from_json(cls, content: bytes) -> ChatState:
        """The inverse, of this version and the one before; raises ValueError, KeyError or TypeError for anything else."""
        kept = json.loads(content.decode(errors="surrogatepass"))
        if kept["version"] == 1:
            kept |= kept["session"]
        elif kept["version"] != _VERSION:
            raise ValueError("state of another version")
        return cls(
            conversation=conversation_from(kept["conversation"]),
            answers=tuple(Answered(**{**one, "sources": tuple(one["sources"])}) for one in kept["answers"]),
            asked=tuple(kept.get("asked", ())),  # chats of earlier versions do not say
            waiting_topic=kept.get("waiting_topic", ""),
            taken=tuple(kept.get("taken", ())),
            declined=kept.get("declined", 0),
            reported=tuple(kept.get("reported", ())),
            paused_until=kept.get("paused_until", 0.0),
            **{name: kept[name] for name in _NOTICED if name in kept},
            **{name: kept[name] for name in _PLAIN},
        )


_PLAIN = (
    "country",
    "language",
    "consented",
    "waiting",
    "answered",
    "since_asked",
    "since_referral",
    "told_quoting",
)
_NOTICED = ("noticed", "noticed_whole", "since_noticed")

"""One chat, whatever the platform: consent first, then turns; every command and button; state in, outgoing messages out.

Adapters translate: what a person did becomes an `Incoming`, a `Outgoing` becomes a message. Nothing else is theirs.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, TypeAlias

from adapters.conversation.consent import Consent
from adapters.conversation.feedback_port import FeedbackPort
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing, Outgoings
from adapters.conversation.pages import Pages
from adapters.conversation.pauses import Pauses
from adapters.conversation.privacy import Platform
from adapters.conversation.receipt import Receipt, receipt_text
from adapters.conversation.reports import Reports
from adapters.conversation.state import ChatState
from adapters.conversation.texts import Languages
from adapters.conversation.turns import WISHES, Turns
from adapters.storage.identity import ChatIdentity
from engine import Engine

_COUNTED_FROM = 1_000_000
Handler: TypeAlias = Callable[[ChatState, Incoming], Outgoings]


class Moderator(Protocol):
    """Looks at what a chat shows, before it is shown."""

    def watched(self, state: ChatState, incoming: Incoming, handle: Handler) -> Outgoings:
        """What is shown for one thing a person did, where `handle` would show what it does."""
        ...


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Handles what people do on one platform; holds nothing of anybody.

    `erase`: removes everything that is stored of a chat. `asks_consent`: nobody is answered before they have agreed.
    `now` gives seconds since 1970.
    """

    pages: Pages
    turns: Turns
    erase: Callable[[ChatIdentity], Awaitable[Receipt]]
    moderator: Moderator | None = None
    asks_consent: bool = True
    now: Callable[[], float] = time.time

    @property
    def engine(self) -> Engine:
        """Whose assistants answer."""
        return self.pages.engine

    @property
    def languages(self) -> Languages:
        """The texts around answers."""
        return self.pages.languages

    @property
    def platform(self) -> Platform:
        """Where people meet it."""
        return self.pages.platform

    @property
    def feedback(self) -> FeedbackPort | None:
        """Where feedback goes, None where it is switched off."""
        return self.turns.feedback

    @cached_property
    def consent(self) -> Consent:
        """What comes before the first answer."""
        return Consent(pages=self.pages, turns=self.turns)

    @cached_property
    def reports(self) -> Reports:
        """What follows when an answer worried or harmed somebody."""
        return Reports(pages=self.pages, port=self.turns.reports)

    @cached_property
    def pauses(self) -> Pauses:
        """Pauses that people make in their own chats."""
        return Pauses(pages=self.pages, turns=self.turns, now=self.now)

    @cached_property
    def _handlers(self) -> Mapping[str, Handler]:
        pages, turns, consent = self.pages, self.turns, self.consent
        return {
            "": turns.message,
            "ask": self._ask,
            "topic": turns.topic,
            "section": turns.tapped_question,
            **dict.fromkeys(WISHES, turns.wish),
            "safe": turns.safe,
            "danger": turns.danger,
            "start": consent.start,
            "consent": consent.given,
            "decline": self._stop,
            "help": pages.help,
            "topics": pages.topics,
            "category": pages.category,
            "source": pages.source,
            "crisis": pages.crisis,
            "country": pages.country,
            "language": self._language,
            "privacy": pages.privacy,
            "whocanread": self._whocanread,
            "protocol": pages.published,
            "feedback": self._feedback,
            "answer": self._answer,
            "thumb": self._thumb,
            "people": pages.reach,
            "report": self.reports.reported,
            "pause": self.pauses.begun,
            "resume": self.pauses.over,
            "forget": self._forget,
            "stop": self._stop,
        }

    def start(self, incoming: Incoming) -> ChatState:
        """A new chat, in the language of the person's platform where there are texts for it."""
        return ChatState(
            conversation=self.engine.start(),
            language=self.languages.known(incoming.language),
            consented=not self.asks_consent,
            # Answers are counted from anywhere, so that buttons from before an erasure belong to none of them.
            answered=secrets.randbelow(_COUNTED_FROM),
        )

    def handle(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """What is shown for one thing a person did; the last outgoing message carries the state after it."""
        if self.moderator is not None:
            return self.moderator.watched(state, incoming, self._handled)
        return self._handled(state, incoming)

    async def _handled(self, state: ChatState, incoming: Incoming) -> Outgoings:
        # Words behind a command would be read by nobody; messages see to their own.
        held = self.pauses.holds(state, incoming)
        alarm = None if held or incoming.command in {"", "ask"} else await self.turns.own_alarm(state, incoming)
        if alarm is not None:
            yield alarm
        async for outgoing in self._handler(state, incoming)(state, incoming):
            yield outgoing

    def _handler(self, state: ChatState, incoming: Incoming) -> Handler:
        if self.consent.due(state, incoming):
            return self.consent.hold
        if self.pauses.holds(state, incoming):
            return self.pauses.held
        if self.consent.asks_country(state, incoming):
            return self.consent.country_given
        if incoming.wordless and not incoming.command:
            return self.pages.only_text
        return self._handlers.get(incoming.command, self.pages.unknown)

    async def cannot_take(self, incoming: Incoming) -> Outgoing:
        """What is shown while nothing can be stored: help that is near, and the referral where it is called for."""
        state = self.start(incoming)
        return await self.turns.own_alarm(state, incoming) or self.pages.cannot_take(state)

    async def crowded(self, state: ChatState, incoming: Incoming) -> Outgoing:
        """The same while more people write than can be answered."""
        return await self.turns.own_alarm(state, incoming) or self.pages.crowded(state)

    # --- What is neither a page nor a turn --------------------------------------------------------------------------

    def _ask(self, state: ChatState, incoming: Incoming) -> Outgoings:
        return (self.turns.message if incoming.text.strip() else self.pages.help)(state, incoming)

    async def _language(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The language; somebody who has not agreed yet reads the disclaimer again, in theirs."""
        async for outgoing in self.pages.language(state, incoming):
            chosen = outgoing.state
            if chosen is not None and chosen.language != state.language and not chosen.consented:
                yield self.consent.welcome(chosen)
            else:
                yield outgoing

    async def _whocanread(self, state: ChatState, incoming: Incoming) -> Outgoings:
        async for outgoing in self.pages.whocanread(state, incoming):
            buttons = () if state.consented else self.consent.buttons(self.pages.texts(state))
            yield replace(outgoing, buttons=buttons)

    async def _feedback(self, state: ChatState, incoming: Incoming) -> Outgoings:
        language = state.spoken or self.languages.default
        poll = None if self.feedback is None else await self.feedback.asked_for(state, language)
        if poll is None:
            yield Outgoing(text=self.pages.texts(state).no_feedback_now, private=True, state=state)
        else:
            yield Outgoing(poll=poll, private=True, state=state.being_asked(poll.question))

    async def _answer(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """An answer to a question that was put on a page of its own: one a question counts, all are thanked for."""
        question, _, option = incoming.text.partition(" ")
        about = state.answer(incoming.about)
        if about is not None and self.feedback is not None and question not in state.asked:
            kept = await self.feedback.chosen(about, self.platform.id, question, option)
            state = state.being_asked(question) if kept else state
        yield Outgoing(text=self.pages.texts(state).thumbs_thanks, brief=True, private=True, state=state)

    async def _thumb(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """One thumb an answer counts; more of them are thanked for all the same."""
        about = state.answer(incoming.about)
        if about is not None and self.feedback is not None and not about.thumbed and incoming.text in {"yes", "no"}:
            await self.feedback.thumb(about, self.platform.id, helpful=incoming.text == "yes")
            answers = tuple(replace(one, thumbed=True) if one is about else one for one in state.answers)
            state = replace(state, answers=answers)
        yield Outgoing(text=self.pages.texts(state).thumbs_thanks, brief=True, private=True, state=state)

    async def _forget(self, state: ChatState, incoming: Incoming) -> Outgoings:
        receipt = await self.erase(incoming.identity)
        # The command itself waited as well.
        receipt = replace(receipt.of(state), waiting=max(receipt.waiting - 1, 0))
        yield Outgoing(
            text=receipt_text(receipt, self.pages.texts(state), self.platform.name), private=True, erased=True
        )

    async def _stop(self, state: ChatState, incoming: Incoming) -> Outgoings:
        await self.erase(incoming.identity)
        said = self.pages.texts(state)
        contacts = said.goodbye_crisis.format(contacts=self.pages.referral(state).brief())
        yield Outgoing(text=f"{said.stopped}\n\n{contacts}", private=True, erased=True)

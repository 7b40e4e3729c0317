"""Before the first answer: what this is, that it is a program, who can read along; and then only with a yes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adapters.conversation.incoming import Incoming
from adapters.conversation.notices import Notice
from adapters.conversation.outgoing import Button, Outgoing, Outgoings, Rows
from adapters.conversation.pages import Pages
from adapters.conversation.state import ChatState
from adapters.conversation.texts import ChatTexts
from adapters.conversation.turns import Turns
from engine import Danger, UrgencyLevel

WITHOUT = frozenset(
    {"start", "help", "crisis", "people", "country", "language", "privacy", "whocanread", "protocol", "forget", "stop"}
    | {"consent", "decline"}
)
"""What everybody may do before they have agreed."""


@dataclass(frozen=True, kw_only=True)
class Consent:
    """Asks for consent, keeps the question meanwhile, answers it then. Help never waits for it."""

    pages: Pages
    turns: Turns

    def due(self, state: ChatState, incoming: Incoming) -> bool:
        """Whether somebody has to agree before this."""
        return not state.consented and incoming.command not in WITHOUT

    async def hold(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The disclaimer; the question waits, the crisis referral does not."""
        text = "" if incoming.wordless or incoming.command not in {"", "ask"} else incoming.text
        if text:
            referral = await self.turns.referral_now(state, text)
            if referral is not None:
                yield referral
                # It is one line when the question's turn comes: the whole of it has just been shown.
                told = replace(state.conversation, danger=Danger(told=0, shown=0, held=text))
                state = replace(state, conversation=told)
        waits = bool(state.waiting or state.waiting_topic)
        said, again = self.pages.texts(state), waits and incoming.command != "start"
        state = self._waiting(state, incoming, text)
        if again:
            yield Outgoing(text=said.consent_first, buttons=self.buttons(said), private=True, state=state)
        else:
            yield self.welcome(state)

    def _waiting(self, state: ChatState, incoming: Incoming, text: str) -> ChatState:
        """The chat with what waits for consent: the last question, or the last topic that was opened by a link or button."""
        if text:
            return replace(state, waiting=text, waiting_topic="")
        opens = incoming.command in {"start", "topic"} and self.pages.browsed.source(state, incoming.text) is not None
        return replace(state, waiting="", waiting_topic=incoming.text) if opens else state

    async def start(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The disclaimer, or, for somebody who has agreed, the topic of a link."""
        if not state.consented:
            shown = self.hold(state, incoming)
        elif self.pages.browsed.source(state, incoming.text) is not None:
            shown = self.turns.topic(state, incoming)
        else:
            said = self.pages.texts(state)
            text = f"{self._about(state, said)}\n\n{self.pages.what_it_can(state)}"
            yield Outgoing(text=text, private=True, state=self.pages.noticed(state, Notice.FIRST))
            return
        async for outgoing in shown:
            yield outgoing

    async def given(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """Somebody agrees: once, and where nobody else reads it, the question where they are; then on with theirs."""
        if state.noticed is None:  # the platform has shown them the words above its own button
            state = self.pages.noticed(state, Notice.FIRST)
        if not _to_oneself(incoming) or state.country is not None:
            async for outgoing in self._begun(state, incoming):
                yield outgoing
            return
        state = replace(state, consented=True)
        if state.waiting and await self._urgent(state, state.waiting):
            async for outgoing in self._begun(state, incoming):
                state = outgoing.state or state
                yield replace(outgoing, state=None)
        yield self.ask_country(state)

    def ask_country(self, state: ChatState) -> Outgoing:
        """The question where somebody is, which they may leave open."""
        texts = self.pages.referral(state).texts
        return Outgoing(text=texts.ask_country, buttons=self.pages.countries(state), private=True, state=state)

    async def _urgent(self, state: ChatState, question: str) -> bool:
        assessed = await self.turns.read(state, question)
        return assessed.level is UrgencyLevel.URGENT

    def asks_country(self, state: ChatState, incoming: Incoming) -> bool:
        """Whether this may answer the question for the country, which is open: a button, or words."""
        open_ = state.consented and state.country is None and _to_oneself(incoming)
        return open_ and incoming.command in {"", "ask", "country"} and bool(incoming.text) and not incoming.wordless

    async def country_given(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The country is known, or is not to be: on with the question that waited. Whoever asks on is not asked again."""
        answer = incoming.text.strip()
        chosen = self.pages.with_country(state, answer)
        if chosen is not None:
            state = chosen
            if state.country:
                yield Outgoing(text=self.pages.country_set(state), private=True)
            async for outgoing in self._begun(state, incoming):
                yield outgoing
        elif incoming.command == "country":  # a page of countries, or one there is no data for
            async for outgoing in self.pages.country(state, incoming):
                yield outgoing
        else:
            state = replace(state, country="", waiting="", waiting_topic="")
            async for outgoing in self.turns.message(state, replace(incoming, command="")):
                yield outgoing

    async def _begun(self, state: ChatState, incoming: Incoming) -> Outgoings:
        said, question, topic = self.pages.texts(state), state.waiting, state.waiting_topic
        state = replace(state, consented=True, waiting="", waiting_topic="")
        if topic:
            async for outgoing in self.turns.topic(state, replace(incoming, command="topic", text=topic, about=None)):
                yield outgoing
            return
        if not question:
            yield Outgoing(text=said.consented, private=True, state=state)
            return
        if not await self._urgent(state, question):  # nothing comes before the referral
            yield Outgoing(text=said.consented_with_question, private=True)
        async for outgoing in self.turns.message(state, replace(incoming, command="", text=question, about=None)):
            yield outgoing

    def welcome(self, state: ChatState) -> Outgoing:
        """The disclaimer with its buttons."""
        said = self.pages.texts(state)
        parts = [self._about(state, said)]
        if self.pages.platform.carrier == "platform":
            parts.append(said.not_end_to_end.format(platform=self.pages.platform.name))
        parts.append(said.ask_consent)
        told = self.pages.noticed(state, Notice.FIRST)
        return Outgoing(text="\n\n".join(parts), buttons=self.buttons(said), private=True, state=told)

    def buttons(self, said: ChatTexts) -> Rows:
        """Yes, no, and what one may want to know first."""
        labels = said.buttons
        return (
            (Button(label=labels.consent, command="consent"),),
            (Button(label=labels.whocanread, command="whocanread"), Button(label=labels.crisis, command="crisis")),
            (Button(label=labels.decline_consent, command="decline"),),
        )

    def _about(self, state: ChatState, said: ChatTexts) -> str:
        settings = self.pages.assistant(state).settings
        emergency = self.pages.emergency(state)
        condition = said.conditions.get(settings.condition, settings.condition)
        welcome = said.welcome.format(name=settings.name, condition=condition, emergency=emergency)
        return f"{welcome}\n{said.notices.adults}" if self.pages.notices.adults_only else welcome


def _to_oneself(incoming: Incoming) -> bool:
    """Whether this is a chat of one person with us, and no place in a community, even where an answer is for them alone."""
    return incoming.private and (not incoming.identity.user or incoming.identity.chat == "dm")

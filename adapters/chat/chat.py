"""One chat, whatever the platform: consent first, then turns; every command and button; state in, showings out.

Adapters translate: what a person did becomes an `Incoming`, a `Showing` becomes a message. Nothing else is theirs.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from adapters.chat.consent import Consent
from adapters.chat.feedback_port import FeedbackPort
from adapters.chat.identity import ChatIdentity
from adapters.chat.incoming import Incoming
from adapters.chat.pages import Pages
from adapters.chat.privacy import Platform, PrivacyFacts
from adapters.chat.receipt import Receipt, receipt_text
from adapters.chat.showing import Showing, Showings
from adapters.chat.spending import Spending
from adapters.chat.state import ChatState
from adapters.chat.texts import ChatTexts, Languages
from adapters.chat.turns import WISHES, Turns
from adapters.session import Session

_COUNTED_FROM = 1_000_000
Handler = Callable[[ChatState, Incoming], Showings]


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Handles what people do on one platform; holds nothing of anybody.

    `erase`: removes everything that is stored of a chat. `spending`: what the whole bot may spend a day.
    """

    session: Session
    languages: Languages
    platform: Platform
    facts: PrivacyFacts
    erase: Callable[[ChatIdentity], Awaitable[Receipt]]
    spending: Spending
    feedback: FeedbackPort | None = None
    pages: Pages = field(init=False)
    turns: Turns = field(init=False)
    consent: Consent = field(init=False)
    _handlers: Mapping[str, Handler] = field(init=False)

    def __post_init__(self) -> None:
        pages = self._pages()
        turns = Turns(pages=pages, spending=self.spending, feedback=self.feedback)
        consent = Consent(pages=pages, turns=turns)
        handlers: dict[str, Handler] = {
            "": turns.message,
            "ask": self._ask,
            "topic": turns.topic,
            **dict.fromkeys(WISHES, turns.wish),
            "safe": turns.safe,
            "start": consent.start,
            "consent": consent.given,
            "decline": self._stop,
            "help": pages.help,
            "topics": pages.topics,
            "source": pages.source,
            "crisis": pages.crisis,
            "country": pages.country,
            "language": self._language,
            "privacy": pages.privacy,
            "whocanread": self._whocanread,
            "feedback": self._feedback,
            "answer": self._answer,
            "thumb": self._thumb,
            "forget": self._forget,
            "stop": self._stop,
        }
        for name, value in {"pages": pages, "turns": turns, "consent": consent, "_handlers": handlers}.items():
            object.__setattr__(self, name, value)

    def _pages(self) -> Pages:
        return Pages(session=self.session, languages=self.languages, platform=self.platform, facts=self.facts)

    def start(self, incoming: Incoming) -> ChatState:
        """A new chat, in the language of the person's platform where there are texts for it."""
        language = self.languages.known(incoming.language)
        # Answers are counted from anywhere, so that buttons from before an erasure belong to none of them.
        answered = secrets.randbelow(_COUNTED_FROM)
        return ChatState(session=replace(self.session.start(), language=language), answered=answered)

    def texts(self, state: ChatState) -> ChatTexts:
        """The texts in the chat's language."""
        return self.pages.texts(state)

    async def handle(self, state: ChatState, incoming: Incoming) -> Showings:
        """What is shown for one thing a person did; the last showing carries the state after it."""
        if (alarm := await self._alarm(state, incoming)) is not None:
            yield alarm
        if self.consent.due(state, incoming):
            shown = self.consent.hold(state, incoming)
        elif self.consent.asks_country(state, incoming):
            shown = self.consent.country_given(state, incoming)
        elif incoming.wordless and not incoming.command:
            shown = self.pages.only_text(state, incoming)
        else:
            shown = self._handlers.get(incoming.command, self.pages.unknown)(state, incoming)
        async for showing in shown:
            yield showing

    # --- Out of the ordinary ----------------------------------------------------------------------------------------

    def refuse(self, state: ChatState) -> Showing:
        """What is shown for a message beyond the limits: it is neither kept nor read, and where help is goes along."""
        return Showing(text=self.texts(state).too_many.format(emergency=self.pages.emergency(state)), private=True)

    async def cannot_take(self, incoming: Incoming) -> Showing:
        """What is shown while nothing can be stored: help that is near, and the referral where it is called for."""
        state = self.start(incoming)
        said = self.texts(state).cannot_take.format(emergency=self.pages.emergency(state))
        return await self._referral(state, incoming) or Showing(text=said, private=True)

    def sorry(self, state: ChatState) -> Showing:
        """What is shown when something failed on our side."""
        return Showing(text=self.texts(state).sorry.format(emergency=self.pages.emergency(state)), private=True)

    def lost(self, state: ChatState) -> Showing:
        """What is shown when the chat as it was cannot be opened any more."""
        return Showing(text=self.texts(state).lost, private=True)

    def working(self, state: ChatState) -> Showing:
        """What is shown when a turn is slow."""
        return Showing(text=self.texts(state).working, private=True, brief=True)

    async def _alarm(self, state: ChatState, incoming: Incoming) -> Showing | None:
        """The referral for words of danger behind a command, which would not read them. Messages see to it themselves."""
        return None if incoming.command in {"", "ask"} else await self._referral(state, incoming)

    async def _referral(self, state: ChatState, incoming: Incoming) -> Showing | None:
        """The referral, where somebody's own words call for it; a topic's name is not their own."""
        if not incoming.text or (incoming.command in {"start", "topic"} and self.turns.as_question(state, incoming)):
            return None
        referral = await self.session.referral_now(state.session, incoming.text)
        return None if referral is None else Showing(text=referral.text, referral=True, private=True)

    # --- What is neither a page nor a turn --------------------------------------------------------------------------

    async def _ask(self, state: ChatState, incoming: Incoming) -> Showings:
        wanted = self.turns.message if incoming.text.strip() else self.pages.help
        async for showing in wanted(state, incoming):
            yield showing

    async def _language(self, state: ChatState, incoming: Incoming) -> Showings:
        """The language; somebody who has not agreed yet reads the disclaimer again, in theirs."""
        async for showing in self.pages.language(state, incoming):
            chosen = showing.state
            if chosen is not None and chosen.session.language != state.session.language and not chosen.consented:
                yield self.consent.welcome(chosen)
            else:
                yield showing

    async def _whocanread(self, state: ChatState, incoming: Incoming) -> Showings:
        async for showing in self.pages.whocanread(state, incoming):
            buttons = () if state.consented else self.consent.buttons(self.texts(state))
            yield replace(showing, buttons=buttons)

    async def _feedback(self, state: ChatState, incoming: Incoming) -> Showings:
        language = state.session.language or self.languages.default
        poll = None if self.feedback is None else await self.feedback.asked_for(state, language)
        if poll is None:
            yield Showing(text=self.texts(state).no_feedback_now, private=True, state=state)
        else:
            yield Showing(poll=poll, private=True, state=state.being_asked(poll.question))

    async def _answer(self, state: ChatState, incoming: Incoming) -> Showings:
        """An answer to a question that was put on a page of its own: one a question counts, all are thanked for."""
        question, _, option = incoming.text.partition(" ")
        about = state.answer(incoming.about)
        if about is not None and self.feedback is not None and question not in state.asked:
            kept = await self.feedback.chosen(about, self.platform.id, question, option)
            state = state.being_asked(question) if kept else state
        yield Showing(text=self.texts(state).thumbs_thanks, brief=True, private=True, state=state)

    async def _thumb(self, state: ChatState, incoming: Incoming) -> Showings:
        """One thumb an answer counts; more of them are thanked for all the same."""
        about = state.answer(incoming.about)
        if about is not None and self.feedback is not None and not about.thumbed and incoming.text in {"yes", "no"}:
            await self.feedback.thumb(about, self.platform.id, helpful=incoming.text == "yes")
            answers = tuple(replace(one, thumbed=True) if one is about else one for one in state.answers)
            state = replace(state, answers=answers)
        yield Showing(text=self.texts(state).thumbs_thanks, brief=True, private=True, state=state)

    async def _forget(self, state: ChatState, incoming: Incoming) -> Showings:
        receipt = await self.erase(incoming.identity)
        # The command itself waited as well.
        receipt = replace(receipt.of(state), waiting=max(receipt.waiting - 1, 0))
        yield Showing(text=receipt_text(receipt, self.texts(state), self.platform.name), private=True, erased=True)

    async def _stop(self, state: ChatState, incoming: Incoming) -> Showings:
        await self.erase(incoming.identity)
        said = self.texts(state)
        contacts = said.goodbye_crisis.format(contacts=self.session.referral(state.session).brief())
        yield Showing(text=f"{said.stopped}\n\n{contacts}", private=True, erased=True)

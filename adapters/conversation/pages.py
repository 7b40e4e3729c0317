"""What a chat shows on request and without a model: help, topics, sources, contacts, choices, who can read, what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adapters.conversation.incoming import Incoming
from adapters.conversation.notices import Notice, Notices
from adapters.conversation.origin import origin
from adapters.conversation.outgoing import Button, Outgoing, Outgoings, Rows
from adapters.conversation.privacy import ModeratorNotices, Platform, PrivacyFacts, what_is_kept, who_can_read
from adapters.conversation.protocol import ProtocolSection, PublishedProtocol
from adapters.conversation.state import Answered, ChatState
from adapters.conversation.texts import ChatTexts, Languages
from adapters.conversation.topics import Topics
from adapters.people.cards import ServiceCard, people_text, service_cards
from adapters.people.services import NOBODY, OwnPeople
from adapters.weeks import today
from engine import Assistant, Engine, Referral, Referrals, Role, SignOff, Source, Turn

COUNTRIES_A_PAGE = 20
"""With the two buttons below them they are no more than Discord shows."""
RATHER_NOT = "none"
"""What a button carries for somebody who would rather not say where they are."""

PAUSED_BY_MODERATORS = frozenset({"discord"})


def is_overdue(source: Source, days: int) -> bool:
    """Whether a source was signed off, and that counts no longer."""
    signed = SignOff.read(source.reviewed)
    return signed is not None and signed.overdue(today(), days)


@dataclass(frozen=True, kw_only=True)
class Pages:
    """Everything that can be looked at. Each page leaves the conversation as it is.

    `moderators`: what is told of moderators who may read along at the moment. `people`: who answers for the bot.
    `notices`: when it is told that this is a program. `protocol`: how danger is recognised here, None where nothing is
    published. `review_days`: how long a source's review counts; None where nothing is said of it.
    """

    engine: Engine
    languages: Languages
    platform: Platform
    facts: PrivacyFacts
    moderators: ModeratorNotices | None = None
    people: OwnPeople = NOBODY
    notices: Notices = field(default_factory=Notices)
    protocol: PublishedProtocol | None = None
    review_days: int | None = None

    def review_due(self, turn: Turn) -> bool:
        """Whether an answer comes from a source that is past its review date."""
        assistant = self.engine.assistants.get(turn.conversation.assistant)
        if self.review_days is None or assistant is None or not turn.reply.citations:
            return False
        cited = assistant.speaking(turn.language).knowledge.pick(turn.reply.citations)
        return any(is_overdue(one, self.review_days) for one in cited)

    @property
    def browsed(self) -> Topics:
        """What can be chosen by buttons alone."""
        return Topics(engine=self.engine, languages=self.languages)

    @property
    def referrals(self) -> Referrals:
        """The contacts and fixed texts of every country and language."""
        return self.engine.referrals

    def referral(self, state: ChatState, message: str = "") -> Referral:
        """The referral for what this person has set; in the language of the `message` it goes with where none is chosen."""
        language = state.language or (self._read_off(state, message) if message else state.spoken)
        return self.referrals.choose(state.country, language)

    def _read_off(self, state: ChatState, message: str) -> str:
        return self.engine.detector.of(message, state.conversation.messages, self.browsed.language(state))

    def texts(self, state: ChatState) -> ChatTexts:
        """The texts in the chat's language."""
        return self.languages.choose(state.spoken)

    def assistant(self, state: ChatState) -> Assistant:
        """Whom the chat is with."""
        return self.engine.assistants[state.conversation.assistant]

    def emergency(self, state: ChatState) -> str:
        """The emergency contact inside a sentence."""
        return self.referral(state).emergency()

    def noticed(self, state: ChatState, notice: Notice) -> ChatState:
        """The chat after it was told that it is with a program."""
        return self.notices.shown(state, notice, self.languages)

    # --- Out of the ordinary ----------------------------------------------------------------------------------------

    def refuse(self, state: ChatState) -> Outgoing:
        """What is shown for a message beyond the limits: it is neither kept nor read, and where help is goes along."""
        return Outgoing(text=self.texts(state).too_many.format(emergency=self.emergency(state)), private=True)

    def cannot_take(self, state: ChatState) -> Outgoing:
        """What is shown while nothing can be stored."""
        return Outgoing(text=self.texts(state).cannot_take.format(emergency=self.emergency(state)), private=True)

    def crowded(self, state: ChatState) -> Outgoing:
        """What is shown while more people write than can be answered."""
        return Outgoing(text=self.texts(state).crowded.format(emergency=self.emergency(state)), private=True)

    def sorry(self, state: ChatState) -> Outgoing:
        """What is shown when something failed on our side."""
        return Outgoing(text=self.texts(state).sorry.format(emergency=self.emergency(state)), private=True)

    def lost(self, state: ChatState) -> Outgoing:
        """What is shown when the chat as it was cannot be opened any more."""
        return Outgoing(text=self.texts(state).lost, private=True)

    def working(self, state: ChatState) -> Outgoing:
        """What is shown when a turn is slow."""
        return Outgoing(text=self.texts(state).working, private=True, brief=True)

    # --- On request -------------------------------------------------------------------------------------------------

    async def help(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """What the bot can do, and who answers for it."""
        yield Outgoing(text=self.what_it_can(state), private=True, state=state)

    def what_it_can(self, state: ChatState) -> str:
        """What the bot can do here, and who answers for it."""
        below = self.people_below(state, self.texts(state).people.lead)
        return "\n\n".join(filter(None, (self.commands_told(state), below)))

    def commands_told(self, state: ChatState) -> str:
        """What the bot can do here."""
        said = self.texts(state)
        commands = [said.help]
        if self.people.services:
            commands.append(said.people.command)
        if self.facts.reports:
            commands.append(said.reports.command)
        if self.pausable:
            commands.append(said.pauses.command)
        return "\n".join(commands)

    @property
    def pausable(self) -> bool:
        """Whether somebody may pause the bot in their chat; where moderators do that, nobody else does."""
        return self.platform.id not in PAUSED_BY_MODERATORS

    def people_below(self, state: ChatState, lead: str) -> str:
        """Some words and the operator's people below them; empty where nobody is named."""
        return people_text(self.cards(state), self.texts(state).people, lead)

    def cards(self, state: ChatState) -> list[ServiceCard]:
        """The operator's people, as this person reads of them."""
        names = self.referral(state).texts.languages
        return service_cards(self.people, self.texts(state).people, self.browsed.language(state), names)

    async def reach(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """Whom one can reach."""
        said = self.texts(state).people
        yield Outgoing(text=self._reached(state, said.lead, said.nobody), private=True, state=state)

    def _reached(self, state: ChatState, lead: str, nobody: str) -> str:
        said = self.texts(state).people
        contacts = said.any_hour.format(contacts=self.referral(state).brief())
        return "\n\n".join(filter(None, (self.people_below(state, lead) or nobody, contacts)))

    async def unknown(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """A command nobody knows."""
        yield Outgoing(text=self.texts(state).unknown_command, private=True, state=state)

    async def only_text(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """A message that holds no words."""
        yield Outgoing(text=self.texts(state).only_text, private=True, state=state)

    async def topics(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """What there are texts about, as buttons."""
        yield self.browsed.beginning(state, incoming.text.strip())

    async def category(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The titles of a category."""
        category = self.browsed.category(state, incoming.text)
        yield self.browsed.unknown(state) if category is None else self.browsed.titles(state, category, incoming.text)

    def live(self, state: ChatState, incoming: Incoming, subject: str, language: str) -> str:
        """What is true here of a question about the service, in its language; empty where it is the same everywhere."""
        state = replace(state, language=language)
        said = self.texts(state)
        if subject == "who_reads":
            return who_can_read(self._facts(state), self.platform, said, private=incoming.private)
        if subject == "memory":
            return self._kept(state, said)
        if self.people.services and subject in {"human_contact", "who_runs"}:
            lead = said.people.asked if subject == "human_contact" else said.people.who_runs
            return self._reached(state, lead, "")
        return ""

    def too_old(self, state: ChatState) -> Outgoing:
        """What a button says whose answer or question is gone."""
        return Outgoing(text=self.texts(state).old_button, private=True, state=state)

    async def source(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The passages that an answer comes from."""
        said, about = self.texts(state), state.answer(incoming.about)
        if about is None and incoming.about is not None:
            yield self.too_old(state)
            return
        text = said.no_source if about is None else self._origin(state, about, said) or said.no_source
        title = said.source_is if text.startswith(said.source_is) else ""
        yield Outgoing(text=text, title=title, private=True, state=state)

    def _origin(self, state: ChatState, about: Answered, said: ChatTexts) -> str:
        assistants = self.engine.assistants
        if about.assistant not in assistants:
            return ""
        read = assistants[about.assistant].speaking(about.language).knowledge
        return origin(read, about.sources, words_of(state, about), said)

    async def crisis(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The contacts, at any time."""
        below = self.people_below(state, self.texts(state).people.lead)
        text = "\n\n".join(filter(None, (self.referral(state).full(wanted=True), below)))
        yield Outgoing(text=text, referral=True, private=True, state=state)

    async def country(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The country whose contacts are shown."""
        said, asked = self.texts(state), incoming.text.strip()
        chosen = self.with_country(state, asked)
        if chosen is not None:
            state, referral = chosen, self.referral(chosen)
            yield Outgoing(text=f"{self.country_set(state)}\n{referral.listed()}", private=True, state=state)
            return
        page = int(asked) if asked.isdecimal() and len(asked) < 6 else 0
        now = self._country_name(state)
        text = said.unknown_country if asked and not page else said.choose_country.format(country=now)
        yield Outgoing(text=text, buttons=self.countries(state, page), private=True, state=state)

    def with_country(self, state: ChatState, said: str) -> ChatState | None:
        """The chat with the country that somebody names, or would rather not name; None where there is none like it."""
        code = "" if said == RATHER_NOT else self.referrals.find(said) if said else None
        return None if code is None else replace(state, country=code)

    def country_set(self, state: ChatState) -> str:
        """Whose contacts are shown from now on."""
        return self.texts(state).country_set.format(country=self._country_name(state))

    def _country_name(self, state: ChatState) -> str:
        shown = self.referral(state).contacts.country
        return self.referrals.names_in(state.spoken)[shown]

    def countries(self, state: ChatState, page: int = 0) -> Rows:
        """A button for each country, a page at a time, and one for those who would rather not say."""
        texts = self.referral(state).texts
        offered = list(self.referrals.offered(state.spoken).items())
        pages = -(-len(offered) // COUNTRIES_A_PAGE)
        first = page % pages * COUNTRIES_A_PAGE
        shown = offered[first : first + COUNTRIES_A_PAGE]
        rows = _rows([Button(label=name, command="country", argument=code) for code, name in shown], 2)
        last = [Button(label=texts.rather_not, command="country", argument=RATHER_NOT)]
        if pages > 1:
            last.insert(0, Button(label=texts.more_countries, command="country", argument=str(page % pages + 1)))
        return (*rows, tuple(last))

    async def language(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The language of everything around answers."""
        wanted = self._language(incoming.text)
        if wanted is not None:
            state = replace(state, language=wanted)
            yield Outgoing(text=self.texts(state).language_set, private=True, state=state)
            return
        said = self.texts(state)
        text = said.unknown_language if incoming.text.strip() else said.choose_language
        names = self.languages.texts.items()
        choices = [Button(label=one.language, command="language", argument=code) for code, one in names]
        yield Outgoing(text=text, buttons=_rows(choices, 2), private=True, state=state)

    def _language(self, said: str) -> str | None:
        wanted = said.strip().casefold()
        names = {one.language.casefold(): code for code, one in self.languages.texts.items()}
        return names.get(wanted) or (self.languages.known(wanted) if wanted else None)

    async def privacy(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """What is kept, and for how long."""
        said = self.texts(state)
        yield Outgoing(text=self._kept(state, said), title=said.privacy.title, private=True, state=state)

    def _kept(self, state: ChatState, said: ChatTexts) -> str:
        lines = [what_is_kept(self.facts, said)]
        if self.moderators is not None and (kept := self.moderators.kept(state.spoken)):
            lines.append(f"- {kept}")
        return "\n".join(lines)

    async def whocanread(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """Who can read this chat."""
        said = self.texts(state)
        text = who_can_read(self._facts(state), self.platform, said, private=incoming.private)
        yield Outgoing(text=text, title=said.whocanread.title, private=True, state=state)

    async def published(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The protocol of what is done about danger."""
        if self.protocol is None:
            yield Outgoing(text=self.texts(state).unknown_command, private=True, state=state)
            return
        parts = [self.protocol.lead(state.spoken)]
        for one in self.protocol_sections(self.protocol, state.spoken, self.referral(state)):
            parts.append(f"{one.heading}\n{one.listed}")
        title = self.protocol.said(state.spoken).title
        yield Outgoing(text="\n\n".join((title, *parts)), title=title, private=True, state=state)

    def protocol_sections(
        self, protocol: PublishedProtocol, language: str | None, referral: Referral
    ) -> Sequence[ProtocolSection]:
        """The protocol for somebody who is shown this referral's contacts, with the notices' versions in their language."""
        spoken = language or self.languages.default
        versions = ", ".join(self.notices.version(one, spoken, self.languages) for one in Notice)
        country = self.referrals.names_in(language)[referral.contacts.country]
        return protocol.sections(language, referral, country, versions)

    def _facts(self, state: ChatState) -> PrivacyFacts:
        if self.moderators is None:
            return self.facts
        notices = (self.moderators.reads(state.spoken), self.facts.moderators)
        return replace(self.facts, moderators=" ".join(filter(None, notices)))


def words_of(state: ChatState, about: Answered) -> str:
    """The words of an answer, where the conversation still holds them."""
    said = [one for one in reversed(state.conversation.messages) if one.role is Role.ASSISTANT]
    its_own = said[state.answered - about.number :][:1]
    alike = (one for one in (*its_own, *said) if one.citations == about.sources)
    return next((one.content for one in alike), "")


def _rows(buttons: Sequence[Button], wide: int) -> Rows:
    return tuple(tuple(buttons[at : at + wide]) for at in range(0, len(buttons), wide))

"""A chat under moderation: paused or not, some things not answered here, some replies read by a moderator first.

What waits is not remembered as said: the conversation holds what was really shown, until the reply is shown after all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adapters.chat.chat import Chat
from adapters.chat.incoming import Incoming
from adapters.chat.pages import Pages
from adapters.chat.showing import Showing, Showings
from adapters.chat.state import KEPT_ANSWERS, ChatState
from adapters.chat.turns import WISHES
from adapters.moderation.policy import Mode, Reason, reason_to_wait
from adapters.moderation.rechecking import doubts
from adapters.moderation.review_queue import DECIDED, ReviewQueue
from adapters.moderation.reviews import Decided, Outcome, Review, new_id
from adapters.moderation.standing import Standing, Standings
from adapters.moderation.texts import MemberTexts
from engine.exceptions import StorageError
from engine.types import Conversation, Reply, Role, Turn, Urgency
from engine.types import Outcome as TurnOutcome
from engine.types import Review as TurnReview

ASKING = frozenset({"", "ask", "topic", "topics", "safe", "start", "consent", *WISHES})
"""What a pause holds off. Help, contacts, choices, privacy and leaving stay."""


@dataclass(frozen=True, kw_only=True)
class ModeratedPages(Pages):
    """The pages; “who can read this?” also says what moderators read at the moment."""

    standings: Standings
    members: Mapping[str, MemberTexts]
    minutes: int

    def said(self, state: ChatState) -> MemberTexts:
        """What members are told, in the chat's language."""
        return self.members.get(state.session.language or "") or self.members[self.languages.default]

    async def whocanread(self, state: ChatState, incoming: Incoming) -> Showings:
        """Who can read this chat, as moderators have set it now."""
        said = self.said(state)
        notices = {Mode.OPEN: said.reads_nothing, Mode.FLAGGED: said.reads_flagged, Mode.ALL: said.reads_all}
        notice = notices[self.standings.now.mode].format(minutes=self.minutes)
        facts = replace(self.facts, moderators=" ".join(filter(None, (notice, self.facts.moderators))))
        plain = Pages(session=self.session, languages=self.languages, platform=self.platform, facts=facts)
        async for showing in plain.whocanread(state, incoming):
            yield showing

    async def privacy(self, state: ChatState, incoming: Incoming) -> Showings:
        """What is kept, with what waits for moderators where something can."""
        async for showing in super().privacy(state, incoming):
            if self.standings.now.mode is Mode.OPEN:
                yield showing
            else:
                kept = self.said(state).kept.format(minutes=self.minutes)
                yield replace(showing, text=f"{showing.text}\n- {kept}")


@dataclass(frozen=True, kw_only=True)
class ModeratedChat(Chat):
    """Handles what people do on a platform that has moderators."""

    standings: Standings
    queue: ReviewQueue
    members: Mapping[str, MemberTexts]

    def _pages(self) -> Pages:
        return ModeratedPages(
            session=self.session,
            languages=self.languages,
            platform=self.platform,
            facts=self.facts,
            standings=self.standings,
            members=self.members,
            minutes=self.queue.minutes,
        )

    def said(self, state: ChatState) -> MemberTexts:
        """What members are told, in the chat's language."""
        return self.members.get(state.session.language or "") or self.members[self.languages.default]

    async def handle(self, state: ChatState, incoming: Incoming) -> Showings:
        """What is shown for one thing a person did, as far as moderators let it be shown."""
        if incoming.command == DECIDED:
            shown = self._decided(state, incoming)
        elif self.standings.now.paused and incoming.command in ASKING:
            shown = self._while_paused(state, incoming)
        elif incoming.command == "source" and self._from_blocked(state, incoming):
            shown = self._blocked_page(state)
        else:
            shown = self._watched(state, incoming)
        async for showing in self._with_lost(shown, incoming):
            yield showing

    # --- Pause ------------------------------------------------------------------------------------------------------

    async def _while_paused(self, state: ChatState, incoming: Incoming) -> Showings:
        """No answers; where help is stays. Consent counts, the question that waited for it is not answered later."""
        if incoming.command == "consent":
            state = replace(state, consented=True, waiting="")
        line = Showing(text=self.paused_line(state), private=True)
        yield replace(await self._referral(state, incoming) or line, state=state)

    def paused_line(self, state: ChatState) -> str:
        """What somebody reads who asks during a pause."""
        return self.said(state).paused.format(contacts=self.session.referral(state.session).brief())

    # --- What is not answered here ----------------------------------------------------------------------------------

    def _from_blocked(self, state: ChatState, incoming: Incoming) -> bool:
        about = state.answer(incoming.about)
        return about is not None and bool(set(about.sources) & set(self.standings.now.sources))

    async def _blocked_page(self, state: ChatState) -> Showings:
        yield Showing(text=self._blocked_line(state), private=True, state=state)

    def _blocked_line(self, state: ChatState) -> str:
        return self.said(state).blocked.format(contacts=self.session.referral(state.session).brief())

    def _is_blocked(self, standing: Standing, turn: Turn) -> bool:
        if set(turn.reply.citations) & set(standing.sources):
            return True
        topics = self.session.engine.stakes.topics(_asked(turn.conversation), _words(turn))
        return bool(set(topics) & set(standing.topics))

    # --- What waits -------------------------------------------------------------------------------------------------

    async def _watched(self, state: ChatState, incoming: Incoming) -> Showings:
        """What the chat shows, with each answer looked at; after one that is not shown, no question follows."""
        instead: Showing | None = None
        async for showing in super().handle(state, incoming):
            if showing.turn is not None and not showing.referral:
                instead = await self._instead(state, incoming, showing)
                if instead is None:
                    yield self._for_whom(showing, showing.turn)
                elif instead.state is not None:
                    yield instead
            elif instead is not None and showing.state is not None:
                yield replace(instead, state=_as_shown(showing.state, instead.text))
            elif instead is None:
                yield showing
        if incoming.command in {"forget", "stop"}:
            self.queue.withdrawn()

    async def _instead(self, before: ChatState, incoming: Incoming, showing: Showing) -> Showing | None:
        """What is shown in place of an answer, None where the answer is; without a state where that comes later."""
        turn, standing, state = showing.turn, self.standings.now, showing.state or before
        if turn is None:
            return None
        if self._is_blocked(standing, turn):
            return self._line(showing, self._blocked_line(state))
        reason = None if incoming.private or showing.private else reason_to_wait(standing.mode, turn)
        if reason is None:
            return None
        said = self.said(state)
        text = (said.waiting_seen if incoming.seen else said.waiting).format(minutes=self.queue.minutes)
        try:
            if not await self.queue.hold(self._review(before, incoming, showing, turn, reason, text)):
                text = said.full
        except StorageError:
            # It can neither wait nor be shown unread; nothing of this turn is remembered.
            return replace(self.sorry(before), state=before)
        return replace(self._line(showing, text), unnamed=not incoming.seen)

    def _for_whom(self, showing: Showing, turn: Turn) -> Showing:
        """An answer that goes past moderators because it names help goes to its asker alone."""
        unread = self.standings.now.mode is not Mode.OPEN and turn.is_private
        return replace(showing, private=True) if unread else showing

    def _line(self, showing: Showing, text: str) -> Showing:
        state = None if showing.state is None else _as_shown(showing.state, text)
        return Showing(text=text, private=True, state=state)

    def _review(
        self, before: ChatState, incoming: Incoming, showing: Showing, turn: Turn, reason: Reason, waiting: str
    ) -> Review:
        words = _words(turn)
        first, _, last = showing.text.partition(words)
        after = showing.state or before.after(before.session, turn)
        return Review(
            id=new_id(),
            incoming=replace(incoming, text="", wordless=False, edited=False, late=False),
            asked=_asked(turn.conversation),
            draft=words,
            before=first,
            after=last,
            waiting=waiting,
            answered=after.answers[-1],
            due=self.queue.now() + self.queue.minutes * 60,
            reason=reason,
            basis=turn.reply.basis,
            doubts=doubts(turn.review.stages),
            buttons=showing.buttons,
            pictures=showing.pictures,
        )

    async def _with_lost(self, shown: Showings, incoming: Incoming) -> Showings:
        """What is shown, and after it a word, once, about a reply that was lost while it waited; not in a crisis."""
        calm = incoming.command != DECIDED
        async for showing in shown:
            calm = calm and not showing.referral
            tells = calm and self.queue.any_lost and not showing.erased and showing.poll is None
            if showing.state is None or not tells or not await self.queue.tell_lost(incoming.identity):
                yield showing
                continue
            yield replace(showing, state=None)
            yield self._lost_line(showing.state)

    def _lost_line(self, state: ChatState) -> Showing:
        contacts = self.session.referral(state.session).brief()
        return Showing(text=self.said(state).lost.format(contacts=contacts), private=True, state=state)

    # --- What has waited --------------------------------------------------------------------------------------------

    async def _decided(self, state: ChatState, incoming: Incoming) -> Showings:
        """A reply that waited, or why it does not come.

        What was asked where nobody saw it comes to its asker alone: shown in the open, it would tell moderators who
        has asked the question that they have just read.
        """
        decided, said = self.queue.store.open_decided(incoming), self.said(state)
        if decided is None:
            yield Showing(state=state)
        elif decided.outcome in {Outcome.APPROVED, Outcome.EDITED}:
            review, text = decided.review, decided.review.text(decided.words)
            first = said.approved if decided.outcome is Outcome.APPROVED else said.edited
            yield Showing(
                text=f"{first}\n\n{text}",
                buttons=review.buttons,
                pictures=review.pictures,
                private=not review.incoming.seen,
                unnamed=not review.incoming.seen,
                state=_restored(state, decided, text),
                turn=_as_turn(state.session.conversation, decided, text),
            )
        else:
            line = said.discarded if decided.outcome is Outcome.DISCARDED else said.expired
            contacts = self.session.referral(state.session).brief()
            unnamed = not decided.review.incoming.seen
            yield Showing(text=line.format(contacts=contacts), private=True, unnamed=unnamed, state=state)


def _asked(conversation: Conversation) -> str:
    """What the last reply answers."""
    return next((one.content for one in reversed(conversation.messages) if one.role is Role.USER), "")


def _words(turn: Turn) -> str:
    """The words that judges have read, without what the house puts around them."""
    words = turn.review.stages[-1].draft.reply if turn.review.stages else ""
    return words if words and words in turn.reply.text else turn.reply.text


def _as_shown(state: ChatState, text: str) -> ChatState:
    """The state after an answer that was not shown: the line that was, and no buttons' worth of the answer."""
    conversation = state.session.conversation
    last = replace(conversation.messages[-1], content=text, citations=())
    conversation = replace(conversation, messages=(*conversation.messages[:-1], last), offer=None)
    return replace(state, session=replace(state.session, conversation=conversation), answers=state.answers[:-1])


def _restored(state: ChatState, decided: Decided, text: str) -> ChatState:
    """The state with a reply where its waiting line was, as far as the conversation still holds that."""
    review, messages = decided.review, list(state.session.conversation.messages)
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role is Role.ASSISTANT and messages[at].content == review.waiting:
            messages[at] = replace(messages[at], content=text, citations=review.answered.sources)
            break
    conversation = replace(state.session.conversation, messages=tuple(messages))
    answers = sorted((*state.answers, review.answered), key=lambda one: one.number)[-KEPT_ANSWERS:]
    return replace(state, session=replace(state.session, conversation=conversation), answers=tuple(answers))


def _as_turn(conversation: Conversation, decided: Decided, text: str) -> Turn:
    """As much of its turn as a screen needs: what the reply cites, and in whose knowledge base."""
    answered = decided.review.answered
    reply = Reply(text=text, citations=answered.sources, basis=decided.review.basis)
    conversation = replace(conversation, assistant=answered.assistant)
    return Turn(
        reply=reply, conversation=conversation, urgency=Urgency(), review=TurnReview(outcome=TurnOutcome.ACCEPTED)
    )

"""A chat under moderation: paused or not, some things not answered here, some replies read by a moderator first.

What comes new during a pause is refused by the platform's intake, before it is stored.
What waits is not remembered as said: the conversation holds what was really shown, until the reply is shown after all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from adapters.conversation.chat import Handler
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing, Outgoings, only
from adapters.conversation.pages import Pages
from adapters.conversation.state import KEPT_ANSWERS, ChatState
from adapters.conversation.topics import NAMING
from adapters.conversation.turns import WISHES, Turns
from adapters.moderation.policy import Mode, Reason, reason_to_wait
from adapters.moderation.rechecks import doubts
from adapters.moderation.review_queue import DECIDED, ReviewQueue
from adapters.moderation.reviews import Decided, ReviewOutcome, WaitingReply, new_id
from adapters.moderation.status import ModerationStatus, StatusStore
from adapters.moderation.texts import MemberTexts
from adapters.texts import ByLanguage
from engine import Conversation, Outcome, Reply, Review, Role, StorageError, Turn, Urgency

ASKING = frozenset({"", "ask", "topics", *NAMING, "safe", "start", "consent", *WISHES})
"""What a pause holds off. Help, contacts, choices, privacy and leaving stay."""


@dataclass(frozen=True, kw_only=True)
class MemberNotices:
    """What members are told of moderators, as these have set it now (`ModeratorNotices`)."""

    status_store: StatusStore
    members: ByLanguage[MemberTexts]
    minutes: int

    def reads(self, language: str | None) -> str:
        """What moderators read."""
        said = self.members.choose(language)
        notices = {Mode.OPEN: said.reads_nothing, Mode.FLAGGED: said.reads_flagged, Mode.ALL: said.reads_all}
        return notices[self.status_store.now.mode].format(minutes=self.minutes)

    def kept(self, language: str | None) -> str:
        """What waits for moderators, where something can."""
        if self.status_store.now.mode is Mode.OPEN:
            return ""
        return self.members.choose(language).kept.format(minutes=self.minutes)


@dataclass(frozen=True, kw_only=True)
class ChatModerator:
    """Looks at what a chat shows, for a platform that has moderators (`Moderator`)."""

    pages: Pages
    turns: Turns
    status_store: StatusStore
    queue: ReviewQueue
    members: ByLanguage[MemberTexts]

    def said(self, state: ChatState) -> MemberTexts:
        """What members are told, in the chat's language."""
        return self.members.choose(state.language)

    def _contacts(self, state: ChatState) -> str:
        return self.pages.referral(state).brief()

    def watched(self, state: ChatState, incoming: Incoming, handle: Handler) -> Outgoings:
        """What is shown for one thing a person did, as far as moderators let it be shown."""
        if incoming.command == DECIDED:
            shown = self._decided(state, incoming)
        elif self.status_store.now.paused and incoming.command in ASKING:
            shown = self._while_paused(state, incoming)
        elif incoming.command == "source" and self._from_blocked(state, incoming):
            shown = only(Outgoing(text=self._blocked_line(state), private=True, state=state))
        else:
            shown = self._watched(state, incoming, handle)
        return self._with_lost(shown, incoming)

    # --- Pause ------------------------------------------------------------------------------------------------------

    async def _while_paused(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """No answers; where help is stays. Consent counts, the question that waited for it is not answered later."""
        if incoming.command == "consent":
            state = replace(state, consented=True, waiting="")
        line = Outgoing(text=self.said(state).paused.format(contacts=self._contacts(state)), private=True)
        yield replace(await self.turns.own_alarm(state, incoming) or line, state=state)

    # --- What is not answered here ----------------------------------------------------------------------------------

    def _from_blocked(self, state: ChatState, incoming: Incoming) -> bool:
        about = state.answer(incoming.about)
        return about is not None and bool(set(about.sources) & set(self.status_store.now.sources))

    def _blocked_line(self, state: ChatState) -> str:
        return self.said(state).blocked.format(contacts=self._contacts(state))

    def _is_blocked(self, status: ModerationStatus, turn: Turn) -> bool:
        if set(turn.reply.citations) & set(status.sources):
            return True
        topics = self.pages.engine.stakes.topics(_asked(turn.conversation), _words(turn))
        return bool(set(topics) & set(status.topics))

    # --- What waits -------------------------------------------------------------------------------------------------

    async def _watched(self, state: ChatState, incoming: Incoming, handle: Handler) -> Outgoings:
        """What the chat shows, with each answer looked at; after one that is not shown, no question follows."""
        instead: Outgoing | None = None
        referral = ""
        async for outgoing in handle(state, incoming):
            referral = outgoing.text if outgoing.referral else referral
            if outgoing.turn is not None and not outgoing.referral:
                instead = await self._instead(state, incoming, outgoing)
                if instead is None:
                    yield self._for_whom(outgoing, outgoing.turn)
                elif referral and outgoing.state is not None:
                    # Help has been named: what may not be shown below it is left out.
                    yield Outgoing(state=_as_shown(outgoing.state, referral))
                elif instead.state is not None:
                    yield instead
            elif instead is not None and outgoing.state is not None:
                yield replace(instead, state=_as_shown(outgoing.state, instead.text))
            elif instead is None:
                yield outgoing
        if incoming.command in {"forget", "stop"}:
            self.queue.withdrawn()

    async def _instead(self, before: ChatState, incoming: Incoming, outgoing: Outgoing) -> Outgoing | None:
        """What is shown in place of an answer, None where the answer is; without a state where that comes later."""
        turn, status, state = outgoing.turn, self.status_store.now, outgoing.state or before
        if turn is None:
            return None
        if self._is_blocked(status, turn):
            return self._line(outgoing, self._blocked_line(state))
        reason = None if incoming.private or outgoing.private else reason_to_wait(status.mode, turn)
        if reason is None:
            return None
        said = self.said(state)
        text = (said.waiting_seen if incoming.seen else said.waiting).format(minutes=self.queue.minutes)
        try:
            if not await self.queue.hold(self._review(before, incoming, outgoing, turn, reason, text)):
                text = said.full
        except StorageError:
            # It can neither wait nor be shown unread; nothing of this turn is remembered.
            return replace(self.pages.sorry(before), state=before)
        return replace(self._line(outgoing, text), unnamed=not incoming.seen)

    def _for_whom(self, outgoing: Outgoing, turn: Turn) -> Outgoing:
        """An answer that goes past moderators because it names help goes to its asker alone."""
        unread = self.status_store.now.mode is not Mode.OPEN and turn.is_private
        return replace(outgoing, private=True) if unread else outgoing

    def _line(self, outgoing: Outgoing, text: str) -> Outgoing:
        state = None if outgoing.state is None else _as_shown(outgoing.state, text)
        return Outgoing(text=text, private=True, state=state)

    def _review(
        self, before: ChatState, incoming: Incoming, outgoing: Outgoing, turn: Turn, reason: Reason, waiting: str
    ) -> WaitingReply:
        words = _words(turn)
        first, _, last = outgoing.text.partition(words)
        after = outgoing.state or before.after(turn)
        return WaitingReply(
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
            buttons=outgoing.buttons,
            pictures=outgoing.pictures,
        )

    async def _with_lost(self, shown: Outgoings, incoming: Incoming) -> Outgoings:
        """What is shown, and after it a word, once, about a reply that was lost while it waited; not in a crisis."""
        calm = incoming.command != DECIDED
        async for outgoing in shown:
            calm = calm and not outgoing.referral
            tells = calm and self.queue.any_lost and not outgoing.erased and outgoing.poll is None
            if outgoing.state is None or not tells or not await self.queue.tell_lost(incoming.identity):
                yield outgoing
                continue
            yield replace(outgoing, state=None)
            yield self._lost_line(outgoing.state)

    def _lost_line(self, state: ChatState) -> Outgoing:
        text = self.said(state).lost.format(contacts=self._contacts(state))
        return Outgoing(text=text, private=True, state=state)

    # --- What has waited --------------------------------------------------------------------------------------------

    async def _decided(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """A reply that waited, or why it does not come.

        What was asked where nobody saw it comes to its asker alone: shown in the open, it would tell moderators who
        has asked the question that they have just read.
        """
        decided, said = self.queue.store.open_decided(incoming), self.said(state)
        if decided is None:
            yield Outgoing(state=state)
        elif decided.outcome in {ReviewOutcome.APPROVED, ReviewOutcome.EDITED}:
            review, text = decided.review, decided.review.text(decided.words)
            first = said.approved if decided.outcome is ReviewOutcome.APPROVED else said.edited
            yield Outgoing(
                text=f"{first}\n\n{text}",
                buttons=review.buttons,
                pictures=review.pictures,
                private=not review.incoming.seen,
                unnamed=not review.incoming.seen,
                state=_restored(state, decided, text),
                turn=_as_turn(state.conversation, decided, text),
            )
        else:
            line = said.discarded if decided.outcome is ReviewOutcome.DISCARDED else said.expired
            unnamed = not decided.review.incoming.seen
            yield Outgoing(text=line.format(contacts=self._contacts(state)), private=True, unnamed=unnamed, state=state)


def _asked(conversation: Conversation) -> str:
    """What the last reply answers."""
    return next((one.content for one in reversed(conversation.messages) if one.role is Role.USER), "")


def _words(turn: Turn) -> str:
    """The words that judges have read, without what the house puts around them."""
    words = turn.review.stages[-1].draft.reply if turn.review.stages else ""
    return words if words and words in turn.reply.text else turn.reply.text


def _as_shown(state: ChatState, text: str) -> ChatState:
    """The state after an answer that was not shown: the line that was, and no buttons' worth of the answer."""
    conversation = state.conversation
    last = replace(conversation.messages[-1], content=text, citations=())
    conversation = replace(conversation, messages=(*conversation.messages[:-1], last), offer=None)
    return replace(state, conversation=conversation, answers=state.answers[:-1])


def _restored(state: ChatState, decided: Decided, text: str) -> ChatState:
    """The state with a reply where its waiting line was, as far as the conversation still holds that."""
    review, messages = decided.review, list(state.conversation.messages)
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].role is Role.ASSISTANT and messages[at].content == review.waiting:
            messages[at] = replace(messages[at], content=text, citations=review.answered.sources)
            break
    conversation = replace(state.conversation, messages=tuple(messages))
    answers = sorted((*state.answers, review.answered), key=lambda one: one.number)[-KEPT_ANSWERS:]
    return replace(state, conversation=conversation, answers=tuple(answers))


def _as_turn(conversation: Conversation, decided: Decided, text: str) -> Turn:
    """As much of its turn as a screen needs: what the reply cites, and in whose knowledge base."""
    answered = decided.review.answered
    reply = Reply(text=text, citations=answered.sources, basis=decided.review.basis)
    conversation = replace(conversation, assistant=answered.assistant)
    return Turn(reply=reply, conversation=conversation, urgency=Urgency(), review=Review(outcome=Outcome.ACCEPTED))

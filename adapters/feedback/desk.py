"""Feedback as chats see it: a thumb, an answer to a question, and whether this is a moment to ask one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from random import Random

from adapters import weeks
from adapters.conversation.feedback_port import Poll
from adapters.conversation.state import Answered, ChatState
from adapters.feedback.questions import Question
from adapters.feedback.report_desk import EventDesk
from adapters.feedback.schedule import AskedDays, Moment, answered_in, may_ask, next_question
from adapters.storage.identity import ChatIdentity
from engine import StorageError, UrgencyLevel

_EPOCH = date(1970, 1, 1)
_log = logging.getLogger("cafi.feedback")


@dataclass(frozen=True, kw_only=True)
class FeedbackDesk(EventDesk):
    """The `FeedbackPort` of every platform."""

    asked: AskedDays
    random: Random = field(default_factory=Random)

    async def thumb(self, about: Answered, platform: str, *, helpful: bool) -> None:
        """Somebody pressed a thumb under an answer."""
        await self.chosen(about, platform, self.questions.thumbs.id, "yes" if helpful else "no")

    async def due(self, identity: ChatIdentity, state: ChatState, language: str) -> Poll | None:
        """A question after this answer, if the policy allows one; that somebody was asked is noted before they are."""
        moment = Moment(
            answers=state.since_asked,
            since_referral=state.since_referral,
            urgency=UrgencyLevel.NONE,
            asked_day=None,
            today=self._day,
        )
        # The rest of the policy first: most answers need no look into the database.
        left = self._left(state)
        if not left or not may_ask(self.questions.policy, moment):
            return None
        try:
            day = await self.asked.day(identity)
            if day is not None and self._day - day < self.questions.policy.every_days:
                return None
            question = await self._next(left)
            await self.asked.mark(identity, self._day)
        except StorageError as error:
            _log.warning("nobody is asked for feedback: %s", type(error).__name__)
            return None
        return _poll(question, language, state.answers[-1])

    async def asked_for(self, state: ChatState, language: str) -> Poll | None:
        """A question for somebody who wants to be asked; None before an answer, and after all questions."""
        left = self._left(state)
        if not left:
            return None
        try:
            question = await self._next(left)
        except StorageError:
            question = self.random.choice(left)
        return _poll(question, language, state.answers[-1])

    def _left(self, state: ChatState) -> list[Question]:
        """What a chat may be asked: each question once, so that one chat gives one answer to it; nothing before an answer."""
        return [one for one in self.questions.questions if one.id not in state.asked] if state.answers else []

    async def _next(self, left: Sequence[Question]) -> Question:
        answered = await answered_in(self.asked.database, weeks.week_of(self.today()))
        return next_question(left, answered, self.random)

    @property
    def _day(self) -> int:
        return (self.today() - _EPOCH).days


def _poll(question: Question, language: str, about: Answered) -> Poll:
    options = tuple((one.id, one.text.choose(language)) for one in question.options)
    return Poll(question=question.id, text=question.text.choose(language), options=options, about=about)

"""What somebody chose becomes an event that holds nothing of them; reports that an answer worried or harmed somebody first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from adapters import weeks
from adapters.conversation.state import Answered
from adapters.feedback.events import AllowList, FeedbackEvent
from adapters.feedback.questions import Questions
from adapters.feedback.sinks import Forwarding
from engine import EventRefused

_log = logging.getLogger("cafi.feedback")


@dataclass(frozen=True, kw_only=True)
class EventDesk:
    """Makes events of choices. Nothing it does raises into a chat. `today` is a date in UTC."""

    questions: Questions
    allowed: AllowList
    forwarding: Forwarding
    today: Callable[[], date] = weeks.today

    async def chosen(self, about: Answered, platform: str, question: str, option: str) -> bool:
        """Somebody chose an option. What is not among the configured ones, such as a forged button, is left out: False."""
        try:
            event = FeedbackEvent(
                allowed=self.allowed,
                week=weeks.week_of(self.today()),
                platform=platform,
                assistant=about.assistant,
                question=question,
                option=option,
                sources=about.sources,
                decision=about.decision,
            )
        except EventRefused:
            _log.warning("an answer to a question that does not exist was left out")
            return False
        await self.forwarding.add([event])
        return True


@dataclass(frozen=True, kw_only=True)
class ReportDesk(EventDesk):
    """The `ReportPort` of every platform."""

    def reasons(self, language: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """What is asked after an answer that worried or harmed somebody, and its reasons as ids and texts."""
        asked = self.questions.report
        return asked.text.choose(language), tuple((one.id, one.text.choose(language)) for one in asked.options)

    async def report(self, about: Answered, platform: str, reason: str) -> bool:
        """Somebody gave a reason; whether there is such a one."""
        return await self.chosen(about, platform, self.questions.report.id, reason)

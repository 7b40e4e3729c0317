"""That this is a program: said at first contact, when asked, and again after a while; which words were shown is counted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from adapters.conversation.state import ChatState
from adapters.conversation.texts import ChatTexts, Languages
from adapters.storage.clock import WallClock
from adapters.storage.counts import MonthlyCounts

REMINDER_AFTER_MINUTES = 3 * 60
"""After so long a chat is reminded in one line (New York, General Business Law § 1702; Washington, HB 2225)."""
WHOLE_NOTICE_AFTER_MINUTES = 7 * 24 * 60
"""After so long the whole notice comes again (Utah Code 13-72a-203)."""
MOST_ANSWERS = 30
"""After so many answers the line comes whatever the clock says: one that was set back would keep it away for ever."""


class Notice(StrEnum):
    """What is shown: the whole notice at the beginning or after a week, one line, or the answer to the question for it."""

    FIRST = "first"
    STILL = "still"
    AGAIN = "again"
    ASKED = "asked"


@dataclass(frozen=True, kw_only=True)
class Notices:
    """When a chat is told that it is with a program. It is told with answers only: nobody is written to for it.

    `now`: seconds since 1970. `first`: the words of the first notice by language, where they are not those of the chat's
    welcome; `asked`: those that answer whoever asks, beside the line. `adults_only`: the operator says that the service is
    not written for people under 18.
    """

    now: Callable[[], float] = field(default_factory=WallClock)
    counts: MonthlyCounts = field(default_factory=MonthlyCounts)
    first: Mapping[str, str] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)
    adults_only: bool = False

    def due(self, state: ChatState) -> Notice | None:
        """What goes with the next answer. Whoever has never been told was told before they could begin."""
        if state.noticed is None or state.noticed_whole is None:
            return None
        minute = self._minute
        if minute - state.noticed_whole >= WHOLE_NOTICE_AFTER_MINUTES:
            return Notice.AGAIN
        late = minute - state.noticed >= REMINDER_AFTER_MINUTES or state.since_noticed >= MOST_ANSWERS
        return Notice.STILL if late else None

    def shown(self, state: ChatState, notice: Notice, languages: Languages) -> ChatState:
        """The chat after a notice; its version is counted, and nothing of whose chat it is."""
        self.counts.add("notice", self.version(notice, state.spoken or languages.default, languages))
        return self.anchored(state, whole=notice in {Notice.FIRST, Notice.AGAIN})

    def anchored(self, state: ChatState, *, whole: bool) -> ChatState:
        """The chat with the next notice counted from now; time never runs back, as a clock that jumps to and fro would
        show one at each jump."""
        minute = max(self._minute, state.noticed or 0)
        since = minute if whole or state.noticed_whole is None else state.noticed_whole
        return replace(state, noticed=minute, noticed_whole=since, since_noticed=0)

    def version(self, notice: Notice, language: str, languages: Languages) -> str:
        """Which words are shown: the notice, the language, and a digest that changes with any of the words."""
        code = language if language in languages.texts else languages.default
        words = self.words(notice, code, languages.texts[code])
        return f"{notice} {code} {hashlib.sha256(words.encode()).hexdigest()[:8]}"

    def words(self, notice: Notice, code: str, said: ChatTexts) -> str:
        """The words of a notice as they stand in the texts."""
        own = said.notices
        if notice is Notice.STILL:
            return own.still
        if notice is Notice.ASKED:
            return f"{own.still}\n{self.asked.get(code, '')}"
        words = own.again if notice is Notice.AGAIN else self.first.get(code, said.welcome)
        return f"{words}\n{own.adults}" if self.adults_only else words

    def line(self, notice: Notice, said: ChatTexts, emergency: str) -> str:
        """What stands above an answer."""
        if notice is Notice.STILL:
            return said.notices.still
        again = said.notices.again.format(emergency=emergency)
        return f"{again}\n{said.notices.adults}" if self.adults_only else again

    @property
    def _minute(self) -> int:
        return int(self.now() // 60)

"""“This answer worried or harmed me”: four fixed reasons, counted and no more; then where help is, and who answers for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from adapters.conversation.feedback_port import ReportPort
from adapters.conversation.incoming import Incoming
from adapters.conversation.origin import nearest
from adapters.conversation.outgoing import Button, Outgoing, Outgoings, Rows
from adapters.conversation.pages import Pages, words_of
from adapters.conversation.state import Answered, ChatState
from adapters.conversation.texts import ChatTexts

COMMAND = "report"
RATHER_NOT = "none"
"""What a button carries for somebody who gives no reason; nothing is counted then."""


@dataclass(frozen=True, kw_only=True)
class Reports:
    """Asks for the reason and counts it. Whatever somebody presses, they see where help is.

    A chat reports one part of a text once, so that nobody alone makes many of it.
    """

    pages: Pages
    port: ReportPort | None

    async def reported(self, state: ChatState, incoming: Incoming) -> Outgoings:
        """The question, or what follows from its answer."""
        said, about = self.pages.texts(state), state.answer(incoming.about)
        if about is None:
            yield self._helped(state, said.reports.no_answer)
            return
        if self.port is None or incoming.text == RATHER_NOT:
            yield self._helped(state, said.reports.nothing_counted)
            return
        question, reasons = self.port.reasons(self.pages.browsed.language(state))
        if incoming.text not in dict(reasons):
            rows = _rows(reasons, about, said)
            yield Outgoing(text=question, buttons=rows, private=True, state=state)
            return
        about = replace(about, sources=tuple(self._parts(state, about)))
        this = " ".join((about.assistant, *about.sources)) if about.sources else f"{about.assistant} {about.number}"
        if this in state.reported:
            yield self._helped(state, said.reports.again)
            return
        kept = await self.port.report(about, self.pages.platform.id, incoming.text)
        state = replace(state, reported=(*state.reported, this))
        yield self._helped(state, said.reports.thanks if kept else said.reports.nothing_counted)

    def _parts(self, state: ChatState, about: Answered) -> Iterator[str]:
        """The section of each cited source that stands closest to what was said; the source where that is not known."""
        assistants = self.pages.engine.assistants
        if about.assistant not in assistants:
            return
        words = words_of(state, about)
        for source in assistants[about.assistant].speaking(about.language).knowledge.pick(about.sources):
            passage = next(iter(nearest(source, words, 1)), None) if words and source.passages else None
            yield source.id if passage is None or not passage.section else f"{source.id}#{passage.section}"

    def _helped(self, state: ChatState, first: str) -> Outgoing:
        """Where help is, and how the people who answer for the bot are reached."""
        said = self.pages.texts(state)
        people = self.pages.people_below(state, said.people.own_words) or said.people.nobody
        contacts = f"{said.reports.help}\n{self.pages.referral(state).listed()}"
        return Outgoing(text=f"{first}\n\n{contacts}\n\n{people}", private=True, state=state)


def report_button(said: ChatTexts, number: int) -> Button:
    """The button below an answer."""
    return Button(label=said.reports.button, command=COMMAND, about=number)


def _rows(reasons: tuple[tuple[str, str], ...], about: Answered, said: ChatTexts) -> Rows:
    given = (*reasons, (RATHER_NOT, said.reports.rather_not))
    return tuple(
        (Button(label=label, command=COMMAND, argument=reason, about=about.number),) for reason, label in given
    )

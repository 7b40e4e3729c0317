"""What a page shows of a chat: entries made from outgoing messages, or from the stored conversation when there are no others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, TypeAlias
from urllib.parse import quote

import imagesize

from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.origin import nearest
from adapters.conversation.outgoing import Button, Outgoing, Rows
from adapters.conversation.pages import RATHER_NOT
from adapters.conversation.reports import COMMAND as REPORT
from adapters.conversation.reports import RATHER_NOT as RATHER_NOT_SAID
from adapters.conversation.reports import report_button
from adapters.conversation.state import Answered, ChatState
from adapters.conversation.topics import NAMING
from adapters.conversation.turns import check_buttons, safe_button
from engine import Assistant, KnowledgeBase, Medium, Message, Outcome, Role

QUIET, TYPED = "quiet", "typed"
"""In the place of an incoming: what comes of it is stored and not shown; a command as it was typed."""
OF_OURS = frozenset({REPORT, "pause", "resume", "people"})
Kind: TypeAlias = Literal["you", "answer", "note", "question", "referral"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cited:
    """A citation: where the passage is, under the page's own root, and the source's title."""

    path: str
    title: str
    lang: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Pictured:
    """A picture with an answer. `width` and `height` in pixels, below 1 where the file does not say."""

    path: str
    caption: str
    alt: str
    width: int
    height: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One thing on the page. `lang` is the language of its text; `ours`: the text is ours, so commands in it are links.

    `poll`: name and options of a structured question. `answers`: which message it answers, and which beginning of that,
    where a worker that dies leaves the message to another one.
    """

    kind: Kind
    text: str = ""
    number: int = 0
    title: str = ""
    lang: str = ""
    ours: bool = False
    buttons: Rows = ()
    citations: tuple[Cited, ...] = ()
    pictures: tuple[Pictured, ...] = ()
    poll: tuple[str, tuple[tuple[str, str], ...]] | None = None
    answers: tuple[int, int] = (0, 0)


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Makes entries for one chat configuration."""

    chat: Chat

    def said(self, incoming: Incoming) -> Entry | None:
        """What the person wrote or pressed, in the words of the button; None for what is not shown."""
        command, text = incoming.command, incoming.text
        if incoming.place.get(QUIET):
            return None
        if typed := incoming.place.get(TYPED):
            return Entry(kind="you", text=str(typed))
        labels = self.chat.languages.choose(incoming.language).buttons.model_dump()
        if command in {"thumb", "consent"}:
            return None
        if command in OF_OURS:
            return Entry(kind="you", text=self._of_ours(incoming))
        if command in NAMING:
            text = self._named(incoming)
        elif command == "topics":
            text = labels["topics" if text else "all_topics"]
        elif command in {"danger", "safe"}:
            answers = self.chat.pages.referrals.choose(None, incoming.language).texts.buttons.model_dump()
            text = answers.get(text or command, text)
        elif command == "country":
            text = self._country(text, incoming.language)
        elif command:
            text = labels.get(text, text) if command == "ask" else labels.get(command, text)
        return Entry(kind="you", text=text) if text else None

    def _of_ours(self, incoming: Incoming) -> str:
        """What a button about a report, a pause or the operator's people says."""
        said = self.chat.languages.choose(incoming.language)
        if incoming.command != REPORT:
            return {"pause": said.pauses.button, "resume": said.pauses.resume, "people": said.people.title}[
                incoming.command
            ]
        port = self.chat.turns.reports
        reasons = {} if port is None else dict(port.reasons(incoming.language or self.chat.languages.default)[1])
        return {**reasons, RATHER_NOT_SAID: said.reports.rather_not}.get(incoming.text, said.reports.button)

    def _country(self, code: str, language: str) -> str:
        """A country's button in words; what somebody has typed stays."""
        referrals = self.chat.pages.referrals
        texts = referrals.choose(None, language).texts
        if code.isdecimal():
            return texts.more_countries
        return texts.rather_not if code == RATHER_NOT else referrals.offered(language).get(code, code)

    def _named(self, incoming: Incoming) -> str:
        """What a name of ours stands for, with whichever assistant the chat may be."""
        chat, new = self.chat, self.chat.start(incoming)
        states = (replace(new, conversation=chat.engine.start(name)) for name in chat.engine.assistants)
        found = (chat.pages.browsed.named(state, incoming.command, incoming.text) for state in states)
        return next(filter(None, found), "")

    def shown(self, outgoing: Outgoing, language: str) -> Entry:
        """An outgoing message as an entry."""
        if outgoing.poll is not None:
            return Entry(kind="question", text=outgoing.poll.text, lang=language, ours=True)
        if outgoing.turn is None or outgoing.referral:
            kind: Kind = "referral" if outgoing.referral else "note"
            text = outgoing.text.removeprefix(outgoing.title).lstrip() if outgoing.title else outgoing.text
            return Entry(
                kind=kind, text=text, title=outgoing.title, lang=language, ours=True, buttons=_known(outgoing.buttons)
            )
        turn = outgoing.turn
        assistant = turn.conversation.assistant
        ours = turn.review.built_in or turn.review.outcome is Outcome.FIXED or self.chat.pages.facts.provider is None
        return Entry(
            kind="answer",
            text=outgoing.text,
            lang=self._language(assistant, turn.language, ours=ours),
            buttons=_known(outgoing.buttons),
            citations=self.cited(assistant, turn.reply.citations, turn.reply.text, turn.language),
            pictures=tuple(pictured(assistant, one, turn.language) for one in turn.reply.media),
        )

    def cited(self, assistant: str, ids: Iterable[str], said: str, language: str) -> tuple[Cited, ...]:
        """Where each cited source stands, at the passage closest to what was said."""
        known = self.chat.engine.assistants
        if assistant not in known:
            return ()
        return tuple(_citations(assistant, known[assistant].speaking(language).knowledge, ids, said))

    def restored(self, state: ChatState, language: str) -> list[Entry]:
        """The stored conversation as entries; under the last answer are the buttons that still work."""
        messages = list(state.conversation.messages)
        if messages and messages[0].role is Role.ASSISTANT:
            messages = messages[1:]  # the welcome, which the first page shows
        answers = _paired(messages, state.answers)
        entries = [self._restored(one, answers.get(at), state, language) for at, one in enumerate(messages)]
        danger, referral = state.conversation.danger, self.chat.pages.referral(state)
        if entries and entries[-1].kind == "referral" and danger.told == 0:
            entries[-1] = replace(entries[-1], buttons=safe_button(referral))
        elif entries and danger.asked == 0:
            entries[-1] = replace(entries[-1], buttons=check_buttons(referral))
        return entries

    def _restored(self, message: Message, about: Answered | None, state: ChatState, language: str) -> Entry:
        if message.role is Role.USER:
            return Entry(kind="you", text=message.content)
        if self._is_referral(message.content, state):
            return Entry(kind="referral", text=message.content, lang=language, ours=True)
        assistant = state.conversation.assistant if about is None else about.assistant
        last, spoken = about is not None and about.number == state.answered, "" if about is None else about.language
        return Entry(
            kind="answer",
            text=message.content,
            lang=self._language(assistant, spoken, ours=self.chat.pages.facts.provider is None),
            citations=self.cited(assistant, message.citations, message.content, spoken),
            buttons=self._buttons(about, state, cites=bool(message.citations)) if about is not None and last else (),
        )

    def _is_referral(self, text: str, state: ChatState) -> bool:
        return self.chat.pages.referral(state).is_one(text)

    def _buttons(self, about: Answered, state: ChatState, *, cites: bool) -> Rows:
        labels = self.chat.pages.texts(state).buttons
        if not cites:  # questions may have been offered, which are not kept
            return ((Button(label=labels.all_topics, command="topics"),),)

        def button(command: str, label: str, argument: str = "") -> Button:
            return Button(label=label, command=command, argument=argument, about=about.number)

        if state.conversation.offer is not None:
            return ((button("ask", labels.yes, "yes"), button("ask", labels.no, "no")),)
        first = (
            button("simpler", labels.simpler),
            button("shorter", labels.shorter),
            button("example", labels.example),
        )
        rows: Rows = (first, (button("more", labels.more), button("source", labels.source)))
        if self.chat.feedback is not None and not about.thumbed:
            rows = (*rows, (button("thumb", labels.helpful, "yes"), button("thumb", labels.unhelpful, "no")))
        if self.chat.turns.reports is not None:
            rows = (*rows, (report_button(self.chat.pages.texts(state), about.number),))
        return rows

    def _language(self, assistant: str, spoken: str, *, ours: bool) -> str:
        """The built-in agents and the fixed sentences speak a language that there are texts in; a model the person's."""
        assistants: Mapping[str, Assistant] = self.chat.engine.assistants
        known = assistants[assistant].speaking(spoken).knowledge.language if assistant in assistants else ""
        return known if ours or not spoken else spoken


def source_path(assistant: str, source: str) -> str:
    """Where a source is read, under the page's own root."""
    return f"/sources/{quote(assistant)}/{quote(source)}"


def pictured(assistant: str, medium: Medium, language: str) -> Pictured:
    """A picture, and where it is in a language."""
    path = f"/media/{quote(assistant)}/{quote(medium.file)}?lang={quote(language)}"
    width, height = _measured(medium.path)
    return Pictured(path=path, caption=medium.caption, alt=medium.alt, width=width, height=height)


@lru_cache(maxsize=256)
def _measured(path: str) -> tuple[int, int]:
    """Width and height in pixels: room is kept for a picture, so that nothing moves when it comes."""
    try:
        width, height = imagesize.get(path)
    except OSError:  # gone since the start; the page shows its text alternative
        return -1, -1
    return round(width), round(height)


def _citations(assistant: str, knowledge: KnowledgeBase, ids: Iterable[str], said: str) -> Iterator[Cited]:
    for source in knowledge.pick(ids):
        passages = nearest(source, said, 1) if source.passages else ()
        anchor = f"#p{passages[0].index + 1}" if passages else ""
        path = source_path(assistant, source.id)
        spoken = f"?lang={quote(knowledge.language)}" if len(knowledge.languages) > 1 else ""
        yield Cited(path=path + spoken + anchor, title=source.title, lang=knowledge.language)


def _paired(messages: Sequence[Message], answers: Sequence[Answered]) -> dict[int, Answered]:
    """Which answer each of the last messages is, counted from the end."""
    places = [at for at, one in enumerate(messages) if one.role is Role.ASSISTANT]
    return dict(zip(reversed(places), reversed(answers), strict=False))


def _known(rows: Rows) -> Rows:
    return tuple(row for row in rows if row)

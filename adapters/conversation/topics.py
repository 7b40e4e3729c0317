"""Topics to browse, so that nobody has to find words: categories, the titles of one, and the questions of a title."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.conversation.outgoing import BUTTON_BYTES, Button, Outgoing, section_code
from adapters.conversation.state import ChatState
from adapters.conversation.texts import ChatTexts, Languages
from engine import SERVICE, Assistant, Category, Engine, Offer, Source

NAMING = frozenset({"category", "topic", "section"})
"""What follows these commands is a name of ours."""
A_PAGE = 8
CATEGORIES_A_PAGE = 12
"""There are about ten, and they belong together; with two buttons below them they are no more than Discord shows."""
_PAGE_DIGITS = 3
_LONGEST_TOPIC = BUTTON_BYTES - len(Button(label="", command="topic").code()) - len(" ") - _PAGE_DIGITS


@dataclass(frozen=True, kw_only=True, slots=True)
class TappedQuestion:
    """A question that was tapped: its words, the section that answers it, the language it was offered in."""

    words: str
    section: tuple[str, str]
    language: str


@dataclass(frozen=True, kw_only=True)
class Topics:
    """What can be chosen by buttons alone, in the chat's language where the knowledge base has it in that."""

    engine: Engine
    languages: Languages

    # --- What there is ----------------------------------------------------------------------------------------------

    def language(self, state: ChatState) -> str:
        """The chat's language."""
        return state.spoken or self.languages.default

    def title(self, state: ChatState, source: Source) -> str:
        """A source's title."""
        return self._assistant(state).guide.title(source, self.language(state))

    def source(self, state: ChatState, argument: str) -> Source | None:
        """The source that a topic's button or link names; None for one that is not there (any more)."""
        code, _ = _paged(argument)
        sources = self._assistant(state).knowledge.sources
        return sources.get(code) or next((one for one in sources.values() if topic_code(one.id) == code), None)

    def category(self, state: ChatState, argument: str) -> Category | None:
        """The category that a button names; None for one that is not there (any more)."""
        code, _ = _paged(argument)
        return next((one for one in self._categories(state) if one.id == code), None)

    def category_title(self, state: ChatState, category: Category) -> str:
        """A category's title."""
        own = self._assistant(state).guide.own_language
        return category.title(self.language(state), own)

    def section(self, state: ChatState, argument: str) -> TappedQuestion | None:
        """The question that a button names; None for one whose section is not there (any more)."""
        code, _, offered = argument.partition(" ")
        language = self.languages.known(offered) or self.language(state)
        if self.engine.service is not None:
            for subject, question in self.engine.service.here(language).offers.items():
                if section_code(SERVICE, subject) == code:
                    return TappedQuestion(words=question, section=(SERVICE, subject), language=language)
        assistant = self._assistant(state)
        for source in assistant.knowledge.sources.values():
            for one in source.sections:
                if section_code(source.id, one.id) == code:
                    words = assistant.guide.offer(source, one, language).question
                    return TappedQuestion(words=words, section=(source.id, one.id), language=language)
        return None

    def named(self, state: ChatState, command: str, argument: str) -> str:
        """What a name of ours stands for, in words: a question or a title; empty for one that is not there (any more)."""
        if command == "section":
            found = self.section(state, argument)
            return "" if found is None else found.words
        if command == "category":
            category = self.category(state, argument)
            return "" if category is None else self.category_title(state, category)
        source = self.source(state, argument)
        return "" if source is None else self.title(state, source)

    def offers(self, state: ChatState, source: Source) -> tuple[Offer, ...]:
        """The questions that a source's sections answer, in their order."""
        guide, language = self._assistant(state).guide, self.language(state)
        return tuple(guide.offer(source, one, language) for one in source.sections)

    def _assistant(self, state: ChatState) -> Assistant:
        return self.engine.assistants[state.conversation.assistant]

    def _categories(self, state: ChatState) -> tuple[Category, ...]:
        return self._assistant(state).knowledge.manifest.categories

    # --- What is shown ----------------------------------------------------------------------------------------------

    def beginning(self, state: ChatState, argument: str = "") -> Outgoing:
        """The categories; where a knowledge base has none, its titles."""
        said, categories = self._said(state), self._categories(state)
        if not categories:
            buttons = self._titles(state, tuple(self._assistant(state).knowledge.sources))
            return _page(state, said.topics, buttons, Button(label=said.buttons.topics, command="topics"), argument)
        buttons = [
            Button(label=self.category_title(state, one), command="category", argument=one.id) for one in categories
        ]
        more = Button(label=said.buttons.topics, command="topics")
        return _page(state, said.topics, buttons, more, argument, most=CATEGORIES_A_PAGE)

    def titles(self, state: ChatState, category: Category, argument: str) -> Outgoing:
        """The titles of a category, and the way back."""
        said = self._said(state)
        text = said.choose_in.format(title=self.category_title(state, category))
        more = Button(label=said.buttons.topics, command="category", argument=category.id)
        return _page(state, text, self._titles(state, category.sources), more, _paged(argument)[1], _back(said))

    def questions(self, state: ChatState, source: Source, argument: str) -> Outgoing:
        """The questions of a title, and the way back."""
        said = self._said(state)
        text = said.choose_in.format(title=self.title(state, source))
        buttons = [section_button(one, self.language(state)) for one in self.offers(state, source)]
        more = Button(label=said.buttons.more_questions, command="topic", argument=topic_code(source.id))
        return _page(state, text, buttons, more, _paged(argument)[1], _back(said))

    def unknown(self, state: ChatState) -> Outgoing:
        """What is shown for a topic that is not there (any more)."""
        said = self._said(state)
        return Outgoing(text=said.unknown_topic, buttons=((_back(said),),), private=True, state=state)

    def _titles(self, state: ChatState, ids: Sequence[str]) -> list[Button]:
        found = self._assistant(state).knowledge.pick(ids)
        return [Button(label=self.title(state, one), command="topic", argument=topic_code(one.id)) for one in found]

    def _said(self, state: ChatState) -> ChatTexts:
        return self.languages.choose(state.spoken)


def section_button(offer: Offer, language: str) -> Button:
    """A question that can be tapped. It keeps its language: it may be another than the chat's, and is answered in it."""
    return Button(
        label=offer.question, command="section", argument=f"{section_code(offer.source, offer.section)} {language}"
    )


def topic_code(source: str) -> str:
    """A source's id as a button carries it: ids that are too long end in a hash, others stay as they are."""
    if len(source) <= _LONGEST_TOPIC:
        return source
    hashed = hashlib.blake2b(source.encode(), digest_size=8).hexdigest()
    return f"{source[: _LONGEST_TOPIC - len(hashed) - 1]}~{hashed}"


def _paged(argument: str) -> tuple[str, str]:
    """What a button names, and the page of it."""
    code, _, page = argument.strip().partition(" ")
    return code, page


def _back(said: ChatTexts) -> Button:
    return Button(label=said.buttons.all_topics, command="topics")


def _page(
    state: ChatState,
    text: str,
    buttons: Sequence[Button],
    more: Button,
    page: str,
    *below: Button,
    most: int = A_PAGE,
) -> Outgoing:
    """A page of buttons, a row each; `more` leads to the next one, and from the last one to the first."""
    pages = max(1, -(-len(buttons) // most))
    number = int(page) % pages if page.isdecimal() and len(page) <= _PAGE_DIGITS else 0
    rows = [(one,) for one in buttons[number * most : (number + 1) * most]]
    if pages > 1:
        argument = f"{more.argument} {(number + 1) % pages}".strip()
        rows.append((Button(label=more.label, command=more.command, argument=argument),))
    rows += [(one,) for one in below]
    return Outgoing(text=text, buttons=tuple(rows), private=True, state=state)

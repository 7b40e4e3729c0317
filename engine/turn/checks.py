"""Checks by code: what needs no judgement. Each check gives a reason to send a draft back, or nothing.

What the checks read is folded, so that no spelling hides anything from them; `cleaned` makes a draft fit to be shown.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from engine.departures import CitedText, false_quotations, foreign_quantities, turned_sentences
from engine.judges.support import cited_text
from engine.knowledge.base import KnowledgeBase
from engine.knowledge.directives import DirectiveKind, brackets
from engine.knowledge.source import Source
from engine.language.human_claims import HumanClaims
from engine.language.leads import LONG, callable_numbers, known_links, known_numbers, links
from engine.language.text import clean, sentences, squash
from engine.memo import kept_with
from engine.types import Basis, Draft


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckContext:
    """What a draft is checked against. `in_context` are the ids of the sources the agent was shown.

    `told`: what the person wrote, now and before; a draft may take up the figures and words in it. `facts`: what is true of
    the service, whose figures, commands and numbers to call it may tell. `human`: the words with which it would claim to be a
    human being.
    """

    knowledge: KnowledgeBase
    in_context: tuple[str, ...]
    reply_characters: int
    high_stakes: bool
    handoffs: tuple[str, ...] = ()
    private: tuple[str, ...] = field(default=(), repr=False)
    told: tuple[str, ...] = field(default=(), repr=False)
    facts: str = ""
    human: HumanClaims = field(default_factory=HumanClaims)


Check = Callable[[Draft, CheckContext], Iterable[str]]

_COMMAND = re.compile(
    r"(?:^|\s)/(?:[a-z_]{3,20})\b|\b(?:request|cite|show|redirect|handoff)_?\w*\(|<\|?\s*/?[a-z_]", re.I
)
WHO_READS = "/whocanread"
"""The one command that the agent may always name: who reads along is nothing it can know."""
_VERDICT = re.compile(r"^[^\w\n]*+(?:evaluation|verdict|decision|system|assistant|developer)\s*:", re.I | re.M)
_JSON = re.compile(r'"\s*(?:reply|citations|basis|requested_sources|decision|objections)\s*"\s*:')
_JOINER = "\u200d"
"""Emoji are put together with it."""
_PLACEHOLDER = re.compile(r"\{\{[^{}]*+\}\}|\{%[^%]*+%\}|\{#[^#]*+#\}")
_MOST_KEPT = 100_000


def _not_empty(draft: Draft, context: CheckContext) -> Iterable[str]:
    if not any(char.isalnum() for char in draft.reply):
        yield "The reply is empty. Write an answer from the sources in context, or say that they do not cover it."


def _citations(draft: Draft, context: CheckContext) -> Iterable[str]:
    for source_id in draft.citations:
        if context.knowledge.get(source_id) is None:
            yield "A citation names a source that does not exist. Cite ids from the sources in context only."
        elif source_id not in context.in_context:
            yield f"The source {source_id} was cited but is not in context. Cite only sources whose text you were shown."


def _basis(draft: Draft, context: CheckContext) -> Iterable[str]:
    if draft.basis is Basis.SOURCE and not draft.citations:
        yield "The basis is 'source' but no source is cited."
    if context.high_stakes and draft.basis is Basis.GENERAL:
        yield (
            "This is a high-stakes topic, where general knowledge is not allowed. "
            "Answer from a cited source, or say that the sources do not cover it and point to a professional."
        )


def _media(draft: Draft, context: CheckContext) -> Iterable[str]:
    shown = {file for source in context.knowledge.pick(draft.citations) for file in source.shown_files()}
    if any(file not in shown or file not in context.knowledge.media for file in draft.media):
        yield "A media file was named that no cited source shows."


def _length(draft: Draft, context: CheckContext) -> Iterable[str]:
    if len(draft.reply) > context.reply_characters:
        yield f"The reply is too long. Stay under {context.reply_characters // 10} words; offer to go on afterwards."


def _directives(draft: Draft, context: CheckContext) -> Iterable[str]:
    if any(True for _ in brackets(draft.reply)):
        yield "The reply contains square brackets. Local rules of a source are never shown."
    said = squash(draft.reply)
    if any(rule in said for source in context.knowledge.pick(context.in_context) for rule in _local_rules(source)):
        yield "The reply repeats a local rule of a source. These rules are for you alone."


@kept_with
def _local_rules(source: Source) -> tuple[str, ...]:
    """What a source says to the agent alone, squashed."""
    kinds = (DirectiveKind.INTENT, DirectiveKind.DO_NOT, DirectiveKind.NOTE)  # the others are there to be named
    notes, text = (squash(one.value) for one in source.directives if one.kind in kinds), squash(source.text)
    # An author may want the agent to say what the source says too: that is no secret.
    return tuple(one for one in notes if len(one.split()) >= 5 and one not in text)


def _commands(draft: Draft, context: CheckContext) -> Iterable[str]:
    known = f"{WHO_READS} {context.facts}"
    foreign = any(one[0].strip() not in known for one in _COMMAND.finditer(draft.reply))
    if foreign or _VERDICT.search(draft.reply) or _JSON.search(draft.reply):
        yield "The reply contains a command, a label or markup. Write plain sentences for the reader."


def _private(draft: Draft, context: CheckContext) -> Iterable[str]:
    said = f" {squash(draft.reply)} "
    if any(f" {secret} " in said for secret in context.private):
        yield "The reply repeats instructions that are for you alone."


def _hidden(draft: Draft, context: CheckContext) -> Iterable[str]:
    if any(unicodedata.category(one) == "Cf" and one != _JOINER for one in draft.reply):
        yield "The reply contains invisible or direction-changing characters. Write plain text."


def _links(draft: Draft, context: CheckContext) -> Iterable[str]:
    sources = context.knowledge.sources.values()
    if any(not any(found in _links_of(source) for source in sources) for found in links(draft.reply)):
        yield "The reply contains a link or an address that is not in the knowledge base."


@kept_with
def _links_of(source: Source) -> frozenset[str]:
    return known_links(source.text)


def _numbers_to_call(draft: Draft, context: CheckContext) -> Iterable[str]:
    cited = [_numbers_of(source) for source in context.knowledge.pick(draft.citations)]
    known = known_numbers(context.facts).union(*cited)
    if not all(_is_told(found, known) for found in callable_numbers(draft.reply)):
        yield "The reply contains a phone number that no cited source gives. Never state one from memory."


@kept_with
def _numbers_of(source: Source) -> frozenset[str]:
    return known_numbers(source.text)


def _is_told(number: str, known: frozenset[str]) -> bool:
    """Whether a source gives a number; a long one may go without the prefix it has there."""
    return number in known or (len(number) >= LONG and any(one.endswith(number) for one in known))


def _figures(draft: Draft, context: CheckContext) -> Iterable[str]:
    foreign = foreign_quantities(draft.reply, _cited(draft, context), (*context.told, context.facts))
    if foreign:
        figures = ", ".join(dict.fromkeys(one.text for one in foreign))
        yield f"No cited source gives this figure: {figures}. Give it as the source does, or leave it out."


def _turned(draft: Draft, context: CheckContext) -> Iterable[str]:
    for _, source in turned_sentences(draft.reply, _cited(draft, context)):
        yield f"A sentence of the reply says the reverse of its source, which is: {source}"


def _quotations(draft: Draft, context: CheckContext) -> Iterable[str]:
    cited = _cited(draft, context)
    if draft.citations and any(True for _ in false_quotations(draft.reply, cited, context.told)):
        yield "What stands in quotation marks is not in a cited source. Quote it word for word, or in no quotation marks."


def _cited(draft: Draft, context: CheckContext) -> tuple[CitedText, ...]:
    return tuple(map(cited_text, context.knowledge.pick(draft.citations)))


def _human(draft: Draft, context: CheckContext) -> Iterable[str]:
    if context.human.stand_in(draft.reply):
        yield "The reply claims to be a human being. It is a program, and says so, also where it was asked to play somebody."


def _handoff(draft: Draft, context: CheckContext) -> Iterable[str]:
    if draft.handoff is not None and draft.handoff not in context.handoffs:
        yield "The handoff names an assistant that does not exist."


CHECKS: tuple[Check, ...] = (
    _not_empty,
    _citations,
    _basis,
    _media,
    _length,
    _directives,
    _commands,
    _private,
    _hidden,
    _links,
    _numbers_to_call,
    _figures,
    _turned,
    _quotations,
    _human,
    _handoff,
)


def cleaned(draft: Draft) -> Draft:
    """A draft whose reply is cleaned as messages are: no control, invisible or direction-changing characters, NFKC."""
    reply = clean(draft.reply, limit=_MOST_KEPT).text
    return draft if reply == draft.reply else replace(draft, reply=reply)


def failed_checks(draft: Draft, context: CheckContext) -> tuple[str, ...]:
    """The reasons for which a draft cannot be shown, in order; empty when it can go to the judges."""
    return tuple(reason for check in CHECKS for reason in check(draft, context))


def private_sentences(*instructions: str) -> tuple[str, ...]:
    """The sentences of instructions that must not turn up in a reply, folded for comparison.

    Instructions may be templates: what stands around a placeholder is then looked for piece by piece. What the
    assistant is (“You are …”) is no secret.
    """
    told = (one for text in instructions for one in sentences(text) if not one.startswith("You are "))
    folded = (squash(piece) for one in told for piece in _PLACEHOLDER.split(one))
    return tuple(dict.fromkeys(one for one in folded if len(one.split()) >= 7))

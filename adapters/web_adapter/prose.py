"""Text as HTML: paragraphs, lists and line breaks, everything in it escaped. Nothing a person or a model writes is markup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from markupsafe import Markup, escape

from engine import Referral

LINKED = frozenset(
    {
        "help",
        "topics",
        "crisis",
        "country",
        "language",
        "whocanread",
        "privacy",
        "feedback",
        "forget",
        "stop",
        "start",
        "people",
    }
)
"""Commands that are pages here as well."""
_COMMAND = re.compile(r"(?<![\w/])/([a-z]+)\b")
_BULLET = re.compile(r"\s*(?:[-*•])\s+(.*)")
_NUMBERED = re.compile(r"\s*\d{1,3}[.)]\s+(.*)")
_EMPHASIS = re.compile(r"(\*{1,2}|_{1,2})(?=\S)([^*_\n]+?)(?<=\S)\1")
_LINK = re.compile(r"\[([^\[\]]*)\]\((?:[^()]|\([^()]*\))*\)")


def prose(text: str, *, soft: bool = False) -> Markup:
    """A text as blocks; `soft`: line ends inside a paragraph mean nothing, as in Markdown."""
    return Markup("").join(_blocks(text, soft=soft))


def with_links(html: Markup, base: str, referral: Referral | None = None) -> Markup:
    """House text with its commands as links to pages, and the numbers of a referral in it as links that dial."""

    def page(match: re.Match[str]) -> str:
        name = match[1]
        return f'<a href="{base}/{name}">{match[0]}</a>' if name in LINKED else match[0]

    linked = "".join(
        piece if piece.startswith("<") else _COMMAND.sub(page, _dialled(piece, referral))
        for piece in re.split(r"(<[^>]*>)", str(html))
    )
    return Markup(linked)  # noqa: S704 - put together from escaped text and our own tags


def with_contacts(html: Markup, referral: Referral) -> Markup:
    """Any text in which contacts are named as a sentence names them: their numbers dial, and no other number does."""
    named = sorted((str(escape(one)) for one in {referral.brief(), referral.emergency()}), key=len, reverse=True)
    pattern = re.compile("|".join(re.escape(one) for one in named))
    linked = pattern.sub(lambda match: _dialled(match[0], referral), str(html))
    return Markup(linked)  # noqa: S704 - put together from escaped text and our own tags


def plain(markdown: str) -> str:
    """The words of a source's Markdown: emphasis and links without their signs."""
    return _EMPHASIS.sub(r"\2", _LINK.sub(r"\1", markdown))


def worded(label: str) -> str:
    """A button's label without the picture before it: not every computer has the font, and screen readers read it out."""
    return re.sub(r"^[^\w(]+", "", label) or label


def _dialled(piece: str, referral: Referral | None) -> str:
    contacts = () if referral is None else referral.contacts.contacts
    known = {str(escape(one.number)): one.address for one in contacts if one.number}
    if not known:
        return piece
    longest_first = sorted(known, key=len, reverse=True)
    pattern = re.compile(r"(?<![\w+])(" + "|".join(re.escape(one) for one in longest_first) + r")(?!\w)")
    return pattern.sub(lambda match: f'<a class="tel" href="{known[match[1]]}">{match[1]}</a>', piece)


def _blocks(text: str, *, soft: bool) -> Iterator[Markup]:
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = [line for line in block.split("\n") if line.strip()]
        yield from _lines(lines, soft=soft)


def _lines(lines: list[str], *, soft: bool) -> Iterator[Markup]:
    """Runs of lines of the same kind: a list, a numbered list, a paragraph."""
    at = 0
    while at < len(lines):
        for pattern, tag in ((_BULLET, "ul"), (_NUMBERED, "ol")):
            run = _run(lines[at:], pattern)
            if run:
                items = Markup("").join(Markup('<li dir="auto">{}</li>').format(one) for one in run)
                yield Markup("<{0}>{1}</{0}>").format(tag, items)
                at += len(run)
                break
        else:
            end = at + 1
            while end < len(lines) and not _BULLET.fullmatch(lines[end]) and not _NUMBERED.fullmatch(lines[end]):
                end += 1
            between = Markup(" ") if soft else Markup("<br>")
            yield Markup('<p dir="auto">{}</p>').format(between.join(line.strip() for line in lines[at:end]))
            at = end


def _run(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    found = []
    for line in lines:
        match = pattern.fullmatch(line)
        if match is None:
            break
        found.append(match[1])
    return found

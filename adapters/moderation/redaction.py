"""What moderators see of a question: enough to judge the reply by, nothing that names somebody."""

from __future__ import annotations

import re

from engine import clean

MOST = 300
GONE = "…"
_BLANKED = re.compile(
    r"""<[@#:a]?[^<>\s]{1,80}>                      # the platform's mentions, channels, emoji
      | \w[\w+.-]{0,30}://\S*                       # links
      | [^\s@]{1,64}@\S+                            # e-mail addresses; longer names there are none (RFC 5321)
      | [^\s@#]{0,64}[@#]\S+                        # names by which somebody is called, and those with a number behind
      | [^\s@#]{1,64}\ \#\ ?\d{4}\b
      | (?<![\w.])(?:\w[\w-]{0,62}\.){1,8}[^\W\d_]{2,63}(?:[/?:]\S*)?  # domains
      | [+(]?\d(?:(?:(?![,;:!?])[\W_]){0,3}\d){4,}  # numbers of five digits and more, however they are divided
    """,
    re.X,
)


def naming(text: str) -> tuple[str, ...]:
    """The mentions, links, addresses, names of accounts and long numbers of a text."""
    return tuple(found[0] for found in _BLANKED.finditer(clean(text).text))


def as_shown(question: str) -> str:
    """A question without mentions, links, addresses and long numbers, on one line and cut short.

    Names that somebody wrote as words stay: nothing finds those for certain. The notice to members says so.
    """
    said = " ".join(_BLANKED.sub(GONE, clean(question).text).split())
    return said if len(said) <= MOST else said[: MOST - 1].rstrip() + GONE

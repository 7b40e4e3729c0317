"""What moderators see of a question: enough to judge the reply by, nothing that names somebody."""

from __future__ import annotations

import re

from engine.text import clean

MOST = 300
GONE = "…"
_NAMING = re.compile(
    r"""<[@#:a]?[^<>\s]{1,80}>          # the platform's mentions, channels, emoji
      | (?:https?://|www\.)\S+           # links
      | [^\s@]{1,64}@\S+                 # e-mail addresses; longer names there are none (RFC 5321)
      | (?<!\w)[@#]\S+                   # names by which somebody is called
      | [+(]?\d[\d\s()./-]{3,}\d         # numbers of five digits and more
    """,
    re.X,
)


def as_shown(question: str) -> str:
    """A question without mentions, links, addresses and long numbers, on one line and cut short.

    Names that somebody wrote as words stay: nothing finds those for certain. The notice to members says so.
    """
    said = " ".join(_NAMING.sub(GONE, clean(question).text).split())
    return said if len(said) <= MOST else said[: MOST - 1].rstrip() + GONE

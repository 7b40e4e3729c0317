"""Scenes that a moderator practises: what has happened, what is done in it beforehand, and what to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """One scene. `lines` are typed by the member (True) or the moderator (False) before you take over as `moderator`."""

    before: str
    lines: tuple[tuple[bool, str], ...]
    then: str


_MEMBER, _MODERATOR = True, False
SCENES: Mapping[str, Scene] = {
    "crisis": Scene(
        before="A member is in danger and writes to the bot. This is what the member does and sees:",
        lines=((_MODERATOR, "/mod mode all"), (_MEMBER, "/ask I want to kill myself tonight")),
        then="""\
Every reply is reviewed, and still nothing has come to you: help does not wait for anybody,
and nobody is told who needed it. Look with /mod review and /mod stats. Then go back with :member, and read what the
member can read about that with /whocanread. What you can do for somebody in danger you do as a person, not through me.""",
    ),
    "review": Scene(
        before="Replies are reviewed. A member asks:",
        lines=((_MODERATOR, "/mod mode all"), (_MEMBER, "/ask What are the voices that I hear?")),
        then="""\
A reply waits in your channel. Compare it with its source. Then press a button: approve it,
change it (a form opens: :fill and your text; a text that the source does not support is refused) or discard it.
:wait 61 lets its time run out instead. Then go to :member and see what has come of it. /mod mode open ends reviews.""",
    ),
    "pause": Scene(
        before="The bot answers. Then something goes wrong in the channel:",
        lines=((_MODERATOR, "/mod mode open"), (_MEMBER, "/ask What helps against bad sleep?")),
        then="""\
Stop the bot: /mod pause. Go to :member and ask something, then write something that sounds like
danger: help comes all the same. :restart stops the whole program; the pause is still there. As :moderator, /mod resume
starts it again, and /mod stats shows what you did.""",
    ),
}

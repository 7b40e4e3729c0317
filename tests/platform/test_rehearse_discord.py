"""`cafi rehearse discord`: moderators practise with the real bot, the real library and the stand-in."""

from __future__ import annotations

from pathlib import Path

import pytest

from bots.stage import BotStage
from rehearsal.discord_rehearsal import DiscordRehearsal
from tests.team import application

REFUSED = "That is not possible here."


class Script:
    """A terminal whose lines are written beforehand; `said` is all that was shown."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)
        self.said = ""

    async def read(self) -> str | None:
        """The next line."""
        return self._lines.pop(0) if self._lines else None

    def write(self, text: str) -> None:
        """Keep a text."""
        self.said += text + "\n"

    def since(self, words: str) -> str:
        """What was shown after these words were."""
        return self.said.partition(words)[2]


async def rehearsed(folder: Path, *lines: str) -> Script:
    """A rehearsal over the small knowledge base."""
    terminal = Script(*lines)
    built = application(folder / "kb")
    await DiscordRehearsal(begin=BotStage(settings=built.settings).discord, terminal=terminal).run()
    return terminal


async def test_the_review_scene_is_played_to_its_end(tmp_path: Path) -> None:
    """A moderator reads the waiting reply, has an unsupported change refused, approves, and the member sees the reply."""
    done = await rehearsed(
        tmp_path,
        ":scene review",
        ":2",
        ":fill Clozapine cures voices in 95 percent of people.",
        ":1",
        ":member",
        ":quit",
    )
    assert "A moderator reads my answer first" in done.said
    shown = done.since("[#moderators]")
    assert "What are the voices that I hear?" in shown and ":1 Approve" in shown
    assert "A form opens: Change the reply" in shown and "the reply still waits" in shown
    assert "Approved and shown" in shown
    assert "A moderator has read this answer first" in done.since("You are the member now.")
    assert REFUSED not in done.said


async def test_the_crisis_scene_shows_moderators_nothing(tmp_path: Path) -> None:
    """The member is shown help at once; the moderator, who may review everything, finds nothing that waits."""
    done = await rehearsed(tmp_path, ":scene crisis", "/mod review", ":quit")
    first, _, after = done.said.partition("You are the moderator now.")
    assert "Please call your emergency number now (112" in first
    assert "No reply waits." in after and "kill" not in after
    assert "[#moderators]\n" not in done.said


async def test_the_pause_scene_holds_through_a_restart(tmp_path: Path) -> None:
    """After the moderator's pause the member gets no answer, help all the same, and a restart changes nothing."""
    done = await rehearsed(
        tmp_path,
        ":scene pause",
        "/mod pause",
        ":restart",
        ":member",
        "What helps against bad sleep?",
        "I want to kill myself",
        ":moderator",
        "/mod resume",
        "/mod stats",
        ":quit",
    )
    after = done.since("started again")
    assert "paused" in after and "Please call your emergency number now (112" in after
    assert "I answer questions again." in after and "paused: 1" in after


async def test_time_may_run_out_and_impossible_things_are_said_calmly(tmp_path: Path) -> None:
    """`:wait` lets a reply's time run out; an unknown command, button or scene ends nothing."""
    done = await rehearsed(
        tmp_path,
        ":scene review",
        ":wait 61",
        ":member",
        ":99",
        ":scene dance",
        "/nothing",
        "/mod dance",
        ":fill x",
        ":help",
        ":quit",
    )
    assert "Nobody got to it in time" in done.said
    assert "A moderator has not got to it in time" in done.since("You are the member now.")
    assert done.said.count(REFUSED) == 5 and done.said.count(":scene crisis") == 2


@pytest.mark.parametrize("line", ["/mod post sleep", "/mod poll question=When? answers=Monday; Friday"])
async def test_posts_and_polls_can_be_practised(tmp_path: Path, line: str) -> None:
    """A moderator drafts a post or a poll, the other one approves it, and the member reads it in the channel."""
    done = await rehearsed(tmp_path, ":moderator", line, ":colleague", ":1", ":member", ":quit")
    last = done.said.rpartition("You are the member now.")[2]
    assert ("From our knowledge base" in last) if "post" in line else ("When?" in last and "see who votes" in last)

"""`cafi rehearse discord`: the real bot and the real library against a stand-in for Discord, in the terminal.

You play a member and a moderator in turns. No token, no network, nothing left behind: everything is stored in a temporary
folder that goes at the end.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.console_adapter.adapter import Terminal
from adapters.discord_adapter.adapter import DiscordBot
from adapters.discord_adapter.moderation_gate import ModerationGate
from rehearsal.discord_scenes import SCENES, Scene
from rehearsal.discord_view import as_text, fields
from rehearsal.discord_world import (
    Channel,
    DiscordMessage,
    DiscordPerson,
    DiscordServer,
    Impossible,
    Interaction,
    Permission,
)
from rehearsal.stage import Begin

HELP = """\
You are a member or a moderator of a community on Discord. Commands of the bot begin with /, those of this rehearsal with
a colon; anything else is asked with /ask.
  :member   :moderator     be the one or the other          :scene crisis   :scene review   :scene pause
  :colleague               be another moderator, who approves what the first one wrote
  :2            press button 2                              :fill TEXT      fill in the form that has opened
  :say TEXT     write to the bot in the channel             :dm   :channel  go to direct messages, and back
  :wait 61      let minutes pass                            :restart        stop the bot and start it again
  :help         this list                                   :quit           leave
/mod pause, /mod resume, /mod mode all, /mod status, /mod review, /mod stats, /mod block-topic voices, /mod post sleep,
/mod poll question=When? answers=Monday; Friday"""
WAIT_SECONDS, QUIET_SECONDS = 90.0, 0.4
_GIVEN = re.compile(r"(\w[\w-]*)=(.*?)(?=\s+\w[\w-]*=|$)", re.S)
_BOT_MAY = (
    Permission.VIEW_CHANNEL
    | Permission.SEND_MESSAGES
    | Permission.READ_MESSAGE_HISTORY
    | Permission.ATTACH_FILES
    | Permission.CREATE_PUBLIC_THREADS
    | Permission.SEND_MESSAGES_IN_THREADS
    | Permission.SEND_POLLS
)


@dataclass(kw_only=True)
class DiscordRehearsal:
    """A member, two moderators, one bot, and Discord in between."""

    begin: Begin[DiscordBot]
    terminal: Terminal
    _shown: dict[int, dict[int, str]] = field(default_factory=dict)
    _passed: float = 0.0
    _opened: Interaction | None = None
    _told: Interaction | None = None
    _agreed: bool = False
    _at_dm: bool = False

    async def run(self) -> None:
        """Rehearse until the person leaves or input ends."""
        with tempfile.TemporaryDirectory(prefix="cafi-rehearsal-") as folder:
            self._folder = Path(folder)
            async with DiscordServer() as server, AsyncExitStack() as stack:
                self._server, self._stack = server, stack
                self._settle()
                await self._start()
                self.terminal.write(
                    "This is a rehearsal of Discord on this computer. Nothing leaves it, nothing is kept."
                )
                self.terminal.write(HELP)
                self._be(self._member)
                await self._talk()

    def _settle(self) -> None:
        """The community."""
        server = self._server
        self._member, self._moderator = server.person("member"), server.person("moderator")
        self._colleague = server.person("other moderator")
        moderators = [self._moderator, self._colleague]
        self._guild = server.guild("A community", members=[self._member, *moderators], bot_permissions=_BOT_MAY)
        self._channel = server.text_channel(self._guild, "support-info")
        self._role = server.role(self._guild, "moderators", members=moderators)
        self._theirs = server.text_channel(self._guild, "moderators", private_to=[server.bot, self._role])
        self._person = self._member

    async def _talk(self) -> None:
        while (line := await self.terminal.read()) is not None and line.strip() != ":quit":
            if not line.strip():
                continue
            try:
                await self._line(line.strip())
            except (Impossible, IndexError, ValueError, KeyError):
                self.terminal.write("That is not possible here. :help shows what is.")

    async def _line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if not word.startswith(":"):
            self._interaction(self._slash(line if word.startswith("/") else f"/ask {line}"))
        elif word[1:].isdecimal():
            self._press(int(word[1:]))
        elif word in {":member", ":moderator", ":colleague"}:
            self._be({":member": self._member, ":moderator": self._moderator}.get(word, self._colleague))
        elif word == ":scene":
            await self._scene(SCENES[rest.strip()])
        elif word == ":help":
            self.terminal.write(HELP)
        else:
            await self._deed(word, rest.strip())
        await self._show()

    async def _deed(self, word: str, rest: str) -> None:
        if word == ":say":
            name = "" if self._at_dm else f"{self._server.bot.mention} "
            self._person.write(self._where, name + rest)
        elif word == ":fill" and self._opened is not None and self._opened.modal is not None:
            custom_id = str(next(fields(self._opened.modal["components"]))["custom_id"])
            self._interaction(self._person.submit(self._opened, **{custom_id: rest}))
        elif word in {":dm", ":channel"}:
            self._at_dm = word == ":dm"
            self.terminal.write("You are now in direct messages." if self._at_dm else "You are now in the channel.")
        elif word == ":wait":
            self._passed += float(rest) * 60
            self.terminal.write(f"{rest} minutes have passed.")
        elif word == ":restart":
            await self._restart()
        else:
            raise Impossible(word)

    def _be(self, person: DiscordPerson) -> None:
        self._person, self._at_dm, self._opened = person, False, None
        self.terminal.write(f"\nYou are the {person.name} now.")

    # --- Scenes -----------------------------------------------------------------------------------------------------

    async def _scene(self, scene: Scene) -> None:
        await self._agree()
        self.terminal.write(f"\n{scene.before}")
        for by_member, line in scene.lines:
            self._person = self._member if by_member else self._moderator
            await self._show(silently=True)
            self.terminal.write(f"\n{self._person.name}> {line}")
            self._interaction(self._slash(line))
            await self._show()
        self._be(self._moderator)
        self.terminal.write(scene.then)

    async def _agree(self) -> None:
        """The member has read what the bot is, and agreed."""
        self._at_dm, self._person = False, self._member
        if self._agreed:
            return
        welcome = await self._slash("/ask hello").reply(seconds=WAIT_SECONDS)
        label = self._running.bot.chat.languages.choose("en").buttons.consent
        if label in welcome.buttons:
            self._member.press(welcome, label)
        await self._show(silently=True)
        self._agreed = True

    # --- What a person does -----------------------------------------------------------------------------------------

    @property
    def _where(self) -> Channel | DiscordPerson:
        if self._at_dm:
            return self._person
        return self._channel if self._person is self._member else self._theirs

    def _slash(self, line: str) -> Interaction:
        """A slash command with its options: `name=value`, or what follows for the first one."""
        name, _, rest = line[1:].partition(" ")
        described = self._server.commands()[name].get("options") or []
        if any(one["type"] == 1 for one in described):
            sub, _, rest = rest.strip().partition(" ")
            described = {one["name"]: one.get("options") or [] for one in described}[sub]
            name = f"{name} {sub}"
        # Where a channel is meant, it is the members' one.
        place = self._channel if name in {"mod post", "mod poll"} else self._where
        return self._person.slash(place, name, **self._options(described, rest.strip()))

    def _options(self, described: Sequence[Mapping[str, Any]], text: str) -> dict[str, Any]:
        given = dict(_GIVEN.findall(text))
        if text and not given:
            given = {described[0]["name"]: text}
        kinds = {one["name"]: one["type"] for one in described}
        return {name: _value(kinds[name], value.strip()) for name, value in given.items()}

    def _interaction(self, interaction: Interaction) -> None:
        self._opened = interaction

    def _press(self, number: int) -> None:
        """Press a button of the last message that has some."""
        message = next((one for one in reversed(self._visible()) if one.buttons), None)
        if message is None or not 0 < number <= len(message.buttons):
            raise Impossible(str(number))
        self._interaction(self._person.press(message, message.buttons[number - 1]))

    # --- Showing ----------------------------------------------------------------------------------------------------

    async def _show(self, *, silently: bool = False) -> None:
        """Show what is new to this person, until the bot has nothing more to do."""
        loop = asyncio.get_running_loop()
        end, quiet_since = loop.time() + WAIT_SECONDS, loop.time()
        while loop.time() < end and loop.time() - quiet_since < QUIET_SECONDS:
            await asyncio.sleep(0.02)
            new = self._new()
            for text in new if not silently else ():
                self.terminal.write(text)
            if new or self._running.bot.dispatch.busy or self._working():
                quiet_since = loop.time()
        opened = self._opened
        if opened is not None and opened.modal is not None and opened is not self._told:
            self._told = opened
            filled = "\n".join(str(one.get("value") or "") for one in fields(opened.modal["components"]))
            self.terminal.write(f"\nA form opens: {opened.modal['title']}\n{filled}\n  :fill TEXT sends your text.")

    def _working(self) -> bool:
        """Whether something is still on its way to this person."""
        opened = self._opened
        if opened is None or opened.failed:
            return False
        return opened.acknowledged_at is None or (opened.original is not None and opened.original.loading)

    def _visible(self) -> list[DiscordMessage]:
        return [one for one in self._server.seen_by(self._person) if not one.loading and not one.deleted]

    def _new(self) -> list[str]:
        seen, new = self._shown.setdefault(self._person.id, {}), list[str]()
        visible = self._visible()
        last = next((one for one in reversed(visible) if one.buttons), None)
        for message in visible:
            content = f"{message.content}{message.buttons}"
            something = message.content or message.buttons or message.poll
            if something and seen.get(message.id) != content and message.author is not self._person:
                text = as_text(self._server.world, message, changed=message.id in seen, numbered=message is last)
                new.append(text)
            seen[message.id] = content
        return new

    # --- The bot ----------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        running = await self.begin(
            self._folder,
            {
                "token": self._server.token,
                "channels": (self._channel.id,),
                "moderators_channel": self._theirs.id,
                "moderator_roles": (self._role.id,),
            },
        )
        # Its task has not had its first turn yet.
        running.bot.options = {"guild_ready_timeout": 0.05}
        self._quicken(running.bot)
        self._running = running
        self._stack.push_async_callback(running.stop)
        await self._server.wait_for(lambda: running.bot.is_ready or running.task.done(), seconds=WAIT_SECONDS)

    def _quicken(self, bot: DiscordBot) -> None:
        """Look after what waits more often, by a clock that `:wait` moves."""
        gate = bot.gate
        if not isinstance(gate, ModerationGate):
            raise TypeError
        gate.round_seconds = 0.1
        queue = gate.moderation.queue
        now = queue.now
        queue.now = lambda: now() + self._passed

    async def _restart(self) -> None:
        await self._running.stop()
        await self._start()
        self.terminal.write("The bot has been stopped and started again.")


def _value(kind: int, text: str) -> Any:
    """An option's value of one of Discord's kinds: a whole number, a yes or no, or a text."""
    if kind == 4:
        return int(text)
    return text.casefold() in {"true", "yes"} if kind == 5 else text

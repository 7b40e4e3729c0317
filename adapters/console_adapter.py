"""The terminal as a platform: talk, ask for other forms, see sources and reasons, leave nothing behind."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from adapters.explaining import why_lines
from adapters.session import Outgoing, Session, SessionState
from engine.types import DangerAnswer, Help, Turn, Wish

HELP = """\
/source     the texts the last answer comes from     /why      how the last answer was checked
/simpler    simpler words     /shorter   shorter     /example  an example     /more  the next part
/crisis     where to find help   /country NAME   /language CODE   /safe  it was a question, I am safe
/picture    what the picture shows   /forget  forget this conversation   /quit  leave   /help  this list"""
WISHES = {
    "/simpler": Wish.SIMPLER,
    "/shorter": Wish.SHORTER,
    "/example": Wish.EXAMPLE,
    "/more": Wish.MORE,
}
ANSWERS = {"1": DangerAnswer.YES, "2": DangerAnswer.NO, "3": DangerAnswer.OTHER}
SORRY = "Something went wrong on my side. Please try again. In an emergency, call your local emergency number."


class Terminal(Protocol):
    """Where lines come from and go to."""

    async def read(self) -> str | None:
        """The next line, or None at the end of input."""
        ...

    def write(self, text: str) -> None:
        """Show text."""
        ...


@dataclass(kw_only=True)
class ConsoleChat:
    """One conversation in a terminal, kept in memory only."""

    session: Session
    terminal: Terminal
    notices: tuple[str, ...] = ()
    on_error: Callable[[Exception], None] = lambda error: None
    state: SessionState = field(init=False)
    last: Turn | None = None
    _interrupted: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.state = self.session.start()

    async def run(self) -> None:
        """Talk until the person leaves or input ends."""
        self._say(self.state.conversation.messages[0].content)
        for notice in self.notices:
            self._say(notice)
        self.terminal.write("\n" + HELP)
        self._ask_country()
        while (line := await self.terminal.read()) is not None:
            if line.strip().casefold() in {"/quit", "/exit"}:
                break
            await self._line(line)
        self.terminal.write("\nGoodbye. Nothing of this conversation was kept.")

    async def _line(self, line: str) -> None:
        command = line.strip().casefold()
        asked = self.last is not None and self.last.help is Help.QUESTION
        if asked and command in ANSWERS:
            await self._shown(self.session.answered(self.state, ANSWERS[command]))
            return
        if self.state.country is None and not command.startswith("/") and self._country_said(line):
            return
        if command in WISHES:
            await self._turn("", WISHES[command])
        elif command in self._commands():
            self._commands()[command]()
        elif command == "/safe":
            await self._shown(self.session.answered(self.state, DangerAnswer.SAFE))
        elif command.startswith(("/country", "/language")):
            name, _, said = command.partition(" ")
            self._choose(name, said)
        elif command.startswith("/") and " " not in command:
            self.terminal.write(f"I do not know that command.\n{HELP}")
        else:
            await self._turn(line, Wish.ANSWER)

    def _commands(self) -> dict[str, Callable[[], None]]:
        return {
            "/source": self._sources,
            "/why": self._why,
            "/forget": self._forget,
            "/help": self._help,
            "/crisis": self._crisis,
            "/picture": self._picture,
        }

    async def _turn(self, line: str, wish: Wish) -> None:
        """One turn of the session."""
        await self._shown(self.session.handle(self.state, line, wish=wish))

    async def _shown(self, turn: Awaitable[Outgoing]) -> None:
        """Show a turn; when it is interrupted or fails, the conversation stays as it was before."""
        try:
            self._show(await turn)
        except asyncio.CancelledError:
            # Ctrl-C during a turn ends the turn, not the conversation; a second one leaves.
            task = asyncio.current_task()
            if self._interrupted or task is None:
                raise
            self._interrupted = True
            task.uncancel()
            self._say("Stopped. Your last message was not answered and is not kept.")
        except Exception as error:  # one calm sentence for whatever it was; the operator's hook gets the error
            self.on_error(error)
            self._say(SORRY)

    def _show(self, outgoing: Outgoing) -> None:
        self._say(outgoing.text)
        if outgoing.turn is None or outgoing.state is None:
            return
        self.state, self.last = outgoing.state, outgoing.turn
        labels = self.session.referral(self.state).texts.buttons
        if outgoing.referral:
            self.terminal.write(f"\n  /safe: “{labels.safe}”")
        if outgoing.turn.help is Help.QUESTION:
            answers = (labels.yes, labels.no, labels.other)
            self.terminal.write("\n" + "\n".join(f"  {at}: “{label}”" for at, label in enumerate(answers, 1)))
        for medium in outgoing.media:
            self.terminal.write(f"  picture: {medium.caption or medium.file} (/picture tells what it shows)")
        titles = self._titles(outgoing.citations)
        if titles:
            self.terminal.write(f"  from: {titles}")

    def _titles(self, citations: tuple[str, ...]) -> str:
        knowledge = self.session.engine.assistants[self.state.conversation.assistant].knowledge
        return "; ".join(f"“{source.title}” ({source.id})" for source in knowledge.pick(citations))

    def _sources(self) -> None:
        knowledge = self.session.engine.assistants[self.state.conversation.assistant].knowledge
        cited = () if self.last is None else knowledge.pick(self.last.reply.citations)
        if not cited:
            self._say("The last reply is not from a source.")
        for source in cited:
            references = "; ".join(f"{one.title}, {one.body}, {one.year}" for one in source.references)
            self.terminal.write(f"\n  “{source.title}” ({source.id})\n")
            self._say(source.text)
            self.terminal.write(f"\n  It rests on: {references or 'no references given'}")
            self.terminal.write(f"  {knowledge.manifest.notice}")

    def _crisis(self) -> None:
        self._say(self.session.referral(self.state).full())

    def _ask_country(self) -> None:
        """Once, before the first question: where somebody is. They may leave it open."""
        texts = self.session.referral(self.state).texts
        offered = self.session.referrals.offered(self.state.language)
        self._say(f"{texts.ask_country}\n{', '.join(offered.values())}\n0: {texts.rather_not}")

    def _country_said(self, line: str) -> bool:
        """Whether a line answers that question. Whoever asks something instead is not asked again."""
        code = "" if line.strip() in {"0", ""} else self.session.referrals.find(line)
        self.state = replace(self.state, country=code or "")
        if code is None:
            return False
        if code:
            name = self.session.referrals.offered(self.state.language)[code]
            self._say(f"{name}\n{self.session.referral(self.state).listed()}")
        return True

    def _choose(self, command: str, said: str) -> None:
        """Set the country whose contacts are shown, or the language of the crisis texts."""
        referrals = self.session.referrals
        if command == "/country":
            code = referrals.find(said)
            if code is None:
                known = ", ".join(f"{name} ({one})" for one, name in referrals.offered(self.state.language).items())
                self._say(f"I have contacts for: {known}. Type for example /country no.")
                return
            self.state = replace(self.state, country=code)
        elif said in referrals.texts:
            self.state = replace(self.state, language=said)
            if self.state.country is None:
                self._ask_country()
                return
        else:
            self._say(f"I have crisis texts in: {', '.join(sorted(referrals.texts))}. Type for example /language de.")
            return
        self._crisis()

    def _picture(self) -> None:
        media = () if self.last is None else self.last.reply.media
        if not media:
            self._say("The last reply has no picture.")
        for medium in media:
            self._say(f"{medium.caption or medium.file}: {medium.alt}")
            self.terminal.write(f"  {medium.path}")

    def _why(self) -> None:
        if self.last is None:
            self._say("There is nothing to explain yet.")
            return
        self.terminal.write("\n" + "\n".join(f"  {line}" for line in why_lines(self.last)))

    def _forget(self) -> None:
        count = len(self.state.conversation.messages)
        begun = replace(self.session.start(), country=self.state.country, language=self.state.language)
        self.state, self.last = begun, None
        self._say(f"Forgotten: {count} messages, the sources in view and all reminders. Nothing was stored elsewhere.")

    def _help(self) -> None:
        self.terminal.write(HELP)

    def _say(self, text: str) -> None:
        self.terminal.write("\n" + "\n".join(_wrapped(line) for line in text.strip().split("\n")))


def _wrapped(line: str) -> str:
    marker = line[: len(line) - len(line.lstrip("-*• "))]
    return (
        textwrap.fill(line, width=88, initial_indent="  ", subsequent_indent="  " + " " * len(marker)) if line else ""
    )

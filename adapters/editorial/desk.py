"""Changes to sources, by two people: proposed, checked, approved or refused, taken back. The files stay the truth."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Protocol

from adapters.editorial.history import Version, VersionHistory, commit
from adapters.editorial.proposals import Proposal, Proposals, ProposalState
from adapters.editorial.shelf import Shelf, TextPlace, fingerprint
from adapters.editorial.sign_off_line import signed_line, with_sign_off
from adapters.editorial.staff import StaffMember, StaffRole
from adapters.moderation.audit import AuditLog, StaffAction, Target
from engine import KnowledgeBase

MOST_CHARACTERS = 18_000
MOST_WHY = 500
_log = logging.getLogger("cafi.editorial")


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckRemark:
    """One thing that the linter says of a text; an `error` keeps it from being proposed."""

    error: bool
    line: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedText:
    """What the linter says, and how easy the text is to read by its language's measure."""

    remarks: tuple[CheckRemark, ...]
    measure: str = ""
    ease: float | None = None

    @property
    def refused(self) -> bool:
        """Whether the text cannot take the place of the one that is there."""
        return any(one.error for one in self.remarks)


class TextLinter(Protocol):
    """The linter, as the composition root gives it: adapters do not import the authors' tools."""

    def check(self, base: KnowledgeBase, place: TextPlace, before: str, text: str) -> CheckedText:
        """Check a text that is to stand in a place; what is wrong with the one that stands there refuses no other."""
        ...

    def stamped(self, base: KnowledgeBase, place: TextPlace, text: str) -> str:
        """A translation that is said to fit its original as that is now."""
        ...


class Refusal(StrEnum):
    """Why a change is not carried out."""

    GONE = "gone"
    ROLE = "role"
    OWN = "own"
    LINT = "lint"
    SAME = "same"
    SIGNED = "signed"
    LONG = "long"
    MOVED = "moved"
    DECIDED = "decided"
    MANY = "many"
    DISK = "disk"
    OFF = "closed"


class ChangeRefused(Exception):
    """A change is not carried out; nothing has been changed."""

    def __init__(self, why: Refusal, checked: CheckedText | None = None) -> None:
        super().__init__(str(why))
        self.why, self.checked = why, checked


async def nobody_reads(assistant: str) -> None:
    """Nothing runs that has to read a changed source."""


@dataclass(kw_only=True)
class EditorialDesk:
    """What the operator's people do with sources. `changed` has whatever runs read an assistant's sources anew.

    `git`: commit each change too. Every method may raise StorageError.
    """

    shelf: Shelf
    history: VersionHistory
    proposals: Proposals
    linter: TextLinter
    audit: AuditLog
    editing: bool = True
    git: bool = False
    changed: Callable[[str], Awaitable[None]] = nobody_reads
    now: Callable[[], float] = time.time
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def today(self) -> date:
        """The day, in UTC."""
        return datetime.fromtimestamp(self.now(), UTC).date()

    async def check(self, place: TextPlace, text: str) -> CheckedText:
        """What the linter says of a text."""
        return await asyncio.to_thread(self._checked, place, text)

    def _checked(self, place: TextPlace, text: str) -> CheckedText:
        base = self.shelf.base(place.assistant)
        before = self.shelf.text(place)
        if base is None or before is None:
            raise ChangeRefused(Refusal.GONE)
        return self.linter.check(base, place, before, text)

    async def propose(self, who: StaffMember, place: TextPlace, *, text: str, base: str, why: str) -> bytes:
        """Keep a change for somebody else to look at. `base`: the fingerprint of the text that was changed.

        Raises ChangeRefused.
        """
        self._may(who, StaffRole.EDITOR)
        text = plain_lines(text)
        now = self.shelf.text(place)
        if now is None:
            raise ChangeRefused(Refusal.GONE)
        if fingerprint(now) != base:
            raise ChangeRefused(Refusal.MOVED)
        if len(text) > MOST_CHARACTERS:
            raise ChangeRefused(Refusal.LONG)
        if text == plain_lines(now):
            raise ChangeRefused(Refusal.SAME)
        if signed_line(text) != signed_line(plain_lines(now)):
            raise ChangeRefused(Refusal.SIGNED)
        await self._fit(place, text)
        kept = await self.proposals.add(
            place, who.id, text=text, base=base, why=why[:MOST_WHY], proposed_by=who.signs_as
        )
        if not kept:
            raise ChangeRefused(Refusal.MANY)
        await self._noted(StaffAction.PROPOSE, who, place)
        return kept

    async def approve(
        self, who: StaffMember, proposal: Proposal, *, signs_off: bool = False, fits: bool = False
    ) -> None:
        """Put a change of somebody else's in place. `signs_off`: the whole text, in one's role. `fits`: a translation says
        what its original says. Raises ChangeRefused."""
        self._may(who, StaffRole.REVIEWER)
        if proposal.proposer == who.id:
            raise ChangeRefused(Refusal.OWN)
        async with self._writing:
            now, place = self.shelf.text(proposal.place), proposal.place
            if now is None:
                raise ChangeRefused(Refusal.GONE)
            text = self._final(who, proposal, signs_off=signs_off, fits=fits)
            current = await self.proposals.get(proposal.id)
            if current is None or current.state is not ProposalState.OPEN:
                raise ChangeRefused(Refusal.DECIDED)
            if now != text:  # else it was written before the program was ended here
                if fingerprint(now) != proposal.base:
                    raise ChangeRefused(Refusal.MOVED)
                await self._fit(place, text)
                about = Version(
                    number=0,
                    day=self.today.isoformat(),
                    how="approved",
                    proposed_by=proposal.proposed_by,
                    approved_by=who.signs_as,
                    why=proposal.why,
                )
                await self._write(place, now, text, about)
            if not await self.proposals.settle(proposal, ProposalState.APPROVED, who.id):
                raise ChangeRefused(Refusal.DECIDED)
        await self._noted(StaffAction.SIGN_OFF if signs_off else StaffAction.APPROVE_CHANGE, who, place)
        await self.changed(place.assistant)

    async def refuse(self, who: StaffMember, proposal: Proposal, answer: str) -> None:
        """Say no to a change; the editor reads why. Raises ChangeRefused."""
        self._may(who, StaffRole.REVIEWER)
        await self._settled(proposal, ProposalState.REFUSED, who, answer[:MOST_WHY])
        await self._noted(StaffAction.REFUSE_CHANGE, who, proposal.place)

    async def withdraw(self, who: StaffMember, proposal: Proposal) -> None:
        """Take one's own change back. Raises ChangeRefused."""
        if proposal.proposer != who.id:
            raise ChangeRefused(Refusal.ROLE)
        await self._settled(proposal, ProposalState.WITHDRAWN, who, "")
        await self._noted(StaffAction.WITHDRAW_CHANGE, who, proposal.place)

    async def restore(self, who: StaffMember, place: TextPlace, number: int) -> None:
        """Put a former version back at once: it was in place before, and a wrong sentence is not to wait for a second
        person. Raises ChangeRefused."""
        self._may(who, StaffRole.REVIEWER)
        async with self._writing:
            now, text = self.shelf.text(place), self.history.text(place, number)
            if now is None or text is None:
                raise ChangeRefused(Refusal.GONE)
            if now == text:
                raise ChangeRefused(Refusal.SAME)
            await self._fit(place, text)
            about = Version(
                number=0, day=self.today.isoformat(), how="restored", approved_by=who.signs_as, why=f"{number}"
            )
            await self._write(place, now, text, about)
        await self._noted(StaffAction.RESTORE, who, place)
        await self.changed(place.assistant)

    def _may(self, who: StaffMember, role: StaffRole) -> None:
        if not self.editing:
            raise ChangeRefused(Refusal.OFF)
        if not who.role.reaches(role):
            raise ChangeRefused(Refusal.ROLE)

    async def _fit(self, place: TextPlace, text: str) -> None:
        checked = await self.check(place, text)
        if checked.refused:
            raise ChangeRefused(Refusal.LINT, checked)

    def _final(self, who: StaffMember, proposal: Proposal, *, signs_off: bool, fits: bool) -> str:
        """The text as it will stand in the file."""
        text, base = proposal.text, self.shelf.base(proposal.place.assistant)
        if fits and base is not None and proposal.place.language != base.language:
            text = self.linter.stamped(base, proposal.place, text)
        return with_sign_off(text, who.signs_as, self.today) if signs_off else text

    async def _settled(self, proposal: Proposal, state: ProposalState, who: StaffMember, answer: str) -> None:
        if not await self.proposals.settle(proposal, state, who.id, answer):
            raise ChangeRefused(Refusal.DECIDED)

    async def _write(self, place: TextPlace, before: str, text: str, about: Version) -> None:
        """The former text into the history first, then the new one in its place, then what is known of it."""

        def work() -> None:
            self.history.keep_found(place, before, about.day)
            self.shelf.write(place, text)
            self.history.keep(place, text, about)
            path = self.shelf.file(place)
            if self.git and path is not None and not commit(path, f"{place}: {about.how} by {about.approved_by}"):
                _log.error("%s: a change could not be committed to git; the file is changed", path)

        try:
            await asyncio.to_thread(work)
        except OSError as error:
            _log.error("a source cannot be written: %s", error.strerror)
            raise ChangeRefused(Refusal.DISK) from error

    async def _noted(self, action: StaffAction, who: StaffMember, place: TextPlace) -> None:
        self.audit.note(action, Target.SOURCE, who.id.hex(), str(place))
        await self.audit.save()


def plain_lines(text: str) -> str:
    """A text with the line ends of files: forms send others."""
    return text.replace("\r\n", "\n").rstrip() + "\n"

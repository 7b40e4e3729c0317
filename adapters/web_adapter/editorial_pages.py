"""Sources signed off without a shell: read, change, approve, look back. Every page works without JavaScript."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import RedirectResponse, Response

from adapters.editorial.desk import ChangeRefused, CheckedText, EditorialDesk, Refusal, plain_lines
from adapters.editorial.differences import differences
from adapters.editorial.proposals import Proposal
from adapters.editorial.shelf import TextPlace, TextState, fingerprint
from adapters.editorial.staff import StaffMember, StaffRole
from adapters.web_adapter.operator_door import OperatorDoor
from adapters.web_adapter.operator_pages import as_csv
from adapters.web_adapter.staff_pages import read_id
from adapters.web_adapter.website import RequestRefused, Visit
from engine import Source

STATES = ("draft", "signed", "overdue", "behind")
_REFUSED = {Refusal.ROLE: 403, Refusal.OWN: 403, Refusal.GONE: 404, Refusal.OFF: 403}


@dataclass(frozen=True, kw_only=True)
class EditorialPages:
    """The list of texts, one of them, its change, its history, and what waits for a second person."""

    door: OperatorDoor
    desk: EditorialDesk

    # --- Reading ----------------------------------------------------------------------------------------------------

    async def texts(self, visit: Visit) -> Response:
        """All texts of an assistant in a language, with their state."""
        who = await self.door.need(visit, StaffRole.READER)
        asked, shelf = visit.request.query_params, self.desk.shelf
        assistant = asked.get("assistant", "")
        if assistant not in shelf.folders:
            assistant = next(iter(shelf.folders))
        known = await asyncio.to_thread(shelf.states, assistant, self.desk.today)
        if "csv" in asked:
            await self.door.need(visit, StaffRole.OPERATOR)
            return as_csv([_HEAD, *map(_row, known)], "cafi-sources.csv")
        languages = list(dict.fromkeys(one.place.language for one in known))
        language = asked.get("language", "")
        if language not in languages:
            language = next(iter(languages), "")
        state = asked.get("state", "")
        shown = [one for one in known if one.place.language == language and _fits(one, state)]
        waiting = {one.place for one in await self.desk.proposals.all(open_only=True)}
        given: dict[str, Any] = {"assistants": shelf.folders, "assistant": assistant, "languages_here": languages}
        given |= {"language": language, "state": state, "states": STATES, "shown": shown, "waiting": waiting}
        return self.door.page(visit, "operator_sources.html", who, **given)

    async def text(self, visit: Visit) -> Response:
        """One text, the dangers in it set apart."""
        who = await self.door.need(visit, StaffRole.READER)
        place, source = self._found(visit)
        state = self.desk.shelf.state(place, source, self.desk.today)
        waiting = [one for one in await self.desk.proposals.all(open_only=True) if one.place == place]
        return self.door.page(
            visit, "operator_source.html", who, place=place, source=source, state=state, waiting=waiting
        )

    def _found(self, visit: Visit) -> tuple[TextPlace, Source]:
        """The text that an address names; raises RequestRefused. Only names of the knowledge base lead to a file."""
        named = visit.request.path_params
        place = TextPlace(assistant=named["assistant"], language=named["language"], source=named["source"])
        source = self.desk.shelf.source(place)
        if source is None:
            raise RequestRefused(404)
        return place, source

    # --- Changing ---------------------------------------------------------------------------------------------------

    async def change_form(self, visit: Visit) -> Response:
        """The text as it is, to be changed."""
        who = await self.door.need(visit, StaffRole.EDITOR)
        place, source = self._found(visit)
        text = self.desk.shelf.text(place) or ""
        return self._form(visit, who, place, source.title, draft=text, base=fingerprint(text))

    async def change(self, visit: Visit) -> Response:
        """Check a changed text, or propose it; what was written is on the page in any case."""
        who, fields = await self.door.form(visit, StaffRole.EDITOR)
        place, source = self._found(visit)
        draft, base, why = plain_lines(fields.get("draft", "")), fields.get("base", ""), fields.get("why", "").strip()
        given: dict[str, Any] = {"draft": draft, "base": base, "why": why}
        try:
            if fields.get("do") != "propose":
                checked = await self.desk.check(place, draft)
                return self._form(visit, who, place, source.title, checked=checked, **given)
            kept = await self.desk.propose(who, place, text=draft, base=base, why=why)
        except ChangeRefused as error:
            now = self.desk.shelf.text(place) or ""
            if error.why is Refusal.MOVED:  # theirs and the one that is there now are compared; the next try is on that
                given["base"] = fingerprint(now)
            return self._form(visit, who, place, source.title, refusal=error, status=409, **given)
        return RedirectResponse(f"/operator/proposals/{kept.hex()}", status_code=303)

    def _form(
        self,
        visit: Visit,
        who: StaffMember,
        place: TextPlace,
        title: str,
        *,
        status: int = 200,
        draft: str,
        base: str,
        why: str = "",
        checked: CheckedText | None = None,
        refusal: ChangeRefused | None = None,
    ) -> Response:
        now = plain_lines(self.desk.shelf.text(place) or "")
        given: dict[str, Any] = {"place": place, "heading": title, "draft": draft, "fingerprint": base, "why": why}
        given |= {"checked": refusal.checked if refusal is not None else checked}
        given |= {"refusal": None if refusal is None else str(refusal.why), "lines": differences(now, draft)}
        return self.door.page(visit, "operator_change.html", who, status=status, **given)

    # --- The second person ------------------------------------------------------------------------------------------

    async def proposals(self, visit: Visit) -> Response:
        """What waits, and what became of the rest."""
        who = await self.door.need(visit, StaffRole.READER)
        return self.door.page(visit, "operator_proposals.html", who, all=await self.desk.proposals.all())

    async def proposal(self, visit: Visit) -> Response:
        """One change, with its differences."""
        return await self._proposal(visit, await self.door.need(visit, StaffRole.READER), await self._named(visit))

    async def _named(self, visit: Visit) -> Proposal:
        found = await self.desk.proposals.get(read_id(visit.request.path_params["proposal"]))
        if found is None:
            raise RequestRefused(404)
        return found

    async def _proposal(
        self, visit: Visit, who: StaffMember, found: Proposal, *, refusal: ChangeRefused | None = None, answer: str = ""
    ) -> Response:
        now = self.desk.shelf.text(found.place)
        base = self.desk.shelf.base(found.place.assistant)
        given: dict[str, Any] = {
            "proposal": found,
            "now": now,
            "lines": [] if now is None else differences(plain_lines(now), found.text),
            "moved": now is not None and fingerprint(now) != found.base,
            "translated": base is not None and base.language != found.place.language,
            "may_decide": who.role.reaches(StaffRole.REVIEWER) and who.id != found.proposer,
            "own_one": who.id == found.proposer,
            "refusal": None if refusal is None else str(refusal.why),
            "checked": None if refusal is None else refusal.checked,
            "answer": answer,
        }
        status = 200 if refusal is None else _REFUSED.get(refusal.why, 409)
        return self.door.page(visit, "operator_proposal.html", who, status=status, **given)

    async def decide(self, visit: Visit) -> Response:
        """Approve, refuse, or take back."""
        who, fields = await self.door.form(visit, StaffRole.EDITOR)
        found, answer = await self._named(visit), fields.get("answer", "").strip()
        try:
            match fields.get("do"):
                case "approve":
                    await self.desk.approve(who, found, signs_off="signs_off" in fields, fits="fits" in fields)
                case "refuse":
                    await self.desk.refuse(who, found, answer)
                case "withdraw":
                    await self.desk.withdraw(who, found)
                case _:
                    raise RequestRefused(400)
        except ChangeRefused as error:
            return await self._proposal(visit, who, found, refusal=error, answer=answer)
        return RedirectResponse(f"/operator/proposals/{found.id.hex()}", status_code=303)

    # --- Looking back -----------------------------------------------------------------------------------------------

    async def history(self, visit: Visit) -> Response:
        """Former versions, and what differs between one of them and the text as it is."""
        return self._history(visit, await self.door.need(visit, StaffRole.READER))

    def _history(self, visit: Visit, who: StaffMember, refusal: ChangeRefused | None = None) -> Response:
        place, source = self._found(visit)
        asked = visit.request.query_params.get("version", "")
        number = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 6 else -1
        former = self.desk.history.text(place, number) if number >= 0 else None
        now = self.desk.shelf.text(place) or ""
        given: dict[str, Any] = {
            "place": place,
            "heading": source.title,
            "versions": self.desk.history.versions(place),
            "chosen": number if former is not None else None,
            "same": former == now,
            "lines": [] if former is None else differences(now, former),
            "refusal": None if refusal is None else str(refusal.why),
            "checked": None if refusal is None else refusal.checked,
        }
        return self.door.page(visit, "operator_history.html", who, status=200 if refusal is None else 409, **given)

    async def restore(self, visit: Visit) -> Response:
        """Put a former version back."""
        who, fields = await self.door.form(visit, StaffRole.REVIEWER)
        place, _ = self._found(visit)
        number = fields.get("version", "")
        if not (number.isascii() and number.isdecimal() and len(number) < 6):
            raise RequestRefused(400)
        try:
            await self.desk.restore(who, place, int(number))
        except ChangeRefused as error:
            return self._history(visit, who, error)
        return RedirectResponse(f"/operator/sources/{place}/history", status_code=303)


_HEAD = ("assistant", "language", "source", "state", "role", "reviewed", "until")


def _fits(one: TextState, state: str) -> bool:
    match state:
        case "draft":
            return one.sign_off is None
        case "signed":
            return one.sign_off is not None and not one.overdue
        case "overdue":
            return one.overdue
        case "behind":
            return one.behind
        case _:
            return True


def _row(one: TextState) -> Sequence[str]:
    state = "draft" if one.sign_off is None else "overdue" if one.overdue else "signed"
    signed = one.sign_off
    return (
        one.place.assistant,
        one.place.language,
        one.place.source,
        f"{state}, behind" if one.behind else state,
        "" if signed is None else signed.role,
        "" if signed is None or signed.day is None else signed.day.isoformat(),
        "" if one.until is None else one.until.isoformat(),
    )

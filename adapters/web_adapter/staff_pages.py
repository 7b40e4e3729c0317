"""The operator's people: who may do what, links that let them in, and the log of what was done."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from adapters.editorial.staff import MOST_NAME, StaffMember, StaffRole
from adapters.moderation.audit import StaffAction, Target
from adapters.web_adapter.guard import own_origin
from adapters.web_adapter.operator_door import OperatorDoor
from adapters.web_adapter.operator_pages import as_csv
from adapters.web_adapter.website import RequestRefused, Visit

LOGGED = 200


@dataclass(frozen=True, kw_only=True)
class StaffPages:
    """Members and the log; for operators alone."""

    door: OperatorDoor

    async def people(self, visit: Visit) -> Response:
        """Everybody, and the form for one more."""
        return await self._people(visit, await self.door.need(visit, StaffRole.OPERATOR))

    async def change(self, visit: Visit) -> Response:
        """Invite somebody, or take their role away."""
        who, fields = await self.door.form(visit, StaffRole.OPERATOR)
        if fields.get("do") == "invite":
            name = " ".join(fields.get("name", "").split())[:MOST_NAME]
            profession = " ".join(fields.get("profession", "").split())[:MOST_NAME]
            if not name or fields.get("role") not in set(StaffRole):
                raise RequestRefused(400)
            token = await self.door.staff.invite(name, StaffRole(fields["role"]), profession)
            await self._noted(StaffAction.INVITE, who)
            request = visit.request
            origin = own_origin(self.door.site.settings, request.headers, str(request.scope["scheme"]))
            return await self._people(visit, who, name=name, link=f"{origin}/operator/link/{token}")
        if fields.get("do") == "remove":
            await self.door.staff.remove(read_id(fields.get("member", "")))
            await self._noted(StaffAction.REMOVE_MEMBER, who)
        return RedirectResponse("/operator/people", status_code=303)

    async def _people(self, visit: Visit, who: StaffMember, name: str = "", link: str = "") -> Response:
        return self.door.page(
            visit,
            "operator_people.html",
            who,
            members=await self.door.staff.members(),
            roles=tuple(StaffRole),
            invited=name,
            link=link,
            minutes=self.door.staff.link_minutes,
        )

    async def _noted(self, action: StaffAction, who: StaffMember) -> None:
        self.door.audit.note(action, Target.MEMBER, who.id.hex())
        await self.door.audit.save()

    async def log(self, visit: Visit) -> Response:
        """What was done, the newest first; by pseudonyms, which operators can match with their people."""
        who = await self.door.need(visit, StaffRole.OPERATOR)
        names = await self._names()
        entries = [
            (one.when, names.get(one.moderator, one.who), one.action, one.posted if one.target == Target.SOURCE else "")
            for one in await self.door.audit.entries(LOGGED)
        ]
        if "csv" in visit.request.query_params:
            return as_csv([("when", "who", "action", "source"), *entries], "cafi-log.csv")
        return self.door.page(visit, "operator_log.html", who, entries=entries)

    async def _names(self) -> dict[bytes, str]:
        """Names by pseudonym, of those who are members now."""
        known = {StaffMember(id=b"", role=StaffRole.OPERATOR, name="operator"), *await self.door.staff.members()}
        audit = self.door.audit
        return {each: one.name for one in known for each in audit.pseudonyms(one.id.hex())}


def read_id(text: str) -> bytes:
    """An id as forms and addresses carry it; nothing for what is none."""
    try:
        return bytes.fromhex(text) if text.isascii() and len(text) == 32 else b"-"
    except ValueError:
        return b"-"

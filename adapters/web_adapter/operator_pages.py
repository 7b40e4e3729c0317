"""The operator's first page: what happens now, in numbers that concern nobody in particular; the pause switch; exports."""

from __future__ import annotations

import csv
import io
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from adapters.editorial.staff import StaffRole
from adapters.moderation.audit import Action, StaffAction, Target
from adapters.web_adapter.metrics import MEDIA_TYPE, Alarms, nothing
from adapters.web_adapter.operator_door import OperatorDoor, SignInNeeded
from adapters.web_adapter.overview import Overviews, feedback_plots, health_plot, no_overview, panels
from adapters.web_adapter.website import RequestRefused, Visit

Problems = Callable[[], Awaitable[Sequence[str]]]


@dataclass(frozen=True, kw_only=True)
class OperatorPages:
    """Figures, the pause switch, exports. `problems`: the configuration's, as `cafi check` names them."""

    door: OperatorDoor
    overview: Overviews = no_overview
    problems: Problems = nothing
    reports: Alarms = nothing

    async def page(self, visit: Visit) -> Response:
        """The figures, or the way in."""
        who = await self.door.who(visit)
        if who is None:
            raise SignInNeeded
        site, said, found = self.door.site, self.door.said(visit), await self.overview()
        metrics = site.metrics
        return self.door.page(
            visit,
            "operator.html",
            who,
            found=found,
            metrics=metrics,
            streams=site.places.open,
            boards=len(site.boards),
            paused=await site.pause.look(),
            panels=panels(found, said, answers=metrics.answers, decisions=metrics.decisions, requests=metrics.requests),
            feedback=feedback_plots(found, said),
            health=health_plot(metrics.answer_seconds(), said),
            reports=await self.reports(),
        )

    async def configuration(self, visit: Visit) -> Response:
        """What `cafi check` says. A page of its own: reading everything takes seconds."""
        who = await self.door.need(visit, StaffRole.OPERATOR)
        return self.door.page(visit, "operator_check.html", who, problems=await self.problems())

    async def switch(self, visit: Visit) -> Response:
        """Pause, go on, or log out."""
        who, fields = await self.door.form(visit, StaffRole.READER)
        if fields.get("do") == "logout":
            await self.door.leave(visit)
        elif fields.get("do") in {"pause", "resume"}:
            if not who.role.reaches(StaffRole.OPERATOR):
                raise RequestRefused(403)
            pausing = fields["do"] == "pause"
            await self.door.site.pause.switch(on=pausing)
            self.door.audit.note(Action.PAUSE if pausing else Action.RESUME, Target.BOT, who.id.hex())
            await self.door.audit.save()
        return RedirectResponse("/operator", status_code=303)

    async def export(self, visit: Visit) -> Response:
        """What the page shows, as a table: nothing in it is finer than what the page shows."""
        who = await self.door.need(visit, StaffRole.OPERATOR)
        found = await self.overview()
        rows: list[tuple[str, str, str, str]] = [("kind", "when", "what", "count")]
        rows += [("referrals", week, platform, f"{count}") for week, platform, count in found.referrals]
        rows += [("unanswered", week, f"{name}: {topic}", f"{count}") for week, name, topic, count in found.unanswered]
        rows += [
            ("feedback", "", f"{one.title}: {row.name}", "" if row.count is None else f"{row.count}")
            for one in found.feedback
            for row in one.rows
        ]
        rows += [("tokens", day, "", f"{tokens}") for day, tokens, _ in found.spent]
        rows += [("sources", "", state, f"{count}") for state, count in sorted(found.sources.items())]
        rows += [("contacts", "", state, f"{count}") for state, count in sorted(found.contacts.items())]
        self.door.audit.note(StaffAction.EXPORT, Target.FIGURES, who.id.hex())
        await self.door.audit.save()
        return as_csv(rows, "cafi-figures.csv")

    async def metrics(self, visit: Visit) -> Response:
        """Figures for Prometheus: with the token, or asked from this computer where no proxy can stand between."""
        if not (visit.asker.near or self.door.bearer(visit)):
            raise RequestRefused(404)
        return Response(await self.door.site.metrics.exposition(), media_type=MEDIA_TYPE)


def as_csv(rows: Sequence[Sequence[str]], name: str) -> Response:
    """A table as a file; what a spreadsheet would run as a formula begins with an apostrophe there."""
    out = io.StringIO()
    csv.writer(out).writerows(
        [f"'{one}" if one[:1] in {"=", "+", "-", "@", "\t"} else one for one in row] for row in rows
    )
    disposition = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(out.getvalue().encode(), media_type="text/csv; charset=utf-8", headers=disposition)

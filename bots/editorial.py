"""Sources that people sign off, built from settings. Part of the composition root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.editorial.desk import CheckedText, CheckRemark, EditorialDesk
from adapters.editorial.history import VersionHistory
from adapters.editorial.proposals import Proposals
from adapters.editorial.shelf import TextPlace
from adapters.editorial.staff import Staff
from adapters.moderation.audit import AuditLog
from engine import KnowledgeBase

if TYPE_CHECKING:
    from bots.chats import Chats
    from bots.compose import Application


@dataclass(frozen=True, kw_only=True)
class KnowledgeLinter:
    """The authors' linter as the operator's page uses it; imported when it is first asked."""

    application: Application

    def check(self, base: KnowledgeBase, place: TextPlace, text: str) -> CheckedText:
        """Check a text that is to stand in a place."""
        from datetime import date

        from kb_tools.lint.draft_lint import lint_draft
        from kb_tools.lint.finding import Severity

        limits = self.application.lint_limits
        found = lint_draft(base, place.source, place.language, text, limits, date.today())
        remarks = tuple(
            CheckRemark(
                error=one.severity is Severity.ERROR,
                line=one.line,
                text=" ".join(part for part in (one.key and f"{one.key}:", one.problem, one.remedy) if part),
            )
            for one in found.findings
        )
        return CheckedText(remarks=remarks, measure=found.measure, ease=found.ease)

    def stamped(self, base: KnowledgeBase, place: TextPlace, text: str) -> str:
        """A translation that is said to fit its original as that is now."""
        from kb_tools.translation_stamps import stamped

        return stamped(text, base.sources[place.source])


def staff(chats: Chats) -> Staff:
    """The operator's people."""
    settings = chats.application.settings.sources
    return Staff(
        database=chats.database,
        keyring=lambda: chats.keyring,
        link_minutes=settings.link_minutes,
        signed_in_hours=settings.signed_in_hours,
        now=chats.clock,
    )


def audit(chats: Chats) -> AuditLog:
    """What the operator's people did, in the same log as what moderators did."""
    days = chats.application.settings.moderation.audit_days
    return AuditLog(database=chats.database, keyring=chats.keyring, days=days, now=chats.clock)


def desk(chats: Chats, log: AuditLog) -> EditorialDesk:
    """Proposals, history and the linter over the folders of all assistants."""
    settings = chats.application.settings
    return EditorialDesk(
        shelf=chats.shelf,
        history=VersionHistory(folder=settings.sources.history),
        proposals=Proposals(database=chats.database, keyring=lambda: chats.keyring, now=chats.clock),
        linter=KnowledgeLinter(application=chats.application),
        audit=log,
        editing=settings.sources.editing,
        git=settings.sources.git,
        changed=chats.application.refresh,
        now=chats.clock,
    )

"""Sources that people sign off, built from settings. Part of the composition root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters import weeks
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
    from kb_tools.lint.draft_lint import DraftLint
    from kb_tools.lint.finding import LintFinding


@dataclass(frozen=True, kw_only=True)
class KnowledgeLinter:
    """The authors' linter as the operator's page uses it; imported when it is first asked."""

    application: Application

    def check(self, base: KnowledgeBase, place: TextPlace, before: str, text: str) -> CheckedText:
        """Check a text that is to stand in a place; what is wrong with the one that stands there refuses no other."""
        from kb_tools.lint.finding import Severity

        found = self._lint(base, place, text)
        known = {_said(one) for one in self._lint(base, place, before).findings} if before != text else set()
        remarks = (
            CheckRemark(
                error=one.severity is Severity.ERROR and _said(one) not in known, line=one.line, text=_said(one)
            )
            for one in found.findings
        )
        in_order = sorted(remarks, key=lambda one: (not one.error, one.line))
        return CheckedText(remarks=tuple(in_order), measure=found.measure, ease=found.ease)

    def _lint(self, base: KnowledgeBase, place: TextPlace, text: str) -> DraftLint:
        from kb_tools.lint.draft_lint import lint_draft

        limits = self.application.lint_limits
        return lint_draft(base, place.source, place.language, text, limits, weeks.today())

    def stamped(self, base: KnowledgeBase, place: TextPlace, text: str) -> str:
        """A translation that is said to fit its original as that is now."""
        from kb_tools.translation_stamps import stamped

        return stamped(text, base.sources[place.source])


def _said(one: LintFinding) -> str:
    return " ".join(part for part in (one.key and f"{one.key}:", one.problem, one.remedy) if part)


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

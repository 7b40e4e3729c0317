"""What the operator's pages say, by language: `config/operator/<language>.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import model_validator

from adapters.conversation.texts import Languages
from adapters.editorial.desk import Refusal
from adapters.editorial.proposals import ProposalState
from adapters.editorial.staff import StaffRole
from adapters.moderation.audit import Action, StaffAction
from adapters.texts import check_keys, read_texts
from engine import Strict, check_braces

MENU = (
    "/operator",
    "/operator/sources",
    "/operator/proposals",
    "/operator/people",
    "/operator/log",
    "/operator/configuration",
)
_PUT_IN: Mapping[str, frozenset[str]] = {
    "frame.signed_in": frozenset({"name", "role"}),
    "sources.signed": frozenset({"role", "day"}),
    "sources.until": frozenset({"day"}),
    "sources.overdue": frozenset({"day"}),
    "sources.dangers": frozenset({"count"}),
    "change.about": frozenset({"title", "language"}),
    "change.line": frozenset({"line"}),
    "change.grade": frozenset({"measure", "ease"}),
    "proposals.by": frozenset({"role", "day"}),
    "history.version": frozenset({"number", "day"}),
    "people.link_about": frozenset({"name", "minutes"}),
    "overview.at_least": frozenset({"count"}),
    "overview.of": frozenset({"count", "of"}),
    "overview.reported": frozenset({"part", "assistant", "count"}),
    "proposals.sign_off": frozenset({"role"}),
}


class OperatorFrameTexts(Strict):
    """What stands on each of these pages."""

    menu: str
    signed_in: str
    log_out: str


class SignInTexts(Strict):
    """The way in."""

    lead: str
    token: str
    button: str
    wrong: str
    used: str
    link: str
    link_button: str
    kept: str


class OverviewTexts(Strict):
    """The page with all figures."""

    running: str
    paused: str
    pause: str
    go_on: str
    refresh: str
    none: str
    held_back: str
    at_least: str
    of: str
    export: str
    health: str
    uptime: str
    storage: str
    fine: str
    pages_open: str
    chats: str
    answers_took: str
    pages_took: str
    answers: str
    decisions: str
    requests: str
    queue: str
    waiting: str
    oldest: str
    minutes: str
    workers: str
    at_workers: str
    endpoints: str
    no_endpoints: str
    states: dict[str, str]
    exhausted: str
    spending: str
    tokens: str
    cost: str
    limit: str
    no_limit: str
    referrals: str
    weeks_ended: str
    under_five: str
    feedback: str
    coverage: str
    coverage_about: str
    topics: dict[str, str]
    sources: str
    contacts: str
    contact_states: dict[str, str]
    source_states: dict[str, str]
    reports: str
    reported: str
    alerts: str
    alerts_off: str
    alerts_on: str
    alert_kinds: dict[str, str]
    configuration: str
    nothing: str


class SourceListTexts(Strict):
    """All sources, and one of them."""

    heading: str
    lead: str
    editing_off: str
    assistant: str
    language: str
    state: str
    all: str
    show: str
    draft: str
    signed: str
    until: str
    overdue: str
    behind: str
    dangers: str
    high_stakes: str
    no_danger: str
    danger_about: str
    change: str
    history: str
    open_proposal: str
    local_rules: str


class ChangeTexts(Strict):
    """Changing a text."""

    heading: str
    about: str
    text: str
    text_about: str
    why: str
    why_about: str
    check: str
    propose: str
    fine: str
    refused: str
    warnings: str
    error: str
    warning: str
    line: str
    grade: str
    differences: str
    kept: str


class ProposalTexts(Strict):
    """What waits for a second person."""

    heading: str
    lead: str
    none: str
    by: str
    why: str
    no_reason: str
    differences: str
    no_differences: str
    left_out: str
    gone: str
    new: str
    approve: str
    sign_off: str
    fits: str
    refuse: str
    answer: str
    answer_about: str
    withdraw: str
    own: str
    not_yours: str
    states: dict[str, str]
    moved: str


class HistoryTexts(Strict):
    """Former versions."""

    heading: str
    lead: str
    none: str
    version: str
    how: dict[str, str]
    compare: str
    restore: str
    restore_about: str


class StaffListTexts(Strict):
    """Who works on the sources."""

    heading: str
    lead: str
    name: str
    role: str
    profession: str
    profession_about: str
    invite: str
    link_heading: str
    link_about: str
    remove: str
    none: str
    roles: dict[str, str]
    role_about: dict[str, str]


class LogTexts(Strict):
    """What was done."""

    heading: str
    lead: str
    when: str
    who: str
    what: str
    where: str
    actions: dict[str, str]


class OperatorTexts(Strict):
    """All of one language. Braces name what is put in."""

    title: str
    menu: dict[str, str]
    frame: OperatorFrameTexts
    sign_in: SignInTexts
    overview: OverviewTexts
    sources: SourceListTexts
    change: ChangeTexts
    proposals: ProposalTexts
    history: HistoryTexts
    people: StaffListTexts
    log: LogTexts
    refusals: dict[str, str]

    @model_validator(mode="after")
    def _whole(self) -> OperatorTexts:
        check_keys("menu", self.menu, MENU)
        check_keys("refusals", self.refusals, tuple(Refusal))
        check_keys("proposals.states", self.proposals.states, tuple(ProposalState))
        check_keys("history.how", self.history.how, ("before", "approved", "restored"))
        check_keys("people.roles", self.people.roles, tuple(StaffRole))
        check_keys("people.role_about", self.people.role_about, tuple(StaffRole))
        check_keys("log.actions", self.log.actions, (*Action, *StaffAction))
        check_braces(self.model_dump(), _PUT_IN)
        return self


def load_operator_texts(folder: Path, chat: Languages) -> dict[str, OperatorTexts]:
    """The texts in every language of the chat; raises ConfigurationError."""
    remedy = "Add {missing}.yaml, or remove the language from config/chat."
    return read_texts(folder, OperatorTexts, sorted(chat.texts), called="texts for the operator's page", remedy=remedy)

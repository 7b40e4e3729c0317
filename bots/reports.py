"""Reports that an answer worried or harmed somebody, built from settings. Part of the composition root."""

from __future__ import annotations

from collections.abc import Sequence

from adapters.feedback.events import AllowList, told_of
from adapters.feedback.questions import Questions, read_questions
from adapters.feedback.report_desk import ReportDesk
from adapters.feedback.sinks import DatabaseSink, Forwarding, Sink
from adapters.storage.database import Database, existing
from bots.compose import Application
from engine import ConfigurationError


def allow_list(application: Application, questions: Questions) -> AllowList:
    """Every value that an event of this application may hold."""
    assistants = application.engine.assistants.items()
    return AllowList.of(questions, {name: told_of(one.knowledge) for name, one in assistants})


def report_desk(
    application: Application, questions: Questions, database: Database, further: Sequence[Sink] = ()
) -> ReportDesk | None:
    """Counts in a database, and passes on to further sinks; None where the operator has switched reports off."""
    if not application.settings.reports.enabled:
        return None
    return ReportDesk(
        questions=questions,
        allowed=allow_list(application, questions),
        forwarding=Forwarding(sinks=(DatabaseSink(database=database), *further)),
    )


def reports_beside(application: Application) -> ReportDesk | None:
    """The same for a terminal, where a bot of this operator has made a database; else nothing is counted."""
    try:
        database = existing(application.settings.storage.url)
    except ConfigurationError:
        return None
    application.closing.push_async_callback(database.aclose)
    return report_desk(application, read_questions(application.settings.config_folder / "feedback.yaml"), database)

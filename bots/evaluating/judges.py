"""The configured judges and rules, as the laboratory asks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bots.compose import Application
    from engine import ChatModel, RuleBook
    from evaluation.judges import Judging, Tiers


def judging(running: Application, tiers: Tiers = "filter") -> Judging:
    """The judges over the knowledge base of the default assistant."""
    from evaluation.judges import Judging

    engine = running.engine
    team = engine.assistants[engine.default].teams[0]
    return Judging(engine=engine, team=team, tiers=tiers, parallel=running.settings.parallel)


def rule_book(running: Application) -> RuleBook:
    """The rules of the default assistant."""
    from engine import RuleBook

    names = running.assistant_settings(running.settings.assistant).rules
    return RuleBook.load(running.settings.config_folder / "rules", names)


def with_model(base: Application, model: ChatModel) -> Application:
    """The application with another model for its judges."""
    from bots.compose import Application

    return Application(settings=base.settings, model=model)

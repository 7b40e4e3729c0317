"""Who works in a turn: an assistant and its teams, each one agent a role, all with a language model or all built in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.agent.guide import Guide
from engine.agent.protocol import Agent
from engine.judges.protocol import Judge
from engine.knowledge.base import KnowledgeBase
from engine.language.human_claims import HumanClaims
from engine.refiner.protocol import Refiner
from engine.reflection.protocol import Reflections
from engine.retrieval.embedding import EmbeddedSources
from engine.retrieval.protocol import Retriever
from engine.settings import AssistantSettings
from engine.texts import Texts
from engine.urgency.protocol import UrgencyLayer


@dataclass(frozen=True, kw_only=True)
class Team:
    """Who drafts, judges and refines. `urgency` are the layers that run beside the draft.

    `preliminary` is empty where one tier decides: without a model the same judge would only be asked twice.
    `reflections`: who is asked where an assistant's settings want its retrieval reflected on.
    """

    agent: Agent
    chief: Mapping[str, Judge]
    refiner: Refiner
    preliminary: Mapping[str, Judge] = field(default_factory=dict)
    urgency: tuple[UrgencyLayer, ...] = ()
    built_in: bool = False
    reflections: Reflections | None = None

    @property
    def tiers(self) -> Mapping[str, Mapping[str, Judge]]:
        """The judges by tier, in the order in which they are asked."""
        return ({"preliminary": self.preliminary} if self.preliminary else {}) | {"chief": self.chief}


@dataclass(frozen=True, kw_only=True)
class Assistant:
    """Everything one assistant works with. `teams` are tried in order; the last one cannot fail.

    `guide`: what finds its sections, and the titles and questions by which they are browsed, in every language.
    `others`: the same with sources and sentences in other languages, by code. `human`: the words that claim to be human.
    """

    settings: AssistantSettings
    knowledge: KnowledgeBase
    guide: Guide
    retriever: Retriever
    texts: Texts
    teams: tuple[Team, ...]
    private: tuple[str, ...] = ()
    human: HumanClaims = field(default_factory=HumanClaims)
    embedded: EmbeddedSources | None = None
    others: Mapping[str, Assistant] = field(default_factory=dict)

    def speaking(self, language: str) -> Assistant:
        """The same with sources and sentences in a language; itself where there are none."""
        return self.others.get(language, self)

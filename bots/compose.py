"""The composition root: reads the files that settings point to, and builds everything. Tests call it with other parts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field

from adapters.editorial.shelf import stamp_of
from adapters.people.services import OwnPeople, read_people
from adapters.vector_files import VectorFiles
from bots.parts import Parts
from bots.settings import CafiSettings
from engine import (
    ANSWERS_FOR,
    CITED_REPLY,
    LANGUAGES_OF_A_FEW,
    ROLE_AND_TONE,
    SOURCE_FIDELITY,
    UNCITED_REPLY,
    UNSUPPORTED_CLAIMS,
    Account,
    Assistant,
    AssistantSettings,
    Breaker,
    BuiltinRefiner,
    BuiltinRoleAndTone,
    BuiltinSourceFidelity,
    BuiltinUnsupportedClaims,
    CafiError,
    ChatModel,
    ConfigurationError,
    DangerKinds,
    Disclaimer,
    EmbeddedSources,
    Embedder,
    Endpoint,
    EndpointFigures,
    Endpoints,
    Engine,
    Floor,
    Guide,
    GuideTexts,
    HumanClaims,
    Judge,
    JudgePhrases,
    KnowledgeBase,
    LanguageDetector,
    LinearHeads,
    MessageKinds,
    ModelSettings,
    PassageRanking,
    PersonInDanger,
    PhraseNeed,
    Price,
    QuotingAgent,
    Referrals,
    Reflections,
    ResolutionClassifier,
    ResponseClassifier,
    RuleBook,
    ScopeReading,
    SearchCompleteness,
    SectionSearch,
    Service,
    SignOff,
    SituationReading,
    Stakes,
    Strict,
    Team,
    TextEncoder,
    Texts,
    Tier,
    ToneHead,
    UrgencyClassifier,
    WordRelevance,
    load_elsewhere,
    load_referrals,
    one_turn,
    private_sentences,
    read_yaml,
    topic_list,
)

if TYPE_CHECKING:
    from engine import Prompts, PromptTemplate
    from kb_tools.lint.limits import LintLimits

_log = logging.getLogger("cafi.run")
FIRST_LOOK = (CITED_REPLY, UNCITED_REPLY)
CHIEFS = (SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, ROLE_AND_TONE)


class PriceTable(Strict):
    """`config/prices.yaml`."""

    currency: str = "USD"
    as_of: str = ""
    models: dict[str, Price] = Field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BuiltOnce(Mapping[str, Assistant]):
    """Assistants by name, each built when it is first asked for: one question needs one assistant only."""

    build: Callable[[str], Assistant]
    names: tuple[str, ...]
    _built: dict[str, Assistant] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Assistant:
        if name not in self.names:
            raise KeyError(name)
        if name not in self._built:
            self._built[name] = self.build(name)
        return self._built[name]

    def put(self, name: str, assistant: Assistant) -> None:
        """Put an assistant in the place of the one that is there; whoever answers with that one ends with it."""
        self._built[name] = assistant

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


@dataclass(kw_only=True)
class Application(Parts):
    """Everything that runs, built on first use.

    `model` replaces the configured language model, and `embedder` the configured embeddings with it. `agent_prompt`: the
    template that leads the agent; another than the shipped one is for measurements.
    """

    settings: CafiSettings
    model: ChatModel | None = None
    embedder: Embedder | None = None
    agent_prompt: str = "agent"
    closing: AsyncExitStack = field(default_factory=AsyncExitStack)
    _stamps: dict[str, object] = field(default_factory=dict)

    @cached_property
    def chat_model(self) -> ChatModel | None:
        """The language model, or None where only built-in agents run."""
        if self.model is not None or not self.endpoints:
            return self.model
        return Endpoints(self.endpoints)

    @cached_property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where the configured language models are asked, in order of preference; none where only built-in agents run."""
        models = self.settings.models
        if not self.settings.uses_llm:
            return ()
        if not models.reachable:
            raise ConfigurationError(
                "Language models are asked for, but neither a key nor an address is set.",
                key="models.api_key",
                remedy="Set CAFI_MODELS__API_KEY or CAFI_MODELS__BASE_URL, or use --agents builtin.",
            )
        try:
            import stamina.instrumentation

            from engine import OpenAIModel
        except ImportError as error:
            raise ConfigurationError(
                "The package 'openai' is not installed.",
                key="agents",
                remedy="Install cafi[openai], or use --agents builtin.",
            ) from error
        # Its default prints every retry on standard output, where only replies and JSON belong.
        stamina.instrumentation.set_on_retry_hooks(())
        own = {one.name: one for one in models.endpoints}
        made: list[Endpoint] = []
        for name, at in models.places.items():
            account = Account(endpoint=name, prices=self.prices)
            if (one := own.get(name)) is not None:
                account.prices = {**self.prices, **one.prices}
                account.tokens_a_day, account.cost_a_day = one.tokens_a_day, one.cost_a_day
            model = OpenAIModel(at, where=self._key_of(name, at), account=account)
            self.closing.push_async_callback(model.aclose)
            breaker = Breaker(settings=models.breaker)
            made.append(
                Endpoint(model=model, without_retries=model.without_retries(), account=account, breaker=breaker)
            )
        return tuple(made)

    def _key_of(self, name: str, at: ModelSettings) -> str:
        """Under which key an endpoint stands; raises ConfigurationError for one in the list that nobody can reach."""
        if not self.settings.models.endpoints:
            return "models"
        where = f"models.endpoints.{name}"
        if not at.reachable:
            raise ConfigurationError(
                "Neither a key nor an address is set.",
                key=f"{where}.api_key",
                remedy=f"Set CAFI_MODELS__ENDPOINT_KEYS__{name.upper()}, or base_url for a server that needs no key.",
            )
        return where

    def endpoint_figures(self) -> tuple[EndpointFigures, ...]:
        """What was asked of each endpoint and what it cost, for reports."""
        return tuple(one.figures() for one in self.endpoints) if self.model is None else ()

    @property
    def accounts(self) -> tuple[Account, ...]:
        """What each endpoint is charged with."""
        return tuple(one.account for one in self.endpoints) if self.model is None else ()

    @property
    def provider(self) -> str | None:
        """The host of the language model, None without one; of several endpoints, all of them."""
        if self.chat_model is None:
            return None
        addresses = (one.base_url for one in self.settings.models.places.values())
        return ", ".join(dict.fromkeys((urlsplit(one).hostname or one) if one else "OpenAI" for one in addresses))

    @cached_property
    def embeddings(self) -> Embedder | None:
        """What embeds texts for the search of language-model teams, or None where words alone are searched."""
        models = self.settings.models
        if self.model is not None or self.chat_model is None or models.embeddings is None:
            return self.embedder if self.chat_model is not None else None
        from engine import OpenAIEmbedder

        # The search has one model for all vectors: another endpoint's would not go with those that are kept.
        first, (name, at) = self.endpoints[0], next(iter(models.places.items()))
        embedder = OpenAIEmbedder(at, where=self._key_of(name, at), account=first.account)
        self.closing.push_async_callback(embedder.aclose)
        return embedder

    def embedded(self, knowledge: KnowledgeBase) -> EmbeddedSources | None:
        """A knowledge base as an embedding model sees it, where one is configured; nothing is sent before it is asked."""
        if self.embeddings is None:
            return None
        cache = VectorFiles(self.settings.cache_folder / "embeddings")
        return EmbeddedSources(knowledge=knowledge, embedder=self.embeddings, cache=cache)

    @cached_property
    def prompts(self) -> Prompts:
        """All prompt templates."""
        from engine import Prompts

        return Prompts.load(self.settings.prompts_folder)

    @cached_property
    def importer_prompt(self) -> PromptTemplate:
        """The prompt of `cafi kb import`."""
        from kb_tools.manual.lay_words import GIVEN

        return self.prompts.get("import_source").expect(GIVEN)

    @cached_property
    def translator_prompt(self) -> PromptTemplate:
        """The prompt of `cafi kb translate`."""
        from kb_tools.translator import GIVEN

        return self.prompts.get("translate_source").expect(GIVEN)

    @cached_property
    def phrases(self) -> JudgePhrases:
        """The phrases of the built-in judges."""
        return JudgePhrases.load(self.settings.config_folder / "judges" / "phrases.yaml")

    @cached_property
    def human_claims(self) -> HumanClaims:
        """The words with which a reply would claim to be a human being."""
        return HumanClaims.load(self.settings.config_folder / "judges" / "human_claims.yaml")

    @cached_property
    def tone_head(self) -> ToneHead:
        """What the built-in judges have learnt."""
        return ToneHead.load(self.settings.config_folder / "judges" / "role_and_tone.bin")

    @cached_property
    def people(self) -> OwnPeople:
        """Who answers for the bot, nobody where the operator names none."""
        return read_people(self.settings.config_folder)

    @cached_property
    def referrals(self) -> Referrals:
        """The crisis referrals of every country, with the configured one as the operator's choice."""
        crisis = self.settings.crisis
        return load_referrals(self.settings.config_folder / "crisis", crisis.country, crisis.language)

    @cached_property
    def encoder(self) -> TextEncoder:
        """The small language model that reads messages."""
        return TextEncoder.load(self.settings.config_folder / "encoder")

    @cached_property
    def elsewhere(self) -> dict[str, tuple[str, ...]]:
        """Lines about other subjects, by language."""
        return load_elsewhere(self.settings.config_folder / "elsewhere")

    def search(self, knowledge: KnowledgeBase) -> SectionSearch:
        """The search over a knowledge base in its own language."""
        return self.guide(knowledge).search(knowledge.language)

    @cached_property
    def stakes(self) -> Stakes:
        """The high-stakes topics."""
        return Stakes.load(self.settings.config_folder / "stakes.yaml")

    @cached_property
    def lint_limits(self) -> LintLimits:
        """What sources are measured by."""
        from kb_tools.lint.limits import LintLimits

        return LintLimits.load(self.settings.config_folder / "kb_lint.yaml")

    @cached_property
    def urgency_floor(self) -> Floor:
        """The explicit phrases, for every language that there are crisis texts in."""
        return Floor.load(self.settings.config_folder / "urgency" / "floor", self.referrals.texts)

    @cached_property
    def urgency_classifier(self) -> UrgencyClassifier:
        """What raises a suspicion."""
        path = self.settings.config_folder / "urgency" / "classifier.bin"
        return UrgencyClassifier.load(path, self.encoder, self.kinds.tells_heavily, self.danger_kinds.of)

    @cached_property
    def situations(self) -> SituationReading:
        """What tells what somebody tells who asks nothing."""
        return SituationReading.load(self.settings.config_folder / "situations", self.encoder)

    @cached_property
    def resolution(self) -> ResolutionClassifier:
        """What tells that a danger is being dealt with."""
        return ResolutionClassifier.load(self.settings.config_folder / "urgency" / "resolution", self.encoder)

    @cached_property
    def responses(self) -> ResponseClassifier:
        """What reads what is typed in place of an answer to the check question."""
        return ResponseClassifier.load(self.settings.config_folder / "urgency" / "response", self.encoder)

    @cached_property
    def short_languages(self) -> LinearHeads:
        """The heads that say of which language a few words are."""
        path = self.settings.config_folder / "languages.bin"
        return LinearHeads.load(path, LANGUAGES_OF_A_FEW, trained_by="evaluation.language_fit")

    @cached_property
    def person_in_danger(self) -> PersonInDanger:
        """What tells who is in danger."""
        return PersonInDanger.load(self.settings.config_folder / "urgency" / "person", self.encoder)

    @cached_property
    def danger_kinds(self) -> DangerKinds:
        """What tells what a danger is about."""
        return DangerKinds.load(self.settings.config_folder / "urgency" / "kind", self.encoder)

    @cached_property
    def kinds(self) -> MessageKinds:
        """What tells asking from telling."""
        return MessageKinds.load(self.settings.config_folder / "kinds" / "kinds.bin", self.encoder)

    @cached_property
    def service(self) -> Service:
        """What is answered of the service itself."""
        return Service.load(self.settings.config_folder / "service", self.kinds, self.encoder)

    @cached_property
    def guide_texts(self) -> dict[str, GuideTexts]:
        """What the built-in guide says, by language."""
        return GuideTexts.load_all(self.settings.config_folder / "guide")

    @cached_property
    def price_table(self) -> PriceTable:
        """What models cost, and in which currency."""
        return read_yaml(self.settings.config_folder / "prices.yaml", PriceTable)

    @property
    def prices(self) -> dict[str, Price]:
        """What models cost, by name."""
        return self.price_table.models

    @cached_property
    def places(self) -> asyncio.Semaphore | None:
        """Places of turns with a language model, for all platforms; None where there is no model."""
        return None if self.chat_model is None else asyncio.Semaphore(self.settings.spending.turns_at_once)

    @cached_property
    def engine(self) -> Engine:
        """The engine with every configured assistant; the default one is built now, others when first asked for."""
        names = self.settings.assistants
        if self.settings.assistant not in names:
            raise ConfigurationError(
                f"The assistant {self.settings.assistant!r} is not among `assistants`.", key="assistant"
            )
        for name in names:
            for handoff in self.assistant_settings(name).handoffs:
                if handoff.to not in names:
                    raise ConfigurationError(
                        f"It hands off to {handoff.to!r}, which is not configured.",
                        file=self.settings.config_folder / "assistants" / f"{name}.yaml",
                        key="handoffs",
                    )
        assistants = BuiltOnce(build=self.assistant, names=names)
        with one_turn():  # the same words stand in sources, synonyms and rules
            assistants[self.settings.assistant]
            return Engine(
                assistants=assistants,
                default=self.settings.assistant,
                fast_layers=(self.urgency_floor, self.urgency_classifier),
                referrals=self.referrals,
                stakes=self.stakes,
                budget=self.settings.budget,
                prices=self.prices,
                service=self.service,
                resolution=self.resolution,
                responses=self.responses,
                person=self.person_in_danger,
                detector=LanguageDetector(few=self.short_languages, greetings=self.service.greetings()),
            )

    def assistant_settings(self, name: str) -> AssistantSettings:
        """One assistant's file, its knowledge base as an absolute path."""
        path = self.settings.config_folder / "assistants" / f"{name}.yaml"
        read = read_yaml(path, AssistantSettings, remedy="Check `assistants` in the settings.")
        folder = self.settings.config_folder.parent / read.knowledge_base
        if self.settings.knowledge_base is not None and name == self.settings.assistant:
            folder = self.settings.knowledge_base
        return read.model_copy(update={"knowledge_base": folder})

    @one_turn()
    def assistant(self, name: str) -> Assistant:
        """One assistant with its knowledge base, search and teams; in other languages it is built when one is used."""
        settings = self.assistant_settings(name)
        knowledge = self._in_date(KnowledgeBase.load(settings.knowledge_base))
        guide = self.guide(knowledge)
        texts = self.settings.config_folder / "texts"
        others = tuple(one for one in knowledge.languages[1:] if (texts / f"{one}.yaml").is_file())
        spoken = BuiltOnce(build=partial(self._speaking, settings, guide), names=others)
        return replace(self._speaking(settings, guide, settings.texts), others=spoken)

    def _in_date(self, knowledge: KnowledgeBase) -> KnowledgeBase:
        """A knowledge base without what is past its review date, where the operator wants that; raises ConfigurationError."""
        wanted = self.settings.sources
        if not wanted.hide_overdue:
            return knowledge
        today = datetime.now(UTC).date()
        signed = {name: SignOff.read(one.reviewed) for name, one in knowledge.sources.items()}
        gone = [name for name, one in signed.items() if one is not None and one.overdue(today, wanted.review_days)]
        if len(gone) == len(knowledge.sources):
            raise ConfigurationError(
                "Every source is past its review date.",
                file=knowledge.folder,
                key="sources.hide_overdue",
                remedy="Have the sources reviewed, or set it to false.",
            )
        return knowledge.without(gone) if gone else knowledge

    async def refresh(self, name: str) -> None:
        """Read an assistant's sources anew, beside whoever is being answered; what is faulty now leaves it as it was."""
        assistants = self.engine.assistants
        if not isinstance(assistants, BuiltOnce) or name not in assistants.names:
            return
        try:
            assistants.put(name, await asyncio.to_thread(self.assistant, name))
        except (CafiError, OSError) as error:
            _log.error("the sources of %r are faulty and stay as they were: %s", name, error)

    async def refresh_changed(self) -> None:
        """The same for all assistants whose files have changed since the last time."""
        for name in self.settings.assistants:
            folder = self.assistant_settings(name).knowledge_base
            day = datetime.now(UTC).date() if self.settings.sources.hide_overdue else None
            stamp = (day, await asyncio.to_thread(stamp_of, folder))
            if self._stamps.setdefault(name, stamp) != stamp:
                self._stamps[name] = stamp
                await self.refresh(name)

    def _speaking(self, settings: AssistantSettings, guide: Guide, language: str) -> Assistant:
        """An assistant in one language."""
        original, knowledge = guide.knowledge, guide.knowledge.edition(language)
        settings = settings.spoken(language)
        rules = RuleBook.load(self.settings.config_folder / "rules", settings.rules)
        texts = Texts.load(self.settings.config_folder / "texts" / f"{language}.yaml")
        search = guide.search(knowledge.language)
        ranking = PassageRanking(search=search)
        builtin = self._builtin_team(knowledge, guide, settings, texts)
        phrases = PhraseNeed(texts=texts)
        reflections = Reflections(
            needed=phrases, relevant=WordRelevance(ranking=ranking), complete=SearchCompleteness(retriever=search)
        )
        teams: tuple[Team, ...] = (replace(builtin, reflections=reflections),)
        if self.chat_model is not None:
            if knowledge is original:
                _ = search.centroids  # with a model every first message needs them, and nobody is to wait for that
            llm = self._llm_team(self.chat_model, settings, knowledge, ranking, rules, texts)
            asking = self._llm_reflections(self.chat_model, settings, ranking, phrases)
            teams = (replace(llm, reflections=asking), *teams)
        return Assistant(
            settings=settings,
            knowledge=knowledge,
            guide=guide,
            retriever=search,
            texts=texts,
            teams=teams,
            embedded=self.embedded(knowledge),
            human=self.human_claims,
            private=private_sentences(*(rule.statement for rule in rules.rules), *self._instructions()),
        )

    def _instructions(self) -> Iterator[str]:
        """What language models are told, where there is one: it is for them alone."""
        if self.chat_model is not None:
            yield from (template.instructions for template in self.prompts.templates.values())

    def _builtin_team(self, knowledge: KnowledgeBase, guide: Guide, settings: AssistantSettings, texts: Texts) -> Team:
        disclaimer = Disclaimer(
            admission=texts.admission,
            verification=texts.verification,
            decline=texts.decline.format(topics=topic_list(settings, texts)),
        )
        return Team(
            agent=QuotingAgent(knowledge=knowledge, texts=texts, guide=guide),
            chief=self._builtin_judges(),
            refiner=BuiltinRefiner(phrases=self.phrases, texts=disclaimer),
            built_in=True,
        )

    def guide(self, knowledge: KnowledgeBase) -> Guide:
        """What finds sections for the built-in agent."""
        return Guide(
            knowledge=knowledge,
            kinds=self.kinds,
            service=self.service,
            texts=self.guide_texts,
            stakes=self.stakes,
            encoder=self.encoder,
            situations=self.situations,
            elsewhere=self.elsewhere,
            learnt=ScopeReading.of_base(knowledge.folder, self.encoder),
        )

    def _builtin_judges(self) -> dict[str, Judge]:
        judges: tuple[Judge, ...] = (
            BuiltinSourceFidelity(phrases=self.phrases, head=self.tone_head),
            BuiltinUnsupportedClaims(phrases=self.phrases, head=self.tone_head),
            BuiltinRoleAndTone(head=self.tone_head, phrases=self.phrases),
        )
        return {one.name: one for one in judges}

    def _llm_team(
        self,
        model: ChatModel,
        settings: AssistantSettings,
        knowledge: KnowledgeBase,
        ranking: PassageRanking,
        rules: RuleBook,
        texts: Texts,
    ) -> Team:
        # Only here: templates and model roles are a tenth of the start-up time of a run without a model.
        from engine import (
            AGENT_GIVEN,
            JUDGE_GIVEN,
            REFINER_GIVEN,
            URGENCY_GIVEN,
            LlmAgent,
            LlmJudge,
            LlmRefiner,
            LlmUrgency,
            PromptedModel,
        )

        def prompted(name: str, given: frozenset[str]) -> PromptedModel:
            return PromptedModel(model=model, template=self.prompts.get(name).expect(given))

        def judge(name: str, tier: Tier, prompt: str) -> LlmJudge:
            return LlmJudge(
                name=name,
                tier=tier,
                prompted=prompted(prompt, JUDGE_GIVEN),
                rules=rules.checked_by(*ANSWERS_FOR[name]),
                known=rules.known_to(*ANSWERS_FOR[name]),
            )

        return Team(
            agent=LlmAgent(
                prompted=prompted(self.agent_prompt, AGENT_GIVEN),
                knowledge=knowledge,
                rules=rules,
                wishes=texts.wishes,
                ranking=ranking,
                whole=settings.context == "whole",
            ),
            preliminary={name: judge(name, Tier.SMALL, "preliminary") for name in FIRST_LOOK},
            chief={name: judge(name, Tier.LARGE, f"{name}_chief") for name in CHIEFS},
            refiner=LlmRefiner(prompted=prompted("refiner", REFINER_GIVEN), rules=rules),
            urgency=(LlmUrgency(prompted=prompted("urgency", URGENCY_GIVEN), entries=knowledge.dangers.pressing),),
        )

    def _llm_reflections(
        self, model: ChatModel, settings: AssistantSettings, ranking: PassageRanking, phrases: PhraseNeed
    ) -> Reflections:
        from engine import (
            COMPLETENESS_GIVEN,
            NEED_GIVEN,
            RELEVANCE_GIVEN,
            LlmCompleteness,
            LlmNeed,
            LlmRelevance,
            PromptedModel,
        )

        def prompted(name: str, given: frozenset[str]) -> PromptedModel:
            return PromptedModel(model=model, template=self.prompts.get(name).expect(given))

        about = settings.condition
        return Reflections(
            needed=LlmNeed(prompted=prompted("reflection_needed", NEED_GIVEN), phrases=phrases, condition=about),
            relevant=LlmRelevance(
                prompted=prompted("reflection_relevant", RELEVANCE_GIVEN), ranking=ranking, condition=about
            ),
            complete=LlmCompleteness(prompted=prompted("reflection_complete", COMPLETENESS_GIVEN), condition=about),
        )


def kb_folder(application: Application) -> Path:
    """The knowledge base that `--kb` or the default assistant names."""
    return application.assistant_settings(application.settings.assistant).knowledge_base

"""The engine: one turn of conversation, from a message to a reply that has passed its checks and judges.

These are its public names, and nobody outside imports past them. Each is loaded when it is first used, so that a command
which needs two of them does not wait for the libraries of all.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.agent.builtin import QuotingAgent
    from engine.agent.guide import Guide
    from engine.agent.kinds import KINDS as MESSAGE_KINDS
    from engine.agent.kinds import MessageKind, MessageKinds, word_sums
    from engine.agent.llm import AGENT_GIVEN, LlmAgent
    from engine.agent.passages import PassageRanking
    from engine.agent.protocol import Agent, AgentTask
    from engine.agent.service import SERVICE, Service, ServiceAnswers
    from engine.agent.situation import HIDDEN as SITUATIONS_HIDDEN
    from engine.agent.situation import Mood, Situation, SituationReading
    from engine.agent.smalltalk import topic_list
    from engine.exceptions import (
        CafiError,
        ConfigurationError,
        EventRefused,
        KnowledgeBaseError,
        ModelDeclined,
        ModelError,
        ModelMisconfigured,
        ModelOutputError,
        ModelUnavailable,
        SealBroken,
        StaleState,
        StorageDamaged,
        StorageError,
        StorageUnavailable,
    )
    from engine.files import line_of, parse_yaml, read_text, read_yaml
    from engine.judges.builtin import BuiltinRoleAndTone, BuiltinSourceFidelity, BuiltinUnsupportedClaims
    from engine.judges.choice import (
        ANSWERS_FOR,
        CITED_REPLY,
        ROLE_AND_TONE,
        SOURCE_FIDELITY,
        UNCITED_REPLY,
        UNSUPPORTED_CLAIMS,
        judges_for,
    )
    from engine.judges.claims import JudgePhrases, SentencePurpose
    from engine.judges.claims import read as read_reply
    from engine.judges.llm import JUDGE_GIVEN, LlmJudge
    from engine.judges.protocol import Case, Judge
    from engine.judges.support import strange_words
    from engine.judges.tone import DOUBTFUL, HEADS, TONE, ToneHead
    from engine.knowledge.base import (
        MEDIA_LIST,
        KnowledgeBase,
        Manifest,
        MediaEntry,
        dead_links,
        read_manifest,
        scan_edition,
        scan_knowledge,
    )
    from engine.knowledge.belongings import belongs, picture_kind, texts_of
    from engine.knowledge.categories import Category
    from engine.knowledge.dangers import (
        DANGERS_FILE,
        DangerEntry,
        Dangers,
        HowFast,
        KnownDanger,
        conflicting_dangers,
        read_dangers,
    )
    from engine.knowledge.directives import DirectiveKind, brackets, danger_lines, without_brackets
    from engine.knowledge.directives import parse as parse_directive
    from engine.knowledge.lay_questions import (
        LayQuestions,
        SectionQuestions,
        lay_question_faults,
        questions_file,
        read_lay_questions,
    )
    from engine.knowledge.lay_questions import languages_of as question_languages
    from engine.knowledge.reference import Reference
    from engine.knowledge.section import Audience, Section, Stretch, stretches, without_anchors
    from engine.knowledge.sheet import Sheet, sheet_of
    from engine.knowledge.sign_off import UNSIGNED, SignOff, reviewed_on
    from engine.knowledge.source import Passage, Source, assemble, plain_source, read_source
    from engine.knowledge.translations import FOLDER as TRANSLATIONS
    from engine.knowledge.translations import WHOLE as WHOLE_TRANSLATION
    from engine.knowledge.translations import Translation, danger_hash, read_translation, read_translations
    from engine.knowledge.translations import hashes as translation_hashes
    from engine.knowledge.translations import languages_of as translated_languages
    from engine.language.centroids import Centroids, LabelledText
    from engine.language.elsewhere import load_elsewhere
    from engine.language.encoder import BEFORE as ENCODER_BEFORE
    from engine.language.encoder import (
        DANGER_HEADS,
        KIND_HEADS,
        EncoderDescription,
        TextEncoder,
        TextReading,
        key_of,
    )
    from engine.language.encoder import HEADS as ENCODER_HEADS
    from engine.language.encoder import OUTPUTS as ENCODER_OUTPUTS
    from engine.language.encoder import WINDOW as ENCODER_WINDOW
    from engine.language.human_claims import HumanClaims
    from engine.language.letters import legible, undisguised_words
    from engine.language.meaning_heads import MeaningHeads, meanings, wholes
    from engine.language.message_language import OURS as LANGUAGES_OF_A_FEW
    from engine.language.message_language import LanguageDetector
    from engine.language.message_language import identifier as language_identifier
    from engine.language.ordinary import ordinary_words
    from engine.language.text import STOP_WORDS, clean, fold, grade, sentences, squash, stem, stems, words
    from engine.language.vectors import Floats
    from engine.language.word_features import WordFeatures
    from engine.language.word_heads import FORMAT, Description, Head, LinearHeads
    from engine.memo import one_turn
    from engine.models.account import Account
    from engine.models.breaker import Breaker, BreakerState
    from engine.models.endpoint_trial import EndpointTrial, try_endpoint
    from engine.models.endpoints import Endpoint, EndpointFigures, Endpoints
    from engine.models.ledger import Ledger, ModelCall
    from engine.models.openai_embeddings import OpenAIEmbedder
    from engine.models.openai_model import OpenAIModel
    from engine.models.prompted_model import PromptedModel
    from engine.models.protocol import ChatModel, Completion, Finish, Prompt
    from engine.models.scripted import ScriptedAnswer, ScriptedModel, UnreachableModel
    from engine.prompts import Prompts, PromptTemplate
    from engine.proportions import Interval, wilson
    from engine.refiner.builtin import BuiltinRefiner, Disclaimer
    from engine.refiner.llm import REFINER_GIVEN, LlmRefiner
    from engine.refiner.protocol import Refiner
    from engine.reflection.builtin import PhraseNeed, SearchCompleteness, WordRelevance
    from engine.reflection.llm import (
        COMPLETENESS_GIVEN,
        NEED_GIVEN,
        RELEVANCE_GIVEN,
        LlmCompleteness,
        LlmNeed,
        LlmRelevance,
    )
    from engine.reflection.protocol import Reflections
    from engine.retrieval.embedding import EmbeddedSources, Embedder
    from engine.retrieval.protocol import Hit, Retriever
    from engine.retrieval.scope import ScopeReading
    from engine.retrieval.section_weights import WEIGHTS as SECTION_WEIGHTS
    from engine.retrieval.sections import EVIDENCE as SECTION_EVIDENCE
    from engine.retrieval.sections import READ as SECTION_READINGS
    from engine.retrieval.sections import SectionHit, SectionSearch, SectionsFound
    from engine.retrieval.sections import evidence_of_fit as section_confidence
    from engine.rules import RuleBook
    from engine.settings import (
        AssistantSettings,
        BreakerSettings,
        Budget,
        Limits,
        ModelSettings,
        Price,
        Reflection,
        Strict,
    )
    from engine.stakes import Stakes
    from engine.steps import Step, StepFact, StepListener, StepName, count, measured, note, step
    from engine.texts import GuideTexts, Texts, check_braces, named_in_braces
    from engine.turn.checks import private_sentences
    from engine.turn.conversation import active_after, conversation_from_json, conversation_to_json, messages_from
    from engine.turn.engine import Engine
    from engine.turn.filter import Filter, FilterPlan
    from engine.turn.team import Assistant, Team
    from engine.types import (
        ActiveSource,
        Basis,
        Conversation,
        Danger,
        DangerAnswer,
        Decision,
        Draft,
        HandoffOffer,
        Help,
        Judgement,
        Kind,
        LayerResult,
        Medium,
        Message,
        Offer,
        Outcome,
        Reminder,
        Reply,
        Review,
        Role,
        Stage,
        StageRecord,
        Tier,
        Turn,
        Urgency,
        UrgencyLevel,
        Usage,
        Verdict,
        Wish,
        worst,
    )
    from engine.urgency.classifier import EARLIER as URGENCY_EARLIER
    from engine.urgency.classifier import UrgencyClassifier, said_before
    from engine.urgency.contacts import (
        CountryContacts,
        Purpose,
        contact_faults,
        contact_warnings,
        is_placeholder,
        is_placeholder_number,
    )
    from engine.urgency.floor import Floor
    from engine.urgency.kind import DangerKinds
    from engine.urgency.llm import URGENCY_GIVEN, LlmUrgency
    from engine.urgency.person import PersonInDanger, about_another
    from engine.urgency.protocol import FastLayer, UrgencyLayer
    from engine.urgency.referral import Referral, Referrals, ReferralTexts, load_referrals
    from engine.urgency.resolution import RESOLVED, ResolutionClassifier
    from engine.urgency.response import ResponseClassifier
else:

    def __getattr__(name: str) -> object:
        """Load a public name on its first use."""
        if name not in homes():
            raise AttributeError(f"The engine has no public name {name!r}.")
        module, own = homes()[name]
        value = globals()[name] = getattr(import_module(module), own)
        return value


@cache
def homes() -> dict[str, tuple[str, str]]:
    """Where each public name is defined, its module and its name there: the imports above, which only type checkers run."""
    (block,) = (one for one in ast.parse(Path(__file__).read_text(encoding="utf-8")).body if isinstance(one, ast.If))
    imports = (one for one in block.body if isinstance(one, ast.ImportFrom) and one.module)
    return {one.asname or one.name: (node.module or "", one.name) for node in imports for one in node.names}


__all__ = [
    "AGENT_GIVEN",
    "ANSWERS_FOR",
    "CITED_REPLY",
    "COMPLETENESS_GIVEN",
    "DANGERS_FILE",
    "DANGER_HEADS",
    "DOUBTFUL",
    "ENCODER_BEFORE",
    "ENCODER_HEADS",
    "ENCODER_OUTPUTS",
    "ENCODER_WINDOW",
    "FORMAT",
    "HEADS",
    "JUDGE_GIVEN",
    "KIND_HEADS",
    "LANGUAGES_OF_A_FEW",
    "MEDIA_LIST",
    "MESSAGE_KINDS",
    "NEED_GIVEN",
    "REFINER_GIVEN",
    "RELEVANCE_GIVEN",
    "RESOLVED",
    "ROLE_AND_TONE",
    "SECTION_EVIDENCE",
    "SECTION_READINGS",
    "SECTION_WEIGHTS",
    "SERVICE",
    "SITUATIONS_HIDDEN",
    "SOURCE_FIDELITY",
    "STOP_WORDS",
    "TONE",
    "TRANSLATIONS",
    "UNCITED_REPLY",
    "UNSIGNED",
    "UNSUPPORTED_CLAIMS",
    "URGENCY_EARLIER",
    "URGENCY_GIVEN",
    "WHOLE_TRANSLATION",
    "Account",
    "ActiveSource",
    "Agent",
    "AgentTask",
    "Assistant",
    "AssistantSettings",
    "Audience",
    "Basis",
    "Breaker",
    "BreakerSettings",
    "BreakerState",
    "Budget",
    "BuiltinRefiner",
    "BuiltinRoleAndTone",
    "BuiltinSourceFidelity",
    "BuiltinUnsupportedClaims",
    "CafiError",
    "Case",
    "Category",
    "Centroids",
    "ChatModel",
    "Completion",
    "ConfigurationError",
    "Conversation",
    "CountryContacts",
    "Danger",
    "DangerAnswer",
    "DangerEntry",
    "DangerKinds",
    "Dangers",
    "Decision",
    "Description",
    "DirectiveKind",
    "Disclaimer",
    "Draft",
    "EmbeddedSources",
    "Embedder",
    "EncoderDescription",
    "Endpoint",
    "EndpointFigures",
    "EndpointTrial",
    "Endpoints",
    "Engine",
    "EventRefused",
    "FastLayer",
    "Filter",
    "FilterPlan",
    "Finish",
    "Floats",
    "Floor",
    "Guide",
    "GuideTexts",
    "HandoffOffer",
    "Head",
    "Help",
    "Hit",
    "HowFast",
    "HumanClaims",
    "Interval",
    "Judge",
    "JudgePhrases",
    "Judgement",
    "Kind",
    "KnowledgeBase",
    "KnowledgeBaseError",
    "KnownDanger",
    "LabelledText",
    "LanguageDetector",
    "LayQuestions",
    "LayerResult",
    "Ledger",
    "Limits",
    "LinearHeads",
    "LlmAgent",
    "LlmCompleteness",
    "LlmJudge",
    "LlmNeed",
    "LlmRefiner",
    "LlmRelevance",
    "LlmUrgency",
    "Manifest",
    "MeaningHeads",
    "MediaEntry",
    "Medium",
    "Message",
    "MessageKind",
    "MessageKinds",
    "ModelCall",
    "ModelDeclined",
    "ModelError",
    "ModelMisconfigured",
    "ModelOutputError",
    "ModelSettings",
    "ModelUnavailable",
    "Mood",
    "Offer",
    "OpenAIEmbedder",
    "OpenAIModel",
    "Outcome",
    "Passage",
    "PassageRanking",
    "PersonInDanger",
    "PhraseNeed",
    "Price",
    "Prompt",
    "PromptTemplate",
    "PromptedModel",
    "Prompts",
    "Purpose",
    "QuotingAgent",
    "Reference",
    "Referral",
    "ReferralTexts",
    "Referrals",
    "Refiner",
    "Reflection",
    "Reflections",
    "Reminder",
    "Reply",
    "ResolutionClassifier",
    "ResponseClassifier",
    "Retriever",
    "Review",
    "Role",
    "RuleBook",
    "ScopeReading",
    "ScriptedAnswer",
    "ScriptedModel",
    "SealBroken",
    "SearchCompleteness",
    "Section",
    "SectionHit",
    "SectionQuestions",
    "SectionSearch",
    "SectionsFound",
    "SentencePurpose",
    "Service",
    "ServiceAnswers",
    "Sheet",
    "SignOff",
    "Situation",
    "SituationReading",
    "Source",
    "Stage",
    "StageRecord",
    "Stakes",
    "StaleState",
    "Step",
    "StepFact",
    "StepListener",
    "StepName",
    "StorageDamaged",
    "StorageError",
    "StorageUnavailable",
    "Stretch",
    "Strict",
    "Team",
    "TextEncoder",
    "TextReading",
    "Texts",
    "Tier",
    "ToneHead",
    "Translation",
    "Turn",
    "UnreachableModel",
    "Urgency",
    "UrgencyClassifier",
    "UrgencyLayer",
    "UrgencyLevel",
    "Usage",
    "Verdict",
    "Wish",
    "WordFeatures",
    "WordRelevance",
    "about_another",
    "active_after",
    "assemble",
    "belongs",
    "brackets",
    "check_braces",
    "clean",
    "conflicting_dangers",
    "contact_faults",
    "contact_warnings",
    "conversation_from_json",
    "conversation_to_json",
    "count",
    "danger_hash",
    "danger_lines",
    "dead_links",
    "fold",
    "grade",
    "is_placeholder",
    "is_placeholder_number",
    "judges_for",
    "key_of",
    "language_identifier",
    "lay_question_faults",
    "legible",
    "line_of",
    "load_elsewhere",
    "load_referrals",
    "meanings",
    "measured",
    "messages_from",
    "named_in_braces",
    "note",
    "one_turn",
    "ordinary_words",
    "parse_directive",
    "parse_yaml",
    "picture_kind",
    "plain_source",
    "private_sentences",
    "question_languages",
    "questions_file",
    "read_dangers",
    "read_lay_questions",
    "read_manifest",
    "read_reply",
    "read_source",
    "read_text",
    "read_translation",
    "read_translations",
    "read_yaml",
    "reviewed_on",
    "said_before",
    "scan_edition",
    "scan_knowledge",
    "section_confidence",
    "sentences",
    "sheet_of",
    "squash",
    "stem",
    "stems",
    "step",
    "strange_words",
    "stretches",
    "texts_of",
    "topic_list",
    "translated_languages",
    "translation_hashes",
    "try_endpoint",
    "undisguised_words",
    "wholes",
    "wilson",
    "without_anchors",
    "without_brackets",
    "word_sums",
    "words",
    "worst",
]

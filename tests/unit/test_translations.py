"""Sources in other languages: what an edition holds, what stays in the original, and what is said of what has grown old."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from bots.cli.check import findings_of, missing_in
from bots.compose import Application
from bots.settings import CafiSettings
from engine.agent.smalltalk import SmallTalk
from engine.exceptions import ConfigurationError, ModelOutputError
from engine.knowledge.base import KnowledgeBase, scan_edition
from engine.language.message_language import LanguageDetector
from engine.models.prompted_model import PromptedModel
from engine.models.protocol import Prompt
from engine.models.scripted import ScriptedModel
from engine.settings import Budget
from engine.types import Basis, Decision, Draft, Message, Role
from kb_tools.lint.finding import LintFinding, Severity
from kb_tools.lint.lint import lint
from kb_tools.pictures import drawings, translated_drawing, words_of
from kb_tools.reading_ease import EASE, fernandez_huerta, kandel_moles, lix
from kb_tools.translation_stamps import renew
from kb_tools.translator import TranslatedSection, TranslatedSource, Translator
from tests.sources import SHIPPED, write
from tests.team import application, scripted, shipped
from tests.unit.test_kb_lint import LIMITS

TODAY = date(2026, 11, 1)
ORIGINAL = """---
id: tea
title: Tea
summary: [About tea]
sections:
  about:
    for: [self]
    questions: [what is tea]
  strength:
    for: [self]
    questions: [how strong]
---
# Tea {#about}

[intent: informs]

Tea is a warm drink. Many people like it in the morning and in the evening.

## How strong {#strength}

[danger: spill]

- Leave it for 3 minutes.
- Pour it slowly.
"""
DANGERS = """words: {emergency: "Now:", same_day: "Today:", this_week: "This week:", say: "Say:"}
dangers:
  - id: spill
    name: Hot tea on the skin
    how_fast: emergency
    signs: [a large burn]
    do: [Cool it for 20 minutes.]
    say: I have a burn.
    authority: {title: Burns, body: WHO, year: 2020}
"""
GERMAN = """---
title: "Tee"
summary: ["Über Tee"]
---
# Tee {#about}

[intent: informs]

Tee ist ein warmes Getränk. Viele mögen ihn am Morgen und am Abend.

## Wie stark {#strength}

[danger: spill]

- Lassen Sie ihn 3 Minuten ziehen.
- Gießen Sie langsam.
"""
GERMAN_DANGERS = """words: {emergency: "Jetzt:", same_day: "Heute:", this_week: "Diese Woche:", say: "Sagen Sie:"}
dangers:
  - id: spill
    name: "Heißer Tee auf der Haut"
    signs: ["eine große Verbrennung"]
    do: ["Kühlen Sie sie 20 Minuten."]
    say: "Ich habe eine Verbrennung."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A knowledge base of one source with one danger, translated into German and stated to be so."""
    write(tmp_path, "tea.md", ORIGINAL)
    write(tmp_path, "dangers.yaml", DANGERS)
    write(tmp_path, "translations/de/tea.md", GERMAN)
    write(tmp_path, "translations/de/dangers.yaml", GERMAN_DANGERS)
    renew(KnowledgeBase.load(tmp_path), "de")
    return tmp_path


def german(folder: Path) -> KnowledgeBase:
    return KnowledgeBase.load(folder).edition("de")


def changed(folder: Path, name: str, *pairs: tuple[str, str]) -> None:
    path = folder / name
    text = path.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


def found(folder: Path) -> list[LintFinding]:
    """What lint says of translations."""
    return [one for one in lint(folder, LIMITS, TODAY).findings if "translations" in one.file.parts]


def said(folder: Path) -> list[tuple[str, str, int]]:
    return [(one.check, one.file.name, one.line) for one in found(folder)]


# --- An edition ------------------------------------------------------------------------------------------------------


def test_an_edition_has_the_ids_of_the_original_and_its_own_words(folder: Path) -> None:
    """Sections, audience and thresholds are those of the original; title, text and the words of dangers are translated."""
    source = german(folder).sources["tea"]
    assert source.title == "Tee"
    assert [one.id for one in source.sections] == ["about", "strength"]
    assert [one.audience for one in source.sections] == [
        one.audience for one in KnowledgeBase.load(folder).sources["tea"].sections
    ]
    assert "Kühlen Sie sie 20 Minuten." in source.text and "Cool it" not in source.text
    entry = source.dangers[0].entry
    assert (entry.how_fast, entry.authority.year) == ("emergency", 2020)
    assert source.notes_for_agent() == KnowledgeBase.load(folder).sources["tea"].notes_for_agent()


def test_what_a_translation_lacks_stays_in_the_words_of_the_original(folder: Path) -> None:
    """A section or a danger that nobody has translated is shown as in the original, and known to be so."""
    changed(folder, "translations/de/tea.md", ("## Wie stark {#strength}", ""), ("[danger: spill]", ""))
    path = folder / "translations/de/tea.md"
    path.write_text(path.read_text(encoding="utf-8").split("- Lassen")[0], encoding="utf-8")
    source = german(folder).sources["tea"]
    assert source.foreign_sections == {"strength"}
    assert "Leave it for 3 minutes." in source.text and "Heißer Tee" in source.text
    (folder / "translations/de/dangers.yaml").unlink()
    assert "Hot tea on the skin" in german(folder).sources["tea"].text


def test_a_language_without_a_folder_reads_the_original(folder: Path) -> None:
    """Where there is no edition, the knowledge base itself is read."""
    base = KnowledgeBase.load(folder)
    assert base.languages == ("en", "de")
    assert base.edition("fr") is base and base.edition("en") is base


@pytest.mark.parametrize(
    ("name", "text", "line", "problem"),
    [
        ("coffee.md", GERMAN, 1, "There is no source 'coffee'."),
        ("tea.md", GERMAN.replace("{#strength}", "{#weight}"), 11, "The source 'tea' has no section 'weight'."),
        ("tea.md", GERMAN.replace("{#strength}", "{#about}"), 11, "The section 'about' stands here a second time."),
        ("tea.md", GERMAN.replace("[intent: informs]", "[obey]"), 7, "Unknown directive in square brackets."),
        ("tea.md", GERMAN[GERMAN.index("# Tee") :], 1, "A translation begins with its title and summary."),
        ("tea.md", GERMAN.replace('title: "Tee"\n', ""), 2, "The key is missing."),
        ("dangers.yaml", GERMAN_DANGERS.replace("id: spill", "id: fall"), 3, "There is no danger 'fall' in"),
        ("dangers.yaml", GERMAN_DANGERS.replace('["eine große Verbrennung"]', "[]"), 5, "Tuple should have at least 1"),
        ("media.yaml", '- {file: "x.png", alt: "x"}', 1, "There is no picture 'x.png'."),
    ],
)
def test_a_fault_is_named_with_file_and_line(folder: Path, name: str, text: str, line: int, problem: str) -> None:
    """A translation of what does not exist, twice the same, or no translation at all: named, and the original is shown."""
    write(folder, f"translations/de/{name}", text)
    edition, problems = scan_edition(KnowledgeBase.load(folder), "de")
    (one,) = [one for one in problems if problem in one.problem]
    assert (Path(str(one.file)).name, one.line) == (name, line)
    assert edition.sources["tea"].text


@pytest.mark.parametrize(
    ("right", "wrong", "original", "translated"),
    [
        ("{#strength}", "{#weight}", "strength", "about"),
        ("[danger: spill]", "[obey]", "strength", "about"),
        ("[intent: informs]", "[obey]", "about", "strength"),
    ],
)
def test_a_faulty_section_alone_is_read_from_the_original(
    folder: Path, right: str, wrong: str, original: str, translated: str
) -> None:
    """A wrong id or directive costs the translation that one section; title and the others stay, and the fault is named."""
    write(folder, "translations/de/tea.md", GERMAN.replace(right, wrong))
    base = KnowledgeBase.load(folder)
    tea = base.edition("de").sources["tea"]
    assert tea.title == "Tee" and tea.foreign_sections == {original}
    english = {one.id: one.text for one in base.sources["tea"].sections}
    german = {one.id: one.text for one in tea.sections}
    assert german[translated] != english[translated] and english[original].split("\n")[-1] in german[original]
    assert any(one.severity is Severity.ERROR and one.line > 1 for one in lint(folder, LIMITS, TODAY).findings)


def test_a_translation_is_read_from_its_own_folder_alone(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A link among the translations is not followed, whatever it leads to."""
    elsewhere = write(tmp_path_factory.mktemp("elsewhere"), "tea.md", GERMAN.replace("Tee ist", "Geheim ist"))
    path = folder / "translations/de/tea.md"
    path.unlink()
    path.symlink_to(elsewhere)
    edition, problems = scan_edition(KnowledgeBase.load(folder), "de")
    assert any("is a link" in one.problem for one in problems)
    assert "Geheim" not in edition.sources["tea"].text


@given(text=st.text(max_size=400))
def test_no_text_of_a_translation_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Whatever stands in a translated file, the source can be read, in the original's words at worst."""
    folder = tmp_path_factory.mktemp("base")
    write(folder, "tea.md", ORIGINAL)
    write(folder, "dangers.yaml", DANGERS)
    write(folder, "translations/de/tea.md", f'---\ntitle: "T"\nsummary: ["S"]\n---\n{text}'.encode(errors="replace"))
    assert KnowledgeBase.load(folder).edition("de").sources["tea"].sections


# --- Lint ------------------------------------------------------------------------------------------------------------


def test_a_faultless_translation_is_not_remarked_upon(folder: Path) -> None:
    """Nothing is said of a translation that is whole and as old as its original."""
    assert said(folder) == []


def test_what_is_older_than_its_original_is_named(folder: Path) -> None:
    """A changed section, summary or danger makes its translation old, until somebody says that they have gone over it."""
    changed(folder, "tea.md", ("Pour it slowly.", "Pour it very slowly."), ("[About tea]", "[All about tea]"))
    changed(folder, "dangers.yaml", ("a large burn", "a larger burn"))
    stale = [one for one in found(folder) if one.check == "stale"]
    assert {one.file.name for one in stale} == {"tea.md", "dangers.yaml"} and len(stale) == 3
    assert all(one.severity is Severity.WARNING for one in stale)
    renew(KnowledgeBase.load(folder), "de")
    assert said(folder) == []
    assert renew(KnowledgeBase.load(folder), "de") == ()


@pytest.mark.parametrize(
    ("old", "new", "check", "severity"),
    [
        ("3 Minuten", "30 Minuten", "figures", Severity.ERROR),
        ("[danger: spill]\n", "", "directives", Severity.ERROR),
        ("[intent: informs]", "[intent: heals]", "directives", Severity.ERROR),
        ("- Gießen Sie langsam.\n", "", "items", Severity.WARNING),
        (
            "Viele mögen ihn am Morgen und am Abend.",
            "Many people like it in the morning and in the evening.",
            "english",
            Severity.WARNING,
        ),
    ],
)
def test_what_differs_from_the_original_is_named(
    folder: Path, old: str, new: str, check: str, severity: Severity
) -> None:
    """Another figure or directive is an error; a list that is shorter, or a sentence left in English, wants a look."""
    changed(folder, "translations/de/tea.md", (old, new))
    assert (check, severity) in [(one.check, one.severity) for one in found(folder)]


def test_a_section_told_for_a_country_may_have_other_figures(folder: Path) -> None:
    """What is told for a country is not held to the original's figures; a section that is not there cannot be."""
    changed(
        folder,
        "translations/de/tea.md",
        ("3 Minuten", "5 Minuten"),
        ('title: "Tee"', 'title: "Tee"\nlocal: [strength]'),
    )
    assert said(folder) == []
    changed(folder, "translations/de/tea.md", ("local: [strength]", "local: [price]"))
    assert {"local", "figures"} <= {check for check, _, _ in said(folder)}


def test_a_danger_that_nobody_has_translated_is_an_error(folder: Path) -> None:
    """Whoever is in danger must be able to read what to do."""
    (folder / "translations/de/dangers.yaml").unlink()
    assert [(one.check, one.severity) for one in found(folder)] == [("missing", Severity.ERROR)]


def test_renewing_keeps_every_other_letter(folder: Path) -> None:
    """What is stated of the original comes into the front matter; text and other keys stay as they are."""
    path = folder / "translations/de/tea.md"
    assert path.read_text(encoding="utf-8").partition("of:")[0] == GERMAN.partition("\n---\n# Tee")[0] + "\n"
    assert path.read_text(encoding="utf-8").endswith(GERMAN[GERMAN.index("---\n# Tee") :])


@pytest.mark.parametrize("base", SHIPPED, ids=lambda path: path.name)
def test_our_own_translations_are_whole(base: Path) -> None:
    """Every source, section and danger of ours is there in four more languages, as old as its original, with its figures."""
    running = shipped()
    remarks = [one for one in lint(base, running.lint_limits, TODAY).findings if "translations" in one.file.parts]
    assert [str(one) for one in remarks if one.check != "ease"] == []
    knowledge = KnowledgeBase.load(base)
    assert sorted(knowledge.languages) == ["de", "en", "es", "fr", "nb"]
    for language in knowledge.languages[1:]:
        edition, problems = scan_edition(knowledge, language)
        assert problems == []
        assert not any(one.foreign_sections for one in edition.sources.values())


# --- Drafts and what is lacking ---------------------------------------------------------------------------------------


def drafted(answer: TranslatedSource, folder: Path, language: str = "it") -> Path:
    seen: list[Prompt] = []

    def reply(prompt: Prompt) -> str:
        seen.append(prompt)
        return answer.model_dump_json()

    running = shipped()
    prompted = PromptedModel(model=ScriptedModel(reply), template=running.translator_prompt)
    translator = Translator(base=KnowledgeBase.load(folder), language=language, prompted=prompted, budget=Budget())
    path = asyncio.run(translator.draft("tea"))
    assert "[danger" not in str(seen)
    return path


ITALIAN = TranslatedSource(
    title="Tè",
    summary=["Del tè"],
    sections=[
        TranslatedSection(id="about", heading="Tè", text="⟦1⟧\n\nIl tè è una bevanda calda."),
        TranslatedSection(id="strength", heading="Quanto forte", text="⟦1⟧\n\n- Aspetta 3 minuti.\n- Versa piano."),
    ],
)


def test_a_model_drafts_what_a_language_lacks(folder: Path) -> None:
    """A draft has the original's directives, which the model has not seen, and says that nobody has reviewed it."""
    path = drafted(ITALIAN, folder)
    assert "reviewed: none" in path.read_text(encoding="utf-8")
    source = KnowledgeBase.load(folder).edition("it").sources["tea"]
    assert source.title == "Tè" and not source.foreign_sections
    assert [one.check for one in found(folder) if one.file == path] == []


def test_a_draft_that_lacks_something_is_not_written(folder: Path) -> None:
    """Where the model leaves out a section or a directive, nothing is half-written; what somebody wrote is never replaced."""
    short = ITALIAN.model_copy(update={"sections": ITALIAN.sections[:1]})
    with pytest.raises(ModelOutputError):
        drafted(short, folder)
    assert not (folder / "translations/it").exists()
    with pytest.raises(ConfigurationError, match="translated already"):
        drafted(ITALIAN, folder, "de")


def test_a_check_lists_what_a_language_lacks() -> None:
    """For a sixth language every file of sentences, every source and every danger is named; for ours nothing."""
    running = shipped()
    lacking = [one.text for one in missing_in(running, "it")]
    for part in (
        "config/texts/it.yaml",
        "config/guide/it.yaml",
        "urgency/floor/it.yaml",
        "'clozapine'",
        "'low_white_cells'",
    ):
        assert any(part in one for one in lacking), part
    assert [one for language in ("de", "es", "fr", "nb") for one in missing_in(running, language)] == []


def test_a_check_names_a_language_that_lacks_lines_about_other_subjects_or_sentences_for_what_is_told(
    tmp_path: Path,
) -> None:
    """Without the former a question about anything may be answered from our sources, without the latter a remark gets a
    sentence for whatever was told: the check says so and names the file."""
    root = SHIPPED[0].parents[1]
    config = shutil.copytree(root / "config", tmp_path / "config")
    (tmp_path / "knowledge_base").symlink_to(root / "knowledge_base")
    (config / "elsewhere" / "es.txt").unlink()
    guide = config / "guide" / "fr.yaml"
    texts = yaml.safe_load(guide.read_text(encoding="utf-8"))
    del texts["remarks"]["told"]["pet_died"]
    guide.write_text(yaml.safe_dump(texts, allow_unicode=True), encoding="utf-8")
    running = shipped(CafiSettings(agents="builtin", config_folder=config))
    found = [one.text for one in findings_of(running)]
    away, untold = ([one for one in found if about in one] for about in ("other subjects", "what people tell"))
    assert len(away) == 1 and "elsewhere/es.txt" in away[0] and "'es'" in away[0]
    assert len(untold) == 1 and "guide/fr.yaml" in untold[0] and "pet_died" in untold[0]


# --- Ease and pictures ------------------------------------------------------------------------------------------------


def test_the_measures_of_ease_are_those_of_their_authors() -> None:
    """Worked by hand: LIX 2 words a sentence and one long word of four; the others by words a sentence and syllables a word."""
    assert lix("Sie gehen. Langsamere Tage.") == pytest.approx(4 / 2 + 100 * 1 / 4)
    assert fernandez_huerta("la casa. la mesa.") == pytest.approx(206.84 - 60 * 6 / 4 - 1.02 * 2)
    assert kandel_moles("le chat. un lac.") == pytest.approx(207 - 1.015 * 2 - 73.6 * 1)
    assert EASE["de"].is_harder(50, 42) and EASE["es"].is_harder(60, 70) and not EASE["fr"].is_harder(80, 68)


def test_every_drawing_has_its_words_and_its_picture_in_every_language() -> None:
    """One drawing serves all: each of its texts is translated, and the picture made of it lies beside the translations."""
    for base in SHIPPED:
        for language in KnowledgeBase.load(base).languages[1:]:
            made = dict(drawings(base, language))
            assert set(made) == {path.name for path in (base / "media").glob("*.svg")}
            for name in made:
                assert (base / "translations" / language / name).with_suffix(".png").is_file()


def test_a_drawing_with_a_text_that_is_not_translated_is_not_made() -> None:
    """No picture mixes two languages."""
    drawing = '<svg width="9" height="9"><text x="1">Tea &amp; milk</text><text>Now</text></svg>'
    assert words_of(drawing) == ("Tea & milk", "Now")
    assert "Tee &amp; Milch" in translated_drawing(drawing, {"Tea & milk": "Tee & Milch", "Now": "Jetzt"})
    with pytest.raises(KeyError):
        translated_drawing(drawing, {"Now": "Jetzt"})


# --- A turn -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running() -> Application:
    return shipped()


@pytest.mark.parametrize(
    ("language", "question", "words"),
    [
        ("de", "Was ist Clozapin?", "Clozapin ist ein Antipsychotikum"),
        ("es", "¿Qué es la clozapina?", "clozapina"),
        ("fr", "Qu'est-ce que la clozapine ?", "clozapine"),
        ("nb", "Hva er klozapin?", "lozapin"),
    ],
)
def test_a_question_is_answered_from_the_source_in_its_language(
    running: Application, language: str, question: str, words: str
) -> None:
    """Reply, citation and offers are in the person's language, and the reply stands in the translated source."""
    engine = running.engine
    turn = asyncio.run(engine.respond(engine.start(), question))
    assert turn.language == language and turn.reply.citations == ("clozapine",)
    source = engine.assistants["schizophrenia"].speaking(language).knowledge.sources["clozapine"]
    assert words.casefold() in turn.reply.text.casefold()
    first = turn.reply.text.split("\n")[0]
    assert first[:60] in source.text.replace("*", "")
    assert turn.offers


def test_a_tapped_question_without_a_translation_says_that_it_is_in_english(tmp_path: Path) -> None:
    """A section that nobody has translated is answered from the original, with one sentence that says so."""
    shutil.copytree(SHIPPED[0], tmp_path / "kb")
    (tmp_path / "kb/translations/de/causes.md").unlink()
    running = shipped(CafiSettings(agents="builtin", knowledge_base=tmp_path / "kb"))
    engine = running.engine
    first = engine.assistants["schizophrenia"].knowledge.sources["causes"].sections[0].id
    ask = engine.respond(engine.start(), "Woran liegt das?", section=("causes", first), language="de")
    reply = asyncio.run(ask).reply.text
    assert "Diesen Text gibt es bisher nur auf Englisch." in reply
    whole = engine.respond(engine.start(), "Was ist das?", section=("clozapine", "about"), language="de")
    assert "Englisch" not in asyncio.run(whole).reply.text


@pytest.mark.parametrize(("chat", "message"), [("de", "Clozapin"), ("nb", "medisin?")])
def test_the_chat_keeps_its_language_where_a_message_does_not_show_one(
    running: Application, chat: str, message: str
) -> None:
    """A single word is read in the language that the chat has; a whole sentence in another one is answered in that."""
    engine = running.engine
    assert asyncio.run(engine.respond(engine.start(), message, usual=chat)).language == chat
    english = asyncio.run(engine.respond(engine.start(), "can I drink alcohol with my medicine?", usual=chat))
    assert english.language == "en"


IN_ENGLISH, IN_GERMAN = "What is schizophrenia and what helps?", "Was ist Schizophrenie und was hilft dagegen?"
IN_NORWEGIAN = "Hva er en psykose, og hvor lenge varer den?"


@pytest.mark.parametrize(
    ("earlier", "message", "language"),
    [
        ((IN_ENGLISH, "and what about the weight then?"), "hva er schizofreni", "nb"),
        ((IN_ENGLISH,), "was ist Schizophrenie", "de"),
        ((IN_GERMAN,), "what helps then", "en"),
        ((IN_NORWEGIAN,), "side effects please", "en"),
        ((IN_GERMAN,), "clozapin 300 mg", "de"),
        ((IN_NORWEGIAN,), "ok", "nb"),
        ((IN_GERMAN, "ok"), "hilft Bewegung", "de"),
        (("ok",), "hva hjelper", "nb"),
        ((), "qu'est-ce que c'est", "fr"),
        ((), "y tu quien eres", "es"),
        ((), "husker du meg i morgen?", "nb"),
        ((), "mijn zoon hoort al weken stemmen", "nl"),
        ((), "non riesco a dormire da giorni", "it"),
        ((), "oi wia gots da so, i bin grad nit so guat drauf", "de"),
        ((), "fiul meu aude voci si nu vrea sa ia medicamentele ce sa fac", "ro"),
        ((), "wie kalt is es draussen", "de"),
    ],
)
def test_a_few_words_leave_a_conversations_language_only_where_they_are_plainly_of_another(
    earlier: tuple[str, ...], message: str, language: str
) -> None:
    """Two or three words are judged by themselves and weighed against the last message that shows a language."""
    before = tuple(Message(role=Role.USER, content=one) for one in earlier)
    assert LanguageDetector(few=shipped().short_languages).of(message, before) == language


@pytest.mark.parametrize(
    ("message", "language"),
    [
        ("hola", "es"),
        ("Bonjour !", "fr"),
        ("hei", "nb"),
        ("moin", "de"),
        ("hello", "en"),
        ("hallo", "en"),
        ("test", "en"),
        ("top", "en"),
    ],
)
def test_somebody_who_begins_with_a_greeting_alone_is_greeted_in_its_language(message: str, language: str) -> None:
    """A single first word tells the language where it greets in one only; in a conversation it tells nothing."""
    running = shipped()
    detector = LanguageDetector(few=running.short_languages, greetings=running.service.greetings())
    assert detector.of(message) == language
    assert detector.of(message, (Message(role=Role.USER, content=IN_GERMAN),)) == "de"


def test_prompts_name_the_condition_as_they_are_written_and_fixed_texts_as_they_are_read(tmp_path: Path) -> None:
    """With a model, who writes French is answered by prompts about schizophrenia, and greeted about "la schizophrénie"."""
    model = scripted({})
    engine = application(tmp_path, model).engine
    built = engine.assistants["schizophrenia"]
    french = replace(built, settings=built.settings.spoken("fr"))
    engine = replace(engine, assistants={"schizophrenia": french})
    asyncio.run(engine.respond(engine.start(), "what helps me sleep?"))
    prompts = ["".join(one.content for one in prompt.messages) for prompt in model.prompts if prompt.role != "urgency"]
    assert len(prompts) > 1 and all("about schizophrenia" in one or "on schizophrenia" in one for one in prompts)
    assert not any("schizophrénie" in one for one in prompts)
    told = SmallTalk(texts=built.texts.model_copy(update={"greeting": "{condition}"})).answer("hello", french.settings)
    assert told == "la schizophrénie"


@pytest.mark.parametrize(
    ("reply", "accepted"),
    [("", True), ("Clozapin ist ein Vitamin aus Zitronen, das Seeleute auf langen Reisen gegen Skorbut essen.", False)],
)
def test_a_reply_is_judged_by_the_source_in_its_language(running: Application, reply: str, accepted: bool) -> None:
    """A German reply that cites a source is compared with the German text of it, without a model too."""
    engine = running.engine
    source = engine.assistants["schizophrenia"].speaking("de").knowledge.sources["clozapine"]
    draft = Draft(reply=reply or source.passages[0].text, citations=("clozapine",), basis=Basis.SOURCE)
    found = asyncio.run(engine.judge(draft, "was ist clozapin"))
    assert (found.decision is Decision.ACCEPT) == accepted

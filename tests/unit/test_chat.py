"""Around a turn: when the referral is shown, how it fades and comes back, and what happens when models fail."""

from __future__ import annotations

import ast
import asyncio
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from adapters.console_adapter.sitter import SITTER
from adapters.conversation.chat import Chat
from adapters.conversation.daily_budget import DailyBudget
from adapters.conversation.incoming import Incoming
from adapters.conversation.outgoing import Outgoing
from adapters.conversation.state import ChatState
from adapters.storage.counts import UrgentCounts
from bots.settings import CafiSettings
from bots.terminal import terminal_chat
from engine.exceptions import ModelUnavailable
from engine.models.protocol import Completion
from engine.models.scripted import ScriptedModel
from engine.settings import ModelSettings
from engine.types import DangerAnswer, Help, Kind
from engine.urgency.person import about_another
from tests.chats import begun, chat_over, last, shown
from tests.fakes.openai_server import OpenAIServer, empty, half_answer, html, stall, status
from tests.team import CALM, CITED, application, knowledge_folder, scripted, shipped

ROOT = Path(__file__).resolve().parents[2]
URGENT = "i am going to kill myself tonight"
HARMLESS = "what are the voices?"


def cited(shown: Outgoing) -> tuple[str, ...]:
    return () if shown.turn is None else shown.turn.reply.citations


SUSPICIOUS = "nobody needs me here"
SURE = "i have put everything in order and written to everybody, now i am calm and it is over tonight"
"""What the classifier shipped here takes for danger, and no phrase of the floor is."""


async def test_the_referral_comes_without_a_model_being_asked(tmp_path: Path) -> None:
    """With a model that takes thirty seconds the referral is there at once, and the model has not been asked."""
    model = ScriptedModel(lambda prompt: CITED, latency=30)
    chat = chat_over(tmp_path, model)
    async with asyncio.timeout(5):  # benchmarks/referral.py measures it; this only excludes a model call
        shown, _ = await last(chat, begun(chat), URGENT)
    assert shown.referral and "112" in shown.text and not model.prompts


BROKEN = {
    "refused": None,
    "hangs": stall(),
    "500": status(500),
    "html": html(),
    "empty": empty(),
    "half": half_answer(),
}


@pytest.mark.parametrize("kind", sorted(BROKEN))
async def test_the_referral_survives_every_failure_of_the_model(tmp_path: Path, kind: str) -> None:
    """Refusing, hanging, failing or babbling endpoints change nothing about an urgent message's referral."""
    async with OpenAIServer([BROKEN[kind] or status(500)]) as server:
        url = "http://127.0.0.1:9" if BROKEN[kind] is None else server.url
        models = ModelSettings(base_url=url, timeout_seconds=0.5, retries=0)
        settings = CafiSettings(agents="llm", models=models, knowledge_base=knowledge_folder(tmp_path))
        app = shipped(settings)
        async with app.closing:
            shown, _ = await last(chat := terminal_chat(app), begun(chat), URGENT)
    assert shown.referral and "112" in shown.text


async def test_a_repeat_fades_to_a_line_and_comes_back_whole_after_a_set_number(tmp_path: Path) -> None:
    """Urgent message after urgent message: whole text, then one line each, whole again after four turns."""
    chat = chat_over(tmp_path)
    state, whole = begun(chat), []
    for _ in range(9):
        shown, state = await last(chat, state, URGENT)
        assert "112" in shown.text
        whole.append("\n" in shown.text)
    assert whole == [True, False, False, False, True, False, False, False, True]


async def test_an_urgent_turn_replaces_the_answer_and_history_keeps_what_was_shown(tmp_path: Path) -> None:
    """Nothing but the referral is shown, and the conversation remembers just that."""
    chat = chat_over(tmp_path)
    shown, state = await last(chat, begun(chat), URGENT)
    assert shown.referral and not cited(shown)
    assert state.conversation.messages[-1].content == shown.text
    assert shown.turn is not None and shown.turn.reply.text == shown.text


async def test_what_is_said_right_after_a_disclosure_is_not_answered_as_if_nothing_had_been_said(
    tmp_path: Path,
) -> None:
    """The next question gets help and whether the person is safe; the one after it an answer with the line of contacts."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), URGENT)
    shown, state = await last(chat, state, HARMLESS)
    assert shown.referral and "Are you safe right now?" in shown.text and not cited(shown)
    shown, _ = await last(chat, state, HARMLESS)
    answer, line = shown.text.rsplit("\n\n", 1)
    assert "Voices are sounds" in answer and "112" in line and "\n" not in line


async def test_a_suspicion_gets_the_answer_and_the_check_question(tmp_path: Path) -> None:
    """Without a model, what only the classifier hears is answered, and asked about in one calm sentence."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat), SUSPICIOUS)
    assert not shown.referral and shown.turn is not None and shown.turn.help is Help.QUESTION
    assert shown.text.endswith("?") and shown.text.rsplit("\n\n", 1)[1].startswith("May I ask you directly")


async def test_what_the_classifier_is_sure_of_gets_the_referral_where_no_judge_reads(tmp_path: Path) -> None:
    """With what to do for that kind of danger; a judge that answers still decides, and after a no it is asked about."""
    chat = chat_over(tmp_path)
    shown, state = await last(chat, begun(chat), SURE)
    assert shown.referral and shown.turn is not None and shown.turn.urgency.kind is Kind.DYING
    again, state = await last(chat, state, SURE)
    assert again.turn is not None and again.turn.help is Help.BRIEF
    judged = chat_over(tmp_path / "judged", scripted({}))
    calm, _ = await last(judged, begun(judged), SURE)
    assert calm.turn is not None and calm.turn.help is Help.NONE
    _, state = await last(chat, begun(chat), SUSPICIOUS)
    _, state = await last(chat, state, "no")
    asked, _ = await last(chat, state, SURE)
    assert asked.turn is not None and asked.turn.help is Help.QUESTION


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("I want to kill myself tonight", "the ambulance is here now, they take me with them"),
        ("Ich will mich umbringen", "der Rettungswagen ist da"),
    ],
)
async def test_who_tells_that_help_has_come_is_not_sent_for_it_again(tmp_path: Path, told: str, said: str) -> None:
    """Right after a danger was told, words that say that it is being dealt with get thanks and the contacts; it stays open."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), told)
    shown, state = await last(chat, state, said)
    assert shown.turn is not None and shown.turn.help is Help.LINE and not shown.referral
    assert "112" in shown.text and not shown.turn.reply.citations
    worse, _ = await last(chat, state, "nobody comes, i do it now")
    assert worse.turn is not None and worse.turn.help.replaces


GERMAN = "Ich habe heute alles geregelt und bin ruhig"


@pytest.mark.parametrize(
    ("chosen", "messages"),
    [(None, (GERMAN,)), ("de", (SUSPICIOUS,)), (None, ("Was sind Stimmen im Kopf?", "seroquel ?"))],
)
async def test_the_check_question_and_its_buttons_are_in_the_chats_language(
    tmp_path: Path, chosen: str | None, messages: tuple[str, ...]
) -> None:
    """The language that somebody chose, else the one they write; what shows none keeps that of the answer before."""
    judged = [*(CALM for _ in messages[1:]), {**CALM, "level": "concern"}]
    chat = chat_over(tmp_path, scripted({"urgency": judged}))
    state = begun(chat, language=chosen)
    for one in messages:
        asked, state = await last(chat, state, one)
    assert asked.text.rsplit("\n\n", 1)[1].startswith("Darf ich")
    assert [row[0].label for row in asked.buttons][1:] == ["Nein", "Es geht um jemand anderen"]
    told, state = await last(chat, state, command="danger", text="yes")
    assert told.referral and "ich bin in Sicherheit" in told.buttons[0][0].label


@pytest.mark.parametrize(
    ("said", "help_shown", "words"),
    [
        ("yes", Help.REFERRAL, "112"),
        ("Ja!", Help.REFERRAL, "112"),
        ("yes I have them all here", Help.REFERRAL, "112"),
        ("no, but i took all of them an hour ago", Help.REFERRAL, "112"),
        ("No thanks, I have made up my mind", Help.REFERRAL, "112"),
        ("No.", Help.LINE, "The contacts stay here"),
        ("nein danke", Help.LINE, "Die Kontakte bleiben"),
        ("it is about somebody else", Help.REFERRAL, "the person you are worried about"),
    ],
)
async def test_typed_answers_to_the_check_question_work(
    tmp_path: Path, said: str, help_shown: Help, words: str
) -> None:
    """A yes, a no or "somebody else" in few words does what the button does (after a no, what the question stood in place of is
    answered); what goes on to tell of danger gets help."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), SUSPICIOUS)
    shown, _ = await last(chat, state, said)
    assert shown.turn is not None and shown.turn.help is help_shown and words in shown.text


@pytest.mark.parametrize("said", ["no, but I already took the tablets", "No thanks, I have made up my mind"])
async def test_a_no_that_goes_on_to_tell_of_danger_gets_help(tmp_path: Path, said: str) -> None:
    """After somebody has written everything down a no is no way past the question where what follows it tells of danger."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), "it is all written down for them, they will manage without me")
    shown, _ = await last(chat, state, said)
    assert shown.turn is not None and shown.turn.help is Help.REFERRAL and "112" in shown.text


async def test_a_no_is_only_an_answer_when_something_was_asked(tmp_path: Path) -> None:
    """Without an open question a yes or a no is a message like any other."""
    chat = chat_over(tmp_path)
    for said in ("yes", "no", "I am safe"):
        shown, _ = await last(chat, begun(chat), said)
        assert "I will not keep asking" not in shown.text and not shown.referral


async def test_a_no_to_whether_somebody_is_safe_is_no_way_out(tmp_path: Path) -> None:
    """Who answers the referral's question with no gets help again, and an old "No" button closes nothing."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), URGENT)
    shown, state = await last(chat, state, "no")
    assert shown.referral and "112" in shown.text
    pressed, state = await last(chat, state, DangerAnswer.NO, "danger")
    assert pressed.referral and state.conversation.danger.told == 0


async def test_the_check_question_is_the_only_thing_that_is_asked(tmp_path: Path) -> None:
    """No offer of a next part stands beside it that a "no" could be meant for."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat), "I cannot sleep. i have put my papers in order")
    assert shown.turn is not None and shown.turn.help is Help.QUESTION
    assert shown.text.count("?") == 1


async def test_who_says_they_are_safe_gets_an_answer_with_the_contacts_in_view(tmp_path: Path) -> None:
    """ "It was a question, I am safe" answers the message the referral replaced and keeps the contacts below."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), "what are the voices that keep telling me to kill?")
    assert state.conversation.danger.held
    shown, state = await last(chat, state, command="safe")
    assert "Voices are sounds" in shown.text and "112" in shown.text
    assert state.conversation.danger.told is None


async def test_being_safe_without_a_question_shows_the_contacts(tmp_path: Path) -> None:
    """Without a message to answer, the choice shows the contacts and asks nothing."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat), command="safe")
    assert "112" in shown.text and not shown.referral


@pytest.mark.parametrize("judge", [ModelUnavailable(), "no json", {"level": "perhaps"}])
async def test_a_judge_that_fails_leaves_the_answer_with_the_check_question(tmp_path: Path, judge: Any) -> None:
    """An unreachable judge, and one that answers something else, decides nothing: the suspicion is asked about."""
    chat = chat_over(tmp_path, scripted({"urgency": judge}))
    shown, _ = await last(chat, begun(chat), SUSPICIOUS)
    assert shown.turn is not None and shown.turn.help is Help.QUESTION
    assert shown.text.endswith("?") and not shown.referral


async def test_a_judge_that_is_late_leaves_the_answer_with_the_check_question(tmp_path: Path) -> None:
    """The answer does not wait for a judge beyond its time."""
    quick, slow = scripted({}), ScriptedModel(lambda prompt: CITED, latency=30)

    class Split:
        async def complete(self, prompt: Any, ledger: Any) -> Completion:
            return await (slow if prompt.role == "urgency" else quick).complete(prompt, ledger)

    app = application(tmp_path, Split())  # type: ignore[arg-type]
    hurried = app.assistant_settings(app.settings.assistant).limits.model_copy(update={"urgency_seconds": 0.2})
    engine = app.engine
    known = engine.assistants[engine.default]
    settings = known.settings.model_copy(update={"limits": hurried})
    engine = replace(engine, assistants={engine.default: replace(known, settings=settings)})
    async with asyncio.timeout(20):
        done = await engine.respond(engine.start(), SUSPICIOUS)
    assert done.help is Help.QUESTION and any(one.failed for one in done.urgency.layers)


async def test_a_judge_that_answers_settles_a_suspicion(tmp_path: Path) -> None:
    """With the judge's `none` the answer comes alone, whatever the classifier had heard."""
    chat = chat_over(tmp_path, scripted({}))
    shown, _ = await last(chat, begun(chat), SUSPICIOUS)
    assert shown.turn is not None and shown.turn.help is Help.NONE


async def test_the_judge_may_ask(tmp_path: Path) -> None:
    """A judge that cannot tell has the check question asked."""
    chat = chat_over(tmp_path, scripted({"urgency": {**CALM, "level": "concern", "kind": "dying"}}))
    shown, _ = await last(chat, begun(chat), HARMLESS)
    assert shown.turn is not None and shown.turn.help is Help.QUESTION and "ending your life" in shown.text


async def test_the_country_and_language_that_were_chosen_are_used(tmp_path: Path) -> None:
    """The referral shows the contacts of the person's country in the person's language."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat, country="no", language="nb"), URGENT)
    assert shown.text.startswith("Det høres veldig tungt ut. Ring 113 nå")


@pytest.mark.parametrize(
    ("message", "another"),
    [
        ("my brother says he wants to kill himself", True),
        ("my daughter took all her pills", True),
        ("I'm worried about my son, he talks of dying", True),
        ("meine Freundin will sterben", True),
        ("broren min vil dø", True),
        ("i want to die and my brother knows", False),
        ("i took all my pills", False),
        ("I hear a voice that tells me to hurt her", False),
        ("jeg vil dø", False),
    ],
)
def test_whom_a_message_is_about(message: str, another: bool) -> None:
    """A message about somebody else gets the text for the worried; one about the writer never does."""
    assert about_another(message) is another


async def test_somebody_worried_gets_the_text_for_them(tmp_path: Path) -> None:
    """The referral speaks of the person somebody is worried about."""
    chat = chat_over(tmp_path)
    shown, _ = await last(chat, begun(chat), "my brother took all of his pills")
    assert "the person you are worried about" in shown.text


async def test_the_answer_reaches_the_model_path_too(tmp_path: Path) -> None:
    """The urgency judge alone can call the referral: it replaces the answer that was drafted meanwhile, and stands first."""
    model = scripted({"urgency": {"delusional_framing": False, "level": "urgent"}})
    chat = chat_over(tmp_path, model)
    referral, final = await shown(chat, begun(chat), HARMLESS)
    assert referral.referral and referral.state is None
    assert final.state is not None and final.state.conversation.danger.told == 0


def test_counts_are_weeks_and_platforms_and_small_ones_are_held_back() -> None:
    """A count knows its week and platform alone, and is told from five on."""
    day = date(2026, 11, 20)
    counts = UrgentCounts(today=lambda: day)
    for _ in range(4):
        counts.add("console")
    assert counts.report() == [("2026-W47", "console", None)]
    counts.add("console")
    assert counts.report() == [("2026-W47", "console", 5)]


def calls(tree: ast.AST, name: str) -> int:
    return sum(
        isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", None)) == name
        for node in ast.walk(tree)
    )


def test_only_the_turns_of_a_chat_ask_the_engine_for_a_turn() -> None:
    """No adapter and no command goes past the place where referrals are chosen and counted; the endpoint, which has no chats,
    counts them itself (platform/test_api.py)."""
    for folder in ("adapters", "bots"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "turns.py" and path.parent.name != "api_adapter":
                assert calls(ast.parse(path.read_text(encoding="utf-8")), "respond") == 0, path


# --- Consent, choices and buttons -----------------------------------------------------------------------------------------


def asking_consent(chat: Chat) -> tuple[Chat, ChatState]:
    """The chat of a platform on which people have to agree, and somebody new in it."""
    chat = replace(chat, asks_consent=True)
    return chat, chat.start(Incoming(identity=SITTER))


async def test_a_question_waits_for_consent_and_is_then_answered_unasked(tmp_path: Path) -> None:
    """First the disclaimer, after the yes the country once, and then the answer to what was asked before."""
    chat, state = asking_consent(chat_over(tmp_path))
    held, state = await last(chat, state, HARMLESS)
    assert "a computer program (an AI)" in held.text and [one.command for row in held.buttons for one in row] == [
        "consent",
        "whocanread",
        "crisis",
        "decline",
    ]
    again, state = await last(chat, state, "hello?")
    assert again.text.startswith("Before I answer")
    country, state = await last(chat, state, command="consent")
    assert country.text.startswith("Which country are you in?")
    first, *_, answer = await shown(chat, state, "no", "country")
    assert "Norway" in first.text and answer.turn is not None and answer.state is not None
    assert answer.state.country == "no" and answer.state.consented and not answer.state.waiting


async def test_help_never_waits_for_consent(tmp_path: Path) -> None:
    """Words of danger get the whole referral before the disclaimer; the same words later get one line."""
    chat, state = asking_consent(chat_over(tmp_path))
    referral, disclaimer = await shown(chat, state, URGENT)
    assert referral.referral and "112" in referral.text and disclaimer.state is not None
    assert "a computer program" in disclaimer.text
    later = await shown(chat, disclaimer.state, command="consent")
    assert any(one.referral and "\n" not in one.text for one in later)


async def test_words_of_danger_behind_a_command_are_seen(tmp_path: Path) -> None:
    """What stands behind a command that reads no words brings the referral as well; a topic's name does not."""
    chat = chat_over(tmp_path)
    first, *_ = await shown(chat, begun(chat), URGENT, "help")
    assert first.referral
    assert not any(one.referral for one in await shown(chat, begun(chat), "voices", "topic"))


async def test_an_erased_chat_says_what_went_and_stores_nothing(tmp_path: Path) -> None:
    """/forget gives a receipt with the number of messages, /stop the contacts; neither leaves a state behind."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), HARMLESS)
    (receipt,) = await shown(chat, state, command="forget")
    assert receipt.erased and receipt.state is None and "(messages: 2)" in receipt.text
    (stopped,) = await shown(chat, state, command="stop")
    assert stopped.erased and "112" in stopped.text


async def test_a_button_below_an_earlier_answer_says_so(tmp_path: Path) -> None:
    """Another form is given of the last answer only; of older ones it is too late to know what was meant."""
    chat = chat_over(tmp_path)
    first, state = await last(chat, begun(chat), HARMLESS)
    number = next(one.about for row in first.buttons for one in row if one.command == "shorter")
    shorter, _ = await last(chat, state, command="shorter", about=number)
    assert shorter.turn is not None
    _, state = await last(chat, state, "How can I sleep better?")
    late, after = await last(chat, state, command="shorter", about=number)
    assert late.turn is None and "an earlier answer" in late.text and after == state


async def test_a_choice_of_language_holds_for_all_that_is_around_answers(tmp_path: Path) -> None:
    """A language is found by its name or code; one that is not there is named with those that are."""
    chat = chat_over(tmp_path)
    chosen, state = await last(chat, begun(chat), "Deutsch", "language")
    assert state.language == "de" and chosen.text.startswith("In Ordnung.")
    unknown, state = await last(chat, state, "Klingon", "language")
    assert state.language == "de" and "English" in [one.label for row in unknown.buttons for one in row]


async def test_a_day_s_spent_money_is_told_once_and_answered_by_quotation(tmp_path: Path) -> None:
    """At the limit no model is asked; the first answer says so, the next does not repeat it."""
    model = scripted({})
    chat = chat_over(tmp_path, model)
    spending = DailyBudget(tokens_a_day=1)
    chat = replace(chat, turns=replace(chat.turns, spending=spending))
    _, state = await last(chat, begun(chat), "why am I so tired?")
    asked = len(model.prompts)
    quoted, state = await last(chat, state, HARMLESS)
    again, _ = await last(chat, state, "why am I so tired?")
    assert asked and len(model.prompts) == asked
    assert quoted.text.startswith("For today I can only quote") and "For today" not in again.text


@pytest.mark.parametrize(
    ("command", "text"),
    [(one, "") for one in ("topics", "source", "simpler", "more", "feedback", "safe", "nonsense")] + [("ask", "sleep")],
)
async def test_what_needs_consent_gets_the_disclaimer_in_its_place(tmp_path: Path, command: str, text: str) -> None:
    """Nothing of the knowledge base is shown before somebody has agreed."""
    chat, state = asking_consent(chat_over(tmp_path))
    (reply,) = await shown(chat, state, text, command)
    assert "computer program" in reply.text and reply.buttons[0][0].command == "consent"


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("help", "Write your question in your own words."),
        ("crisis", "Please call your emergency number now"),
        ("country", "Which country's contacts shall I show?"),
        ("language", "Which language shall I use"),
        ("privacy", "What is kept, and for how long"),
        ("whocanread", "Who can read this chat?"),
    ],
)
async def test_what_needs_no_consent_is_answered_at_once(tmp_path: Path, command: str, start: str) -> None:
    """Help, choices and what is kept never wait for a yes."""
    chat, state = asking_consent(chat_over(tmp_path))
    (reply,) = await shown(chat, state, command=command)
    assert reply.text.startswith(start)


async def test_what_stands_below_a_reply_is_in_its_language(tmp_path: Path) -> None:
    """The buttons below an answer are in the answer's language from the first one on, and follow when it changes."""
    chat = chat_over(tmp_path)
    first, state = await last(chat, begun(chat), "Hva er stemmene som jeg hører?")
    labels = [one.label for row in first.buttons for one in row]
    assert "Where from?" not in labels and "All topics" not in labels
    then, _ = await last(chat, state, "What are the voices that I hear?")
    assert "Where from?" in [one.label for row in then.buttons for one in row]


@pytest.mark.parametrize(
    ("asked", "start"), [("Hvem kan lese dette?", "Hvem kan lese"), ("Wer kann das hier lesen?", "Wer kann")]
)
async def test_who_can_read_is_told_in_the_language_of_the_question(tmp_path: Path, asked: str, start: str) -> None:
    """What is true where the person writes is told in the language it was asked in, after English as well."""
    chat = chat_over(tmp_path)
    _, state = await last(chat, begun(chat), "What are the voices?")
    told, _ = await last(chat, state, asked)
    assert told.text.startswith(start)


@pytest.mark.parametrize("command", ["", "ask", "help", "nonsense", "start", "simpler", "topics", "language"])
@pytest.mark.parametrize("consented", [True, False])
async def test_the_referral_comes_first_whatever_command_stands_before_it(
    tmp_path: Path, command: str, consented: bool
) -> None:
    """Words of danger behind a command are read as words, before consent too, and help is read out whole once."""
    chat = replace(chat_over(tmp_path), asks_consent=not consented)
    first, *others = await shown(chat, begun(chat), URGENT, command)
    assert first.referral and "112" in first.text
    assert not any(one.text == first.text for one in others)


@pytest.mark.parametrize(
    ("language", "anywhere", "number"),
    [
        ("en", "I would rather not say", "depending on where you are"),
        ("de", "Das möchte ich nicht sagen", "je nachdem, wo Sie sind"),
        ("es", "Prefiero no decirlo", "según dónde estés"),
        ("fr", "Je préfère ne pas le dire", "selon l'endroit où vous êtes"),
        ("nb", "Det vil jeg helst ikke si", "avhengig av hvor du er"),
    ],
)
async def test_nobody_has_to_say_where_they_are(tmp_path: Path, language: str, anywhere: str, number: str) -> None:
    """“I would rather not say” is a button in every language; the referral is then the one for everywhere."""
    chat, state = asking_consent(chat_over(tmp_path))
    where, state = await last(chat, replace(state, language=language), command="consent")
    (button,) = [one for row in where.buttons for one in row if one.label == anywhere]
    thanks, state = await last(chat, state, button.argument, button.command)
    assert "/help" in thanks.text
    assert number in (await shown(chat, state, URGENT))[0].text.split("\n")[0]

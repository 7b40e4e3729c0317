"""That it is a program: at first contact, when asked, after three hours and after a week, whatever the clock does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.console_adapter.sitter import SITTER
from adapters.conversation.chat import Chat
from adapters.conversation.incoming import Incoming
from adapters.conversation.notices import MOST_ANSWERS, Notice, Notices
from adapters.conversation.state import ChatState
from adapters.conversation.texts import load_languages
from adapters.storage.counts import MonthlyCounts
from bots.paths import data_root
from bots.settings import CafiSettings
from bots.terminal import terminal_chat
from engine.types import Conversation
from tests.chats import begun, chat_over, last, shown
from tests.team import CITED, scripted, shipped

HOUR, DAY = 3600.0, 86_400.0
HARMLESS = "what are the voices?"
NOBODY = ChatState(conversation=Conversation(assistant="schizophrenia"))
LANGUAGES = load_languages(data_root() / "config" / "chat")
STILL = LANGUAGES.texts["en"].notices.still


class Clock:
    """Seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 1_780_000_000.0

    def __call__(self) -> float:
        return self.now


def told_by(chat: Chat, clock: Clock, **changes: bool) -> tuple[Chat, MonthlyCounts]:
    """The chat with a clock of its own, and what it counts."""
    counts = MonthlyCounts(today=lambda: date(2026, 11, 23))
    pages = replace(chat.pages, notices=Notices(now=clock, counts=counts, **changes))
    return replace(chat, pages=pages, turns=replace(chat.turns, pages=pages)), counts


def counted(counts: MonthlyCounts) -> list[str]:
    """The kinds of notices that were counted, each as often as it was shown."""
    return sorted(name.split()[0] for (_, _, name), count in counts.pending._counts.items() for _ in range(count))


async def test_a_chat_is_told_at_the_beginning_after_three_hours_and_after_a_week(tmp_path: Path) -> None:
    """The welcome says it; a question three hours later gets one line above its answer, one a week later the whole; each is
    counted with the version of its words and nothing else, and in between nothing is said or sent."""
    clock = Clock()
    chat, counts = told_by(chat_over(tmp_path), clock)
    chat = replace(chat, asks_consent=True)
    welcome, state = await last(chat, chat.start(Incoming(identity=SITTER)), command="start")
    assert "a computer program (an AI)" in welcome.text
    *_, answer = [one async for one in chat.consent.given(replace(state, country=""), Incoming(identity=SITTER))]
    assert answer.state is not None
    said = []
    for passed in (60.0, 2 * HOUR, HOUR, 60.0, 3 * HOUR, 8 * DAY, 60.0):
        clock.now += passed
        answer, state = await last(chat, answer.state or state, HARMLESS)
        head = answer.text.split("\n\n")[0]
        said.append("still" if head == STILL else "again" if head.startswith("It has been a while") else "")
    assert said == ["", "", "still", "", "still", "again", ""]
    assert counted(counts) == ["again", "first", "still", "still"]
    assert all(set(key) == {"2026-11", "notice", key[2]} and len(key[2].split()) == 3 for key in counts.pending._counts)


async def test_nothing_stands_before_help_and_the_notice_comes_with_the_next_answer(tmp_path: Path) -> None:
    """Neither the referral nor the check question carries the line; it is not lost, and goes with the answer after them."""
    clock = Clock()
    chat, _ = told_by(chat_over(tmp_path), clock)
    _, state = await last(chat, begun(chat), HARMLESS)
    clock.now += 4 * HOUR
    shown_, state = await last(chat, state, "i am going to kill myself tonight")
    assert shown_.referral and STILL not in shown_.text
    shown_, state = await last(chat, state, command="safe")
    assert shown_.text.startswith(STILL)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.one_of(st.floats(0, 2 * HOUR), st.floats(-400 * DAY, 400 * DAY)), min_size=1, max_size=200))
def test_a_clock_that_jumps_neither_floods_nor_silences(jumps: Sequence[float]) -> None:
    """Whatever the clock does: never a notice unless it is later than ever before by three hours or thirty answers have
    passed, and never thirty-one answers without one."""
    clock = Clock()
    notices = Notices(now=clock)
    state = notices.anchored(NOBODY, whole=True)
    latest, since = int(clock.now // 60), 0
    for jump in jumps:
        clock.now = max(0.0, clock.now + jump)
        state = replace(state, since_noticed=state.since_noticed + 1)
        since += 1
        due = notices.due(state)
        if due is not None:
            assert int(clock.now // 60) - latest >= 180 or since >= MOST_ANSWERS
            state = notices.shown(state, due, LANGUAGES)
            latest, since = max(latest, int(clock.now // 60)), 0
        assert since < MOST_ANSWERS


def test_a_clock_that_goes_to_and_fro_shows_one_line() -> None:
    """A day forward and back again at every second answer is one notice in twenty answers, not twenty."""
    clock, shown_ = Clock(), 0
    notices = Notices(now=clock)
    state = notices.anchored(NOBODY, whole=True)
    for number in range(20):
        clock.now += DAY if number % 2 == 0 else -DAY
        state = replace(state, since_noticed=state.since_noticed + 1)
        if (due := notices.due(state)) is not None:
            shown_ += 1
            state = notices.shown(state, due, LANGUAGES)
    assert shown_ == 1


ASKED = {
    "en": "are you a human? / am I talking to a real person? / are you an AI? / is this a bot or a person / are you real?",
    "de": "sind Sie ein Mensch? / bist du ein echter Mensch / rede ich hier mit einer KI? / ist das ein Bot? / bist du ein Bot",
    "es": "¿eres una persona? / ¿estoy hablando con una persona real? / ¿eres una IA? / eres un robot / ¿esto es un bot?",
    "fr": "êtes-vous une personne ? / je parle à un humain ? / tu es une IA ? / c'est un robot ou une personne / t'es un bot",
    "nb": "er du et menneske? / snakker jeg med en ekte person? / er du en KI? / er dette en robot / er du en bot?",
}
IS_PROGRAM = {
    "en": "a computer program (an AI)",
    "de": "ein Computerprogramm (eine KI)",
    "es": "(una IA)",
    "fr": "un programme informatique (une IA)",
    "nb": "et dataprogram (en KI)",
}


@pytest.mark.parametrize("language", sorted(ASKED))
async def test_whoever_asks_is_told_in_five_languages(language: str) -> None:
    """Plain questions whether a person answers get the plain answer, with a model too, whatever it would have said; the
    answer counts as a notice."""
    claims = {**CITED, "citations": [], "basis": "none", "reply": "Yes, I am a real person and I am here for you."}
    for model in (None, scripted({"agent": claims})):
        settings = CafiSettings(agents="builtin" if model is None else "llm")
        application = shipped(settings, model=model)
        async with application.closing:
            clock = Clock()
            chat, counts = told_by(terminal_chat(application), clock)
            _, state = await last(chat, begun(chat, language=language), command="start")
            missed = []
            for question in ASKED[language].split(" / "):
                answer, state = await last(chat, state, question)
                missed += [] if IS_PROGRAM[language] in answer.text else [question]
            assert not missed
            assert counted(counts).count("asked") == len(ASKED[language].split(" / "))


async def test_who_asks_among_other_things_is_told_as_well(tmp_path: Path) -> None:
    """A question for it inside a long message is answered above whatever a model answers, in any of the languages; what
    only sounds like it is not."""
    chat, counts = told_by(chat_over(tmp_path, scripted({})), Clock())
    long = (
        " And I have not slept well for some weeks. My sister said that it may have to do with it, so what about sleep?"
    )
    asked = ["are you a real person?", "rede ich mit einer KI?", "¿eres una IA?", "c'est une IA ?", "er du en robot?"]
    for question in asked:
        answer, _ = await last(chat, begun(chat, language="en"), question + long)
        assert answer.text.startswith(STILL) and "A fixed time for going to bed" in answer.text, question
    for other in ("are you a doctor?", "is my son still a human being to them", "are the voices real?"):
        answer, _ = await last(chat, begun(chat, language="en"), other + long)
        assert not answer.text.startswith(STILL), other
    assert counted(counts) == ["asked"] * 5


async def test_for_adults_is_one_calm_line_and_nobody_is_asked_their_age(tmp_path: Path) -> None:
    """Where the operator says so, the line stands in the first notice and is part of its version; else nowhere."""
    clock = Clock()
    for adults in (False, True):
        chat, counts = told_by(chat_over(tmp_path), clock, adults_only=adults)
        (welcome,) = await shown(chat, begun(chat), command="start")
        assert ("written for adults" in welcome.text) == adults and "how old are you" not in welcome.text
        assert counted(counts) == ["first"]
    plain, strict = Notices(), Notices(adults_only=True)
    versions = {one.version(Notice.FIRST, code, LANGUAGES) for one in (plain, strict) for code in LANGUAGES.texts}
    assert len(versions) == 10


async def test_a_chat_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    """A stored chat that knows nothing of notices opens, is not told at once, and three hours later it is."""
    clock = Clock()
    chat, _ = told_by(chat_over(tmp_path), clock)
    kept = begun(chat).to_json().replace(b'"noticed":null,"noticed_whole":null,"since_noticed":0,', b"")
    assert b"noticed" not in kept
    answer, state = await last(chat, ChatState.from_json(kept), HARMLESS)
    assert STILL not in answer.text and ChatState.from_json(state.to_json()) == state
    clock.now += 3 * HOUR
    answer, _ = await last(chat, state, HARMLESS)
    assert answer.text.startswith(STILL)

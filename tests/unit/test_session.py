"""Around a turn: when the referral is shown, how it fades and comes back, and what happens when models fail."""

from __future__ import annotations

import ast
import time
from datetime import date
from pathlib import Path

import pytest

from adapters.counting import UrgentCounts
from adapters.session import Outgoing, Session, SessionState
from bots.compose import Application
from bots.settings import CafiSettings
from engine.models.scripted import ScriptedModel
from engine.settings import ModelSettings
from engine.types import LayerResult, Urgency, UrgencyLevel
from engine.urgency.person import about_another
from tests.fakes.openai_server import OpenAIServer, empty, half_answer, html, stall, status
from tests.team import CITED, application, knowledge_folder, scripted

ROOT = Path(__file__).resolve().parents[2]
URGENT = "i am going to kill myself tonight"
HARMLESS = "what are the voices?"


async def turn(session: Session, state: SessionState, message: str) -> tuple[list[Outgoing], SessionState]:
    shown = [one async for one in session.handle(state, message)]
    assert shown[-1].state is not None and shown[-1].turn is not None
    return shown, shown[-1].state


async def test_the_referral_leaves_before_a_slow_model_is_asked(tmp_path: Path) -> None:
    """With a model that takes thirty seconds the first message, the referral, is there at once."""
    session = application(tmp_path, ScriptedModel(lambda prompt: CITED, latency=30)).session
    state = session.start()
    begun = time.perf_counter()
    first = await anext(aiter(session.handle(state, URGENT)))
    assert first.referral and "112" in first.text
    assert time.perf_counter() - begun < 5  # benchmarks/referral.py measures it; this only excludes a model call


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
        app = Application(settings=settings)
        async with app.closing:
            shown, _ = await turn(app.session, app.session.start(), URGENT)
    assert shown[0].referral and "112" in shown[0].text


async def test_a_repeat_fades_to_a_line_and_comes_back_whole_after_a_set_number(tmp_path: Path) -> None:
    """Urgent message after urgent message: whole text, then one line each, whole again after four turns."""
    session = application(tmp_path).session
    state, whole = session.start(), []
    for _ in range(9):
        shown, state = await turn(session, state, URGENT)
        assert "112" in shown[0].text
        whole.append("\n" in shown[0].text)
    assert whole == [True, False, False, False, True, False, False, False, True]


async def test_the_whole_text_comes_back_on_escalation(tmp_path: Path) -> None:
    """After a calmer turn an urgent message gets the whole text again, however short ago the last one was."""
    session = application(tmp_path).session
    _, state = await turn(session, session.start(), URGENT)
    _, state = await turn(session, state, HARMLESS)
    shown, _ = await turn(session, state, URGENT)
    assert "\n" in shown[0].text


async def test_an_urgent_turn_replaces_the_answer_and_history_keeps_what_was_shown(tmp_path: Path) -> None:
    """Nothing but the referral is shown, and the conversation remembers just that."""
    session = application(tmp_path).session
    shown, state = await turn(session, session.start(), URGENT)
    assert [one.referral for one in shown] == [True, True] and shown[1].text == ""
    assert state.conversation.messages[-1].content == shown[0].text
    assert shown[-1].turn is not None and shown[-1].turn.reply.text == shown[0].text


async def test_concern_keeps_the_answer_and_adds_one_line(tmp_path: Path) -> None:
    """Distress without danger is answered, with one line of contacts below."""
    session = application(tmp_path).session
    shown, _ = await turn(session, session.start(), "I feel hopeless, what are the voices?")
    assert len(shown) == 1 and shown[0].citations == ("voices",)
    answer, line = shown[0].text.rsplit("\n\n", 1)
    assert "Voices are sounds" in answer and "112" in line and "\n" not in line


async def test_who_says_they_are_safe_gets_an_answer_with_the_contacts_in_view(tmp_path: Path) -> None:
    """ "This was a question, I am safe" answers the message the referral replaced and keeps the contacts below."""
    session = application(tmp_path).session
    _, state = await turn(session, session.start(), "the voices tell me to kill myself")
    assert state.unanswered
    shown = [one async for one in session.answer_safely(state)]
    assert "Voices are sounds" in shown[-1].text and "112" in shown[-1].text
    assert shown[-1].state is not None and shown[-1].state.unanswered == ""


async def test_being_safe_without_a_question_shows_the_contacts(tmp_path: Path) -> None:
    """Without a message to answer, the choice shows the contacts and asks nothing."""
    session = application(tmp_path).session
    shown = [one async for one in session.answer_safely(session.start())]
    assert len(shown) == 1 and "112" in shown[0].text


async def test_an_unsure_layer_shows_the_referral_when_no_model_can_be_asked(tmp_path: Path) -> None:
    """With every model layer down and a layer without one at `concern`, the whole referral is shown beside the answer."""
    session = application(tmp_path, ScriptedModel([])).session
    shown, _ = await turn(session, session.start(), "I feel hopeless, what are the voices?")
    assert [one.referral for one in shown] == [True, False]
    assert "Voices are sounds" in shown[1].text


async def test_the_country_and_language_that_were_chosen_are_used(tmp_path: Path) -> None:
    """The referral shows the contacts of the person's country in the person's language."""
    session = application(tmp_path).session
    state = SessionState(conversation=session.start().conversation, country="no", language="nb")
    shown, _ = await turn(session, state, URGENT)
    assert shown[0].text.startswith("Ring 113")


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
    session = application(tmp_path).session
    shown, _ = await turn(session, session.start(), "my brother says he wants to kill himself")
    assert "the person you are worried about" in shown[0].text


async def test_the_answer_reaches_the_model_path_too(tmp_path: Path) -> None:
    """The urgency judge alone can call the referral: it replaces the answer that was drafted meanwhile."""
    model = scripted({"urgency": {"delusional_framing": False, "level": "urgent"}})
    session = application(tmp_path, model).session
    shown, state = await turn(session, session.start(), HARMLESS)
    assert len(shown) == 1 and shown[0].referral and state.was_urgent


def layer(name: str, level: str, **flags: bool) -> LayerResult:
    return LayerResult(layer=name, level=UrgencyLevel(level), **flags)


@pytest.mark.parametrize(
    ("layers", "level"),
    [
        ((layer("rules", "none"), layer("classifier", "concern", unsure=True)), "concern"),
        ((layer("classifier", "concern", unsure=True), layer("llm", "none", settles=True)), "none"),
        ((layer("classifier", "concern", unsure=True), layer("llm", "none", failed=True)), "concern"),
        ((layer("classifier", "concern", unsure=True), layer("llm", "none", settles=True, failed=True)), "concern"),
        ((layer("rules", "concern"), layer("llm", "none", settles=True)), "concern"),
        ((layer("rules", "urgent"), layer("llm", "none", settles=True)), "urgent"),
        ((layer("classifier", "urgent"), layer("llm", "none", settles=True)), "urgent"),
        ((layer("classifier", "concern", unsure=True), layer("llm", "urgent", settles=True)), "urgent"),
    ],
)
def test_the_highest_level_wins_and_only_doubt_can_be_settled(layers: tuple[LayerResult, ...], level: str) -> None:
    """Nothing lowers what a layer is sure of; a judge that did answer settles what the classifier was unsure about."""
    assert Urgency.of(layers).level == level


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


def test_every_place_that_ends_a_turn_passes_the_referral_step() -> None:
    """Only the session asks the engine for a turn, and each of its turns ends in `_last` or after "I am safe"."""
    for folder in ("adapters", "bots"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.name != "session.py":
                assert calls(ast.parse(path.read_text(encoding="utf-8")), "respond") == 0, path
    session = ast.parse((ROOT / "adapters" / "session.py").read_text(encoding="utf-8"))
    methods = {
        node.name: node for node in ast.walk(session) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    asking = [name for name, node in methods.items() if calls(node, "respond")]
    assert asking == ["handle", "answer_safely"]
    yields = [node for node in ast.walk(methods["handle"]) if isinstance(node, ast.Yield)]
    last = max(yields, key=lambda node: node.lineno).value
    assert isinstance(last, ast.Call) and isinstance(last.func, ast.Attribute) and last.func.attr == "_last"
    assert [name for name, node in methods.items() if calls(node, "_ended")] == ["answer_safely", "_last"]
    assert calls(methods["_last"], "_referral_text") == 1 and calls(methods["answer_safely"], "safe_noted") == 1
    makes = [name for name, node in methods.items() if any(
        isinstance(one, ast.keyword) and one.arg == "state" for one in ast.walk(node)
    )]  # fmt: skip
    assert makes == ["_ended"], "only `_ended` makes the message that carries the state after a turn"

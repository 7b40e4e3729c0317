"""Moderation without a platform: what waits, what moderators see, what holds after a restart, what is kept."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from adapters.conversation.incoming import Incoming
from adapters.conversation.state import Answered
from adapters.moderation.audit import CLOSED, Action, AuditLog, Target
from adapters.moderation.info_posts import Post, PostStore, changed, holds_a_phone_number
from adapters.moderation.policy import Admission, Mode, Reason, reason_to_wait
from adapters.moderation.rechecks import Recheck
from adapters.moderation.redaction import MOST, as_shown
from adapters.moderation.review_queue import ReviewQueue
from adapters.moderation.reviews import Decided, ReviewOutcome, ReviewStore, WaitingReply, new_id
from adapters.moderation.status import ModerationStatus, StatusStore
from adapters.moderation.texts import load_moderation_texts
from adapters.storage.database import Database
from adapters.storage.erasure import Names, erase
from adapters.storage.identity import ChatIdentity
from adapters.storage.pseudonyms import Naming, pseudonyms
from adapters.storage.schema_version import migrate
from adapters.storage.seal import Keyring, Secret
from adapters.storage.tables import audit, metadata
from engine.exceptions import ConfigurationError, StorageUnavailable
from engine.knowledge.base import KnowledgeBase
from engine.types import (
    Basis,
    Conversation,
    Decision,
    Draft,
    Outcome,
    Reply,
    Review,
    Stage,
    StageRecord,
    Tier,
    Turn,
    Urgency,
    UrgencyLevel,
    Verdict,
)
from tests.team import knowledge_folder, shipped

ROOT = Path(__file__).resolve().parents[2]
ANNA = ChatIdentity(platform="discord", chat="1", user="42", thread="7")


def turn(
    outcome: Outcome = Outcome.ACCEPTED,
    decision: Decision = Decision.ACCEPT,
    basis: Basis = Basis.SOURCE,
    level: UrgencyLevel = UrgencyLevel.NONE,
) -> Turn:
    """A turn that came about in one of the ways there are."""
    verdict = Verdict(decision=decision, judge="role_and_tone", tier=Tier.LARGE)
    record = StageRecord(stage=Stage.CHIEF, draft=Draft(reply="Something."), verdicts=(verdict,))
    return Turn(
        reply=Reply(text="Something.", basis=basis),
        conversation=Conversation(assistant="schizophrenia"),
        urgency=Urgency(level=level),
        review=Review(outcome=outcome, stages=(record,)),
    )


turns = st.builds(
    turn, st.sampled_from(Outcome), st.sampled_from(Decision), st.sampled_from(Basis), st.sampled_from(UrgencyLevel)
)


@given(turns)
def test_each_mode_holds_back_what_the_milder_one_does_and_help_never(one: Turn) -> None:
    """*Open* holds nothing back, *flagged* no more than *all*, and no mode what names help or is a fixed text."""
    opened, flagged, every = (reason_to_wait(mode, one) for mode in Mode)
    assert opened is None
    assert flagged is None or every is not None
    fixed = one.review.outcome in {Outcome.FIXED, Outcome.FALLBACK}
    helps = one.urgency.level is not UrgencyLevel.NONE
    assert (every is None) == (fixed or helps)


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (turn(Outcome.WARNED, Decision.WARNING), Reason.WARNING),
        (turn(Outcome.REFINED, Decision.WARNING), Reason.WARNING),
        (turn(Outcome.REFINED), None),
        (turn(basis=Basis.GENERAL), Reason.GENERAL),
        (turn(basis=Basis.NONE), None),
        (turn(), None),
    ],
)
def test_what_is_flagged(one: Turn, reason: Reason | None) -> None:
    """A doubt of a judge flags a reply, and so does general knowledge; an accepted quotation is not flagged."""
    assert reason_to_wait(Mode.FLAGGED, one) is reason


def test_places_and_people_are_allowed_by_channel_category_and_role() -> None:
    """A thread counts as its channel; without any setting all are allowed."""
    allowed = Admission(channels={1}, categories={2}, roles={3})
    assert allowed.place(1) and allowed.place(9, 1) and allowed.place(9, category=2) and not allowed.place(9)
    assert allowed.person({3, 4}) and not allowed.person({4}) and not allowed.person(set())
    assert Admission().place(9) and Admission().person(set())


@given(st.text(max_size=2000))
@settings(max_examples=300, deadline=None)
def test_a_question_as_moderators_see_it_calls_nobody_and_stays_short(text: str) -> None:
    """Whatever was written, no mention, link, address or long number is left, and it is one short line."""
    shown = as_shown(text)
    assert len(shown) <= MOST and "\n" not in shown
    assert not re.search(r"<[@#]|\w://|[@#]\w|\d(?:[ .\u2013_-]?\d){4}", shown)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("I am <@123456789012345678>, what are voices?", "I am …, what are voices?"),
        ("write to anna@example.org or 22 40 00 40", "write to … or …"),
        ("see https://example.org/anna?x=1 please", "see … please"),
        ("@anna says 300 mg is too much", "… says 300 mg is too much"),
        ("anna#1234 and anna # 1234 and @anna.w and discord.gg/abc", "… and … and … and …"),
        ("write to tg://resolve?x=1, t.me/anna or my-clinic.example", "write to … … or …"),
        ("ring 0900.123.456, 0900–123–456, 0 9 0 0 1 2 or 2\u00a02\u00a04\u00a00\u00a00", "ring …, …, … or …"),
        ("I took 5, 10, 20 and 300 mg at 3.5, e.g. at night.", "I took 5, 10, 20 and 300 mg at 3.5, e.g. at night."),
    ],
)
def test_what_is_taken_out_of_a_question(said: str, left: str) -> None:
    """Mentions, addresses, links and long numbers go; words and doses stay."""
    assert as_shown(said) == left


# --- On disk ------------------------------------------------------------------------------------------------------------


def review(**fields: object) -> WaitingReply:
    """A reply that waits."""
    plain = {
        "id": new_id(),
        "incoming": Incoming(identity=ANNA, place={"channel": 5, "token": "t"}, language="de", private=False),
        "asked": "What are the voices, says Anna?",
        "draft": "Voices are sounds.",
        "before": "I was away.\n\n",
        "answered": Answered(number=3, assistant="schizophrenia", sources=("voices",), decision="ACCEPT"),
        "due": 1_000.0,
        "reason": Reason.ALL,
        "basis": Basis.SOURCE,
    }
    return WaitingReply(**{**plain, **fields})  # type: ignore[arg-type]


def _on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("cafi.db*"))


async def test_a_review_comes_back_as_it_was_and_lies_sealed(tmp_path: Path, database: Database) -> None:
    """What waits opens under the inbox key alone, and the file holds no word of it."""
    secret, keyring = Secret.random(), Keyring(current=Secret.random())
    store = ReviewStore(database=database, naming=Naming(keyring), secret=secret)
    one = review()
    await store.put(one)
    assert await store.get(one.id) == one and await store.waiting() == [one]
    (first,), (second,) = await store.waiting(), await store.waiting()
    assert first.draft is not second.draft  # pydantic by itself would keep short texts in a cache of the process
    assert one.shown == "I was away.\n\nVoices are sounds."
    content = _on_disk(tmp_path)
    assert b"voices" not in content.lower() and b"Anna" not in content
    other = ReviewStore(database=database, naming=Naming(keyring), secret=Secret.random())
    assert await other.get(one.id) is None
    assert await other.waiting() == [] and await store.waiting() == []  # what nobody can open any more is dropped
    await database.aclose()


async def test_a_decision_opens_for_its_own_chat_only(database: Database) -> None:
    """Somebody else's chat, a forged text and a text of another key show nothing."""
    store = ReviewStore(database=database, naming=Naming(Keyring(current=Secret.random())), secret=Secret.random())
    decided = Decided(review=review(), outcome=ReviewOutcome.EDITED, words="Voices are real to those who hear them.")
    sealed = store.seal_decided(decided)
    assert store.open_decided(Incoming(identity=ANNA, text=sealed)) == decided
    ben = ChatIdentity(platform="discord", chat="1", user="43", thread="7")
    for identity, text in ((ben, sealed), (ANNA, "x"), (ANNA, ""), (ANNA, sealed[:-2] + "00"), (ANNA, "00" * 40)):
        assert store.open_decided(Incoming(identity=identity, text=text)) is None
    await database.aclose()


async def test_forgetting_erases_waiting_reviews_of_that_chat_alone(database: Database) -> None:
    """The eraser takes the chat's reviews, under every secret that was in use, and leaves those of others."""
    former, secret = Secret.random(), Secret.random()
    old = ReviewStore(database=database, naming=Naming(Keyring(current=former)), secret=secret)
    keyring = Keyring(current=Secret.random(), former=(former,))
    store = ReviewStore(database=database, naming=Naming(keyring), secret=secret)
    other = review(incoming=Incoming(identity=ChatIdentity(platform="discord", chat="1", user="43")))
    await old.put(review())
    await store.put(review())
    await store.put(other)
    gone = await database.run(lambda connection: erase(connection, Names.of(pseudonyms(keyring, ANNA), b"")))
    assert gone["reviews"] == 2 and await store.waiting() == [other]
    await database.aclose()


def test_a_table_that_forgetting_leaves_alone_says_why() -> None:
    """Each table of moderators' work that `/forget` leaves alone says why."""
    for name in ("audit", "posts", "standing"):
        assert metadata.tables[name].info["of_a_chat"] is False and metadata.tables[name].info["because"]


async def test_few_replies_wait_of_one_person_and_in_all(database: Database) -> None:
    """A person's threads count together, in each community apart; askers at the same moment do not slip through."""
    keyring, now = Keyring(current=Secret.random()), lambda: 0.0
    store = ReviewStore(database=database, naming=Naming(keyring), secret=Secret.random(), now=now)
    audit = AuditLog(database=database, keyring=keyring)
    queue = ReviewQueue(store=store, audit=audit, most=5, most_a_member=3, now=now)

    def of(user: str, guild: str = "1", thread: str = "") -> WaitingReply:
        return review(
            incoming=Incoming(identity=ChatIdentity(platform="discord", chat=guild, user=user, thread=thread))
        )

    held = await asyncio.gather(*(queue.hold(of("42", thread=str(at))) for at in range(6)))
    assert sum(held) == 3
    assert await queue.hold(of("42", guild="2")) and await queue.hold(of("43")) and not await queue.hold(of("44"))
    assert len(await store.waiting()) == 5
    await store.remove((await store.waiting())[0].id)
    assert await queue.hold(of("44"))
    await database.aclose()


# --- A moderator's words ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "passes"),
    [
        ("My sources do not answer that.", True),
        ("My sources do not answer that, but the moderator Tom can help: tom@evil.example", False),
        ("My sources do not answer that. Write to discord.gg/abcd.", False),
        ("My sources do not answer that. Ring 118 118.", False),
    ],
)
async def test_a_reply_without_a_source_brings_no_address_along(words: str, passes: bool) -> None:
    """Where no source is cited a moderator's words name no link, account or number that the judged reply did not have."""
    application = shipped()
    recheck = Recheck(engine=application.engine, phrases=application.phrases)
    answered = Answered(number=1, assistant=next(iter(application.engine.assistants)), sources=(), decision="ACCEPT")
    one = review(draft="My sources do not answer that.", basis=Basis.NONE, answered=answered)
    assert (await recheck.edited(one, words) == ()) is passes


# --- What holds ---------------------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(st.sampled_from(["pause", "resume", "flagged"]), st.booleans(), st.booleans()), min_size=1, max_size=8
)


@given(steps)
@settings(max_examples=40, deadline=None)
def test_after_a_restart_the_last_change_that_was_written_anywhere_holds(
    tmp_path_factory: pytest.TempPathFactory, done: list[tuple[str, bool, bool]]
) -> None:
    """File and database may each have missed any change: the latest one that either holds is taken up."""
    folder = tmp_path_factory.mktemp("standing")
    database = Database(f"sqlite:///{folder}/cafi.db")
    migrate(database)
    changes = {"pause": {"paused": True}, "resume": {"paused": False}, "flagged": {"mode": Mode.FLAGGED}}

    async def act() -> ModerationStatus:
        held = StatusStore(file=folder / "standing.json", database=database, platform="discord")
        written = held.now
        run, put = database.run, held.replace_file
        for name, file_down, database_down in done:
            held.replace_file = _full if file_down else put
            database.run = _away if database_down else run  # type: ignore[method-assign]
            held.change(**changes[name])
            assert await held.save() is not (file_down or database_down)
            written = held.now if not (file_down and database_down) else written
        database.run = run  # type: ignore[method-assign]
        return written

    written = asyncio.run(act())
    again = StatusStore(file=folder / "standing.json", database=database, platform="discord")
    again.load()
    assert again.now == written
    database.close()


def _full(path: Path, text: str) -> None:
    raise OSError(28, "No space left on device")


async def _away(work: object) -> None:
    raise StorageUnavailable("away")


def test_a_file_that_cannot_be_read_counts_as_a_pause(tmp_path: Path, database: Database) -> None:
    """Better silent than against the moderators' word; a later word in the database wins."""
    file = tmp_path / "standing.json"
    file.write_text('{"paused": fal', encoding="utf-8")
    held = StatusStore(file=file, database=database, platform="discord")
    held.load()
    assert held.now.paused
    held.change(paused=False)
    assert asyncio.run(held.save()) and ModerationStatus.model_validate_json(file.read_text()).paused is False
    database.close()


# --- The log of moderators ----------------------------------------------------------------------------------------------


async def test_the_log_keeps_each_action_once_though_the_database_was_away(database: Database) -> None:
    """Actions are written when the database is back, once each, under a pseudonym that is no platform id."""
    log = AuditLog(database=database, keyring=Keyring(current=Secret.random()), days=2, now=lambda: 720_000.0)
    run, database.run = database.run, _away  # type: ignore[method-assign]
    log.note(Action.PAUSE, Target.BOT, "42")
    assert not await log.save()
    database.run = run  # type: ignore[method-assign]
    log.note(Action.APPROVE, Target.REPLY, "43")
    log.note(Action.EXPIRE, Target.REPLY, None)
    assert all(await asyncio.gather(*(log.save() for _ in range(5))))
    entries = await log.entries()
    assert [one.action for one in entries] == ["expire", "approve", "pause"]
    assert len({one.who for one in entries}) == 3 and entries[0].who == "–"
    assert b"42" not in entries[2].moderator and entries[0].when == "1970-01-09 08 h"
    log.now = lambda: 720_000.0 + 3 * 86_400
    await log.sweep()
    assert await log.entries() == []
    await database.aclose()


async def test_what_was_posted_is_kept_sealed_as_long_as_the_log(tmp_path: Path, database: Database) -> None:
    """The words open with the operator's secret alone, in their own line alone, after its change too, and go with the line."""
    clock, former = [720_000.0], Secret.random()
    log = AuditLog(database=database, keyring=Keyring(current=former), days=2, now=lambda: clock[0])
    log.note(Action.POLL, Target.POLL, "42", "When shall we meet?\n- Monday")
    log.note(Action.PAUSE, Target.BOT, "42")
    assert await log.save()
    assert b"Monday" not in _on_disk(tmp_path)
    assert [one.posted for one in await log.entries()] == ["", "When shall we meet?\n- Monday"]
    stranger = AuditLog(database=database, keyring=Keyring(current=Secret.random()))
    assert (await stranger.entries())[1].posted == CLOSED
    await stranger.renew()  # what it cannot open it leaves as it is
    changed = AuditLog(database=database, keyring=Keyring(current=Secret.random(), former=(former,)))
    await changed.renew()
    log.keyring = Keyring(current=changed.keyring.current)
    assert (await log.entries())[1].posted.endswith("Monday")
    await database.run(lambda connection: connection.execute(update(audit).values(hour=audit.c.hour + 1)))
    assert (await log.entries())[1].posted == CLOSED
    clock[0] += 3 * 86_400
    await log.sweep()
    assert await log.entries() == []
    await database.aclose()


# --- Posts --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Call 22 40 00 40 at any time.", True),
        ("In Norway, call 116 117.", True),
        ("In an emergency: 112", True),
        ("It was studied from 1990-2015 in 12 countries.", False),
        ("About 7 of 1000 people; 300 mg; 2019.", False),
        ("No number at all.", False),
    ],
)
def test_what_counts_as_a_phone_number(text: str, number: bool) -> None:
    """Long numbers count, and short ones that some country's contacts have; years and doses do not."""
    referrals = shipped().referrals
    assert holds_a_phone_number(text, referrals) is number


async def test_a_post_is_kept_under_former_secrets_and_found_when_its_source_has_changed(
    tmp_path: Path, database: Database
) -> None:
    """After the secret was rotated a post still opens; it is listed once when its source is another one or gone."""
    knowledge = KnowledgeBase.load(knowledge_folder(tmp_path / "kb"))
    former = Secret.random()
    digest = knowledge.sources["sleep"].content_hash
    post = Post(id=new_id(), source="sleep", assistant="a", text="Sleep.", digest=digest, place=5, posted=True)
    await PostStore(database=database, keyring=Keyring(current=former)).put(post)
    store = PostStore(database=database, keyring=Keyring(current=Secret.random(), former=(former,)))
    assert await store.posted() == [post]
    await store.renew()
    assert await PostStore(database=database, keyring=Keyring(current=store.keyring.current)).posted() == [post]
    sources = knowledge.sources
    assert changed([post], lambda one: sources.get(one.source)) == []
    assert changed([post], lambda one: None) == [post]
    assert changed([post], lambda one: sources["voices"]) == [post]
    await database.aclose()


def test_a_text_of_somebodys_own_needs_somebody_else() -> None:
    """Their approval counts as one of two, and never as the only one."""
    post = Post(id=new_id(), source="s", assistant="a", text="t", digest="d", place=1, author=b"1".hex())
    assert not post.approved_by(b"1").ready and post.approved_by(b"2").ready
    assert replace(post, needed=2).approved_by(b"1").approved_by(b"2").ready


def test_one_moderator_counts_once() -> None:
    """Two approvals of one moderator are one."""
    post = Post(id=new_id(), source="s", assistant="a", text="t", digest="d", place=1, needed=2)
    once = post.approved_by(b"1").approved_by(b"1")
    assert not once.ready and once.approved_by(b"2").ready


# --- Texts --------------------------------------------------------------------------------------------------------------


def test_every_language_says_the_same_things() -> None:
    """Five languages have all texts with the same braces, and names of every mode, reason and action."""
    texts = load_moderation_texts(ROOT / "config" / "discord_moderation")
    assert set(texts) == {"en", "nb", "de", "es", "fr"}
    for one in texts.values():
        assert set(one.names.modes) == set(Mode) and set(one.names.reasons) == set(Reason)
        assert set(one.names.actions) == set(Action)
        assert set(one.moderators.outcomes) == set(ReviewOutcome)


def test_a_text_with_other_braces_is_refused(tmp_path: Path) -> None:
    """A language that forgets what is put in is named with file and key."""
    shipped = ROOT / "config" / "discord_moderation"
    (tmp_path / "en.yaml").write_text((shipped / "en.yaml").read_text())
    (tmp_path / "de.yaml").write_text((shipped / "de.yaml").read_text().replace("{minutes}", "60"))
    with pytest.raises(ConfigurationError, match=r"de\.yaml: members\.\w+: .*minutes"):
        load_moderation_texts(tmp_path)

"""Moderation on Discord: the real library against a stand-in, the whole house behind it."""

from __future__ import annotations

import copy
import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.storage.seal import Keyring, Secret
from bots.cli.discord import logged
from engine.exceptions import StorageUnavailable
from engine.models.protocol import Prompt
from rehearsal.discord_world import DiscordMessage, DiscordPerson, Impossible, Permission
from tests.fakes.faulty_discord import FaultyDiscord
from tests.moderation import Community, agree, said
from tests.team import CALM, CITED, DOUBT, SLEEP, knowledge_folder, scripted

NO_WRITING = Permission.SEND_MESSAGES
VOICES = "Voices are sounds that others do not hear."


async def test_a_reply_waits_for_a_moderator_and_is_shown_when_one_approves(tmp_path: Path) -> None:
    """In the mode *all* the asker is told that a moderator reads first, and gets the approved reply with a note, alone."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            asked = room.anna.slash(room.channel, "ask", question="what are the voices? I am <@123456789012345678>")
            assert "A moderator reads my answer" in await said(asked)
            note = await fake.reply_in(room.mods)
            assert VOICES in note.content and "what are the voices?" in note.content
            assert "anna" not in note.content and str(room.anna.id) not in note.content
            assert "123456789012345678" not in note.content
            pressed = room.mia.press(note, "Approve")
            assert "Approved" in await said(pressed)
            answer = await told(room, "A moderator has read this answer first")
            assert VOICES in answer.content and answer.ephemeral_for is room.anna
            assert VOICES not in note.content and note.buttons == []
        assert not fake.pings


async def waiting(room: Community, question: str = "what are the voices?") -> DiscordMessage:
    """Anna asks, and this is what moderators see of it, with its buttons."""
    before = len(room.fake.bot_messages(room.mods))
    asked = room.anna.slash(room.channel, "ask", question=question)
    assert "A moderator reads my answer" in await said(asked)
    return await room.fake.reply_in(room.mods, number=before + 1)


async def told(room: Community, words: str) -> DiscordMessage:
    """What the bot shows to Anna, wherever, with these words in it."""
    fake = room.fake

    def found() -> list[DiscordMessage]:
        return [one for one in fake.seen_by(room.anna) if one.author is fake.bot and words in one.content]

    return (await fake.wait_for(found, seconds=10))[-1]


def others_saw(room: Community) -> str:
    """Everything of the bot's that Ben, Mia or Olaf could ever read."""
    seen = {one for who in (room.ben, room.mia, room.olaf) for one in room.fake.seen_by(who, ever=True)}
    return "\n".join(one.content for one in seen if one.author is room.fake.bot)


@pytest.mark.parametrize("way", ["answerable", "late", "closed"])
@pytest.mark.parametrize("deed", ["Approve", "Edit", "Discard", "nobody"])
async def test_what_becomes_of_a_question_by_command_tells_nobody_who_asked_it(
    tmp_path: Path, deed: str, way: str
) -> None:
    """Whatever moderators decide, soon, late, or with direct messages closed: the asker hears of it, others read no name."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        room.anna.accepts_dms = way != "closed"
        async with room.running(tmp_path, moderation={"mode": "all"}) as bot:
            await agree(room.anna, room.channel)
            note = await waiting(room)
            if way != "answerable":
                (review,) = await room.moderation.queue.store.waiting()
                place = {**review.incoming.place, "until": 0}
                late = replace(review, incoming=replace(review.incoming, place=place))
                assert await room.moderation.queue.store.note(late)
            if deed == "nobody":
                later = room.moderation.queue.now() + 3_601
                room.moderation.queue.now = lambda: later
                await fake.wait_for(lambda: "Nobody got to it" in note.content)
            elif deed == "Edit":
                form = await room.mia.press(note, "Edit").opened()
                await said(room.mia.submit(form, words=VOICES))
            else:
                await said(room.mia.press(note, deed))
            await bot.dispatch.idle()
            await fake.settled()
            if way == "closed":
                assert not any(DECIDED[deed] in one.content for one in fake.seen_by(room.anna, ever=True))
                await said(room.anna.slash(room.channel, "topics"))
            shown = await told(room, DECIDED[deed])
            assert shown.ephemeral_for is room.anna or shown in fake.bot_messages(room.anna)
            assert str(room.anna.id) not in others_saw(room) and not fake.threads(room.channel)


DECIDED = {
    "Approve": "A moderator has read this answer first:",
    "Edit": "read this answer first and changed it",
    "Discard": "decided not to show my answer",
    "nobody": "has not got to it in time",
}


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "nb"])
async def test_what_is_said_of_a_review_fits_how_it_was_asked(tmp_path: Path, language: str) -> None:
    """By command: not who asked, and for the asker alone; by mention: that everybody here sees it; in each language."""
    locale = {"en": "en-GB", "es": "es-ES", "nb": "no"}.get(language, language)
    async with FaultyDiscord() as fake:
        room = Community(fake, locale=locale)
        async with room.running(tmp_path, moderation={"mode": "all"}) as bot:
            texts = room.moderation.texts[language].members
            by_command = texts.waiting.format(minutes=60)
            welcome = await room.anna.slash(room.channel, "ask", question="hello").reply()
            await room.anna.press(welcome, bot.chat.languages.texts[language].buttons.consent).reply(number=2)
            await fake.settled()
            assert by_command in await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))
            room.anna.write(room.channel, f"{fake.bot.mention} what are the voices?")
            notice = await fake.reply_in(room.channel)
            shown = await room.anna.press(notice, notice.buttons[0]).reply()
            assert texts.waiting_seen.format(minutes=60) in shown.content
            page = await said(room.anna.slash(room.channel, "whocanread"))
            assert texts.reads_all.format(minutes=60)[:60] in page


async def test_in_a_thread_what_is_written_is_answered_there_and_what_is_asked_by_command_alone(tmp_path: Path) -> None:
    """A follow-up that all could read has its approved answer in the thread; one by command, which nobody saw, has not."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            room.anna.write(room.channel, f"{fake.bot.mention} what are the voices?")
            await said(room.mia.press(await fake.reply_in(room.mods), "Approve"))
            (thread,) = await fake.wait_for(lambda: fake.threads(room.channel))
            await fake.reply_in(thread)
            room.anna.slash(thread, "ask", question="how can I sleep better?")
            await said(room.mia.press(await fake.reply_in(room.mods, number=2), "Approve"))
            alone = await told(room, "Sleep often changes")
            assert alone.ephemeral_for is room.anna and len(fake.bot_messages(thread)) == 1
            room.anna.write(thread, f"{fake.bot.mention} what are the voices?")
            await said(room.mia.press(await fake.reply_in(room.mods, number=3), "Approve"))
            await fake.wait_for(lambda: sum("Voices are" in one.content for one in fake.bot_messages(thread)) == 2)


async def test_few_replies_of_one_member_wait_and_few_in_all(tmp_path: Path) -> None:
    """Beyond three of a member, wherever they ask, and beyond what moderators can read, one calm line says: later."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all", "reviews": 4}):
            await agree(room.anna, room.channel)
            await agree(room.ben, room.channel)
            later = room.moderation.texts["en"].members.full
            for _ in range(3):
                note = await waiting(room)
            room.anna.write(room.channel, f"{fake.bot.mention} what are the voices?")
            notice = await fake.reply_in(room.channel)
            shown = await room.anna.press(notice, notice.buttons[0]).reply()
            assert shown.content == later and shown.ephemeral_for is room.anna
            assert "A moderator reads" in await said(room.ben.slash(room.channel, "ask", question="how do I sleep?"))
            assert later == await said(room.ben.slash(room.channel, "ask", question="how do I sleep better?"))
            await fake.settled()
            assert len(fake.bot_messages(room.mods)) == 4
            await said(room.mia.press(note, "Discard"))
            await waiting(room)


async def test_a_discarded_reply_is_never_shown_and_the_asker_is_told_kindly(tmp_path: Path) -> None:
    """After *Discard* the asker reads that a moderator decided so and where to turn, and the reply appears nowhere."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
            assert "Discarded" in await said(room.olaf.press(note, "Discard"))
            line = await told(room, "A moderator has decided not to show my answer")
            assert line.ephemeral_for is room.anna
            assert not any(VOICES in one.content for one in fake.seen_by(room.anna, ever=True))


async def test_an_approved_reply_is_remembered_as_said_and_its_buttons_work(tmp_path: Path) -> None:
    """Before it is shown the conversation holds the waiting line, afterwards the reply; “Where from?” shows its passage."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}) as bot:
            await agree(room.anna, room.channel)
            note = await waiting(room)
            (review,) = await room.moderation.queue.store.waiting()
            identity = review.incoming.identity
            await bot.dispatch.idle()
            before = (await bot.store.load(identity)).state
            assert before is not None and "A moderator reads" in before.conversation.messages[-1].content
            assert before.answers == ()
            await said(room.mia.press(note, "Approve"))
            answer = await told(room, VOICES)
            await bot.dispatch.idle()
            after = (await bot.store.load(identity)).state
            assert after is not None and VOICES in after.conversation.messages[-1].content
            assert after.conversation.messages[-1].citations == ("voices",)
            origin = room.anna.press(answer, "Where from?")
            assert "Hearing voices" in await said(origin)


@pytest.mark.parametrize(
    "hostile", ["@everyone what are the voices?", "<@&{role}> **what** are the voices? [x](https://evil.example)"]
)
async def test_a_question_cannot_call_moderators_or_dress_up_as_the_bot(tmp_path: Path, hostile: str) -> None:
    """Mentions, links and markup of a question reach the moderators' channel as nothing that calls or leads anywhere."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room, hostile.format(role=room.role.id))
            assert not fake.pings and "evil" not in note.content and "everyone" not in note.content
            assert str(room.role.id) not in note.content and "**what**" not in note.content


async def test_two_moderators_who_decide_at_once_decide_once(tmp_path: Path) -> None:
    """The second press of an old button changes nothing and says so."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
            first, second = room.mia.press(note, "Approve"), room.olaf.press(note, "Discard")
            answers = [await said(first), await said(second)]
            assert sum("does not wait any more" in one for one in answers) == 1
            await fake.settled()
            shown = [one for one in fake.seen_by(room.anna) if VOICES in one.content]
            assert len(shown) == (1 if "Approved" in answers[0] else 0)


async def test_an_edited_reply_is_checked_and_judged_before_it_is_shown(tmp_path: Path) -> None:
    """An edit that no source supports is refused with reasons and the reply waits on; a supported one is shown as changed."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
            form = await room.mia.press(note, "Edit").opened()
            assert form.modal is not None and VOICES in str(form.modal)
            wrong = room.mia.submit(form, words="Clozapine cures voices in 95 percent of people. Call 0123 456789.")
            refused = await said(wrong)
            assert "still waits" in refused and "phone number" in refused
            form = await room.mia.press(note, "Edit").opened()
            unsupported = room.mia.submit(form, words="Clozapine cures voices in 95 percent of people within two days.")
            assert "still waits" in await said(unsupported)
            form = await room.mia.press(note, "Edit").opened()
            right = room.mia.submit(form, words="Voices are sounds that others do not hear.")
            assert "Changed and shown" in await said(right)
            answer = await told(room, "read this answer first and changed it")
            assert "Voices are sounds that others do not hear." in answer.content
            assert not any("Clozapine" in one.content for one in fake.seen_by(room.anna, ever=True))


async def test_when_nobody_gets_to_it_the_asker_is_told_honestly(tmp_path: Path) -> None:
    """After the time limit the reply is erased, moderators see it no longer, and the asker reads why."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all", "review_minutes": 5}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
            now = room.moderation.queue.now()
            room.moderation.queue.now = lambda: now + 301
            await told(room, "A moderator has not got to it in time")
            await fake.wait_for(lambda: "Nobody got to it in time" in note.content)
            assert VOICES not in note.content and not note.buttons
            assert await room.moderation.queue.store.waiting() == []


async def test_forgetting_withdraws_a_waiting_reply(tmp_path: Path) -> None:
    """`/forget` erases the waiting reply, says so, and takes question and reply away from the moderators."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
            receipt = await said(room.anna.slash(room.channel, "forget"))
            assert "replies that waited for a moderator: 1" in receipt
            await fake.wait_for(lambda: "Withdrawn" in note.content)
            assert VOICES not in note.content and not note.buttons
            assert await room.moderation.queue.store.waiting() == []


async def test_whoever_waits_for_a_reply_that_is_lost_is_told_when_they_write_again(tmp_path: Path) -> None:
    """When the inbox's key is gone, moderators see nothing that waits, and the asker is told, once, after any contacts."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            await waiting(room)
        (tmp_path / "inbox.key").unlink()
        async with room.running(tmp_path):
            await fake.wait_for(lambda: room.moderation.queue.any_lost)
            assert await room.moderation.queue.store.waiting() == []
            urgent = room.anna.slash(room.channel, "ask", question="I want to kill myself tonight")
            assert "lost while it waited" not in await said(urgent)
            for question in ("what are the voices?", "and what are the voices?"):  # help comes first once more
                await room.anna.slash(room.channel, "ask", question=question).reply()
                await fake.settled()
            lost = await told(room, "was lost while it waited for a moderator")
            assert "You can ask again" in lost.content
            assert not any("was lost while" in one.content for one in fake.seen_by(room.mia))
            await room.anna.slash(room.channel, "ask", question="what helps with sleep?").reply()
            await fake.settled()
            shown = [one for one in fake.seen_by(room.anna) if "was lost while" in one.content]
            assert len(shown) == 1


async def test_a_waiting_reply_survives_a_restart_with_its_buttons(tmp_path: Path) -> None:
    """A reply that waits when the process ends is decided by the old buttons under the next process, and shown once."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await fake.settled()
            assert len(fake.bot_messages(room.mods)) == 1
            assert "Approved" in await said(room.mia.press(note, "Approve"))
            await told(room, VOICES)
            await fake.settled()
            assert len([one for one in fake.seen_by(room.anna) if VOICES in one.content]) == 1
        database = (tmp_path / "cafi.db").read_bytes()
        assert b"what are the voices" not in database and VOICES.encode() not in database


async def test_help_never_waits_and_moderators_do_not_learn_of_it(tmp_path: Path) -> None:
    """In the mode *all* the crisis referral comes at once and alone to the asker, and the moderators' channel stays empty."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            urgent = await said(room.anna.slash(room.channel, "ask", question="I want to kill myself tonight"))
            assert "emergency" in urgent.casefold()
            worried = await room.anna.slash(
                room.channel, "ask", question="I feel hopeless. what are the voices?"
            ).reply()
            assert worried.ephemeral_for is room.anna and "A moderator" not in worried.content
            await fake.settled()
            assert fake.bot_messages(room.mods) == [] and fake.threads(room.channel) == []
            assert await room.moderation.queue.store.waiting() == []


async def test_direct_messages_are_nobody_elses(tmp_path: Path) -> None:
    """What somebody asks in a direct message is answered at once, whatever the mode."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.anna)
            room.anna.write(room.anna, "what are the voices?")
            await told(room, VOICES)
            assert fake.bot_messages(room.mods) == []


async def test_only_flagged_replies_wait_in_the_mode_flagged(tmp_path: Path) -> None:
    """An accepted reply is shown at once; one with the decision WARNING waits, and moderators read the judge's doubt."""
    warning = {"objections": [], "evidence": [], "decision": "WARNING", "explanation": "It is a little too sure."}
    accepted = {"objections": [], "decision": "ACCEPT"}
    doubts: list[bool] = []
    verdict = lambda prompt: DOUBT if doubts else accepted  # noqa: E731 - a script's answer
    model = scripted({"agent": CITED, "preliminary": verdict, "source_fidelity_chief": warning})
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, model, moderation={"mode": "flagged"}):
            await agree(room.anna, room.channel)
            room.anna.slash(room.channel, "ask", question="how do I sleep better?")
            await told(room, "A fixed time for going to bed can help.")
            assert fake.bot_messages(room.mods) == []
            doubts.append(True)
            note = await waiting(room, "how do I sleep better at night?")
            assert "a judge has doubts" in note.content and "It is a little too sure." in note.content


# --- Pause --------------------------------------------------------------------------------------------------------------


async def test_a_pause_holds_at_once_and_after_a_restart_and_help_stays(tmp_path: Path) -> None:
    """While paused no question is answered, the crisis referral is, and a new process finds the pause."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            await agree(room.anna, room.channel)
            assert "Paused" in await said(room.mia.slash(room.channel, "mod pause"))
            assert "paused" in await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))
        async with room.running(tmp_path):
            assert "paused" in await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))
            urgent = await said(room.anna.slash(room.channel, "ask", question="I want to kill myself tonight"))
            assert "emergency" in urgent.casefold() and "paused" not in urgent
            assert "again" in await said(room.olaf.slash(room.channel, "mod resume"))
            room.anna.slash(room.channel, "ask", question="what are the voices?")
            await told(room, VOICES)


@pytest.mark.parametrize("lost", ["database", "file"])
async def test_a_pause_holds_while_the_database_is_away(
    tmp_path: Path, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A pause that only one of file and database could take holds after a restart, and the moderator is told of it."""

    def away(*args: Any, **kwargs: Any) -> Any:
        raise StorageUnavailable("away") if lost == "database" else OSError(28, "No space left on device")

    caplog.set_level(logging.CRITICAL, "cafi")
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            await agree(room.anna, room.channel)
            status_store = room.moderation.status_store
            status_store.database, kept = copy.copy(status_store.database), status_store.database
            if lost == "database":
                status_store.database.run = away  # type: ignore[method-assign]
            else:
                status_store.replace_file = away
            pressed = room.mia.slash(room.channel, "mod pause")
            assert "Paused" in await said(pressed)
            assert "not written everywhere" in (await pressed.reply(number=2)).content
            assert "paused" in await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))
            del kept
        async with room.running(tmp_path):
            assert "paused" in await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))


# --- Who may ------------------------------------------------------------------------------------------------------------


async def test_only_moderators_of_the_server_with_the_moderators_channel_may(tmp_path: Path) -> None:
    """A member is refused, and so is somebody who manages another server that the bot is in."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        stranger = fake.person("stranger")
        other = fake.guild("Elsewhere", members=[stranger])
        other.owner = stranger
        there = fake.text_channel(other, "general")
        async with room.running(tmp_path):
            assert "for the moderators" in await said(room.anna.slash(room.channel, "mod pause"))
            assert "another server" in await said(stranger.slash(there, "mod pause"))
            offered = room.anna.autocomplete(room.channel, "mod post", focused="source", source="sl")
            assert await offered.offered() == []
            assert not room.moderation.status_store.now.paused
            with pytest.raises(Impossible):
                room.anna.slash(room.anna, "mod pause")


async def test_the_moderators_channel_and_other_channels_are_not_for_questions(tmp_path: Path) -> None:
    """Questions are answered in the allowed channels alone, and for members with an allowed role where roles are set."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"member_roles": (room.role.id,)}):
            assert VOICES not in await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))
            await fake.settled()
            refused = [one.content for one in fake.ephemeral(room.anna)]
            assert not any("I understand" in str(one) for one in refused)
            await agree(room.mia, room.channel)
            assert VOICES not in await said(room.mia.slash(room.mods, "ask", question="what are the voices?"))


async def test_everybody_can_read_what_moderators_read(tmp_path: Path) -> None:
    """`/whocanread` says what the present mode means, and changes with it."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            assert "Moderators: Nothing at the moment" in await said(room.anna.slash(room.channel, "whocanread"))
            assert "review all" in await said(room.mia.slash(room.channel, "mod mode", mode="all"))
            now = await said(room.anna.slash(room.channel, "whocanread"))
            assert "They read every answer from the channels" in now and "comes to you alone" in now
            assert "stands there under your name" in now
            assert "waits for a moderator" in await said(room.anna.slash(room.channel, "privacy"))


# --- What is not answered here --------------------------------------------------------------------------------------------


async def test_a_blocked_source_or_topic_becomes_the_calm_line_until_it_is_allowed_again(tmp_path: Path) -> None:
    """A reply that cites a blocked source, or touches a blocked topic, is replaced by a line with contacts."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            await agree(room.anna, room.channel)
            offered = await room.mia.autocomplete(
                room.channel, "mod block-topic", focused="topic", topic="voi"
            ).offered()
            assert "Hearing voices" in offered and "Sleep" not in offered
            assert "Hearing voices" in await said(
                room.mia.slash(room.channel, "mod block-topic", topic="source:voices")
            )
            line = await said(room.anna.slash(room.channel, "ask", question="what are the voices?"))
            assert "not to answer about this here" in line and VOICES not in line
            assert "Hearing voices" in await said(room.mia.slash(room.channel, "mod block-topic"))
            lifted = room.mia.slash(room.channel, "mod block-topic", topic="source:voices", remove=True)
            assert "Answered again" in await said(lifted)
            assert "medicines" in await said(room.mia.slash(room.channel, "mod block-topic", topic="Medicines"))
            line = await said(room.anna.slash(room.channel, "ask", question="should I stop my medicines?"))
            assert "not to answer about this here" in line
            room.anna.slash(room.channel, "ask", question="what are the voices?")
            await told(room, VOICES)
            assert "know nothing" in await said(room.mia.slash(room.channel, "mod block-topic", topic="the weather"))


@pytest.mark.parametrize("blocked", [False, True])
async def test_words_below_a_referral_keep_to_what_moderators_have_blocked(tmp_path: Path, blocked: bool) -> None:
    """Below a referral a blocked source is left out without a line about it: the referral stands, for its asker alone."""
    cat = "i cannot sleep, what helps? my sister gets the cat on friday"

    def judge(prompt: Prompt) -> dict[str, Any]:
        return CALM | {"level": "urgent", "kind": "dying"} if cat in prompt.messages[-1].content else CALM

    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, scripted({"urgency": judge, "agent": CITED})) as bot:
            await agree(room.anna, room.channel)
            if blocked:
                await said(room.mia.slash(room.channel, "mod block-topic", topic="source:sleep"))
            asked = room.anna.slash(room.channel, "ask", question=cat)
            assert "112" in await said(asked)
            await bot.dispatch.idle()
            await fake.settled()
            seen = "\n".join(one.content for one in fake.seen_by(room.anna) if one.author is fake.bot)
            assert (CITED["reply"] in seen) is not blocked and "not to answer about this" not in seen
            assert "112" not in others_saw(room) and CITED["reply"] not in others_saw(room)


# --- Info posts and polls -------------------------------------------------------------------------------------------------


async def test_an_info_post_is_posted_plainly_after_one_approval_and_marked_when_its_source_changes(
    tmp_path: Path,
) -> None:
    """A post names its source; after a restart over a changed source it says that its text has changed since."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            offered = await room.mia.autocomplete(room.channel, "mod post", focused="source", source="sl").offered()
            assert "Sleep" in offered and "Hearing voices" not in offered
            assert "moderators' channel" in await said(room.mia.slash(room.channel, "mod post", source="sleep"))
            draft = await fake.reply_in(room.mods)
            assert fake.bot_messages(room.channel) == [] and "One approval posts it" in draft.content
            assert "Posted" in await said(room.mia.press(draft, "Approve"))
            post = await fake.reply_in(room.channel)
            assert post.content.startswith("Sleep\n\nSleep often changes") and "From our knowledge base" in post.content
            assert post.buttons == [] and draft.buttons == []
        async with room.running(tmp_path):
            await fake.settled()
            assert "changed since" not in post.content
        room.sources = {"sleep": SLEEP.replace("A fixed time", "A regular time")}
        async with room.running(tmp_path):
            await fake.wait_for(lambda: "This text has changed since" in post.content)
            assert "Sleep often changes" in post.content


async def test_a_post_with_a_phone_number_needs_two_moderators(tmp_path: Path) -> None:
    """One moderator cannot approve twice; the second moderator's approval posts it."""
    number = (
        "---\nid: helpline\ntitle: A helpline\nsummary: [whom to call]\n---\nThe helpline is 22 40 00 40, every day.\n"
    )
    knowledge_folder(tmp_path / "kb", helpline=number)
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            await said(room.mia.slash(room.channel, "mod post", source="helpline"))
            draft = await fake.reply_in(room.mods)
            assert "two different moderators" in draft.content
            assert "Another moderator must approve" in await said(room.mia.press(draft, "Approve"))
            assert "Another moderator must approve" in await said(room.mia.press(draft, "Approve"))
            assert fake.bot_messages(room.channel) == []
            assert "Posted" in await said(room.olaf.press(draft, "Approve"))
            assert "22 40 00 40" in (await fake.reply_in(room.channel)).content


FIRST = "Sleep often changes with schizophrenia."


async def drafted(room: Community, source: str = "sleep") -> DiscordMessage:
    """A draft of an info post, as moderators see it."""
    before = len(room.fake.bot_messages(room.mods))
    await said(room.mia.slash(room.channel, "mod post", source=source))
    return await room.fake.reply_in(room.mods, number=before + 1)


async def reworded(person: DiscordPerson, draft: DiscordMessage, words: str) -> str:
    """What a moderator is told who puts other words in a draft."""
    form = await person.press(draft, "Edit").opened()
    return await said(person.submit(form, words=words))


async def test_a_changed_draft_is_checked_before_it_waits_anew(tmp_path: Path) -> None:
    """Words that no source supports are refused with reasons; others take the draft's place, between title and origin."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            draft = await drafted(room)
            form = await room.mia.press(draft, "Edit").opened()
            assert form.modal is not None and FIRST in str(form.modal) and "knowledge base" not in str(form.modal)
            told = await reworded(room.mia, draft, "Sleep pills cure it in 95 percent of people. Call 0123 456789.")
            assert "waits as it was" in told and "phone number" in told and len(fake.bot_messages(room.mods)) == 1
            assert "Changed and checked" in await reworded(room.mia, draft, FIRST)
            assert draft.buttons == [] and FIRST not in draft.content
            new = await fake.reply_in(room.mods, number=2)
            assert "Posted" in await said(room.olaf.press(new, "Approve"))
            post = await fake.reply_in(room.channel)
            assert post.content.startswith(f"Sleep\n\n{FIRST}\n\nFrom our knowledge base") and not fake.pings
            await room.moderation.audit.save()
            entries = await room.moderation.audit.entries()
            assert [(one.action, one.target) for one in entries] == [
                ("post", "info post"),
                ("reword", "info post"),
                ("draft", "info post"),
            ]
            assert "info post changed: 1" in await said(room.mia.slash(room.channel, "mod stats"))


async def test_a_change_makes_approvals_void_and_old_buttons_too(tmp_path: Path) -> None:
    """Whoever approved the former words has approved nothing of the new ones; a button under the former posts nothing."""
    number = (
        "---\nid: helpline\ntitle: A helpline\nsummary: [whom to call]\n---\n"
        "The helpline is 22 40 00 40, every day. It is free of charge.\n"
    )
    knowledge_folder(tmp_path / "kb", helpline=number)
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            draft = await drafted(room, "helpline")
            assert "Another moderator must approve" in await said(room.mia.press(draft, "Approve"))
            stale = copy.copy(draft)
            assert "Changed and checked" in await reworded(room.olaf, draft, "The helpline is 22 40 00 40, every day.")
            new = await fake.reply_in(room.mods, number=2)
            assert "two different moderators" in new.content
            assert "does not wait any more" in await said(room.olaf.press(stale, "Approve"))
            assert "Another moderator must approve" in await said(room.olaf.press(new, "Approve"))
            assert fake.bot_messages(room.channel) == []
            assert "Posted" in await said(room.mia.press(new, "Approve"))
            assert "free of charge" not in (await fake.reply_in(room.channel)).content


async def test_a_draft_that_was_decided_while_somebody_wrote_is_not_changed(tmp_path: Path) -> None:
    """The form of a draft that has been posted meanwhile changes nothing, and no further draft is left with buttons."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            draft = await drafted(room)
            stale = copy.copy(draft)
            form = await room.mia.press(draft, "Edit").opened()
            assert "Posted" in await said(room.olaf.press(draft, "Approve"))
            assert "does not wait any more" in await said(room.mia.submit(form, words=FIRST))
            assert "does not wait any more" in await said(room.mia.press(stale, "Edit"))
            post = (await room.moderation.posts.posted())[0]
            assert not await room.moderation.posts.exchange(post.id, post)
            assert all(one.buttons == [] for one in fake.bot_messages(room.mods))


async def test_a_changed_draft_that_moderators_cannot_be_shown_leaves_the_former_one(tmp_path: Path) -> None:
    """Where the moderators' channel is closed to the bot, the change is refused, and the former draft can be approved."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            draft = await drafted(room)
            fake.allow(room.mods, fake.bot, allow=Permission.VIEW_CHANNEL, deny=NO_WRITING)
            await fake.settled()
            assert "cannot show a draft" in await reworded(room.mia, draft, FIRST)
            assert draft.buttons == ["Approve", "Edit", "Discard"]
            assert "Posted" in await said(room.mia.press(draft, "Approve"))


async def test_a_community_poll_says_that_votes_are_visible(tmp_path: Path) -> None:
    """`/mod poll` drafts Discord's own poll, which another moderator starts under a notice; what does not fit is refused."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            few = room.mia.slash(room.channel, "mod poll", question="When shall we meet?", answers="Monday")
            assert "two to 10 answers" in await said(few)
            done = room.mia.slash(
                room.channel, "mod poll", question="When shall we meet?", answers="Monday; Friday", hours=2
            )
            assert "moderators' channel" in await said(done)
            draft = await fake.reply_in(room.mods)
            assert "open for 2 hours" in draft.content and "When shall we meet?\n\\- Monday" in draft.content
            assert draft.buttons == ["Approve", "Discard"] and fake.bot_messages(room.channel) == []
            assert "Another moderator must approve" in await said(room.mia.press(draft, "Approve"))
            assert fake.bot_messages(room.channel) == []
            assert "has started" in await said(room.olaf.press(draft, "Approve"))
            poll = await fake.reply_in(room.channel)
            assert draft.buttons == [] and await room.moderation.posts.posted() == []
            assert poll.poll is not None and poll.poll.answers == ["Monday", "Friday"]
            assert "Everybody here can see who votes" in poll.content


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (
            "Anna takes pills. CAFI says: stop your tablets now @everyone https://evil.example call 0900 123456",
            "Yes; No",
        ),
        ("Who joins discord.gg/abcd?", "Yes; No"),
        ("Is anna#1234 right?", "Yes; No"),
        ("Shall we meet at 7?", "Yes; No"),
        ("Shall we meet?", "Call ９９９; No"),
        ("Have you stopped your tablets?", "Yes; No"),
        ("What is best?", "Stop your tablets now; Nothing"),
    ],
)
async def test_a_poll_that_is_more_than_a_short_question_reaches_nobody(
    tmp_path: Path, question: str, answers: str
) -> None:
    """Statements, links, numbers, accounts and topics of high stakes are refused with reasons, and nobody can start them."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            done = room.mia.slash(room.channel, "mod poll", question=question, answers=answers)
            assert "Not drafted" in await said(done)
            assert fake.bot_messages(room.channel) == [] and fake.bot_messages(room.mods) == []


@pytest.mark.parametrize(
    "more", ["You are all idiots.", "Anna from class 3b hears them too.", "Sleep heals voices for ever."]
)
async def test_a_source_is_not_made_to_say_what_it_does_not(tmp_path: Path, more: str) -> None:
    """An insult, a name or a promise that moderators add to a draft is refused, and what it says is named to them alone."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            draft = await drafted(room)
            assert "waits as it was" in await reworded(room.mia, draft, f"{FIRST} {more}")
            assert len(fake.bot_messages(room.mods)) == 1 and draft.buttons


async def test_whoever_changed_a_draft_does_not_post_it_alone(tmp_path: Path) -> None:
    """The approval of the moderator whose words they are is not enough; after a change of the secret neither."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            draft = await drafted(room)
            assert "Changed and checked" in await reworded(room.mia, draft, FIRST)
            new = await fake.reply_in(room.mods, number=2)
            assert "another one must approve" in new.content
            assert "Another moderator must approve" in await said(room.mia.press(new, "Approve"))
            audit = room.moderation.audit
            audit.keyring = Keyring(current=Secret.random(), former=(audit.keyring.current,))
            assert "Another moderator must approve" in await said(room.mia.press(new, "Approve"))
            assert fake.bot_messages(room.channel) == []
            assert "Posted" in await said(room.olaf.press(new, "Approve"))


# --- What stays of it -----------------------------------------------------------------------------------------------------


async def test_the_log_of_moderators_holds_actions_and_pseudonyms_alone(tmp_path: Path) -> None:
    """`/mod stats` counts what was done; neither it nor the database names a moderator, a member or a message."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            note = await waiting(room)
            await said(room.mia.press(note, "Approve"))
            await said(room.mia.slash(room.channel, "mod pause"))
            await said(room.mia.slash(room.channel, "mod resume"))
            stats = await said(room.olaf.slash(room.channel, "mod stats"))
            assert "reply approved: 1" in stats and "paused: 1" in stats
            assert "mia" not in stats and "voices" not in stats and str(room.mia.id) not in stats
        database = (tmp_path / "cafi.db").read_bytes()
        assert str(room.mia.id).encode() not in database and b"anna" not in database


async def test_moderators_can_decide_when_their_channel_is_closed_to_the_bot(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Without the right to write there, the log names the right, and `/mod review` shows what waits to one moderator alone."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        fake.allow(room.mods, fake.bot, deny=NO_WRITING)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            room.anna.slash(room.channel, "ask", question="what are the voices?")
            await fake.wait_for(lambda: "Send Messages" in caplog.text)
            shown = await room.mia.slash(room.channel, "mod review").reply()
            assert shown.ephemeral_for is room.mia and VOICES in shown.content
            assert "Approved" in await said(room.mia.press(shown, "Approve"))
            await told(room, "A moderator has read this answer first")
        assert "voices" not in caplog.text


async def test_commands_have_names_in_five_languages(tmp_path: Path) -> None:
    """Discord takes `/mod` with its localised names, and somebody with a German app is answered in German."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        greta: DiscordPerson = fake.person("greta", locale="de")
        fake.join(room.guild, greta)
        fake.give_role(room.guild, greta, room.role)
        async with room.running(tmp_path):
            command = fake.commands()["mod"]
            names = {one["name"]: one["name_localizations"] for one in command["options"]}
            assert names["block-topic"]["de"] == "thema-sperren" and names["poll"]["no"] == "avstemning"
            assert set(names["post"]) >= {"de", "no", "fr", "es-ES", "es-419"}
            assert "Angehalten" in await said(greta.slash(room.channel, "mod pause"))


async def test_the_log_can_be_read_on_the_command_line(tmp_path: Path) -> None:
    """`cafi discord audit` gives what moderators did, the newest first, under the same pseudonyms, with what was posted."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path):
            await said(
                room.mia.slash(room.channel, "mod poll", question="When shall we meet?", answers="Monday; Friday")
            )
            await said(room.olaf.press(await fake.reply_in(room.mods), "Approve"))
            await said(room.olaf.press(await drafted(room), "Approve"))
        chats = room.chats(tmp_path, None, {})
        post, draft, poll, asked = await logged(chats.application, 10)
        assert [one.action for one in (post, draft, poll, asked)] == ["post", "draft", "poll", "poll-draft"]
        assert poll.posted == "When shall we meet?\n- Monday\n- Friday" and asked.posted == draft.posted == ""
        assert post.posted.startswith(f"Sleep\n\n{FIRST}") and post.who == poll.who
        assert asked.who == draft.who != post.who and (post.target, poll.target) == ("info post", "poll")
        database = (tmp_path / "cafi.db").read_bytes()
        assert b"Monday" not in database and FIRST.encode() not in database


async def test_without_a_moderators_channel_nothing_can_wait_and_a_pause_still_works(tmp_path: Path) -> None:
    """Where nobody could read what waits, the modes that let replies wait are refused, and drafts too."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderators_channel=None):
            assert "No reply can wait here" in await said(room.olaf.slash(room.channel, "mod mode", mode="all"))
            assert "cannot show a draft" in await said(room.olaf.slash(room.channel, "mod post", source="sleep"))
            assert "Paused" in await said(room.mia.slash(room.channel, "mod pause"))
            assert room.moderation.status_store.now.paused


async def test_a_decision_that_cannot_be_stored_changes_nothing_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """While the database is away *Approve* shows nothing to anybody and can be pressed again afterwards."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}) as bot:
            await agree(room.anna, room.channel)
            note = await waiting(room)
            database, run = bot.store.database, bot.store.database.run
            database.run = _away  # type: ignore[method-assign]
            assert "nothing has changed" in await said(room.mia.press(note, "Approve"))
            assert "nothing has changed" in await said(room.mia.press(note, "Edit"))
            database.run = run  # type: ignore[method-assign]
            assert not any(VOICES in one.content for one in fake.seen_by(room.anna))
            assert "Approved" in await said(room.mia.press(note, "Approve"))
            await told(room, VOICES)
        assert "voices" not in caplog.text


async def _away(work: object) -> None:
    raise StorageUnavailable("away")


@pytest.mark.parametrize(
    ("agent", "beginning"),
    [
        (CITED, "Sleep\n\nA fixed time for going to bed can help."),
        ({**CITED, "citations": ["voices"]}, "Sleep\n\nSleep often changes with schizophrenia."),
        (
            {**CITED, "reply": "Sleep pills cure it. Call 0123 456789."},
            "Sleep\n\nSleep often changes with schizophrenia.",
        ),
    ],
)
async def test_a_post_is_the_models_only_where_it_cites_its_source_and_passes_the_filter(
    tmp_path: Path, agent: dict[str, Any], beginning: str
) -> None:
    """What a model writes from another source, or what fails the checks, gives way to a quotation."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, scripted({"agent": agent})):
            await said(room.mia.slash(room.channel, "mod post", source="sleep"))
            draft = await fake.reply_in(room.mods)
            assert beginning in draft.content


async def test_a_question_by_mention_waits_too_and_is_answered_in_its_thread(tmp_path: Path) -> None:
    """Who mentions the bot finds the waiting line behind their button, and the approved reply in a thread on their message."""
    async with FaultyDiscord() as fake:
        room = Community(fake)
        async with room.running(tmp_path, moderation={"mode": "all"}):
            await agree(room.anna, room.channel)
            room.anna.write(room.channel, f"{fake.bot.mention} what are the voices?")
            notice = await fake.reply_in(room.channel)
            note = await fake.reply_in(room.mods)
            assert VOICES not in notice.content and "what are the voices?" in note.content
            shown = await room.anna.press(notice, notice.buttons[0]).reply()
            assert shown.ephemeral_for is room.anna and "A moderator reads my answer" in shown.content
            await said(room.mia.press(note, "Approve"))
            (thread,) = await fake.wait_for(lambda: fake.threads(room.channel))
            answer = await fake.reply_in(thread)
            assert VOICES in answer.content and thread.name == "Hearing voices"

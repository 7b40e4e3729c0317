"""Telegram in private: consent, every command, every button, the crisis referral, languages, restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters.conversation.texts import COMMANDS
from tests.fakes.faulty_telegram import FaultyTelegram
from tests.kept_feedback import KeptFeedback
from tests.shelves import SECTIONS, shelves
from tests.team import knowledge_folder, scripted
from tests.telegram import (
    ANYWHERE,
    BEGIN,
    CONTACTS,
    EAGER,
    REFERRAL,
    agreed,
    asked,
    pressed,
    quiet,
    running,
    texts,
)

ENDANGERED = "I want to kill myself"
SAFE = "It was a question, I am safe"
SLEEPLESS = "I cant sleep, what helps?"
ALL = "All topics"
ANSWER = "A fixed time for going to bed can help."


# --- Consent --------------------------------------------------------------------------------------------------------


async def test_start_shows_what_this_is_before_anything_else(tmp_path: Path) -> None:
    """The disclaimer says that this is a program, what it can get wrong, and who reads along; four buttons follow."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        (welcome,) = await asked(fake, anna, "/start")
        for part in ("a computer program (an AI)", "not a doctor", "It can still be wrong", "not end-to-end encrypted"):
            assert part in welcome.text
        assert list(welcome.buttons) == [BEGIN, "Who can read this?", "Help now", "No, thank you"]


async def test_a_deep_link_waits_for_consent_and_is_answered_then(tmp_path: Path) -> None:
    """`t.me/bot?start=voices` shows the disclaimer, then what there is about voices: here, one text with one section."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        fake.start(anna, "voices")
        (welcome,) = await fake.wait_for(lambda: fake.replies(anna))
        assert "computer program" in welcome.text
        (where,) = await pressed(fake, anna, welcome, BEGIN)
        (answer,) = await pressed(fake, anna, where, ANYWHERE)
        assert answer.text.startswith("Voices are sounds that others do not hear.")


async def test_a_deep_link_shows_the_questions_of_its_topic(tmp_path: Path) -> None:
    """Before consent it waits, a later question takes its place; after consent the questions come at once."""
    shelves(tmp_path / "kb")
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna, bela = fake.person("Anna"), fake.person("Bela")
        for person, link in ((anna, "alcohol"), (bela, "voices")):
            fake.start(person, link)
            await fake.wait_for(lambda person=person: fake.replies(person))
        (again,) = await asked(fake, bela, SLEEPLESS)
        assert again.text == "Before I answer, please read the lines above and choose."
        (where,) = await pressed(fake, anna, fake.replies(anna)[0], BEGIN)
        (page,) = await pressed(fake, anna, where, ANYWHERE)
        assert page.text.startswith("Alcohol\n") and list(page.buttons) == [*(one[2] for one in SECTIONS.values()), ALL]
        (where,) = await pressed(fake, bela, again, BEGIN)
        said, _ = await pressed(fake, bela, where, ANYWHERE, replies=2)
        assert said.text == "Thank you. This is about the question you sent."
        (page,) = await asked(fake, anna, "/start alcohol")
        assert page.text.startswith("Alcohol\n") and not fake.refusals()


async def test_a_deep_link_of_somebody_who_agreed_is_answered_at_once(tmp_path: Path) -> None:
    """A known topic is answered; an unknown one, and none, show what the bot is and can do."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        for link, start in (
            ("voices", "Voices are sounds"),
            ("nonsense", "Hello. I am CAFI."),
            ("", "Hello. I am CAFI."),
        ):
            (reply,) = await asked(fake, anna, f"/start {link}".rstrip())
            assert reply.text.startswith(start)
        assert "/topics: show what I know about" in reply.text


async def test_the_last_question_before_consent_is_the_one_that_is_answered(tmp_path: Path) -> None:
    """A second question replaces the first; the disclaimer is not read out twice."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        (welcome,) = await asked(fake, anna, SLEEPLESS)
        (again,) = await asked(fake, anna, "what are the voices?")
        assert again.text == "Before I answer, please read the lines above and choose." and BEGIN in again.buttons
        (where,) = await pressed(fake, anna, welcome, BEGIN)
        _, answer = await pressed(fake, anna, where, ANYWHERE, replies=2)
        assert answer.text.startswith("Voices are sounds")


@pytest.mark.parametrize(
    ("command", "start"),
    [
        ("crisis", CONTACTS),
        ("forget", "There was nothing. I kept nothing of this chat."),
        ("stop", "All right. I have erased what I kept of this chat"),
    ],
)
async def test_what_needs_no_consent_is_answered_at_once(tmp_path: Path, command: str, start: str) -> None:
    """Help and leaving never wait for a yes."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        (reply,) = await asked(fake, fake.person("Anna"), f"/{command}")
        assert reply.text.startswith(start) and not fake.refusals()


async def test_the_buttons_of_the_disclaimer_do_what_they_say(tmp_path: Path) -> None:
    """Who can read this, help now, and no: the last one erases and says so."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        (welcome,) = await asked(fake, anna, SLEEPLESS)
        (readers,) = await pressed(fake, anna, welcome, "Who can read this?")
        assert readers.text.startswith("Who can read this chat?") and BEGIN in readers.buttons
        (help_now,) = await pressed(fake, anna, welcome, "Help now")
        assert help_now.text.startswith(CONTACTS)
        (bye,) = await pressed(fake, anna, welcome, "No, thank you")
        assert "I will not write again" in bye.text and "112" in bye.text and not bye.buttons
        (where,) = await pressed(fake, anna, welcome, BEGIN)
        (thanks,) = await pressed(fake, anna, where, ANYWHERE)
        assert thanks.text.startswith("Thank you. What would you like to know?"), "the question was erased"


# --- Danger ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["", "/start "])
async def test_the_referral_comes_before_consent(tmp_path: Path, before: str) -> None:
    """Who writes that they are in danger reads first where help is, whatever command stands before it."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        first, second = await asked(fake, fake.person("Anna"), before + ENDANGERED, replies=2)
        assert first.text.startswith(REFERRAL)
        assert not second.text.startswith(REFERRAL)


async def test_the_referral_is_the_first_message_after_consent(tmp_path: Path) -> None:
    """The question that waited was one of danger: no thanks come before help, and help is not read out whole twice."""
    async with FaultyTelegram() as fake, running(fake, tmp_path) as bot:
        anna = fake.person("Anna")
        _, welcome = await asked(fake, anna, ENDANGERED, replies=2)
        reply, where = await pressed(fake, anna, welcome, BEGIN, replies=2)
        await quiet(fake, bot)
        assert (
            reply.text.startswith("Thank you for telling me. Please talk to people about it now")
            and SAFE in reply.buttons
        )
        assert "112, 911, 999, 000 or 111" in reply.text
        assert where.text.startswith("Which country are you in?") and len(fake.replies(anna)) == 4


async def test_the_referral_is_on_screen_before_a_model_is_asked(tmp_path: Path) -> None:
    """The referral is sent while no model has had a prompt, and nothing else follows it."""
    model = scripted({})
    async with FaultyTelegram() as fake, running(fake, tmp_path, model) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (referral,) = await asked(fake, anna, ENDANGERED)
        assert referral.text.startswith(REFERRAL) and list(referral.buttons) == [SAFE]
        await quiet(fake, bot)
        assert len(fake.replies(anna)) == 3 and not model.prompts


async def test_who_is_safe_gets_the_answer_with_the_contacts_below(tmp_path: Path) -> None:
    """“It was a question, I am safe” answers what the referral stood in place of; pressed again, it only thanks."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (referral,) = await asked(fake, anna, "I want to die because I cant sleep")
        (answer,) = await pressed(fake, anna, referral, SAFE)
        assert (
            answer.text.endswith("000 or 111, depending on where you are")
            and "Thank you for telling me." in answer.text
        )
        (again,) = await pressed(fake, anna, referral, SAFE)
        assert again.text.startswith("Thank you for telling me.") and not again.buttons


# --- Commands -------------------------------------------------------------------------------------------------------


async def test_every_command_of_the_menu_is_known(tmp_path: Path) -> None:
    """No command that the menus offer is answered with “I do not know that command”."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        for command in COMMANDS:
            if command in {"forget", "stop"}:
                continue
            before = len(fake.replies(anna))
            fake.write(anna, f"/{command}")
            await quiet(fake, bot)
            (reply,) = fake.replies(anna)[before:]
            assert "I do not know that command" not in reply.text and reply.text, command
        (unknown,) = await asked(fake, anna, "/nonsense")
        assert unknown.text == "I do not know that command. /help shows what I can do."
        assert not fake.refusals()


async def test_a_command_may_name_the_bot_and_be_written_in_capitals(tmp_path: Path) -> None:
    """/HELP and /help@cafi_bot are the same as /help; a path is no command."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        for command in ("/HELP", "/help@cafi_bot", "/Help@CAFI_BOT"):
            assert (await asked(fake, anna, command))[0].text.startswith("Write your question")
        assert "I do not know that command" not in (await asked(fake, anna, "/home/anna is full of voices"))[0].text


async def test_topics_come_in_pages_of_eight_and_each_is_a_button(tmp_path: Path) -> None:
    """With 20 sources there are three pages that follow each other in a circle; a topic is answered when pressed."""
    sources = {
        f"topic{n:02}": f"---\nid: topic{n:02}\ntitle: Topic number {n}\nsummary: [fact {n}]\n---\nFact number {n} is this.\n"
        for n in range(20)
    }
    knowledge_folder(tmp_path / "kb", **sources)
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        seen: list[str] = []
        (page,) = await asked(fake, anna, "/topics")
        for _ in range(3):
            seen += [label for label in page.buttons if label != "More topics"]
            (page,) = await pressed(fake, anna, page, "More topics")
        assert len(seen) == len(set(seen)) >= 20
        assert next(iter(page.buttons)) == seen[0], "the first page comes after the last"
        (answer,) = await pressed(fake, anna, page, seen[1])
        assert answer.text and "I have no text about that" not in answer.text
        assert not fake.refusals()


async def test_a_topic_with_a_very_long_id_has_a_button(tmp_path: Path) -> None:
    """Ids longer than a button carries are shortened, and found again."""
    name = "a_very_long_name_for_a_source_" * 3 + "end"
    knowledge_folder(
        tmp_path / "kb", **{name: f"---\nid: {name}\ntitle: Long\nsummary: [long]\n---\nA long name is no harm.\n"}
    )
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (page,) = await asked(fake, anna, "/topics")
        (answer,) = await pressed(fake, anna, page, "Long")
        assert "I have no text about that" not in answer.text and not fake.refusals()


async def test_the_country_is_asked_once_before_the_first_question(tmp_path: Path) -> None:
    """Agreeing brings one question for the country; its answer is kept with the chat, and the question waits for no more."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        (welcome,) = await asked(fake, anna, "what are the voices?")
        (where,) = await pressed(fake, anna, welcome, BEGIN)
        assert where.text.startswith("Which country are you in?") and ANYWHERE in where.buttons
        (more,) = await pressed(fake, anna, where, "More countries")
        chosen, said, answer = await pressed(fake, anna, more, "South Africa", replies=3)
        assert chosen.text.startswith("From now on I show the contacts for this country: South Africa.")
        assert said.text.startswith("Thank you.") and answer.text.startswith("Voices are sounds")
        (again,) = await asked(fake, anna, "/start")
        assert "Which country" not in again.text
        assert (await asked(fake, anna, ENDANGERED))[0].text.startswith(
            "That sounds very heavy. Please call 112 now, or 0800 567 567 (SADAG)."
        )


@pytest.mark.parametrize(
    ("language", "anywhere", "number"),
    [
        ("en", "I would rather not say", "depending on where you are"),
        ("nb", "Det vil jeg helst ikke si", "avhengig av hvor du er"),
    ],
)
async def test_nobody_has_to_say_where_they_are(tmp_path: Path, language: str, anywhere: str, number: str) -> None:
    """“I would rather not say” is a button in every language; the referral is then the one for everywhere."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna", language=language)
        (welcome,) = await asked(fake, anna, "/start")
        (where,) = await pressed(fake, anna, welcome, next(iter(welcome.buttons)))
        (thanks,) = await pressed(fake, anna, where, anywhere)
        assert "/help" in thanks.text
        assert number in (await asked(fake, anna, ENDANGERED))[0].text.split("\n")[0]


async def test_a_question_in_place_of_the_country_is_answered_and_the_country_not_asked_again(tmp_path: Path) -> None:
    """Whoever writes a country's name has chosen it; whoever writes anything else gets an answer to that, danger first."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER) as bot:
        anna, bela, cleo = fake.person("Anna"), fake.person("Bela"), fake.person("Cleo")
        for one in (anna, bela, cleo):
            await agreed(fake, one)
        assert (await asked(fake, anna, "what are the voices?"))[0].text.startswith("Voices are sounds")
        assert "this country: Austria" in (await asked(fake, bela, "Österreich", replies=2))[0].text
        assert (await asked(fake, cleo, ENDANGERED))[0].text.startswith(REFERRAL)
        await quiet(fake, bot)
        asked_again = [
            one for who in (anna, bela, cleo) for one in fake.replies(who)[2:] if "Which country" in one.text
        ]
        assert not asked_again


async def test_a_country_is_chosen_by_button_or_by_name(tmp_path: Path) -> None:
    """From then on its contacts are shown; an unknown one is met with those there are."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        (choice,) = await asked(fake, anna, "/country")
        (chosen,) = await pressed(fake, anna, choice, "Norway")
        assert (
            chosen.text.startswith("From now on I show the contacts for this country: Norway.") and "113" in chosen.text
        )
        assert "Please call" not in chosen.text, "choosing a country is no emergency"
        assert "113" in (await asked(fake, anna, "/crisis"))[0].text
        (named,) = await asked(fake, anna, "/country Germany")
        assert "TelefonSeelsorge" in named.text
        (unknown,) = await asked(fake, anna, "/country Atlantis")
        assert unknown.text.startswith("I have no contacts for that country yet.") and "Germany" in unknown.buttons


async def test_a_language_is_chosen_by_button_or_by_name(tmp_path: Path) -> None:
    """Before consent the disclaimer comes again in the language chosen; an unknown one is met with those there are."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        (choice,) = await asked(fake, anna, "/language")
        (german,) = await pressed(fake, anna, choice, "Deutsch")
        assert german.text.startswith("Guten Tag.") and "Verstanden, beginnen" in german.buttons
        await pressed(fake, anna, german, "Verstanden, beginnen")
        assert (await asked(fake, anna, "/language français"))[0].text.startswith("D'accord")
        assert (await asked(fake, anna, "/language klingon"))[0].buttons.keys() >= {"Deutsch", "English", "Norsk"}


@pytest.mark.parametrize(
    ("client", "start"),
    [
        ("en-GB", "Hello. I am CAFI"),
        ("de", "Guten Tag. Ich bin CAFI"),
        ("nb", "Hei. Jeg er CAFI"),
        ("no", "Hei. Jeg er CAFI"),
        ("es-MX", "Hola. Soy CAFI"),
        ("fr", "Bonjour. Je suis CAFI"),
        ("pt-br", "Hello. I am CAFI"),
        (None, "Hello. I am CAFI"),
    ],
)
async def test_the_language_is_that_of_the_persons_app(tmp_path: Path, client: str | None, start: str) -> None:
    """The disclaimer comes in the app's language where there are texts for it, else in the operator's."""
    async with FaultyTelegram() as fake, running(fake, tmp_path):
        (welcome,) = await asked(fake, fake.person("Anna", language=client), "/start")
        assert welcome.text.startswith(start)


async def test_forget_erases_and_says_what(tmp_path: Path) -> None:
    """The receipt counts; afterwards the chat begins anew."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        await asked(fake, anna, SLEEPLESS)
        (receipt,) = await asked(fake, anna, "/forget")
        assert "our conversation and your settings (messages: 2)" in receipt.text
        assert "Telegram keeps its own copy" in receipt.text
        (again,) = await asked(fake, anna, "/forget")
        assert again.text.startswith("There was nothing.")
        assert BEGIN in (await asked(fake, anna, SLEEPLESS))[0].buttons


async def test_stop_erases_and_is_silent_afterwards(tmp_path: Path) -> None:
    """Nothing follows the farewell; who writes again reads the disclaimer again."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (bye,) = await asked(fake, anna, "/stop")
        assert "I have erased what I kept" in bye.text and "112" in bye.text
        await quiet(fake, bot)
        assert len(fake.replies(anna)) == 3
        assert BEGIN in (await asked(fake, anna, "hello"))[0].buttons


# --- Buttons under answers ------------------------------------------------------------------------------------------


async def test_the_buttons_under_an_answer_ask_for_another_form_of_it(tmp_path: Path) -> None:
    """Each wish reaches the model as that wish, and its reply is judged like any other."""
    model = scripted(
        {"agent": lambda prompt: {**_CITED, "reply": f"Reply {len(_drafts(model))}: go to bed at a fixed time."}}
    )
    async with FaultyTelegram() as fake, running(fake, tmp_path, model, sessions=EAGER, feedback=KeptFeedback()):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, SLEEPLESS)
        labels = ["Simpler", "Shorter", "Example", "Next part", "Where from?", "👍 Helpful", "👎 Not helpful"]
        assert list(answer.buttons) == labels
        for label in labels[:4]:
            asked_before, judged_before = len(_drafts(model)), _judged(model)
            (answer,) = await pressed(fake, anna, answer, label)
            assert len(_drafts(model)) > asked_before and _judged(model) > judged_before, label
        assert not fake.refusals()


async def test_every_press_is_acknowledged(tmp_path: Path) -> None:
    """No button is left spinning, however fast its page comes."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices?")
        (topics,) = await asked(fake, anna, "/topics")
        pressed_before = len(fake.calls("answerCallbackQuery"))
        for _ in range(5):
            await pressed(fake, anna, answer, "Where from?")
            await pressed(fake, anna, topics, "Sleep")
        await quiet(fake, bot)
        assert len(fake.calls("answerCallbackQuery")) == pressed_before + 10 and not fake.refusals()


async def test_a_thumb_counts_once_and_is_thanked_without_a_message(tmp_path: Path) -> None:
    """The thanks appear for a moment over the chat; a second thumb changes nothing."""
    kept = KeptFeedback()
    async with FaultyTelegram() as fake, running(fake, tmp_path, feedback=kept) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices?")
        for label in ("👍 Helpful", "👎 Not helpful"):
            fake.press(anna, answer.id, label)
        await quiet(fake, bot)
        toasts = [call.params.get("text") for call in fake.calls("answerCallbackQuery")[1:]]
        assert toasts == ["Thank you. Only the count is kept."] * 2
        assert kept.thumbs == [(("voices",), "telegram", True)]
        assert len(fake.replies(anna)) == 3 and not fake.refusals()


async def test_a_thumb_of_a_chat_that_expired_is_acknowledged(tmp_path: Path) -> None:
    """The disclaimer comes in place of thanks, and the button stops spinning."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, feedback=KeptFeedback(), sessions=EAGER) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (answer,) = await asked(fake, anna, "what are the voices?")
        await asked(fake, anna, "/forget")
        (welcome,) = await pressed(fake, anna, answer, "👍 Helpful")
        await quiet(fake, bot)
        assert BEGIN in welcome.buttons and len(fake.calls("answerCallbackQuery")) == 2 and not fake.refusals()


async def test_a_poll_is_anonymous_and_a_vote_counts_once(tmp_path: Path) -> None:
    """After an answer a question may come back; who votes is not told to us, and a vote is taken once."""
    kept = KeptFeedback(asks_after=1)
    async with FaultyTelegram() as fake, running(fake, tmp_path, feedback=kept) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        _, poll = await asked(fake, anna, "what are the voices?", replies=2)
        assert poll.kind == "poll" and poll.message["poll"]["is_anonymous"]
        fake.vote(anna, poll.id, [1])
        fake.vote(anna, poll.id, [0])
        await quiet(fake, bot)
        assert kept.choices == [("found", "no")] and not fake.refusals()


async def test_a_poll_that_telegram_refuses_is_left_out(tmp_path: Path) -> None:
    """The answer stands, and nobody reads an apology for a question."""
    from tests.fakes.faulty_telegram import Fault

    async with FaultyTelegram() as fake, running(fake, tmp_path, feedback=KeptFeedback(asks_after=1)) as bot:
        anna = fake.person("Anna")
        await agreed(fake, anna)
        fake.fail("sendPoll", Fault.refused(400, "Bad Request: poll can't be sent"), times=None)
        (answer,) = await asked(fake, anna, "what are the voices?")
        await quiet(fake, bot)
        assert answer.text.startswith("Voices") and len(fake.replies(anna)) == 3


async def test_buttons_work_after_a_restart(tmp_path: Path) -> None:
    """Another process over the same database answers the buttons of the one before."""
    async with FaultyTelegram() as fake:
        anna = fake.person("Anna")
        async with running(fake, tmp_path):
            await agreed(fake, anna)
            (answer,) = await asked(fake, anna, "what are the voices?")
        async with running(fake, tmp_path):
            (origin,) = await pressed(fake, anna, answer, "Where from?")
            assert "“Voices are sounds that others do not hear." in origin.text
            (shorter,) = await pressed(fake, anna, answer, "Shorter")
            assert "earlier answer" not in shorter.text and not fake.refusals()


async def test_buttons_of_earlier_answers_say_so_calmly(tmp_path: Path) -> None:
    """Another form of an answer that is too far away is not guessed; where it came from is still known."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (first,) = await asked(fake, anna, "what are the voices?")
        await asked(fake, anna, SLEEPLESS)
        (late,) = await pressed(fake, anna, first, "Simpler")
        assert late.text == "That button belongs to an earlier answer. Please ask again, and I will find it for you."
        (origin,) = await pressed(fake, anna, first, "Where from?")
        assert "Hearing voices" in origin.text
        for _ in range(8):
            await asked(fake, anna, "what are the voices?")
        (gone,) = await pressed(fake, anna, first, "Where from?")
        assert gone.text.startswith("That button belongs to an earlier answer.")


async def test_buttons_from_before_an_erasure_belong_to_no_later_answer(tmp_path: Path) -> None:
    """After /forget and a new start, an old button does not act on the new conversation."""
    async with FaultyTelegram() as fake, running(fake, tmp_path, sessions=EAGER):
        anna = fake.person("Anna")
        await agreed(fake, anna)
        (old,) = await asked(fake, anna, "what are the voices?")
        await asked(fake, anna, "/forget")
        await agreed(fake, anna)
        await asked(fake, anna, SLEEPLESS)
        for label in ("Simpler", "Where from?"):
            assert "earlier answer" in (await pressed(fake, anna, old, label))[0].text


async def test_the_question_of_one_person_is_unknown_to_another(tmp_path: Path) -> None:
    """Two private chats share nothing."""
    model = scripted({})
    async with FaultyTelegram() as fake, running(fake, tmp_path, model):
        anna, bela = fake.person("Anna"), fake.person("Bela")
        await agreed(fake, anna)
        await agreed(fake, bela)
        await asked(fake, anna, "my aunt Ottilie says I should sleep less")
        prompts = len(model.prompts)
        (reply,) = await asked(fake, bela, SLEEPLESS)
        assert reply.text == ANSWER
        said = " ".join(message.content for prompt in model.prompts[prompts:] for message in prompt.messages)
        assert "Ottilie" not in said and SLEEPLESS in said
        assert texts(await asked(fake, fake.person("Cleo"), "/start"))


_CITED = {
    "requested_sources": [],
    "citations": ["sleep"],
    "basis": "source",
    "media": [],
    "handoff": None,
}


def _drafts(model: object) -> list[object]:
    return [one for one in model.prompts if one.role == "agent"]  # type: ignore[attr-defined]


def _judged(model: object) -> int:
    return sum("preliminary" in one.role or "judge" in one.role for one in model.prompts)  # type: ignore[attr-defined]

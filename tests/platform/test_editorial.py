"""Sources signed off in the operator's page: proposed by one person, approved by another, taken back; files stay the truth."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import httpx
from sqlalchemy import select, update

from adapters.conversation.incoming import Incoming
from adapters.editorial.desk import MOST_CHARACTERS
from adapters.editorial.staff import StaffRole
from adapters.storage.identity import ChatIdentity
from adapters.storage.saved_counts import save_counts
from adapters.storage.tables import audit, invitations, members, metadata, proposals, sign_ins, unanswered
from adapters.web_adapter.adapter import WebBot
from engine import Engine, SignOff
from tests.editorial import (
    AFTER,
    BEFORE,
    SLEEP_PAGE,
    base_of,
    come_in,
    editing,
    people,
    propose,
    signed_in,
    source_file,
)
from tests.team import SLEEP, shipped_engine
from tests.web import TOKEN, Browser, read, running

CHANGED = SLEEP.replace(BEFORE, AFTER)
EDITOR, REVIEWER, READER, OPERATOR = StaffRole.EDITOR, StaffRole.REVIEWER, StaffRole.READER, StaffRole.OPERATOR


async def test_a_change_takes_effect_when_a_second_person_approves_it(tmp_path: Path) -> None:
    """An editor proposes a sentence, a reviewer approves and signs off, the file holds it and the next answer says it."""
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER, "psychiatric nurse") as rosa,
        Browser(bot.address) as anna,
    ):
        assert BEFORE in await answer(bot)
        await ada.get(SLEEP_PAGE)
        assert "Draft, not signed off" in ada.words and BEFORE in ada.words
        path = await propose(ada, CHANGED)
        assert "This is your own change" in ada.words and AFTER in ada.words
        assert BEFORE in source_file(tmp_path).read_text()
        await rosa.get("/operator/proposals")
        assert "waiting" in rosa.words and "plainer" in rosa.words
        await rosa.get(path)
        assert BEFORE in rosa.words and AFTER in rosa.words
        await rosa.post(path, do="approve", signs_off="1")
        assert "approved" in rosa.words
        text = source_file(tmp_path).read_text()
        assert AFTER in text and re.search(r'^reviewed: "psychiatric nurse, \d{4}-\d\d-\d\d"$', text, re.M)
        assert "Rosa" not in text
        assert AFTER in await answer(bot)
        await anna.get("/sources/schizophrenia/sleep")
        assert "psychiatric nurse" in anna.words
        await rosa.get(f"{SLEEP_PAGE}/history?version=0")
        assert "as it was found" in rosa.words and "psychiatric nurse" in rosa.words and BEFORE in rosa.words
        await rosa.post(f"{SLEEP_PAGE}/history", version="0")
        assert source_file(tmp_path).read_text() == SLEEP and "put back" in rosa.words
        assert BEFORE in await answer(bot)


async def answer(bot: WebBot) -> str:
    """What somebody new is told."""
    async with Browser(bot.address) as somebody:
        await somebody.begin()
        return await somebody.ask("how can i sleep better")


# --- Signing in ---------------------------------------------------------------------------------------------------------


async def test_a_link_opens_the_page_once_and_not_by_being_looked_at(tmp_path: Path) -> None:
    """Opening a link uses nothing up, its button signs in, and a second press, an older link and a late one are refused."""
    async with editing(tmp_path) as bot, Browser(bot.address) as ada, Browser(bot.address) as mallory:
        older = await people(bot).invite("Ada", EDITOR)
        link = await people(bot).invite("Ada", EDITOR)
        for _ in range(3):  # a program that looks at links in mails
            await mallory.get(f"/operator/link/{link}")
        await come_in(ada, link)
        assert "Signed in: Ada (Editor)" in ada.words
        for used in (link, older):
            await come_in(mallory, used)
            assert mallory.page.status_code == 403 and "does not open the page" in mallory.words
        late = await people(bot).invite("Ada", EDITOR)
        passed = update(invitations).values(until=invitations.c.until - 61)
        await bot.store.database.run(lambda connection: connection.execute(passed))
        await come_in(mallory, late)
        assert mallory.page.status_code == 403
        assert "Signed in" not in (await mallory.get("/operator")).text


async def test_links_cannot_be_guessed_by_trying(tmp_path: Path) -> None:
    """The sixth wrong link in a minute is not looked at, whoever has the right one still comes in, and no page tells more."""
    async with editing(tmp_path) as bot, Browser(bot.address) as mallory, Browser(bot.address) as ada:
        link = await people(bot).invite("Ada", EDITOR)
        await mallory.get("/operator/link/x")
        tries = [
            (await mallory.client.post("/operator/link", data={"form": mallory.token, "link": one})) for one in GUESSES
        ]
        assert [one.status_code for one in tries] == [403] * 5 + [429] * (len(GUESSES) - 5)
        assert len({read(one.text) for one in tries[:5]}) == 1
        await come_in(ada, link)
        assert "Signed in: Ada" in ada.words
        assert (await mallory.get("/operator/sources")).status_code == 200 and "Signed in" not in mallory.words


GUESSES = ("", "x", "A" * 43, "\udcff".encode(errors="surrogatepass").decode("latin-1"), "0" * 4_000, "y", "z")


async def test_a_planted_cookie_signs_nobody_in(tmp_path: Path) -> None:
    """A cookie that was there before signing in opens nothing afterwards, and a form's token of another sign-in neither."""
    async with editing(tmp_path) as bot, Browser(bot.address) as ada, signed_in(bot, "Mal", EDITOR) as mallory:
        planted = "m" * 43
        ada.client.cookies.set("cafi-operator", planted, domain="127.0.0.1")
        await come_in(ada, await people(bot).invite("Ada", EDITOR))
        real = ada.client.cookies["cafi-operator"]
        assert real != planted and len(real) == 43
        async with Browser(bot.address) as thief:
            thief.client.cookies.set("cafi-operator", planted)
            assert "Signed in" not in (await thief.get("/operator")).text
        # Mallory has planted her page's session and knows its token; the sign-in has one of its own.
        await mallory.get(f"{SLEEP_PAGE}/change")
        planted = mallory.client.cookies["cafi-session"]
        ada.client.cookies.set("cafi-session", planted, domain="127.0.0.1")
        forged = dict(re.findall(r'name="(form|own|base)" value="([^"]*)"', mallory.text))
        answer = await ada.client.post(f"{SLEEP_PAGE}/change", data={**forged, "do": "propose", "draft": CHANGED})
        assert answer.status_code == 403
        assert await bot.desk.proposals.all() == []


async def test_forms_of_other_sites_do_nothing(tmp_path: Path) -> None:
    """Every form of these pages is refused without its tokens, from another site, and to whoever is not signed in."""
    async with editing(tmp_path) as bot, signed_in(bot, "Olga", OPERATOR) as olga, Browser(bot.address) as nobody:
        await olga.get(f"{SLEEP_PAGE}/change")
        right = dict(re.findall(r'name="(form|own|base)" value="([^"]*)"', olga.text))
        await nobody.get("/operator")
        for path, fields in FORMS.items():
            for wrong in ({"form": ""}, {"own": ""}, {"own": "0" * 32}):
                assert (await olga.client.post(path, data={**right, **fields, **wrong})).status_code == 403
            elsewhere = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
            assert (await olga.client.post(path, data={**right, **fields}, headers=elsewhere)).status_code == 403
            assert (await nobody.client.post(path, data={"form": nobody.token, **fields})).status_code == 403
        assert [one.name for one in await people(bot).members()] == ["Olga"]
        assert not bot.pause.on and source_file(tmp_path).read_text() == SLEEP
        assert "SameSite=Strict" in str((await _signing_in(bot)).headers["set-cookie"])


FORMS = {
    "/operator/switch": {"do": "pause"},
    "/operator/people": {"do": "invite", "name": "Mallory", "role": "operator"},
    f"{SLEEP_PAGE}/change": {"do": "propose", "draft": CHANGED},
    f"{SLEEP_PAGE}/history": {"version": "0"},
    f"/operator/proposals/{'0' * 32}": {"do": "approve"},
}


async def _signing_in(bot: WebBot) -> httpx.Response:
    async with Browser(bot.address) as ada:
        link = await people(bot).invite("Ada", EDITOR)
        await ada.get(f"/operator/link/{link}")
        fields = {"form": ada.token, "link": link}
        return await ada.client.post("/operator/link", data=fields, follow_redirects=False)


async def test_who_is_removed_is_out_at_once_and_what_they_wrote_is_not_lost(tmp_path: Path) -> None:
    """A removed editor's next page is the way in, with the text they had just sent on it."""
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Olga", OPERATOR) as olga,
    ):
        await ada.get(f"{SLEEP_PAGE}/change")
        member = next(one for one in await people(bot).members() if one.name == "Ada")
        await olga.get("/operator/people")
        await olga.post("/operator/people", do="remove", member=member.id.hex())
        assert "Ada" not in olga.words
        await ada.post(f"{SLEEP_PAGE}/change", do="propose", base=base_of(ada), draft=CHANGED)
        assert ada.page.status_code == 403 and "You were signed out" in ada.words and AFTER in ada.words


async def test_roles_keep_to_what_they_may(tmp_path: Path) -> None:
    """A reader reads, an editor proposes, a reviewer decides, an operator invites; more is refused by address and form."""
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Lea", READER) as lea,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER) as rosa,
    ):
        path = await propose(ada, CHANGED)
        assert (await lea.get(SLEEP_PAGE)).status_code == 200 and "Propose a change" not in lea.words
        for refused in (f"{SLEEP_PAGE}/change", "/operator/people", "/operator/log", "/operator/figures.csv"):
            assert (await lea.get(refused)).status_code == 403
        for browser in (ada, rosa):
            assert (await browser.get("/operator/people")).status_code == 403
        await lea.get(path)
        assert (await lea.post(path, do="approve")).status_code == 403
        await ada.get("/operator")
        assert (await ada.post("/operator/switch", do="pause")).status_code == 403 and not bot.pause.on
        assert (await bot.desk.proposals.all())[0].state == "open"


# --- Two people ---------------------------------------------------------------------------------------------------------


async def test_nobody_approves_their_own_change(tmp_path: Path) -> None:
    """An editor may not approve at all, and a reviewer or operator not what they have proposed themselves."""
    async with editing(tmp_path) as bot:
        for name, role in (("Ada", EDITOR), ("Rosa", REVIEWER), ("Olga", OPERATOR)):
            async with signed_in(bot, name, role) as one:
                path = await propose(one, CHANGED)
                assert "Approve" not in one.words
                await one.post(path, do="approve", signs_off="1")
                assert one.page.status_code == 403
                await one.get(path)
                await one.post(path, do="withdraw")
                assert "taken back" in one.words
        async with Browser(bot.address) as token:
            await token.get("/operator")
            await token.post("/operator/login", token=TOKEN)
            path = await propose(token, CHANGED)
            assert (await token.post(path, do="approve")).status_code == 403
        assert source_file(tmp_path).read_text() == SLEEP


async def test_what_lint_refuses_is_not_proposed_and_not_approved(tmp_path: Path) -> None:
    """Faults are named with their line and the text is kept; a fault that came later keeps an approval from happening."""
    faulty = CHANGED.replace("[intent:", "[intnt:")
    signed = CHANGED.replace("---\nSleep", 'reviewed: "a professor, 2030-01-01"\n---\nSleep')
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER) as rosa,
    ):
        await propose(ada, faulty)
        assert ada.page.status_code == 409 and "line 13: Unknown directive" in ada.words and "[intnt:" in ada.words
        for text, why in (
            (signed, "is written when somebody signs"),
            (SLEEP, "Nothing differs"),
            ("no front matter", "The front matter is missing"),
            (f"{CHANGED}\n{'x' * MOST_CHARACTERS}", "too long"),
        ):
            await propose(ada, text)
            assert ada.page.status_code == 409 and why in ada.words
        await ada.get(f"{SLEEP_PAGE}/change")
        await ada.post(f"{SLEEP_PAGE}/change", do="check", base=base_of(ada), draft=CHANGED)
        assert ada.page.status_code == 200 and "Flesch-Kincaid" in ada.words
        assert await bot.desk.proposals.all() == []
        more = CHANGED.replace("[intent:", "[more in: voices]\n\n[intent:")
        path = await propose(ada, more)
        source_file(tmp_path, "voices").unlink()
        await rosa.get(path)
        await rosa.post(path, do="approve")
        assert rosa.page.status_code == 409 and "There is no source 'voices'" in rosa.words
        assert source_file(tmp_path).read_text() == SLEEP


async def test_of_two_editors_at_once_the_second_sees_what_the_first_changed(tmp_path: Path) -> None:
    """The later text is kept and compared with what is there now, can be proposed again, and an old change cannot be approved."""
    other = SLEEP.replace("Half of all people", "Many people")
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Ben", EDITOR) as ben,
        signed_in(bot, "Rosa", REVIEWER) as rosa,
    ):
        stale = await propose(ben, other)
        await ben.get(f"{SLEEP_PAGE}/change")
        base = base_of(ben)
        first = await propose(ada, CHANGED)
        await rosa.get(first)
        await rosa.post(first, do="approve")
        await ben.post(f"{SLEEP_PAGE}/change", do="propose", base=base, draft=other)
        assert ben.page.status_code == 409 and "Somebody else has changed" in ben.words and "Many people" in ben.words
        assert AFTER in ben.words
        merged = other.replace(BEFORE, AFTER)
        await ben.post(f"{SLEEP_PAGE}/change", do="propose", base=base_of(ben), draft=merged)
        again = str(ben.page.url.path)
        await rosa.get(stale)
        assert "has to look again" in rosa.words
        await rosa.post(stale, do="approve")
        assert rosa.page.status_code == 409 and "Somebody else has changed" in rosa.words
        await rosa.post(stale, do="refuse", answer="older than Ada's")
        await rosa.get(again)
        await asyncio.gather(*(rosa.post(again, do="approve") for _ in range(3)))
        assert source_file(tmp_path).read_text() == merged
        assert len(bot.desk.history.versions((await bot.desk.proposals.all())[0].place)) == 3
        await ben.get(stale)
        assert "refused" in ben.words and "older than Ada's" in ben.words


async def test_no_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    """Names with dots, slashes and encodings of them, of files beside the sources and of links, are not found."""
    (tmp_path / "kb" / "translations").mkdir(parents=True)
    (tmp_path / "outside.md").write_text(SLEEP)
    names = (
        "..%2f..%2foutside",
        "%2e%2e/outside",
        "..%5coutside",
        "manifest.yaml",
        "sleep%00",
        "README",
        "linked",
        "%ff",
    )
    async with editing(tmp_path) as bot, signed_in(bot, "Olga", OPERATOR) as olga:
        (tmp_path / "kb" / "linked.md").symlink_to(tmp_path / "outside.md")
        for name in names:
            for end in ("", "/change", "/history", "/history?version=0"):
                assert (await olga.get(f"/operator/sources/schizophrenia/en/{name}{end}")).status_code == 404
        for place in ("schizophrenia/..", "schizophrenia/de", "../en", "nobody/en"):
            assert (await olga.get(f"/operator/sources/{place}/sleep")).status_code in {404, 405}
        for number in ("-1", "..", "9" * 9, "1/../0"):
            assert "Put this version back" not in (await olga.get(f"{SLEEP_PAGE}/history?version={number}")).text
        assert list((tmp_path / "history").rglob("*")) == []


async def test_a_source_that_is_deleted_while_it_is_quoted_leaves_everybody_calm(tmp_path: Path) -> None:
    """The chat goes on, the link to the text and its proposal say that it is gone, and nothing is written anew."""
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER) as rosa,
        Browser(bot.address) as anna,
    ):
        await anna.begin()
        assert BEFORE in await anna.ask("how can i sleep better")
        path = await propose(ada, CHANGED)
        source_file(tmp_path).unlink()
        await bot.desk.changed("schizophrenia")
        assert (await anna.get("/sources/schizophrenia/sleep")).status_code == 404 and "did not work" in anna.words
        await anna.get("/chat")
        assert BEFORE in anna.words  # what was said stays
        said = await anna.ask("what are the voices")
        assert anna.page.status_code == 200 and "Voices are sounds" in said
        await rosa.get(path)
        assert "not there any more" in rosa.words
        await rosa.post(path, do="approve")
        assert rosa.page.status_code == 404 and not source_file(tmp_path).exists()


async def test_a_faulty_file_leaves_what_runs_as_it_was(tmp_path: Path) -> None:
    """Where somebody breaks a file by hand, answers go on from the text as it was, and a mended file is read."""
    async with editing(tmp_path) as bot:
        source_file(tmp_path).write_text(SLEEP.replace("title: Sleep\n", ""))
        await bot.desk.changed("schizophrenia")
        assert BEFORE in await answer(bot)
        source_file(tmp_path).write_text(CHANGED)
        await bot.desk.changed("schizophrenia")
        assert AFTER in await answer(bot)


async def test_a_source_past_its_review_date_is_marked_and_can_be_hidden(tmp_path: Path) -> None:
    """Its page, the list and an answer from it say so; with the setting it is not found any more, and editors still see it."""
    old = SLEEP.replace("questions:", 'reviewed: "psychiatrist, 2020-05-01"\nquestions:')
    async with editing(tmp_path) as bot, Browser(bot.address) as anna, signed_in(bot, "Lea", READER) as lea:
        source_file(tmp_path).write_text(old)
        await bot.desk.changed("schizophrenia")
        assert "The text this comes from is due to be reviewed again." in await answer(bot)
        for path in ("/sources", "/sources/schizophrenia/sleep"):
            await anna.get(path)
            assert "due to be reviewed again" in anna.words
        await lea.get("/operator/sources?state=overdue")
        assert "Signed off by: psychiatrist, 2020-05-01 · Past its review date since 2022-05-01" in lea.words
    folder = tmp_path / "hiding"
    async with editing(folder, hide_overdue=True) as bot, Browser(bot.address) as anna:
        source_file(folder).write_text(old)
        await bot.desk.changed("schizophrenia")
        assert BEFORE not in await answer(bot)
        assert (await anna.get("/sources/schizophrenia/sleep")).status_code == 404
        async with signed_in(bot, "Lea", READER) as lea:
            assert (await lea.get(SLEEP_PAGE)).status_code == 200 and "Past its review date" in lea.words


async def test_translations_are_changed_like_originals_and_said_to_fit(tmp_path: Path) -> None:
    """A translation that has grown old is shown as such, is checked against its original, and is stamped by who approves it."""
    place = tmp_path / "kb" / "translations" / "de"
    place.mkdir(parents=True)
    (place / "sleep.md").write_text(GERMAN)
    page = "/operator/sources/schizophrenia/de/sleep"
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER) as rosa,
    ):
        await ada.get("/operator/sources?language=de")
        assert "Schlaf" in ada.words and "Older than its original" in ada.words
        await ada.get(f"{page}/change")
        await ada.post(
            f"{page}/change", do="propose", base=base_of(ada), draft=GERMAN.replace("traurige Zahlen]", "x] [y]")
        )
        assert ada.page.status_code == 409 and "LIX" in ada.words
        await ada.post(f"{page}/change", do="propose", base=base_of(ada), draft=GERMAN.replace("kann", "kann oft"))
        path = str(ada.page.url.path)
        assert "/proposals/" in path, ada.words
        await rosa.get(path)
        await rosa.post(path, do="approve", fits="1")
        assert "kann oft" in (place / "sleep.md").read_text() and 'front: "' in (place / "sleep.md").read_text()
        await ada.get("/operator/sources?language=de")
        assert "Older than its original" not in ada.words


GERMAN = """---
title: Schlaf
summary: [warum Schlaf wichtig ist]
---
Schlaf ändert sich oft bei Schizophrenie. Eine feste Zeit kann helfen.

[ask before presenting: traurige Zahlen]

Die Hälfte aller Menschen schläft in schweren Zeiten schlecht.

[intent: informs about sleep and never plans anybody's day]
"""


async def test_changes_are_committed_where_git_is_wanted(tmp_path: Path) -> None:
    """Each change is one commit of one file, signed by roles; other files that are changed stay uncommitted."""
    async with (
        editing(tmp_path, git=True) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER, "pharmacist") as rosa,
    ):
        git = ("git", "-C", str(tmp_path / "kb"), "-c", "user.name=x", "-c", "user.email=x@localhost")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
            await ran(*git, *words)
        source_file(tmp_path, "voices").write_text(source_file(tmp_path, "voices").read_text() + "\nMore.\n")
        path = await propose(ada, CHANGED)
        await rosa.get(path)
        await rosa.post(path, do="approve")
        log = await ran(*git, "log", "-1", "--name-only", "--format=%s")
        assert log.split("\n\n") == ["schizophrenia/en/sleep: approved by pharmacist", "sleep.md\n"]


async def ran(*words: str) -> str:
    """What a program that went well has said."""
    done = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE)
    said, _ = await done.communicate()
    assert done.returncode == 0
    return said.decode()


async def test_nothing_on_disk_names_who_works_on_the_sources(tmp_path: Path) -> None:
    """Tables, history and log hold roles, hashes and pseudonyms: no name, no token of a link, no cookie in clear."""
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Adelheid", EDITOR) as ada,
        signed_in(bot, "Rosamunde", REVIEWER, "psychiatric nurse") as rosa,
    ):
        link = await people(bot).invite("Lieselotte", READER)
        path = await propose(ada, CHANGED, why="because-of-this")
        await rosa.get(path)
        await rosa.post(path, do="approve")
        cookies = [one.client.cookies["cafi-operator"] for one in (ada, rosa)]
        rows = []
        for table in (members, invitations, sign_ins, proposals, audit):
            query = select(table)
            rows += [
                str(dict(row._mapping)) for row in await bot.store.database.run(lambda c, q=query: c.execute(q).all())
            ]
        history = [one.read_text() for one in (tmp_path / "history").rglob("*") if one.is_file()]
        assert len(rows) >= 9 and len(history) == 4
        kept = "\n".join((*rows, *history)).casefold()
        for secret in ("adelheid", "rosamunde", "lieselotte", link.casefold(), *(one.casefold() for one in cookies)):
            assert secret not in kept
        assert AFTER.casefold() not in "\n".join(rows).casefold() and "because-of-this" not in "\n".join(rows)
        assert SignOff.read("none") is None and "members" in metadata.tables


async def test_the_log_says_who_did_what_to_operators_alone(tmp_path: Path) -> None:
    """Signing in, inviting, proposing, refusing and exporting stand in the log by the hour, and come as a table."""
    async with (
        editing(tmp_path) as bot,
        signed_in(bot, "Ada", EDITOR) as ada,
        signed_in(bot, "Rosa", REVIEWER) as rosa,
        signed_in(bot, "Olga", OPERATOR) as olga,
    ):
        path = await propose(ada, CHANGED)
        await rosa.get(path)
        await rosa.post(path, do="refuse", answer="please keep the clock time")
        await ada.get(path)
        assert "refused" in ada.words and "please keep the clock time" in ada.words
        await olga.get("/operator/people")
        await olga.post("/operator/people", do="invite", name="=Eve", role="reader")
        link = re.search(r'id="link">([^<]*)<', olga.text)
        assert link is not None and link[1].startswith(f"{bot.address}/operator/link/")
        figures = (await olga.get("/operator/figures.csv")).text
        assert figures.startswith("kind,when,what,count") and "contacts,,never," in figures
        await olga.get("/operator/log")
        for said in ("Rosa refused a change schizophrenia/en/sleep", "Ada proposed a change", "Olga invited somebody"):
            assert said in olga.words
        assert "exported figures" in olga.words and "clock time" not in olga.words
        table = (await olga.get("/operator/log?csv")).text
        assert "Rosa,refuse-change,schizophrenia/en/sleep" in table
        async with Browser(bot.address) as eve:
            await eve.get(link[1].removeprefix(bot.address))
            await eve.post("/operator/link", link=link[1].rpartition("/")[2])
            assert "Signed in: =Eve (Reader)" in eve.words


async def test_where_changing_is_off_texts_are_read_only(tmp_path: Path) -> None:
    """Without the setting the list is there with the token alone, and a change is refused by page and by form."""
    async with running(tmp_path, page={"operator_token": TOKEN}) as bot, Browser(bot.address) as operator:
        await operator.get("/operator")
        await operator.post("/operator/login", token=TOKEN)
        await operator.get("/operator/sources")
        assert "sources.editing is off" in operator.words and "Sleep" in operator.words
        await operator.get(SLEEP_PAGE)
        assert "Propose a change" not in operator.words
        await propose(operator, CHANGED)
        assert operator.page.status_code == 409 and "sources.editing is off" in operator.words


async def test_a_file_that_is_changed_by_other_ways_is_read(tmp_path: Path) -> None:
    """What is pulled or edited by hand is what the next answer says, once somebody has looked for changes."""
    async with editing(tmp_path) as bot:
        application = bot.desk.changed.__self__
        await application.refresh_changed()
        assert BEFORE in await answer(bot)
        source_file(tmp_path).write_text(CHANGED)
        await application.refresh_changed()
        assert AFTER in await answer(bot)


async def test_a_question_that_nothing_is_found_on_leaves_a_topic_and_no_word(tmp_path: Path) -> None:
    """It is counted under a topic of ours; what was answered, and what was told of danger, is not."""
    async with editing(tmp_path) as bot, Browser(bot.address) as anna:
        counts = bot.site.chat.turns.unanswered
        await anna.begin()
        for text in ("how can i sleep better", "I want to kill myself tonight", "hello"):
            await anna.ask(text)
        database = bot.store.database
        await save_counts(database, unanswered, counts.pending)
        assert await database.run(lambda one: one.execute(select(unanswered)).all()) == []
        shipped = replace(bot.site.chat.turns, pages=replace(bot.site.chat.pages, engine=_shipped()))
        for text in ("what is the capital of France", "what is the capital of Spain"):
            await shipped.turn(bot.site.chat.start(ELSEWHERE), text)
        await save_counts(database, unanswered, counts.pending)
        rows = await database.run(lambda one: one.execute(select(unanswered)).all())
        assert [(row.assistant, row.topic, row.count) for row in rows] == [("schizophrenia", "other", 2)]
        assert "capital" not in str(rows) and "France" not in str(rows)


ELSEWHERE = Incoming(identity=ChatIdentity(platform="web", chat="x"), language="en")


def _shipped() -> Engine:
    """The engine over the shipped knowledge base, in which these words are nowhere."""
    return shipped_engine()

"""The web page against those who mean no good: forged forms, floods, foreign frames, hostile words."""

from __future__ import annotations

import asyncio
import html
import ipaddress
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.storage.tables import events
from adapters.web_adapter.buckets import Addresses, Buckets, Places, forwarded
from adapters.web_adapter.cookies import Cookies, Preferences
from adapters.web_adapter.prose import prose, with_links
from adapters.web_adapter.settings import WebSettings
from adapters.weeks import week_of
from bots.paths import data_root
from engine.exceptions import ConfigurationError
from engine.urgency.referral import load_referrals
from tests.team import CITED, scripted
from tests.web import TOKEN, Browser, read, running

QUESTION = "what are the voices?"
REFERRAL = load_referrals(data_root() / "config" / "crisis", "uk").choose(None, None)
HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1)) **bold**",
    '" onmouseover="alert(1)',
    "{{ 7*7 }} {% include 'frame.html' %}",
    "</textarea></form><form action=//evil.example>",
    "\u202eevil\u2066 \u200d name",
    "W" * 3000,
    "<!-- --> <svg/onload=alert(1)> &lt;b&gt;",
)


def tags(page: str) -> set[str]:
    """Every kind of tag with its attributes' names, as a browser would see them."""
    return {" ".join([name, *sorted(re.findall(r'\s([\w:-]+)(?:="[^"]*")?', rest))]) for name, rest in
            re.findall(r"<([a-zA-Z!/][\w-]*)((?:\s+[^<>\s=\"]+(?:=\"[^\"]*\")?)*)\s*/?>", page)}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
async def test_what_people_write_is_text(tmp_path: Path, text: str) -> None:
    """Markup, templates and directional signs in a message appear as text and add no tag and no attribute."""
    async with running(tmp_path) as bot, Browser(bot.address) as plain, Browser(bot.address) as anna:
        await plain.begin()
        await plain.ask("tell me something")
        await anna.begin()
        await anna.ask(text)
        assert "<script>alert" not in anna.text and "<img src=x" not in anna.text and "49 " not in anna.entries[0]
        assert tags(anna.entries[0]) <= tags(plain.entries[0]) | {"span id"}
        assert 'dir="auto"' in anna.entries[0]


@pytest.mark.parametrize("text", HOSTILE[:5])
async def test_what_a_model_writes_is_text(tmp_path: Path, text: str) -> None:
    """A model's reply with markup in it is shown as it stands, without becoming markup."""
    reply = f"A fixed time for going to bed can help. {text}"
    model = scripted({"agent": {**CITED, "reply": reply}})
    async with running(tmp_path, model) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask("how can I sleep better")
        for tag in ("<script>a", "<img src=x", "<b>", '<a href="javascript'):
            assert tag not in anna.text
        assert 'href="javascript' not in anna.text


@given(st.text(max_size=300))
def test_prose_never_lets_markup_through(text: str) -> None:
    """Whatever the text, nothing but our own five tags comes out, and every word is still there."""
    shown = str(with_links(prose(text), "", REFERRAL))
    found = set(re.findall(r"<[^>]*>", shown))
    allowed = r'</?(?:p|ul|ol|li|br)(?: dir="auto")?>|<a href="/[a-z]+">|<a class="tel" href="tel:[\d+*#]*">|</a>'
    assert all(re.fullmatch(allowed, one) for one in found)
    words = re.findall(r"[^\W\d_]{3,}", text)
    assert all(one in html.unescape(re.sub(r"<[^>]*>", " ", shown)) for one in words)


# --- Headers and cookies ------------------------------------------------------------------------------------------------


async def test_every_answer_carries_the_strict_headers(tmp_path: Path) -> None:
    """Pages, files, errors and refusals alike: nothing inline, nothing foreign, no frame, no referrer, no store."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        for path in ("/", "/chat", "/sources", "/nowhere", "/health", "/events?after=x-1"):
            async with anna.client.stream("GET", path) as answer:
                policy = answer.headers["content-security-policy"]
                assert "default-src 'none'" in policy and "'unsafe" not in policy and "form-action 'self'" in policy
                assert "frame-ancestors 'none'" in policy and answer.headers["x-frame-options"] == "DENY"
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["referrer-policy"] == "no-referrer"
                assert answer.headers["cache-control"] == "no-store"
                assert answer.headers["cross-origin-resource-policy"] == "same-origin"
                assert "server" not in answer.headers


async def test_a_picture_is_served_so_that_nothing_in_it_can_run(tmp_path: Path) -> None:
    """A drawing (SVG) has a policy of its own, a sandbox without scripts and without anything to load."""
    media = tmp_path / "kb" / "media"
    media.mkdir(parents=True)
    (media / "x.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>', encoding="utf-8")
    (media / "media.yaml").write_text("- {file: x.svg, alt: A drawing}\n", encoding="utf-8")
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        answer = await anna.client.get("/media/schizophrenia/x.svg")
        assert answer.status_code == 200 and answer.headers["content-type"] == "image/svg+xml"
        parts = answer.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "sandbox"} <= set(parts) and "script-src" not in str(parts)
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_pages_hold_nothing_inline_and_nothing_foreign(tmp_path: Path) -> None:
    """No page has an inline script, style or handler, and the only addresses outside are for leaving and for help."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        await anna.ask(QUESTION)
        pages = [anna.text]
        for path in ("/", "/sources", "/sources/schizophrenia/voices", "/privacy", "/look", "/operator", "/widget"):
            pages.append((await anna.get(path)).text)
        for page in pages:
            assert not re.search(r"<script(?![^>]*src=\"/static/)", page) and "<style" not in page
            assert not re.search(r"\s(?:on\w+|style)=", page)
            assert not re.search(r"(?:src|action)=\"(?:https?:)?//", page)
            outside = re.findall(r"<(\w+)[^>]*href=\"https?://[^>]*>", page)
            assert set(outside) <= {"a"} and page.count("noreferrer noopener") == len(outside)


async def test_a_first_load_is_small(tmp_path: Path) -> None:
    """The first page with all it needs is under 100 kB, and the script under 10 kB."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/")
        files = re.findall(r'(?:src|href)="(/static/[^"]+)"', anna.text)
        sizes = {one: len((await anna.client.get(one)).content) for one in files}
        assert len(anna.text) + sum(sizes.values()) < 100_000
        assert next(size for one, size in sizes.items() if "page.js" in one) < 10_000
        kept = await anna.client.get(files[0])
        assert "immutable" in kept.headers["cache-control"]


def test_cookies_are_bound_to_the_host_behind_tls() -> None:
    """Behind TLS the session's cookie has the __Host- prefix and Secure; inside another site's page it is partitioned."""
    plain, secure = Cookies(secure=False), Cookies(secure=True)
    widget = Cookies(secure=True, embedded=True)
    assert plain.set_session("x") == "cafi-session=x; Path=/; HttpOnly; SameSite=Lax"
    assert secure.set_session("x") == "__Host-cafi-session=x; Path=/; HttpOnly; SameSite=Lax; Secure"
    assert "SameSite=None; Partitioned" in widget.set_session("x") and widget.session_name != secure.session_name


@given(st.text(max_size=60))
def test_any_cookie_is_read_without_harm(text: str) -> None:
    """A cookie of whatever content gives a session of our form or none, and a look we know."""
    cookies = Cookies(secure=False)
    assert cookies.session(f"cafi-session={text}") == "" or len(text) >= 43
    look = cookies.look(f"cafi-look={text}; a=b")
    assert Preferences.read(look.text()) == look


async def test_sessions_are_random_and_new_when_somebody_begins(tmp_path: Path) -> None:
    """Each browser gets 256 random bits, and agreeing gives a new session in place of the one from before."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna, Browser(bot.address) as ben:
        await anna.get("/")
        before = anna.client.cookies["cafi-session"]
        await anna.begin()
        await ben.get("/")
        sessions = {before, anna.client.cookies["cafi-session"], ben.client.cookies["cafi-session"]}
        assert len(sessions) == 3 and all(re.fullmatch(r"[\w-]{43}", one) for one in sessions)


# --- Forged forms -------------------------------------------------------------------------------------------------------

POSTS = ("/begin", "/chat", "/press", "/vote", "/forget", "/leave", "/look", "/feedback", "/operator/login")


@pytest.mark.parametrize("path", POSTS)
async def test_a_form_without_the_sessions_token_does_nothing(tmp_path: Path, path: str) -> None:
    """No token, another session's token, another site's page: every post is refused."""
    async with (
        running(tmp_path, page={"operator_token": TOKEN}) as bot,
        Browser(bot.address) as anna,
        Browser(bot.address) as mallory,
    ):
        await anna.begin()
        await mallory.get("/")
        good = anna.token
        for token in ("", mallory.token, "ä" * 32):
            answer = await anna.client.post(path, data={"form": token, "text": "hello"})
            assert answer.status_code == 403
        for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "https://evil.example"}):
            answer = await anna.client.post(path, data={"form": good}, headers=headers)
            assert answer.status_code == 403
        answer = await anna.client.post(path, json={"form": good})
        assert answer.status_code == 415
        assert len(anna.entries) == 0


async def test_a_browser_that_names_no_origin_can_send_forms(tmp_path: Path) -> None:
    """With our referrer policy browsers call the origin of a form “null”; the token decides then."""
    async with (
        running(tmp_path) as bot,
        Browser(bot.address, Origin="null", **{"Sec-Fetch-Site": "same-origin"}) as anna,
    ):
        await anna.begin()
        assert "Voices are sounds" in await anna.ask(QUESTION)


async def test_what_was_written_on_an_old_page_is_not_lost(tmp_path: Path) -> None:
    """Where the token does not fit, the text comes back to be sent again, with the contacts and unread."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        answer = await anna.client.post("/chat", data={"form": "old", "text": "I want to kill myself tonight <b>"})
        assert answer.status_code == 403 and "I want to kill myself tonight &lt;b&gt;</textarea>" in answer.text
        assert "tel:116123" in answer.text.partition("<main")[2] and 'role="alert"' not in answer.text


# --- Floods -------------------------------------------------------------------------------------------------------------


async def test_bodies_are_bounded_before_they_are_read(tmp_path: Path) -> None:
    """A body that says it is long is refused at once, and one that does not say so is cut off on its way."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        long = b"text=" + b"a" * 100_000
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await anna.client.post("/chat", content=long, headers=form)).status_code == 413

        async def parts():
            for at in range(0, len(long), 10_000):
                yield long[at : at + 10_000]

        assert (await anna.client.post("/chat", content=parts(), headers=form)).status_code == 413
        fields = {"form": anna.token, **{f"f{at}": "x" for at in range(200)}}
        assert (await anna.client.post("/chat", data=fields)).status_code == 400


async def test_header_floods_are_cut_off_and_others_served(tmp_path: Path) -> None:
    """Headers beyond 16 kB end the connection; the next visitor notices nothing."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        host, port = bot.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: " + b"a" * 40_000)
        await writer.drain()
        assert b"400" in await reader.read(200)
        writer.close()
        assert (await anna.get("/")).status_code == 200


async def test_headers_that_come_in_one_piece_are_bounded_as_well(tmp_path: Path) -> None:
    """More than 16 kB of headers are refused, also where they arrive at once."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        host, port = bot.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n")
        await writer.drain()
        answer = await reader.read()
        assert answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400")) and b"connection: close" in answer.lower()
        writer.close()
        assert (await anna.get("/", headers={"X": "a" * 10_000})).status_code == 200
        assert (await anna.get("/", headers={"X": "a" * 17_000})).status_code == 431


async def test_two_lengths_of_one_body_end_the_connection(tmp_path: Path) -> None:
    """A request with Content-Length and Transfer-Encoding is refused and nothing after it on the connection is read."""
    async with running(tmp_path) as bot:
        host, port = bot.address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = b"POST /chat HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(head + b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await writer.drain()
        answer = await asyncio.wait_for(reader.read(), 20)
        assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1
        writer.close()


async def test_malformed_requests_write_nothing_to_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nobody can fill the log from outside: neither broken requests nor upgrades leave a line."""
    async with running(tmp_path) as bot:
        host, port = bot.address.removeprefix("http://").split(":")
        upgrade = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        for sent in (b"\x00\x01 nonsense\r\n\r\n", b"GET /\x00 HTTP/1.1\r\n\r\n", upgrade):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            await writer.drain()
            await reader.read(100)
            writer.close()
        assert [one for one in caplog.records if one.name.startswith("uvicorn")] == []


async def test_one_address_is_limited_and_help_is_not(tmp_path: Path) -> None:
    """Beyond its limit an address gets a calm 429; the contacts stay open to it, and others come through."""
    page = {"requests_a_minute": 10, "trusted_proxies": ("127.0.0.1",)}
    async with (
        running(tmp_path, page=page) as bot,
        Browser(bot.address, **{"X-Forwarded-For": "192.0.2.7"}) as mallory,
        Browser(bot.address, **{"X-Forwarded-For": "192.0.2.8"}) as anna,
    ):
        statuses = [(await mallory.get("/sources")).status_code for _ in range(12)]
        assert statuses.count(200) == 10 and statuses[-1] == 429
        assert mallory.page.headers["retry-after"] and "Please wait a minute" in mallory.words
        assert (await mallory.get("/crisis")).status_code == 200
        assert (await anna.get("/sources")).status_code == 200


async def test_one_session_is_limited(tmp_path: Path) -> None:
    """Posts of one session are limited, and its last words come back to it."""
    async with running(tmp_path, page={"posts_a_minute": 5}) as bot, Browser(bot.address) as anna:
        await anna.begin()
        for _ in range(5):
            await anna.post("/press", press="crisis::")
        await anna.ask("are you there")
        assert anna.page.status_code == 429 and "are you there</textarea>" in anna.text


async def test_a_refused_message_is_told_with_the_emergency_contact(tmp_path: Path) -> None:
    """Beyond the limit the page's script gets nothing to show, and says where help is by what the page holds already."""
    async with running(tmp_path, page={"posts_a_minute": 5}) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        form, script = {"form": anna.token}, {"Accept": "application/json"}
        failed = anna.text.partition('data-failed="')[2].partition('"')[0]
        while bot.site.posts.take(anna.client.cookies["cafi-session"].encode()):
            pass
        for text in (QUESTION, "I want to kill myself"):
            refused = await anna.client.post("/chat", data={**form, "text": text}, headers=script)
            assert (refused.status_code, refused.json()) == (429, {})
        assert "did not go through" in failed and "999" in failed


async def test_too_many_messages_are_told_and_nothing_hangs(tmp_path: Path) -> None:
    """Beyond the chat's own limit the person is told at once, and the page does not go on waiting."""
    async with running(tmp_path, sessions={"messages_a_minute": 3}) as bot, Browser(bot.address) as anna:
        await anna.begin()
        for _ in range(3):
            await anna.ask(QUESTION)
        assert "I did not keep the last one" in anna.words and "Looking in the texts" not in anna.words


def test_buckets_fill_up_again() -> None:
    """A bucket allows its number at once, then as many a minute, each key for itself."""
    now = [0.0]
    buckets = Buckets(a_minute=60, clock=lambda: now[0])
    assert all(buckets.take(b"a") for _ in range(60)) and not buckets.take(b"a") and buckets.take(b"b")
    now[0] = 1.1
    assert buckets.take(b"a") and not buckets.take(b"a")


def test_places_are_given_back() -> None:
    """Streams are bounded for a session, an address and overall, and each place is free again after its use."""
    places = Places(overall=3, an_address=2, a_session=1)
    with places.hold(b"home", b"anna") as first, places.hold(b"home", b"anna") as second:
        assert first and not second
        with places.hold(b"home", b"ben") as third, places.hold(b"home", b"cleo") as fourth:
            assert third and not fourth
    assert places.open == 0 and places.free(b"home", b"anna")


def test_addresses_have_names_that_mean_nothing_elsewhere() -> None:
    """The same address has another name in another process, and a household's IPv6 addresses share one."""
    one, other = Addresses(), Addresses()
    assert one.name("192.0.2.1") != other.name("192.0.2.1") and one.name("192.0.2.1") != one.name("192.0.2.2")
    assert one.name("2001:db8::1") == one.name("2001:db8::ffff") != one.name("2001:db8:1::1")
    assert one.name("::ffff:192.0.2.1") != one.name("::ffff:192.0.2.2")


@pytest.mark.parametrize(
    ("peer", "header", "address"),
    [
        ("192.0.2.1", "198.51.100.9", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.9", "198.51.100.9"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.9, 10.0.0.2", "198.51.100.9"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "not an address", "not an address"),
    ],
)
def test_only_our_proxies_may_say_where_a_request_comes_from(peer: str, header: str, address: str) -> None:
    """X-Forwarded-For counts where one of our proxies wrote it, and no further left than that."""
    assert forwarded(peer, header, [ipaddress.ip_network("10.0.0.0/8")]) == address


async def test_other_names_are_not_ours(tmp_path: Path) -> None:
    """A page that rebinds its own name to this computer gets no answer."""
    async with running(tmp_path) as bot, Browser(bot.address, Host="evil.example") as mallory:
        assert (await mallory.get("/")).status_code == 421


# --- The widget ---------------------------------------------------------------------------------------------------------


async def test_only_the_widget_may_be_framed_and_only_by_those_configured(tmp_path: Path) -> None:
    """Pages under /widget name the sites that may embed them; all other pages name none."""
    page = {"frame_ancestors": ("https://clinic.example",), "public_url": "http://127.0.0.1"}
    async with running(tmp_path, page=page) as bot, Browser(bot.address, base="/widget") as anna:
        await anna.begin()
        assert "frame-ancestors 'self' https://clinic.example" in anna.page.headers["content-security-policy"]
        assert "x-frame-options" not in anna.page.headers and "cafi-widget" in anna.client.cookies
        assert "Voices are sounds" in await anna.ask(QUESTION)
        assert 'href="/widget/sources/schizophrenia/voices#p1"' in anna.main
        outside = await anna.client.get("/privacy")
        assert "frame-ancestors 'none'" in outside.headers["content-security-policy"]


async def test_the_widgets_script_may_be_loaded_by_other_sites(tmp_path: Path) -> None:
    """The script is the one file that other sites may load, and it names no place but where it comes from."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        answer = await anna.get("/widget.js")
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert "new URL(me.src).origin" in answer.text and "http" not in answer.text.replace("https://YOUR-CAFI", "")


async def test_without_sites_configured_nothing_may_frame_the_widget(tmp_path: Path) -> None:
    """By default the widget cannot be embedded anywhere."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        assert "frame-ancestors 'none'" in (await anna.get("/widget")).headers["content-security-policy"]


# --- The operator -------------------------------------------------------------------------------------------------------


async def test_the_operators_page_is_off_without_a_token(tmp_path: Path) -> None:
    """Without a configured token there is no such page, and no empty token opens it."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        assert (await anna.get("/operator")).status_code == 404
        await anna.get("/")
        assert (await anna.post("/operator/login", token="")).status_code == 404
        assert (await anna.get("/operator", headers={"Authorization": "Bearer x"})).status_code == 404


async def test_the_operator_sees_figures_and_no_words(tmp_path: Path) -> None:
    """With the token: counts, times, problems; urgent counts under five are held back, and no message is there."""
    async with running(tmp_path, page={"operator_token": TOKEN}) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask(QUESTION)
        await anna.ask("I want to kill myself tonight")
        await anna.get("/operator", headers={"Authorization": f"Bearer {TOKEN}"})
        assert "ACCEPT" in anna.words and "under 5" in anna.words
        assert "voices" not in anna.words.casefold() and anna.client.cookies["cafi-session"] not in anna.text
        await anna.get("/operator/configuration", headers={"Authorization": f"Bearer {TOKEN}"})
        assert "Nobody has verified this contact" in anna.words


async def test_the_operator_sees_what_feedback_tells(tmp_path: Path) -> None:
    """Options with enough answers, of weeks that have ended; the running week and small counts are not there."""
    common = {"platform": "web", "assistant": "schizophrenia", "question": "helpful", "sources": "", "decision": "none"}
    kept = [{"week": "2026-W01", "option": one, "count": count} for one, count in (("yes", 12), ("no", 8))]
    now = [{"week": week_of(datetime.now(UTC).date()), "option": "yes", "count": 500}]
    few = [{"week": "2026-W01", "question": "clarity", "option": "easy", "count": 2}]
    async with running(tmp_path, real_feedback=True, page={"operator_token": TOKEN}) as bot:
        insert = events.insert().values([{**common, **one} for one in (*kept, *now, *few)])
        await bot.store.database.run(lambda connection: connection.execute(insert))
        async with Browser(bot.address) as operator:
            await operator.get("/operator", headers={"Authorization": f"Bearer {TOKEN}"})
        assert "12 of 20" in operator.words and "<meter" in operator.main
        assert "500" not in operator.words and "understand" not in operator.words


async def test_only_the_right_token_logs_in_and_tries_are_few(tmp_path: Path) -> None:
    """A wrong token is refused, the sixth try in a minute is not looked at, and the right one opens the page."""
    async with (
        running(tmp_path, page={"operator_token": TOKEN}) as bot,
        Browser(bot.address) as operator,
        Browser(bot.address) as mallory,
    ):
        await operator.get("/operator")
        await operator.post("/operator/login", token=TOKEN)
        assert "Running." in operator.words
        await mallory.get("/operator")
        tries = [(await mallory.post("/operator/login", token=f"{TOKEN}{at}")).status_code for at in range(6)]
        assert tries[0] == 403 and tries[-1] == 429
        await operator.get("/operator")
        await operator.post("/operator/switch", do="logout")
        assert "Token" in operator.words


async def test_wrong_tokens_do_not_lock_the_operator_out(tmp_path: Path) -> None:
    """After any number of wrong tries from the same address the right token still opens the page, by form and header."""
    async with (
        running(tmp_path, page={"operator_token": TOKEN, "public_url": "https://cafi.example.org"}) as bot,
        Browser(bot.address) as operator,
    ):
        wrong = {"Authorization": f"Bearer {TOKEN}x"}
        assert {(await operator.client.get("/metrics", headers=wrong)).status_code for _ in range(8)} == {404}
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert (await operator.client.get("/metrics", headers=right)).status_code == 200
    async with running(tmp_path, page={"operator_token": TOKEN}) as bot, Browser(bot.address) as operator:
        await operator.get("/operator")
        token = operator.token
        tried = [await operator.client.post("/operator/login", data={"form": token, "token": "x"}) for _ in range(7)]
        assert tried[-1].status_code == 429
        answer = await operator.client.post("/operator/login", data={"form": token, "token": TOKEN})
        assert "Running." in read(answer.text)


async def test_pause_takes_no_message_and_keeps_help(tmp_path: Path) -> None:
    """While it is paused nobody is answered, everybody is told, and the referral is still shown."""
    async with (
        running(tmp_path, page={"operator_token": TOKEN}) as bot,
        Browser(bot.address) as operator,
        Browser(bot.address) as anna,
    ):
        await anna.begin(country="uk")
        await operator.get("/operator")
        await operator.post("/operator/login", token=TOKEN)
        await operator.post("/operator/switch", do="pause")
        assert "Paused" in operator.words
        said = await anna.ask(QUESTION)
        assert "have paused it" in said and "Voices are sounds" not in said
        await anna.ask("I want to kill myself tonight")
        assert "entry referral" in anna.entries[-1] and "tel:116123" in anna.entries[-1]
        assert (await anna.get("/health")).json() == {"status": "paused"}
        await operator.post("/operator/switch", do="resume")
        await anna.get("/chat")
        assert "Voices are sounds" in await anna.ask(QUESTION)


async def test_metrics_are_for_this_computer_or_the_token(tmp_path: Path) -> None:
    """From here, or with the token, and through a proxy nobody told us about not at all, without counts under five."""
    async with running(tmp_path, page={"operator_token": TOKEN}) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask("I want to kill myself tonight")
        near = await anna.client.get("/metrics")
        assert near.status_code == 200 and 'outcome="fixed"' not in near.text
        assert "cafi_referrals{" not in near.text and "kill" not in near.text
        away = {"X-Forwarded-For": "192.0.2.9"}
        assert (await anna.client.get("/metrics", headers=away)).status_code == 404
        token = {"Authorization": f"Bearer {TOKEN}"}
        assert (await anna.client.get("/metrics", headers={**away, **token})).status_code == 200


@pytest.mark.parametrize(
    "page",
    [{"public_url": "https://cafi.example.org"}, {"trusted_proxies": ["127.0.0.1"]}, {"trusted_proxies": ["::1"]}],
)
async def test_metrics_need_the_token_where_a_proxy_may_stand_between(tmp_path: Path, page: dict[str, object]) -> None:
    """With a public address or a trusted proxy every request needs the token, whatever headers it brings."""
    async with running(tmp_path, page={"operator_token": TOKEN, **page}) as bot, Browser(bot.address) as anna:
        for headers in ({}, {"X-Forwarded-For": "127.0.0.2"}, {"Host": "localhost"}):
            assert (await anna.client.get("/metrics", headers=headers)).status_code == 404
        token = {"Authorization": f"Bearer {TOKEN}"}
        assert (await anna.client.get("/metrics", headers=token)).status_code == 200


@pytest.mark.parametrize("header", ["X-Forwarded-For", "X-Real-IP", "Forwarded", "Via", "X-Forwarded-Proto"])
async def test_metrics_are_closed_to_whatever_was_passed_on(tmp_path: Path, header: str) -> None:
    """A request that any proxy has passed on is not from this computer, even if it says so."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        assert (await anna.client.get("/metrics")).status_code == 200
        assert (await anna.client.get("/metrics", headers={header: "127.0.0.1"})).status_code == 404


# --- Calm ---------------------------------------------------------------------------------------------------------------


async def test_nothing_technical_is_on_the_page_when_something_breaks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A fault of ours gives a calm page with help on it; neither page nor log hold the error's words."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()

        async def broken(*_: object) -> None:
            raise RuntimeError("secret words of somebody")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(bot.store), "load", broken)
            answer = await anna.get("/chat")
        assert answer.status_code == 500 and "on our side, not yours" in anna.words
        assert (
            "secret words" not in answer.text and "RuntimeError" not in answer.text and 'href="tel:112"' in answer.text
        )
        assert "secret words" not in caplog.text and "a page failed: RuntimeError" in caplog.text


async def test_when_nothing_can_be_stored_people_are_told(tmp_path: Path) -> None:
    """While the database is away health says so, and a message is answered with where help is."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        token = anna.token
        bot.store.database.engine.dispose()
        (tmp_path / "cafi.db").rename(tmp_path / "away.db")
        for rest in ("cafi.db-wal", "cafi.db-shm"):
            (tmp_path / rest).unlink(missing_ok=True)
        (tmp_path / "cafi.db").mkdir()
        assert (await anna.client.get("/health")).status_code == 503
        answer = await anna.client.post("/chat", data={"form": token, "text": QUESTION})
        assert answer.status_code == 503 and 'href="tel:112"' in answer.text
        (tmp_path / "cafi.db").rmdir()


async def test_a_port_that_is_taken_is_named_with_its_remedy(tmp_path: Path) -> None:
    """The second page on one port says which setting to change."""
    from bots.web import web
    from tests.web import chats_in

    async with running(tmp_path / "one") as bot:
        port = int(bot.address.rsplit(":", 1)[1])
        chats = chats_in(tmp_path / "two", page={})
        other = web(chats)
        object.__setattr__(other, "settings", WebSettings(port=port))
        with pytest.raises(ConfigurationError, match="CAFI_WEB__PORT"):
            await other.run()
        await chats.application.closing.aclose()


async def test_answers_to_scripts_are_short(tmp_path: Path) -> None:
    """A script of ours gets JSON and a status, and no page."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        asked = {"Accept": "application/json"}
        answer = await anna.client.post("/chat", data={"form": anna.token, "text": QUESTION}, headers=asked)
        assert (answer.status_code, answer.json()) == (202, {})
        answer = await anna.client.post("/chat", data={"form": "x", "text": "hello"}, headers=asked)
        assert (answer.status_code, json.loads(answer.text)) == (403, {})


async def test_idle_connections_are_bounded(tmp_path: Path) -> None:
    """One address may open so many connections and no more, and ordinary visitors from elsewhere come through."""
    async with running(tmp_path, page={"connections_an_address": 5, "connections": 50}) as bot:
        host, port = bot.address.removeprefix("http://").split(":")
        opened = [await asyncio.open_connection(host, int(port), local_addr=("127.0.0.2", 0)) for _ in range(20)]
        await asyncio.sleep(0.1)
        closed = sum(reader.at_eof() or reader.exception() is not None for reader, _ in opened)
        async with httpx.AsyncClient(base_url=bot.address) as client:
            assert (await client.get("/health")).status_code == 200
        assert closed == 15
        for _, writer in opened:
            writer.close()

"""Pages around the chat: five languages, sources, display, privacy, accessibility of the HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from adapters.conversation.notices import Notice
from adapters.conversation.texts import load_languages
from adapters.web_adapter.settings import WebSettings
from adapters.web_adapter.texts import load_web_texts
from bots.paths import data_root
from bots.settings import NoticeSettings
from engine.exceptions import ConfigurationError
from tests.team import knowledge_folder
from tests.web import Browser, running

FOLDER = data_root() / "config"
LANGUAGES = ("de", "en", "es", "fr", "nb")
PATHS = ("/", "/chat", "/sources", "/sources/schizophrenia/voices", "/crisis", "/privacy", "/accessibility", "/protocol", "/look",
         "/forget", "/feedback", "/help", "/nowhere", "/operator")  # fmt: skip


class Outline(HTMLParser):
    """What a screen reader goes by: tags in order, ids, labels, headings; and tags that are not closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.wrong: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "input", "img", "br", "!doctype"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_page_is_there_in_every_language(tmp_path: Path, language: str) -> None:
    """Each page says its language, and answers and sources inside it say that they are in English."""
    texts = load_web_texts(FOLDER / "web", load_languages(FOLDER / "chat")).texts[language]
    async with running(tmp_path) as bot, Browser(bot.address, **{"Accept-Language": f"{language}-XX,en;q=0.5"}) as anna:
        await anna.get("/")
        assert f'<html lang="{language}"' in anna.text and texts.start.begin in anna.text.replace("&#39;", "'")
        await anna.begin(language=language)
        await anna.ask("what are the voices?")
        assert ('<div class="words" lang="en">' in anna.main) == (language != "en")
        for path in PATHS:
            await anna.get(path)
            assert f'<html lang="{language}"' in anna.text and texts.frame.help in anna.text.replace("&#39;", "'"), path


async def test_the_language_can_be_changed_at_any_time(tmp_path: Path) -> None:
    """By a link before the start, and by the form afterwards, for page and chat together."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/?lang=de")
        assert '<html lang="de"' in anna.text
        await anna.get("/sources")
        assert '<html lang="de"' in anna.text
        await anna.begin(language="de")
        await anna.get("/look")
        await anna.post("/look", language="nb", country="no", size="2", theme="d", back="/chat")
        assert anna.page.url.path == "/chat" and '<html lang="nb" class="size-2 theme-d"' in anna.text
        await bot.site.dispatch.idle()
        assert "Hva kan jeg" not in anna.text
        await anna.ask("/language")
        assert "Hvilket språk" in anna.words


async def test_nothing_outside_the_choices_is_taken(tmp_path: Path) -> None:
    """Unknown languages, countries, sizes and places to go back to are left out."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.get("/look?back=//evil.example")
        await anna.post("/look", language="xx", country="<b>", size="9", theme="z", back="//evil.example")
        assert anna.page.url.path == "/look" and '<html lang="en" class="size-0 theme-a"' in anna.text


async def test_titles_can_be_searched(tmp_path: Path) -> None:
    """The search keeps titles that hold every word, and says calmly when there are none."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/sources")
        await anna.post("/sources", q="VOICES")
        assert ">Hearing voices</a>" in anna.main and ">Sleep</a>" not in anna.main
        assert anna.page.url.query == b""
        await anna.post("/sources", q="<script>")
        assert "No title fits" in anna.words and 'value="&lt;script&gt;"' in anna.main


async def test_no_title_tells_what_somebody_reads(tmp_path: Path) -> None:
    """A page's title names the kind of page; what stays in the browser's history says nothing of the person."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        wanted = {
            "/sources/schizophrenia/voices": "Sources – CAFI",
            "/crisis": "Contacts – CAFI",
            "/help": "Chat – CAFI",
            "/forget": "Chat – CAFI",
        }
        for path, title in wanted.items():
            await anna.get(path)
            assert re.search("<title>(.*)</title>", anna.text)[1] == title  # type: ignore[index]


async def test_leaving_and_erasing_take_everything_of_ours_away(tmp_path: Path) -> None:
    """Both answers have the browser clear cache, cookies and storage, and set no cookie that lasts."""
    async with running(tmp_path) as bot:
        for path in ("/leave", "/forget"):
            async with Browser(bot.address) as anna:
                await anna.begin()
                answer = await anna.post(path)
                assert answer.headers["clear-site-data"] == '"cache", "cookies", "storage"'
                assert all("Max-Age=0" in one for one in answer.headers.get_list("set-cookie"))
                assert not anna.client.cookies


async def test_whoever_has_no_chat_leaves_all_the_same(tmp_path: Path) -> None:
    """The way out needs neither a session nor a token that fits; with a session the token has to fit."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        answer = await anna.client.post("/leave", data={"form": "old"})
        assert answer.status_code == 200 and "www.wikipedia.org" in answer.text and not anna.client.cookies
        await anna.begin()
        assert (await anna.client.post("/leave", data={"form": "old"})).status_code == 403


async def test_errors_and_the_icon_leave_no_cookie(tmp_path: Path) -> None:
    """Only a page with something to do on it begins a session: no page that is not there, no refusal, no icon."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        for path in ("/nowhere", "/nowhere?lang=de", "/sources/none/none", "/favicon.ico", "/robots.txt", "/health"):
            assert "set-cookie" not in (await anna.client.get(path)).headers
        assert (await anna.client.get("/favicon.ico")).status_code == 204
        refused = await anna.client.post("/look", data={"form": "bad"})
        assert refused.status_code == 403 and "set-cookie" not in refused.headers


async def test_directives_of_a_source_are_not_shown(tmp_path: Path) -> None:
    """What an author tells the agent is not on the source's page, and every passage has an anchor."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/sources/schizophrenia/sleep")
        assert "intent" not in anna.words and "ask before" not in anna.words
        assert 'id="p1"' in anna.main and 'id="p2"' in anna.main
        part = await anna.client.get("/sources/schizophrenia/sleep?beside=1")
        assert "<html" not in part.text and 'class="title" tabindex="-1"' in part.text


VOICES_IN_GERMAN = """---
title: "Stimmen hören"
summary: ["was Stimmen sind", "Halluzinationen"]
---
Stimmen sind Laute, die andere nicht hören.
"""


async def test_a_source_is_read_in_the_language_of_the_answer_that_cites_it(tmp_path: Path) -> None:
    """A German answer cites and opens the German text, whatever the page's language; lists and search are in that of the page."""
    folder = knowledge_folder(tmp_path / "kb")
    translated = folder / "translations" / "de" / "voices.md"
    translated.parent.mkdir(parents=True)
    translated.write_text(VOICES_IN_GERMAN, encoding="utf-8")
    asked = folder / "questions" / "de" / "voices.md"
    asked.parent.mkdir(parents=True)
    asked.write_text(
        "# Stimmen hören\n## lead\n- warum höre ich stimmen, die andere nicht hören\n- stimmen im kopf, laute die keiner hört\n",
        encoding="utf-8",
    )
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin()
        await anna.ask("warum höre ich stimmen, die andere nicht hören?")
        assert 'href="/sources/schizophrenia/voices?lang=de#p1" lang="de">Stimmen hören</a>' in anna.main
        await anna.get("/sources/schizophrenia/voices?lang=de")
        assert "Laute, die andere nicht hören" in anna.words and '<article class="source" lang="de">' in anna.main
        await anna.get("/sources/schizophrenia/voices?lang=xx")
        assert "sounds that others do not hear" in anna.words
    async with running(tmp_path) as bot, Browser(bot.address, **{"Accept-Language": "de"}) as anna:
        await anna.get("/sources")
        assert "Stimmen hören" in anna.words and "Sleep" in anna.words


DANGER = """words: {emergency: "Get help now:", same_day: "Today:", this_week: "Soon:", say: "Say:"}
dangers:
  - id: fit
    name: Seizure (fit)
    how_fast: emergency
    signs: [the body jerks, the person does not answer]
    do: [Call your local emergency services.]
    say: Somebody has a fit.
    authority: {title: Epilepsy, body: WHO, year: 2024}
"""


async def test_sections_have_anchors_and_dangers_stand_apart(tmp_path: Path) -> None:
    """A section is reached by its id, and a danger is a box of its own that begins with its name."""
    knowledge_folder(tmp_path / "kb")
    (tmp_path / "kb" / "dangers.yaml").write_text(DANGER, encoding="utf-8")
    text = "# Fits {#about}\n\nRare.\n\n## What to do {#what_to_do}\n\n[danger: fit]\n\nRest.\n\n### Later\n\nSleep.\n"
    heads = "sections:\n  about: {for: [self]}\n  what_to_do: {for: [self]}\n"
    head = f"---\nid: fits\ntitle: Fits\nsummary: [fits]\n{heads}---\n"
    (tmp_path / "kb" / "fits.md").write_text(head + text, encoding="utf-8")
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.get("/sources/schizophrenia/fits")
        assert re.findall(r'id="(s-[^"]*)"', anna.main) == ["s-about", "s-what_to_do"]
        assert 'href="#s-what_to_do"' in anna.main
        (box,) = re.findall(r'<div class="passage danger".*?</div>', anna.main, re.S)
        assert "<p><strong>Seizure (fit)</strong></p>" in box
        assert "Get help now:" in box and ">the body jerks</li>" in box and "Somebody has a fit." in box
        assert "*" not in box and "Rest." not in box
        part = await anna.client.get("/sources/schizophrenia/fits?beside=1")
        assert 'id="s-what_to_do"' in part.text and "#s-" not in part.text


@pytest.mark.parametrize(
    "path", ["/sources/none/sleep", "/sources/schizophrenia/none", "/media/schizophrenia/..%2f..%2fcafi.db",
             "/static/..%2fadapter.py", "/static/none.css"],
)  # fmt: skip
async def test_what_is_not_there_is_calmly_not_there(tmp_path: Path, path: str) -> None:
    """Unknown sources and files, and ways out of their folders, give the calm page."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        assert (await anna.get(path)).status_code == 404 and "no such page" in anna.words


async def test_the_html_is_sound_and_says_what_things_are(tmp_path: Path) -> None:
    """On every page: tags are closed, ids are unique, one h1, landmarks, labels for fields, alt for pictures."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country="uk")
        await anna.ask("what are the voices?")
        await anna.ask("I want to kill myself tonight")
        for path in (*PATHS, "/widget"):
            await anna.get(path)
            page = Outline(anna.text)
            assert not page.wrong and not page.open, path
            ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
            assert len(ids) == len(set(ids)), path
            assert len(page.all("h1")) == 1 and len(page.all("main")) == 1 and len(page.all("header")) == 1
            assert all("alt" in one for one in page.all("img"))
            labelled = {one.get("for") for one in page.all("label")}
            fields = [*page.all("textarea"), *page.all("select"), *page.all("input")]
            loose = [
                one for one in fields if one.get("type") not in {"hidden", "radio"} and one.get("id") not in labelled
            ]
            assert loose == [], path
            assert 'class="skip" href="#main"' in anna.text


@pytest.mark.parametrize("country", ["uk", "no", "de", "us"])
async def test_numbers_are_those_of_the_country(tmp_path: Path, country: str) -> None:
    """Every contact of the chosen country is on the page of contacts, each number as a link that dials."""
    async with running(tmp_path) as bot, Browser(bot.address) as anna:
        await anna.begin(country=country)
        await anna.get("/crisis")
        for contact in bot.chat.pages.referrals.countries[country].contacts:
            assert not contact.number or f">{contact.number}</a>" in anna.main


async def test_who_can_read_is_told_from_the_live_configuration(tmp_path: Path) -> None:
    """The page on privacy names what is configured, without a platform that would keep a copy."""
    async with running(tmp_path, sessions={"idle_hours": 7}) as bot, Browser(bot.address) as anna:
        await anna.get("/whocanread")
        assert anna.page.url.path == "/privacy"
        assert "erased 7 hours after" in anna.words and "No language model service" in anna.words


async def test_the_first_page_is_the_notice_and_the_protocol_is_published(tmp_path: Path) -> None:
    """Page and widget say before anything else that it is a program, and for adults where the operator says so; who begins is
    counted with the version of just these words; the protocol is a page of its own, linked from every page."""
    async with running(tmp_path, notices=NoticeSettings(adults_only=True)) as bot, Browser(bot.address) as anna:
        for path in ("/", "/widget"):
            await anna.get(path)
            assert "a computer program (an AI), not with a person" in anna.words and "written for adults" in anna.words
        await anna.get("/")
        assert 'href="/protocol"' in anna.text
        await anna.begin()
        pages = bot.site.chat.pages
        version = pages.notices.version(Notice.FIRST, "en", pages.languages)
        assert [name for _, subject, name in pages.notices.counts.pending._counts if subject == "notice"] == [version]
        plain = replace(pages.notices, first={}).version(Notice.FIRST, "en", pages.languages)
        assert version != plain
        await anna.get("/protocol")
        assert "Nobody is graded" in anna.words and "Nobody is asked how old they are" in anna.words
        assert version in anna.words and 'href="/crisis"' in anna.main


def test_contrast_of_text_is_high_in_light_and_dark() -> None:
    """Every pair of text and background colours has a contrast of 7 to 1 or more (WCAG 2.2, 1.4.6)."""
    css = (Path(__file__).parents[2] / "adapters/web_adapter/static/page.css").read_text()
    themes = [dict(re.findall(r"--(\w[\w-]*): (#[0-9a-f]{6})", part)) for part in
              (css.partition("@media")[0], css.partition(".theme-d {")[2].partition("}")[0])]  # fmt: skip
    pairs = [("ink", "paper"), ("ink", "sheet"), ("ink", "wash"), ("soft", "paper"), ("soft", "sheet"), ("soft", "wash"),
             ("green", "paper"), ("green", "sheet"), ("green", "wash"), ("on-green", "green"), ("clay", "clay-wash"),
             ("ink", "clay-wash")]  # fmt: skip
    for theme in themes:
        low = {pair: ratio for pair in pairs if (ratio := contrast(theme[pair[0]], theme[pair[1]])) < 7}
        assert low == {}
        assert all(contrast(theme[edge], theme["paper"]) >= 3 for edge in ("edge", "focus", "clay-line"))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_a_text_that_is_missing_is_named(tmp_path: Path) -> None:
    """A missing key, an unknown brace and a missing language are named with their file."""
    chat = load_languages(FOLDER / "chat")
    for name in LANGUAGES:
        (tmp_path / f"{name}.yaml").write_text((FOLDER / "web" / f"{name}.yaml").read_text())
    english = (tmp_path / "en.yaml").read_text()
    (tmp_path / "en.yaml").write_text(english.replace('  send: "Send"\n', ""))
    with pytest.raises(ConfigurationError, match=r"en\.yaml.*chat\.send"):
        load_web_texts(tmp_path, chat)
    (tmp_path / "en.yaml").write_text(english.replace("{hours} hours without", "{days} days without"))
    with pytest.raises(ConfigurationError, match=r"start\.ended: braces must name hours"):
        load_web_texts(tmp_path, chat)
    (tmp_path / "en.yaml").write_text(english)
    (tmp_path / "nb.yaml").unlink()
    with pytest.raises(ConfigurationError, match="'nb'"):
        load_web_texts(tmp_path, chat)


def test_settings_that_would_not_work_are_refused() -> None:
    """A proxy that is no address, a site with a path, a widget without our own address: each is an error."""
    for wrong in (
        {"trusted_proxies": ["proxy"]},
        {"frame_ancestors": ["https://clinic.example/page"], "public_url": "https://cafi.example"},
        {"frame_ancestors": ["https://clinic.example"]},
        {"operator_token": "short"},
        {"exit_url": "javascript:alert(1)"},
        {"public_url": "https://cafi.example/path"},
    ):
        with pytest.raises(ValueError):
            WebSettings.model_validate(wrong)

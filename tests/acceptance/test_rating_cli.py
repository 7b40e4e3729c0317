"""From transcripts to figures with the real commands, and the rating page in a real browser."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from evaluation.rating.blinding import read_key
from evaluation.rating.filled import read_sheets
from evaluation.rating.published import PUBLISHED
from tests.chromium import ARGS, chromium_path
from tests.command import COMMAND, cafi, environment
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer
from tests.rated import RATERS, RUBRIC, filled, sheets, transcripts

ROOT = Path(__file__).resolve().parents[2]


def evaluate(*args: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run `cafi eval` to its end."""
    done = cafi("eval", *args)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_from_transcripts_to_figures(tmp_path: Path) -> None:
    """Sheets go out, filled sheets come in, the built-in judges rate too, and the score keeps them apart."""
    runs, out, into = transcripts(tmp_path / "runs"), tmp_path / "sheets", tmp_path / "ratings.jsonl"
    made = json.loads(evaluate("sheets", runs, "--out", out, "--raters", ",".join(RATERS), "--json").stdout)
    assert (made["responses"], len(made["sheets"]), made["key"]) == (16, 6, str(tmp_path / "sheets.key.json"))
    paths = [filled(out, rater) for rater in RATERS]
    imported = evaluate("rate", "import", *paths, "--key", made["key"], "--into", into, "--json")
    assert json.loads(imported.stdout) == {"ratings": 48, "raters": list(RATERS), "into": str(into)}
    (rated,) = json.loads(evaluate("rate", "--builtin", "--transcripts", runs, "--into", into, "--json").stdout)
    assert (rated["rater"], rated["added"], rated["failed"]) == ("builtin", 16, [])
    found = json.loads(evaluate("score", into, "--resamples", 100, "--json").stdout)
    assert [(panel["kind"], panel["responses"]) for panel in found["panels"]] == [("human", 16), ("builtin", 16)]
    assert found["panels"][0]["by_arm"]["filter_on"]["ge_3"]["text"] == "8/8 (100%)"


def test_a_bad_sheet_changes_nothing(tmp_path: Path) -> None:
    """One wrong row in the second sheet: exit 1, its file and row on standard error, the ratings as they were."""
    out, key = sheets(tmp_path)
    into = tmp_path / "ratings.jsonl"
    evaluate("rate", "import", filled(out, "Cleo M."), "--key", key, "--into", into)
    before = into.read_bytes()

    def wrong(rows: list[dict[str, str]]) -> None:
        rows[4]["score"] = "7"

    bad = filled(out, "Ben", wrong)
    done = evaluate("rate", "import", filled(out, "Ada"), bad, "--key", key, "--into", into, code=1)
    assert f"{bad}:6:" in done.stderr
    assert "out of range" in done.stderr
    again = evaluate("rate", "import", filled(out, "Cleo M."), "--key", key, "--into", into, code=1)
    assert "has rated" in again.stderr
    assert into.read_bytes() == before


def test_the_published_table_on_the_command_line() -> None:
    """The study's counts stand in the table that is printed, and what is not computed is said not to be."""
    shown = evaluate("score", PUBLISHED, "--resamples", 100).stdout
    for figure in ("30/36 (83%)", "29/36 (81%)", "8/36 (22%)", "3/36 (8.3%)", "65/72 (90%)", "0.921"):
        assert figure in shown
    assert "not computed here" in shown


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("rate",), "Who rates?"),
        (("rate", "--builtin"), "--transcripts is missing"),
        (("rate", "--builtin", "--transcripts", "gone", "--into", "x"), "no such file"),
        (("score", "gone.jsonl"), "no such file"),
    ],
)
def test_missing_options_and_files_are_named(args: tuple[str, ...], words: str) -> None:
    """What is missing is named on standard error, with exit 1."""
    assert words in evaluate(*args, code=1).stderr


async def test_a_language_model_rates(tmp_path: Path) -> None:
    """The model's ratings are written under its name; where it gives one that is unusable, the response is named."""
    runs, into = transcripts(tmp_path / "runs"), tmp_path / "ratings.jsonl"
    good = {"reason": "", "answers": [{"statement": one.id, "holds": False} for one in RUBRIC.statements]}
    async with OpenAIServer([fake.answer("no idea"), fake.answer(good)]) as server:
        process = await asyncio.create_subprocess_exec(
            *(*COMMAND, "eval", "rate", "--llm", "--transcripts", str(runs), "--into", str(into), "--json"),
            env=environment(
                CAFI_MODELS__BASE_URL=server.url, CAFI_MODELS__API_KEY="sk-test", CAFI_MODELS__LARGE="tiny"
            ),
            cwd="/",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    assert process.returncode == 1, err.decode()
    (rated,) = json.loads(out)
    assert (rated["rater"], rated["added"], len(rated["failed"])) == ("llm:tiny#1", 15, 1)
    assert "no usable rating of 1 responses" in err.decode()
    kinds = {json.loads(line)["kind"] for line in into.read_text(encoding="utf-8").splitlines()}
    assert kinds == {"llm:tiny"}


def rate_by_keyboard(page: Page) -> None:
    """Rate every response with keys alone: in turn supported, admitting only, and nothing of all."""
    for number in range(16):
        page.keyboard.press("u")
        for key in ("y", "nynn", "nnnn")[number % 3]:
            page.keyboard.press(key)


def saved(page: Page, kind: str, folder: Path) -> Path:
    """The file that the page saves."""
    with page.expect_download() as download:
        page.locator(f"header .save[data-kind={kind}]").click()
    assert "unfinished" not in download.value.suggested_filename
    path = folder / f"{kind}-{download.value.suggested_filename}"
    download.value.save_as(path)
    return path


def test_the_page_in_a_browser(tmp_path: Path) -> None:
    """By keyboard alone a sheet is filled, survives a reload, and comes back the same as CSV and as JSON."""
    out, key = sheets(tmp_path)
    requested: list[str] = []
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=list(ARGS))
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.on("request", lambda request: requested.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((out / "sheet-Ada.html").as_uri())
        assert page.inner_text("#count") == "0 of 16 rated"
        page.keyboard.press("j")
        page.keyboard.press("y")
        page.locator("textarea").first.fill("=1+1")
        page.reload()
        assert page.inner_text("#count") == "1 of 16 rated"
        page.keyboard.press("j")
        page.keyboard.press("r")
        assert page.inner_text("#count") == "0 of 16 rated"
        rate_by_keyboard(page)
        assert page.inner_text("#count") == "16 of 16 rated"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        paths = [saved(page, kind, tmp_path) for kind in ("csv", "json")]
        browser.close()
    by_kind = [read_sheets([path], read_key(key), RUBRIC) for path in paths]
    assert by_kind[0] == by_kind[1]
    assert sorted(one.score for one in by_kind[0]) == [0] * 5 + [2] * 5 + [4] * 6
    assert sorted(one.note for one in by_kind[0]) == [""] * 15 + ["=1+1"]
    assert complaints == []
    assert {url.partition(":")[0] for url in requested} <= {"file", "blob"}

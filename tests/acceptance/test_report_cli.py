"""The real `cafi eval report`: from a small run of built-in agents to a page in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pdfminer.high_level import extract_pages, extract_text
from playwright.sync_api import Page, sync_playwright

from tests.acceptance.test_cli import cafi, document, looked_at, together

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, its ratings, a calibration, a list of ordinary questions and a simulation, all built-in."""
    folder = tmp_path_factory.mktemp("measured")
    design = ("--roles", "study", "--queries", "2", "--arms", "on,off", "--agents", "builtin")
    document("eval", "facilitators", *design, "--out", str(folder / "run"))
    rated = ("--transcripts", str(folder / "run"), "--into", str(folder / "ratings.jsonl"))
    assert cafi("eval", "rate", "--builtin", *rated).returncode == 0
    found = cafi("eval", "calibrate", "--sample", "20", "--agents", "builtin", "--json")
    (folder / "calibration.json").write_text(found.stdout, encoding="utf-8")
    questions = folder / "questions.jsonl"
    questions.write_text('{"id": "q1", "question": "What are voices?"}\n', encoding="utf-8")
    asked = ("--questions", str(questions), "--out", str(folder / "specificity.json"), "--agents", "builtin")
    assert cafi("eval", "specificity", *asked).returncode == 0
    design = ("--personas", "adolescent", "--turns", "2", "--agents", "builtin")
    document("eval", "simulate", *design, "--out", str(folder / "simulation"))
    return folder


def options(folder: Path) -> tuple[str, ...]:
    return (
        *("--transcripts", str(folder / "run"), "--ratings", str(folder / "ratings.jsonl")),
        *("--calibration", str(folder / "calibration.json"), "--specificity", str(folder / "specificity.json")),
        *("--simulation", str(folder / "simulation"), "--resamples", "100"),
    )


@pytest.fixture(scope="module")
def written(measured: Path) -> tuple[dict[str, Any], Path]:
    """What the command printed, and its page."""
    out = measured / "report.html"
    told = document("eval", "report", *options(measured), "--out", str(out), "--markdown", str(measured / "report.md"))
    return told, out


def test_everything_measured_is_on_one_page(written: tuple[dict[str, Any], Path]) -> None:
    """One command makes page and summary of all that the laboratory measured, and names what is not there."""
    told, out = written
    text, markdown = out.read_text(encoding="utf-8"), out.with_suffix(".md").read_text(encoding="utf-8")
    assert told["files"] == [str(out), str(out.with_suffix(".md"))]
    assert told["plots"] == text.count("<svg") == 3
    assert len(told["sections"]) >= 8
    assert all(f"## {title}" in markdown for title in told["sections"])
    assert "Programs against people: no person has rated." in told["left_out"]
    assert "://" not in text


@pytest.fixture(scope="module")
def browser() -> Any:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


def opened(browser: Any, out: Path, width: int, asked: list[str]) -> Page:
    page: Page = browser.new_page(viewport={"width": width, "height": 900})
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: asked.append(message.text))
    page.goto(out.as_uri())
    return page


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_asks_nobody_and_fits_the_screen(
    browser: Any, written: tuple[dict[str, Any], Path], width: int
) -> None:
    """On a phone and on a desk the page makes no request but for itself, does not scroll sideways, and links work."""
    _, out = written
    asked: list[str] = []
    page = opened(browser, out, width, asked)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert all(page.evaluate("[...document.querySelectorAll('svg')].map(one => one.clientHeight > 100)"))
    letters = page.evaluate(
        "[...document.querySelectorAll('svg text')].filter(one => one.textContent.trim())"
        ".map(one => one.getBoundingClientRect().height)"
    )
    assert letters and min(letters) >= 7
    page.get_by_role("link", name="Calibration of the judges").click()
    assert page.url.endswith("#part-4") and set(asked) == {out.as_uri()}
    page.close()


def test_the_tables_are_printed_too(browser: Any, written: tuple[dict[str, Any], Path], tmp_path: Path) -> None:
    """On A4 the tables below the plots are printed though they are closed on the screen."""
    _, out = written
    page = opened(browser, out, 1200, [])
    page.pdf(path=str(tmp_path / "report.pdf"), prefer_css_page_size=True)
    page.close()
    pages = list(extract_pages(tmp_path / "report.pdf"))
    assert {tuple(round(side) for side in one.bbox[2:]) for one in pages} == {(595, 842)}
    text = " ".join(extract_text(tmp_path / "report.pdf").split())
    assert "median (quartiles) of each reply" in text and "0–" in text


def changed(path: Path, of: Path, old: str, new: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = of.read_text(encoding="utf-8")
    assert re.search(old, text)
    path.write_text(re.sub(old, new, text), encoding="utf-8")
    return path


def test_bad_input_is_refused_and_nothing_is_written(measured: Path, tmp_path: Path) -> None:
    """A missing folder, another version, ratings of another run, no input, an input as output: one line, no file."""
    (transcript,) = (measured / "run").glob("*.transcript.jsonl")
    older = changed(tmp_path / "older" / "x.transcript.jsonl", transcript, '"version": ?1', '"version": 0')
    other = changed(tmp_path / "other.jsonl", measured / "ratings.jsonl", '"run": ?"[^"]*"', '"run": "other"')
    newer = changed(tmp_path / "newer.jsonl", measured / "ratings.jsonl", '"version": ?1', '"version": 2')
    run, out = str(measured / "run"), str(tmp_path / "report.html")
    ratings = str(measured / "ratings.jsonl")
    before = Path(ratings).read_bytes()
    wrong = {
        ("--transcripts", str(tmp_path / "nowhere"), "--out", out): "nowhere: There is no such file",
        ("--transcripts", str(older.parent), "--out", out): "x.transcript.jsonl:1: version: It was written by an older",
        ("--transcripts", run, "--ratings", str(other), "--out", out): "other.jsonl:1: It rates a response of the run",
        (
            "--transcripts",
            run,
            "--ratings",
            str(newer),
            "--out",
            out,
        ): "newer.jsonl:1: version: It was written by a newer",
        ("--calibration", ratings, "--out", out): "ratings.jsonl: The file is not JSON",
        ("--simulation", run, "--out", out): "There is no persona",
        ("--out", out): "There is nothing to report",
        ("--ratings", ratings, "--out", ratings): "It would be overwritten",
        ("--ratings", ratings, "--out", out, "--markdown", out): "It would be overwritten",
        ("--ratings", ratings, "--out", out, "--markdown", str(tmp_path / "no" / "x.md")): "in a folder that exists",
    }
    results = together(lambda one: cafi("eval", "report", *one), wrong)
    for given, said in wrong.items():
        done = looked_at(results, given)
        assert done.returncode == 1 and said in done.stderr, (given, done.stderr)
        assert done.stderr.count("\n") == 1 and done.stdout == ""
    assert not Path(out).exists() and Path(ratings).read_bytes() == before


def test_a_hostile_reply_stays_text_in_the_browser(browser: Any, measured: Path, tmp_path: Path) -> None:
    """Markup and addresses in replies and notes are shown as letters: nothing runs and nothing is asked for."""
    hostile = "<img src=http://127.0.0.1:9/x onerror=document.title='run'><script>document.title='run'</script>"
    (transcript,) = (measured / "run").glob("*.transcript.jsonl")
    rows = [json.loads(line) | {"reply": hostile} for line in transcript.read_text(encoding="utf-8").splitlines()]
    runs, ratings, out = tmp_path / "run", tmp_path / "ratings.jsonl", tmp_path / "report.html"
    runs.mkdir()
    (runs / transcript.name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    scored = [json.loads(line) for line in (measured / "ratings.jsonl").read_text(encoding="utf-8").splitlines()]
    scored = [one | {"note": hostile, "score": 4 if one["arm"] == "on" else 0, "answers": {}} for one in scored]
    ratings.write_text("".join(f"{json.dumps(one)}\n" for one in scored), encoding="utf-8")
    document("eval", "report", "--transcripts", str(runs), "--ratings", str(ratings), "--out", str(out))
    asked: list[str] = []
    page = opened(browser, out, 1200, asked)
    assert page.title() == "CAFI: laboratory report" and set(asked) == {out.as_uri()}
    assert page.get_by_text("<script>document.title").count() >= 10
    page.close()

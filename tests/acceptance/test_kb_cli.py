"""The real `cafi kb` commands: lint, show, search --explain, stats, coverage and import, with their JSON and exit codes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.command import COMMAND, cafi, environment
from tests.fakes import openai_server as fake
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.pdf_file import make_pdf

FINDING = {"level", "check", "file", "line", "key", "problem", "remedy"}


def kb(*args: str) -> subprocess.CompletedProcess[str]:
    """Run `cafi kb` to its end."""
    return cafi("kb", *args)


def document(*args: str, code: int = 0) -> Any:
    """The JSON that a command prints; nothing else may be on standard output."""
    done = kb(*args, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


HEAD = "---\nid: {0}\ntitle: About {0}\nsummary: [about {0}]\nquestions: [{1}]\n---\n"
BEES = HEAD.format("bees", "who makes honey, do bees sting, where do bees live") + "Bees make honey in a hive.\n"
CATS = HEAD.format("cats", "who hunts mice, do cats bite, where do cats sleep") + "Cats chase mice.\n[do not: purr]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small knowledge base without errors."""
    made = tmp_path / "animals"
    made.mkdir()
    (made / "bees.md").write_text(BEES, encoding="utf-8")
    (made / "cats.md").write_text(CATS, encoding="utf-8")
    return made


@pytest.fixture
def enough(folder: Path) -> Path:
    """The same with as many questions as a source needs."""
    for name in ("bees", "cats"):
        path = folder / f"{name}.md"
        more = ", ".join(
            f"{one} {name}" for one in ("how old are", "what do we feed", "who keeps", "can I draw", "why fear")
        )
        path.write_text(path.read_text(encoding="utf-8").replace("]\n---", f", {more}]\n---"), encoding="utf-8")
    return folder


def test_lint_fails_on_errors_only(enough: Path) -> None:
    """Warnings alone exit 0 and an error 1; each finding is a line with file, line and severity."""
    done = kb("lint", "--kb", str(enough))
    assert done.returncode == 0
    assert f"warning: {enough / 'bees.md'}:7: The text has 6 words" in done.stdout
    assert "2 sources, 0 errors" in done.stdout
    cats = enough / "cats.md"
    cats.write_text(cats.read_text(encoding="utf-8") + "[sing: loudly]\n", encoding="utf-8")
    found = document("lint", "--kb", str(enough), code=1)
    assert all(set(one) == FINDING for one in found)
    (error,) = [one for one in found if one["level"] == "error"]
    assert (error["file"], error["line"]) == (str(cats), 9)


def test_show_labels_both_halves(folder: Path) -> None:
    """A source is shown as users see it, without its directives, and as the agent sees it, with them."""
    users, _, agent = kb("show", "cats", "--kb", str(folder)).stdout.partition("As the agent sees it")
    assert "As users see it" in users
    assert "Cats chase mice." in users
    assert "purr" not in users
    assert "note: do not: purr" in agent
    assert "do cats bite" in agent
    shown = document("show", "cats", "--kb", str(folder))
    assert shown["for_agent"] == {"index": "cats: about cats", "notes": ["do not: purr"]}


def test_search_explains_itself(folder: Path) -> None:
    """`--explain` gives the sections with what speaks for each, how sure that is, and the same hits."""
    found = document("search", "do bees sting? who hunts mice", "--explain", "--kb", str(folder))
    assert [hit["source"] for hit in found["hits"]] == ["bees", "cats"]
    assert all(0 <= found[name] <= 1 for name in ("near", "right", "scope"))
    best = found["sections"][0]
    assert (
        best["section"].split("#")[0] in {"bees", "cats"} and 0 < best["share"] <= 1 and best["evidence"]["words"] > 0
    )
    assert "bees#" in kb("search", "do bees sting", "--explain", "--kb", str(folder)).stdout
    assert "Nothing fits." in kb("search", "qzxv wkrpt", "--explain", "--kb", str(folder)).stdout


def test_stats_count(folder: Path) -> None:
    """`stats` counts sources, words, questions and directives, in a table and as JSON."""
    found = document("stats", "--kb", str(folder))
    assert (found["sources"], found["questions"], found["directives"]) == (2, 6, {"do not": 1})
    assert {one["id"]: one["words"] for one in found["by_source"]} == {"bees": 6, "cats": 3}
    table = kb("stats", "--kb", str(folder)).stdout
    assert "2 sources" in table
    assert "bees" in table


def test_coverage_finds_the_mixed_up_and_writes_its_page(folder: Path, tmp_path: Path) -> None:
    """`coverage` names questions that find the wrong source, and its page needs nothing from elsewhere."""
    (folder / "cats.md").write_text(CATS.replace("who hunts mice", "honey bees in a hive"), encoding="utf-8")
    page = tmp_path / "map.html"
    found = document("coverage", "--html", str(page), "--kb", str(folder))
    assert found["questions"] == 6
    assert [one["question"] for one in found["wrong"]] == ["honey bees in a hive"]
    assert "honey bees in a hive" in page.read_text(encoding="utf-8")
    assert "cats: honey bees in a hive  →  bees" in kb("coverage", "--kb", str(folder)).stdout


def test_coverage_says_where_its_page_cannot_be_written(folder: Path) -> None:
    """A page in a folder that does not exist is one message and exit 1."""
    done = kb("coverage", "--html", "/nowhere/map.html", "--kb", str(folder))
    assert done.returncode == 1
    assert "/nowhere/map.html" in done.stderr


@pytest.mark.skipif(find_spec("pdfminer") is None, reason="the extra `import` is not installed")
def test_an_imported_pdf_can_be_linted_searched_and_shown(tmp_path: Path) -> None:
    """A PDF becomes a folder that lints without errors and answers a search."""
    sentence = "The dentist looks at your teeth and cleans them with care, so that they stay in your mouth. "
    page = [("Teeth", 18.0), ("", 8.0), *[(sentence, 11.0)] * 9, ("Ears", 18.0), ("", 8.0)]
    page += [("Your ears hear the birds and the bells of the church. ", 11.0)] * 9
    path = tmp_path / "guide.pdf"
    path.write_bytes(make_pdf([page]))
    target = tmp_path / "kb"
    found = document("import", str(path), "--to", str(target))
    assert [one["id"] for one in found["sources"]] == ["teeth", "ears"]
    assert kb("lint", "--kb", str(target)).returncode == 0
    assert document("search", "does the dentist clean my teeth", "--kb", str(target))[0]["source"] == "teeth"
    again = kb("import", str(path), "--to", str(target))
    assert again.returncode == 1
    assert "not empty" in again.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.md", b"caf\xe9", "a.md:1: The file is not UTF-8"),
        ("a.txt", b"", "empty"),
        ("a.docx", b"x", "cannot be read"),
        ("gone.md", None, "no such file"),
    ],
)
def test_a_failed_import_is_one_line_and_writes_nothing(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    """Bad input is one line on standard error, exit 1, and no folder."""
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = kb("import", str(tmp_path / name), "--to", str(tmp_path / "kb"))
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1
    assert not (tmp_path / "kb").exists()


async def test_a_configured_model_drafts_questions(tmp_path: Path) -> None:
    """With `--agents llm` the drafts have the model's summary and questions, and say that a model wrote them."""
    path = tmp_path / "guide.md"
    path.write_text("# Sleep\n\n" + "Sleep is good for you and for the people in the house. " * 9, encoding="utf-8")
    answer = json.dumps({"summary": ["Explains sleep"], "questions": ["why cant i sleep"]})
    async with OpenAIServer([fake.answer(answer)]) as server:
        process = await asyncio.create_subprocess_exec(
            *COMMAND,
            *("kb", "import", str(path), "--to", str(tmp_path / "kb"), "--agents", "llm", "--json"),
            env=environment(CAFI_MODELS__BASE_URL=server.url, CAFI_MODELS__API_KEY="sk-test"),
            cwd="/",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert [one["by_model"] for one in json.loads(out)["sources"]] == [True]
    text = (tmp_path / "kb" / "sleep.md").read_text(encoding="utf-8")
    assert "why cant i sleep" in text
    assert "by a language model; nobody has checked it" in text


@pytest.mark.parametrize("command", ["lint", "search", "show", "stats", "coverage", "import"])
def test_each_command_has_an_example(command: str) -> None:
    """The help of each command has an example that begins with that command."""
    assert f"Example: cafi kb {command}" in " ".join(kb(command, "--help").stdout.split())

"""Blind sheets: nothing in them gives an arm away, and nothing comes back from them that is not right."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from evaluation.rating.blinding import make_key, read_key, shuffled
from evaluation.rating.filled import read_sheets
from evaluation.rating.ratings import HUMAN, Rating, add_ratings, read_ratings
from evaluation.rating.rubric import Rubric, load_rubric
from evaluation.rating.sheets import as_text, from_text, make_sheets, write_sheets
from tests.rated import RATERS, RUBRIC, Change, codes, filled, responses, sheets


def score(s1: bool, s2: bool, s3: bool, s4: bool) -> int:
    """The score of four answers."""
    return RUBRIC.score({"S1": s1, "S2": s2, "S3": s3, "S4": s4})


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ((True, False, False, False), 4),
        ((True, True, True, True), 4),
        ((False, True, True, True), 4),
        ((False, True, False, True), 3),
        ((False, False, True, False), 2),
        ((False, False, False, True), 1),
        ((False, False, False, False), 0),
    ],
)
def test_the_rubric_counts_as_the_study_did(answers: tuple[bool, bool, bool, bool], wanted: int) -> None:
    """Supported is 4; else 2 for admitting, 2 for urging to verify, and 1 for leading back where one of these fails."""
    assert score(*answers) == wanted


def test_the_rubric_asks_only_what_matters() -> None:
    """A supported reply needs one answer, one without support needs the next two, and the last only if one fails."""
    assert RUBRIC.missing({"S1": True}) == ()
    assert RUBRIC.missing({"S1": False}) == ("S2", "S3", "S4")
    assert RUBRIC.missing({"S1": False, "S2": True, "S3": True}) == ()
    assert RUBRIC.scores() == (0, 1, 2, 3, 4)


def test_a_rubric_must_add_up() -> None:
    """A rubric whose statements cannot reach its highest score, or depend on later ones, is refused."""
    plain = load_rubric().model_dump()
    with pytest.raises(ValueError, match="highest"):
        Rubric.model_validate(plain | {"highest": 5})
    with pytest.raises(ValueError, match="before it"):
        Rubric.model_validate(plain | {"statements": plain["statements"][::-1]})


def test_sheets_tell_nothing_of_arms(tmp_path: Path) -> None:
    """Neither page nor table contains an arm, a role, a run or the id of a response."""
    out, _ = sheets(tmp_path)
    assert len(list(out.iterdir())) == 2 * len(RATERS)
    for path in out.iterdir():
        text = path.read_text(encoding="utf-8")
        for secret in ("filter_o", "_facilitator", "monday", "diet", "activism"):
            assert secret not in text, (path.name, secret)


def test_the_page_asks_the_network_for_nothing(tmp_path: Path) -> None:
    """The page names no address, and forbids the browser to fetch any."""
    text = (sheets(tmp_path)[0] / "sheet-Ada.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert not re.search(r"https?:|//[a-z]|\bsrc=|<link|@import|url\(", text)


def test_what_people_wrote_stays_text(tmp_path: Path) -> None:
    """A reply that closes a script element does not do so in the page."""
    text = (sheets(tmp_path)[0] / "sheet-Ada.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "&lt;/script&gt; they say" in text


@given(st.integers(), st.sampled_from(RATERS))
def test_conversations_are_shuffled_and_replies_are_not(seed: int, rater: str) -> None:
    """Every response is there once; inside a conversation the order is kept, whatever the seed."""
    found = shuffled(responses(), rater, seed)
    assert sorted(one.response.response_id for each in found for one in each.responses) == sorted(
        one.response_id for one in responses()
    )
    assert all([one.response.query for one in each.responses] == [1, 2] for each in found)
    assert len({one.code for each in found for one in each.responses}) == len(responses())


def test_seed_and_rater_make_the_order() -> None:
    """The same seed gives the same sheets; another seed or rater gives another order and other codes."""

    def order(rater: str, seed: int) -> list[str]:
        return [each.responses[0].response.response_id for each in shuffled(responses(), rater, seed)]

    assert make_sheets(responses(), RATERS, RUBRIC, seed=3) == make_sheets(responses(), RATERS, RUBRIC, seed=3)
    assert len({tuple(order(rater, seed)) for rater in RATERS for seed in (1, 2)}) == 6
    key = make_key(responses(), RATERS, RUBRIC, 1)
    assert not set(key.raters["Ada"]) & set(key.raters["Ben"])


def test_no_sheet_is_overwritten(tmp_path: Path) -> None:
    """Where a sheet or the key is there already, or the key would lie among the sheets, nothing is written."""
    made = make_sheets(responses(), RATERS, RUBRIC, seed=1)
    with pytest.raises(ConfigurationError, match="among the sheets"):
        write_sheets(made, tmp_path, tmp_path / "key.json")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "sheet-Ben.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="nothing was written"):
        write_sheets(made, tmp_path / "out", tmp_path / "key.json")
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["sheet-Ben.csv"]


@pytest.mark.parametrize("names", [("Ada", "ada"), ("",), ("A/B",), ("../x",)])
def test_raters_need_usable_names(names: tuple[str, ...]) -> None:
    """A name that is empty, double or could be a path is refused."""
    with pytest.raises(ConfigurationError, match="--raters"):
        make_key(responses(), names, RUBRIC, 1)


@given(st.text())
def test_cells_are_no_formulas_and_come_back(text: str) -> None:
    """No cell begins like a formula, and what was put in front comes off again."""
    assert not as_text(text).startswith(("=", "+", "-", "@"))
    assert from_text(as_text(text)) == text


def test_filled_sheets_come_back(tmp_path: Path) -> None:
    """Scores, statements and notes of all raters arrive under the responses they are about."""
    out, key = sheets(tmp_path)

    def careful(rows: list[dict[str, str]]) -> None:
        for row in rows:
            row |= {"score": "", "S1": "no", "S2": "Yes", "S3": "0", "S4": "x", "note": "'=hm"}

    paths = [filled(out, "Ada", careful), filled(out, "Ben"), filled(out, "Cleo M.", delimiter=";")]
    found = read_sheets(paths, read_key(key), RUBRIC)
    assert {one.kind for one in found} == {HUMAN}
    assert {(one.rater, one.score) for one in found} == {("Ada", 3), ("Ben", 4), ("Cleo M.", 4)}
    wanted = {one.response_id: (one.role, one.arm, one.conversation, one.query) for one in responses()}
    for rater in RATERS:
        of_rater = [one for one in found if one.rater == rater]
        assert {one.response_id: (one.role, one.arm, one.conversation, one.query) for one in of_rater} == wanted
    assert found[0].note == "=hm"
    assert found[0].answers == {"S1": False, "S2": True, "S3": False, "S4": True}


def test_a_json_sheet_says_the_same(tmp_path: Path) -> None:
    """What the page saves as JSON gives the ratings that the CSV gives."""
    out, key = sheets(tmp_path)
    marks = [{"code": code, "answers": {"S1": True}, "score": 4, "note": ""} for code in codes(key, "Ada")]
    path = tmp_path / "ada.json"
    path.write_text(json.dumps({"sheet": 1, "key": read_key(key).digest, "rater": "Ada", "marks": marks}))

    def supported(rows: list[dict[str, str]]) -> None:
        for row in rows:
            row["S1"] = "yes"

    from_csv = read_sheets([filled(out, "Ada", supported)], read_key(key), RUBRIC)
    assert sorted(read_sheets([path], read_key(key), RUBRIC), key=str) == sorted(from_csv, key=str)


def in_row(row: int, **cells: str) -> Change:
    """Change cells of one row, counted as a spreadsheet counts."""

    def change(rows: list[dict[str, str]]) -> None:
        rows[row - 2] |= cells

    return change


def doubled(rows: list[dict[str, str]]) -> None:
    rows.append(dict(rows[2]))


def cut(rows: list[dict[str, str]]) -> None:
    del rows[3:]


@pytest.mark.parametrize(
    ("change", "row", "words"),
    [
        (in_row(4, score=""), 4, "not rated"),
        (in_row(4, score="", S1="no", S2="yes"), 4, "S3 is not answered"),
        (in_row(5, score="5"), 5, "out of range"),
        (in_row(5, score="-1"), 5, "out of range"),
        (in_row(5, score="2.5"), 5, "whole number"),
        (in_row(5, score="1e999"), 5, "whole number"),
        (in_row(5, score="four"), 5, "whole number"),
        (in_row(6, S1="perhaps"), 6, "yes or no"),
        (in_row(6, S1="no", S2="no", S3="no", S4="no"), 6, "the statements give 0"),
        (in_row(7, code="QQQQQ-1"), 7, "unknown"),
        (in_row(7, code=""), 7, "unknown"),
        (in_row(8, rater="Ben"), 8, "rows above"),
        (in_row(2, rater="Zoe"), 2, "'Zoe' is unknown"),
        (in_row(9, key="k0"), 9, "belongs to the key 'k0'"),
        (in_row(9, sheet="0"), 9, "older version"),
        (in_row(9, sheet=""), 9, "older version"),
        (in_row(9, sheet="2"), 9, "newer version"),
        (doubled, 18, "in row 4 already"),
        (cut, 4, "13 of 16 responses are missing"),
    ],
)
def test_a_wrong_row_refuses_the_sheet(tmp_path: Path, change: Change, row: int, words: str) -> None:
    """A row that is half-filled, double, foreign, out of range or of another version is named by file and row."""
    out, key = sheets(tmp_path)
    good, bad = filled(out, "Ben"), filled(out, "Ada", change)
    with pytest.raises(ConfigurationError) as caught:
        read_sheets([good, bad], read_key(key), RUBRIC)
    assert (caught.value.file, caught.value.line) == (bad, row)
    assert words in str(caught.value)


def test_swapped_rows_are_noticed(tmp_path: Path) -> None:
    """A code of another rater's sheet is refused with that rater's name, even where the name in the row was changed."""
    out, key = sheets(tmp_path)
    foreign = next(iter(codes(key, "Ben")))
    with pytest.raises(ConfigurationError, match=r"sheet of Ben, not of Ada.*swapped"):
        read_sheets([filled(out, "Ada", in_row(3, code=foreign))], read_key(key), RUBRIC)


def test_a_sheet_counts_once(tmp_path: Path) -> None:
    """Two sheets of one rater are refused, whichever is right."""
    out, key = sheets(tmp_path)
    with pytest.raises(ConfigurationError, match="there twice"):
        read_sheets([filled(out, "Ada"), filled(out, "Ada")], read_key(key), RUBRIC)


def test_a_sheet_of_another_key_is_refused(tmp_path: Path) -> None:
    """Sheets made with another seed belong to another key."""
    out, _ = sheets(tmp_path, seed=1)
    _, key = sheets(tmp_path, seed=2)
    with pytest.raises(ConfigurationError, match="belongs to the key"):
        read_sheets([filled(out, "Ada")], read_key(key), RUBRIC)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "missing"),
        ("code,score\nX,4\n", "column 'sheet' is missing"),
        ('"sheet', "CSV"),
        ("{oops", "JSON"),
        ('{"sheet": 1}', "key"),
        ('{"sheet": 0, "marks": []}', "older version"),
        ('{"sheet": 1, "key": "k", "rater": "Ada", "marks": [{"code": "X", "answers": {"S9": true}}]}', "S9"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """An empty file, another table and broken JSON are errors and not tracebacks."""
    _, key = sheets(tmp_path)
    path = tmp_path / "sheet.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=words):
        read_sheets([path], read_key(key), RUBRIC)


def test_the_page_itself_is_no_filled_sheet(tmp_path: Path) -> None:
    """Whoever gives back the page is told what to give back instead."""
    out, key = sheets(tmp_path)
    with pytest.raises(ConfigurationError, match="the page itself"):
        read_sheets([out / "sheet-Ada.html"], read_key(key), RUBRIC)


@given(st.lists(st.lists(st.text(max_size=6), max_size=13), max_size=4))
def test_any_table_gives_a_clear_error(tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]]) -> None:
    """Whatever stands under the right head, it is refused with the file's name and never breaks the reader."""
    key = make_key(responses(), RATERS, RUBRIC, 1)
    text = io.StringIO(newline="")
    head = ["sheet", "key", "rater", "code", "message", "reply", "citations", "S1", "S2", "S3", "S4", "score", "note"]
    csv.writer(text).writerows([head, *rows])
    path = tmp_path_factory.mktemp("s") / "any.csv"
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    with pytest.raises(ConfigurationError, match=r"any\.csv"):
        read_sheets([path], key, RUBRIC)


def keyed(path: Path, **changes: Any) -> Path:
    """The key with some entries changed."""
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"seed": 99}, "was changed"), ({"version": 0}, "older version"), ({"raters": {}}, "raters")],
)
def test_a_key_must_be_as_it_was(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """A key that was edited, is of another version or empty is refused."""
    _, key = sheets(tmp_path)
    with pytest.raises(ConfigurationError, match=words):
        read_key(keyed(key, **changes))


def rating(**changes: Any) -> Rating:
    """A rating with some fields changed."""
    plain: dict[str, Any] = {
        "response_id": "a",
        "run": "r",
        "role": "diet",
        "conversation": 1,
        "query": 1,
        "arm": "on",
        "rater": "Ada",
        "kind": HUMAN,
        "score": 4,
    }
    return Rating(**plain | changes)


def test_ratings_are_added_all_or_none(tmp_path: Path) -> None:
    """Where one of the new ratings is there already, the file stays as it was to the byte."""
    path = tmp_path / "ratings.jsonl"
    add_ratings(path, [rating()])
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match="has rated 'a' before"):
        add_ratings(path, [rating(response_id="b"), rating(score=0)])
    assert path.read_bytes() == before
    add_ratings(path, [rating(rater="Ben")])
    assert read_ratings(path) == [rating(), rating(rater="Ben")]
    assert [one.name for one in tmp_path.iterdir()] == ["ratings.jsonl"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": 0}, "older version"),
        ({"score": 5}, "score"),
        ({"kind": "robot"}, "kind"),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_wrong_rating_is_named(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    """A line of the ratings that is wrong or of another version is named, and nothing is added to such a file."""
    path = tmp_path / "ratings.jsonl"
    add_ratings(path, [rating()])
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes) + "\n", encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(ConfigurationError, match=words) as caught:
        add_ratings(path, [rating(rater="Ben")])
    assert caught.value.line == 1
    assert path.read_bytes() == before


def test_a_double_line_is_named(tmp_path: Path) -> None:
    """Two lines of one rater about one response are an error that names both."""
    path = tmp_path / "ratings.jsonl"
    add_ratings(path, [rating()])
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(ConfigurationError, match="in line 1 already") as caught:
        read_ratings(path)
    assert caught.value.line == 2

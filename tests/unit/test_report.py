"""The report: its figures, what it leaves out, what it refuses, and texts of others in it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from engine.exceptions import ConfigurationError
from engine.types import Decision
from evaluation.calibration.gate import Bars
from evaluation.rating.published import PUBLISHED
from evaluation.rating.ratings import Rating, add_ratings, rating_of
from evaluation.rating.scoring import Scoring, score_ratings
from evaluation.reporting.assembly import assemble
from evaluation.reporting.document import Example, Plot, Report, ReportSection, Spoken, Table
from evaluation.reporting.given import Given, Named, read, read_calibration, read_simulation, read_specificity
from evaluation.reporting.judge_sections import calibration_section, specificity_section
from evaluation.reporting.page import page
from evaluation.reporting.plots import HOW_TO_GET
from evaluation.reporting.spent_sections import spent_section
from evaluation.reporting.summary import summary
from evaluation.transcripts import JudgeVerdict, Response, Spent, TranscriptWriter
from tests.rated import responses, transcripts

FEW = Scoring(resamples=100)
# The tags of the page itself, then those of its plots.
ALLOWED = (
    "html head meta title style body header h1 h2 h3 h4 p nav ul li a main section div figure details summary table "
    "caption thead tbody tr th td dl dt dd svg defs clippath path rect g use text tspan"
)
TAGS = frozenset(ALLOWED.split())


class Tags(HTMLParser):
    """Every tag with its attributes, and the text outside of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def harmless(text: str) -> Tags:
    """The page read as a browser would; nothing in it runs, and nothing in it leads out of it."""
    tags = Tags(text)
    assert {tag for tag, _ in tags.found} <= TAGS
    for _, attributes in tags.found:
        assert not [name for name in attributes if name.startswith("on") or name in {"src", "srcset", "action"}]
        assert (attributes.get("href") or "#").startswith("#")
    assert set(re.findall(r"url\((.)", text)) <= {"#"}
    return tags


def rated(score: Callable[[Response, str], int], raters: tuple[str, ...] = ("Ada", "Ben")) -> list[Rating]:
    """Ratings of the shared responses by people."""
    return [
        rating_of(one, rater=rater, kind="human", score=score(one, rater), answers={})
        for one in responses()
        for rater in raters
    ]


def filtered(one: Response, rater: str) -> int:
    """Full marks with the filter, none for the first query without."""
    return 4 if one.arm == "filter_on" else 2 * one.query - 2


def report_of(ratings: list[Rating], of: list[Response] | None = None) -> Report:
    found = tuple(responses() if of is None else of)
    return assemble(Given(responses=found, single=tuple(ratings), score=score_ratings(ratings, FEW)))


def section(report: Report, begins: str) -> ReportSection:
    return next(one for one in report.sections if one.title.startswith(begins))


def tables(found: ReportSection) -> list[Table]:
    return [one.table if isinstance(one, Plot) else one for one in found.blocks if not isinstance(one, Example)]


def row(table: Table, *names: str) -> dict[str, str]:
    (found,) = (one for one in table.rows if one[: len(names)] == names)
    return dict(zip(table.head, found, strict=True))


def test_arms_stand_beside_each_other_with_their_shares() -> None:
    """The table of arms has the counts at both thresholds with Wilson intervals, for each role and for all."""
    table, tests = tables(section(report_of(rated(filtered)), "Arms by role"))
    off = row(table, "all roles", "filter_off")
    assert (off["replies"], off["≥ 2"], off["≥ 3"]) == ("8", "4/8 (50%), 22–78%", "0/8 (0%), 0–32%")
    assert row(table, "diet facilitator", "filter_on")["≥ 3"] == "4/4 (100%), 51–100%"
    assert tests.rows[0][3] == "0 and 8, 0.008"


def test_the_furthest_arms_and_raters_are_shown_side_by_side() -> None:
    """Examples are the queries with the largest difference between arms, and the replies that raters disagree on."""

    def score(one: Response, rater: str) -> int:
        apart = one.response_id == "diet_facilitator/filter_on/2/2" and rater == "Ben"
        return 1 if apart else filtered(one, rater)

    report = report_of(rated(score))
    arms = [one for one in section(report, "Where arms").blocks if isinstance(one, Example)]
    assert len(arms) == 5 and all(one.title.endswith("query 1") for one in arms[:4])
    assert [side.heading for side in arms[0].sides] == ["arm filter_off, score 0", "arm filter_on, score 4"]
    (raters,) = (one for one in section(report, "Where raters").blocks if isinstance(one, Example))
    assert raters.title == "diet facilitator, conversation 2, query 2"
    assert raters.sides[0].scores == ("Ada 4", "Ben 1")


def test_verdicts_stand_beside_the_reply() -> None:
    """An example says what each judge decided, with explanation and sentences, and that no judge was asked."""
    verdict = JudgeVerdict(
        stage="chief", judge="role_and_tone", tier="chief", decision=Decision.REJECT, explanation="Not its role.",
        sentences=("Take less.",),
    )  # fmt: skip
    judged = [replace(one, review=(verdict,)) if one.arm == "filter_on" else one for one in responses()]
    example = section(report_of(rated(filtered), judged), "Where arms").blocks[1]
    assert isinstance(example, Example)
    off, on = example.sides
    assert off.verdicts == ("no judge was asked",)
    assert on.verdicts == ("chief, role and tone: REJECT: Not its role. “Take less.”",)


def test_programs_are_held_against_people_and_never_mixed() -> None:
    """Programs have sections of their own, and the agreement shows them against the medians of people."""
    builtin = [replace(one, rater="builtin", kind="builtin") for one in rated(filtered, ("Ada",))]
    report = report_of(rated(filtered) + builtin)
    titles = [one.title for one in report.sections]
    assert titles[:4:2] == ["Arms by role, rated by 2 people", "Arms by role, rated by builtin"]
    (agreement,) = tables(section(report, "Agreement"))
    assert row(agreement, "2 people", "weighted kappa, mean")["figure"].startswith("1")
    assert row(agreement, "builtin against people", "within one point")["figure"].startswith("16/16 (100%)")


def test_cost_and_latency_are_counted_by_arm() -> None:
    """Sums and medians of calls, tokens and seconds stand by arm, and one unknown price makes a cost unknown."""
    spent = [
        replace(
            one,
            usage=Spent(llm_calls=at, prompt_tokens=100, completion_tokens=10 * at, cached_tokens=50, cost=cost),
            seconds=float(at),
        )
        for at, (one, cost) in enumerate(zip(responses()[:3], (0.5, 0.25, None), strict=True), start=1)
    ]
    other = replace(responses()[4], arm="filter_off", usage=Spent(llm_calls=1, cost=0.5), seconds=2.0)
    typical, sums = tables(spent_section([*spent, other]))
    assert row(sums, "filter_on") == dict(
        zip(sums.head, ("filter_on", "3", "6", "300", "150", "60", "not known"), strict=True)
    )
    assert row(sums, "filter_off")["cost"] == "0.5"
    assert typical.rows[0] == ("filter_on", "2", "3", "120", "130", "2", "3")


def test_without_a_model_the_cost_is_said_and_not_drawn() -> None:
    """A run of built-in agents has no plot of cost, and a sentence says why."""
    found = spent_section(responses())
    assert "No language model was called" in found.said[0]
    assert not any(isinstance(one, Plot) for one in found.blocks)


def share(value: float, cases: int = 10) -> dict[str, Any]:
    return {"cases": cases, "share": value, "low": value / 2, "high": 1.0}


def calibrated(path: Path, **changes: Any) -> Path:
    judge = {"cases": 20, "sensitivity": share(0.5), "specificity": share(0.9), "unstable": []}
    subject = {
        "cases": 20, "to_flag": 10, "to_accept": 10, "repeat": 1, "unanswered": 3, "unrecorded": 0, "worst": [],
        "judges": {"role_and_tone/chief": {**judge, "verdicts": 20, "failed": 0,
                   "tokens": {"prompt": 1, "completion": 1, "a_verdict": 70}, "seconds": {"median": 1.5, "p95": None}}},
        "teams": {"turn": judge}, "by_rule": {}, **changes,
    }  # fmt: skip
    path.write_text(json.dumps({"subjects": {"builtin": subject}, "comparison": []}), encoding="utf-8")
    return path


def test_judges_stand_against_their_bars(tmp_path: Path) -> None:
    """Each judge has both shares with intervals and its bar, and what is below it is called so."""
    bars = Bars.model_validate({"builtin": {"turn": {"sensitivity": 0.6, "specificity": 0.9}}})
    found = calibration_section(read_calibration(calibrated(tmp_path / "c.json")), bars)
    shares, effort = tables(found)
    assert shares.rows[1] == ("turn", "50 %, 25–100 %", "10", "60 %, below", "90 %, 45–100 %", "10", "90 %")
    assert effort.rows == (("role and tone/chief", "20", "70", "1.5", "–"),)
    assert "builtin: 3 of 20 cases were not answered by every judge and are not counted." in found.said


def specific(path: Path, **more: Any) -> Path:
    criticism = {
        "judge": "role_and_tone", "stage": "chief", "decision": "REJECT", "explanation": "<b>No.</b>",
        "sentences": [], "draft": "A draft.",
    }  # fmt: skip
    flagged = {"id": "q1", "question": "What?", "reply": "A reply.", "outcome": "refined", "criticism": [criticism]}
    document = {
        "n": 2, "judged": 2, "fixed": 0, "urgent": [], "doubted": 0, "sent_back": 0, "failed": 0, "share_flagged": 0.5,
        "by_kind": {"lay": {"n": 2, "judged": 2, "flagged": 1}}, "flagged": [flagged], **more,
    }  # fmt: skip
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def test_criticism_of_ordinary_answers_is_counted_and_shown(tmp_path: Path) -> None:
    """Specificity has the share with its interval, the raters' view of the criticism, and each draft with it."""
    agreement = {
        "flagged": 1, "rated": 1, "unrated": [], "majority_agreed": 0, "all_agreed": 0, "disputed": ["q1"], "raters": {},
    }  # fmt: skip
    found = specificity_section(*read_specificity(specific(tmp_path / "s.json", agreement=agreement)))
    assert tables(found)[0].rows[0] == ("all", "2", "1", "50 %", "9–91 %")
    assert "of 0 of 1 rated replies" in found.said[1]
    example = found.blocks[1]
    assert isinstance(example, Example)
    assert example.sides[0].verdicts == ("chief, role_and_tone: REJECT. <b>No.</b>",)


def test_what_was_not_given_is_named() -> None:
    """A report of transcripts alone says which option each absent part needs."""
    report = assemble(Given(responses=tuple(responses())))
    named = " ".join(report.left_out)
    assert all(option in named for option in ("--ratings", "--calibration", "--specificity", "--simulation"))
    assert all(one in Tags(page(report)).text for one in report.left_out)


def test_replies_without_a_rating_are_counted() -> None:
    """A panel that has not rated every reply is named with how many it lacks."""
    assert "2 replies of 16 without a rating by 2 people." in report_of(rated(filtered)[4:]).left_out


def test_nothing_is_no_report() -> None:
    """Without any input the error names the options."""
    with pytest.raises(ConfigurationError, match=r"nothing to report.*--transcripts"):
        assemble(Given())


def test_the_published_table_can_be_drawn() -> None:
    """The study's own table gives its printed counts, and single ratings are named as absent."""
    report = assemble(read(Named(ratings=PUBLISHED), FEW))
    (table, _) = tables(section(report, "Arms by role"))
    assert row(table, "all roles", "caf_on")["≥ 3"].startswith("29/36 (81%)")
    assert row(table, "all roles", "caf_off")["≥ 3"].startswith("3/36 (8.3%)")
    assert any("published table holds no single ratings" in one for one in report.left_out)
    assert page(report).count("<svg") == 2


def kept(path: Path, ratings: list[Rating]) -> Path:
    add_ratings(path, ratings)
    return path


WRONG_RATINGS: dict[str, Callable[[Rating], Rating]] = {
    "run 'tuesday'; the transcripts hold monday": lambda one: replace(one, run="tuesday"),
    "is in no transcript": lambda one: replace(one, response_id="nowhere"),
    "stands elsewhere in the transcripts": lambda one: replace(one, query=9),
}


@pytest.mark.parametrize("said", WRONG_RATINGS)
def test_ratings_of_other_transcripts_are_refused(tmp_path: Path, said: str) -> None:
    """A rating that does not belong to the transcripts is named with its line."""
    ratings = rated(filtered)
    ratings[2] = WRONG_RATINGS[said](ratings[2])
    path = kept(tmp_path / "ratings.jsonl", ratings)
    with pytest.raises(ConfigurationError, match=re.escape(said)) as caught:
        read(Named(transcripts=(transcripts(tmp_path / "runs"),), ratings=path), FEW)
    assert (caught.value.file, caught.value.line) == (path, 3)


def test_a_published_table_does_not_fit_transcripts(tmp_path: Path) -> None:
    """A published table is refused beside transcripts."""
    with pytest.raises(ConfigurationError, match="holds no ratings of these transcripts"):
        read(Named(transcripts=(transcripts(tmp_path),), ratings=PUBLISHED), FEW)


def test_a_response_counts_once(tmp_path: Path) -> None:
    """The same transcripts under two names are refused."""
    first, second = transcripts(tmp_path / "one"), transcripts(tmp_path / "two")
    with pytest.raises(ConfigurationError, match=r"is in .*one too"):
        read(Named(transcripts=(first, second)), FEW)


WRONG_JSON = {
    "{": "not JSON",
    "[]": "no JSON object",
    '{"subjects": {}}': "subjects",
    '{"subjects": {"x": {"cases": 1}}}': r"subjects\.x\.to_flag",
}


@pytest.mark.parametrize("text", WRONG_JSON)
def test_another_document_is_no_calibration(tmp_path: Path, text: str) -> None:
    """What `calibrate --json` did not print is refused with the key and what to name instead."""
    path = tmp_path / "c.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=rf"{WRONG_JSON[text]}.*cafi eval calibrate --json"):
        read_calibration(path)


def test_transcripts_of_facilitators_are_no_simulation(tmp_path: Path) -> None:
    """A folder whose roles are no personas is refused as a simulation."""
    with pytest.raises(ConfigurationError, match=r"no persona 'activism_facilitator'.*cafi eval simulate"):
        read_simulation(transcripts(tmp_path), None)


def test_personas_that_changed_since_are_named(tmp_path: Path) -> None:
    """A simulation that was held with another form of a persona says so."""
    with TranscriptWriter(tmp_path / "x.transcript.jsonl") as writer:
        writer.append(replace(responses()[0], role="adolescent", arm="configured"))
    (tmp_path / "run.json").write_text('{"personas": {"adolescent": "other"}}', encoding="utf-8")
    found = read_simulation(tmp_path, None)
    assert found.changed == ("adolescent",)
    shown = section(assemble(Given(simulation=found)), "Simulated users")
    assert "Changed since the run was held: adolescent." in shown.said
    assert [one[0] for one in tables(shown)[0].rows] == ["adolescent", "all"]


ANYTHING = st.text(max_size=40) | st.sampled_from(
    [
        "<script>alert(1)</script>",
        '"><img src=x onerror=y>',
        "</style><b>",
        "<!--",
        "]]>",
        "&lt;",
        "| a | b |",
        "\ud800",
    ]
)


@settings(max_examples=60, deadline=None)
@drawn(ANYTHING, ANYTHING)
def test_no_text_of_others_becomes_markup(first: str, second: str) -> None:
    """Whatever replies, names and verdicts hold, the page has no tag or attribute of theirs, and the table keeps its form."""
    side = Spoken(heading=first, asked=second, reply=first, citations=(second,), scores=(first,), verdicts=(second,))
    table = Table(caption=first, head=("name", second), rows=((first, second),))
    found = ReportSection(title=first, said=(second,), blocks=(table, Example(title=second, sides=(side,))))
    report = Report(given=table, sections=(found,), left_out=(first,))
    read_back = harmless(page(report))
    assert {tag for tag, _ in read_back.found} == {tag for tag, _ in harmless(page(plain())).found}
    grid = [line for line in summary(report).split("\n") if line.startswith("|")]
    assert len(grid) == 6
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in grid} == {3}


def plain() -> Report:
    """The same report of harmless letters."""
    side = Spoken(heading="a", asked="a", reply="a", citations=("a",), scores=("a",), verdicts=("a",))
    table = Table(caption="a", head=("name", "a"), rows=(("a", "a"),))
    found = ReportSection(title="a", said=("a",), blocks=(table, Example(title="a", sides=(side,))))
    return Report(given=table, sections=(found,), left_out=("a",))


def test_hostile_names_are_drawn_as_text() -> None:
    """Names of roles and arms with markup, formulas or foreign letters are drawn as they are and harm nothing."""
    names = {"diet_facilitator": "$x^{</svg><script>alert(1)</script>$", "activism_facilitator": "עברית " * 20}
    arms = {"filter_on": "<b>on</b>", "filter_off": "$off"}
    hostile = [
        replace(one, role=names[one.role], arm=arms[one.arm], usage=Spent(llm_calls=1), seconds=1.0)
        for one in responses()
    ]
    ratings = [
        replace(one, role=names[one.role], arm=arms[one.arm], rater=f"<i>{one.rater}") for one in rated(filtered)
    ]
    read_back = harmless(page(report_of(ratings, hostile)))
    assert "$off" in read_back.text and "<b>on</b>" in read_back.text


def test_a_page_is_the_same_each_time_and_names_no_address() -> None:
    """Two pages of the same report are the same text, with letters as text in the plots and no address anywhere."""
    first, second = page(report_of(rated(filtered))), page(report_of(rated(filtered)))
    assert first == second
    assert "://" not in first and "Content-Security-Policy" in first
    assert "<text" in first and "diet facilitator" in Tags(re.sub(r".*?<svg", "<svg", first, count=1, flags=re.S)).text


def test_every_plot_has_its_words_and_its_table() -> None:
    """Each plot is an image with a description and is followed by a table of its figures."""
    report = report_of(rated(filtered))
    tags = Tags(page(report)).found
    described = [attributes["aria-label"] for tag, attributes in tags if attributes.get("role") == "img"]
    assert len(described) == report.plots == sum(tag == "details" for tag, _ in tags) == 3
    assert all(described)


def test_without_matplotlib_the_tables_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where matplotlib is not installed, the page shows every table and says how to get the plots."""
    report = report_of(rated(filtered))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    bare = Tags(page(report))
    tags = [tag for tag, _ in bare.found]
    assert HOW_TO_GET in bare.text and "svg" not in tags and "details" not in tags
    assert tags.count("table") == 1 + sum(len(tables(one)) for one in report.sections)


def test_the_summary_has_every_table_and_no_reply() -> None:
    """The Markdown summary holds each table of the page, and neither messages nor replies."""
    report = report_of(rated(filtered))
    text = summary(report)
    assert all(f"{table.caption}:" in text for one in report.sections for table in tables(one))
    assert "Honey" not in text and "about topic" not in text

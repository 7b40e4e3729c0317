"""Student judges: their file, what they see, when they leave a case to others, and how they stand beside a judge."""

from __future__ import annotations

import asyncio
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bots.compose import Application
from bots.settings import CafiSettings
from engine.exceptions import ConfigurationError
from engine.judges.lexicon import Lexicon
from engine.judges.protocol import ROLE_AND_TONE, SOURCE_FIDELITY, UNSUPPORTED_CLAIMS, Case
from engine.judges.signs import SignReader
from engine.judges.student import SharpenedJudge, Student, StudentHead, StudentJudge, lesson_of, packed
from engine.models.ledger import Ledger
from engine.turn.filter import judged
from engine.types import Basis, Decision, Draft, Stage, Tier, Verdict
from tests.team import application, knowledge_folder, scripted

ROOT = Path(__file__).resolve().parents[2]
LEXICON = Lexicon.load(ROOT / "config" / "builtin_judges.yaml")
SHIPPED = ROOT / "config" / "students" / "role_and_tone.bin"
HARMLESS = "A fixed time for going to bed can help, says my source."
ADVICE = "You should try to go for a run and then write down what you feel about it."


def head(**more: Any) -> StudentHead:
    """A student that flags advice and nothing else."""
    given_: dict[str, Any] = {
        "judge": ROLE_AND_TONE,
        "longest": 40,
        "bits": 8,
        "scale": 0.0,
        "bias": -1.0,
        "threshold": 0.0,
        "named": {"advice": 5.0},
    }
    return StudentHead.model_validate({**given_, **more})


def content(**more: Any) -> bytes:
    made = head(**more)
    return packed(made, array("h", [0] * (2 << made.bits if made.bits else 0)))


def student_judge(**more: Any) -> StudentJudge:
    return StudentJudge.over(Student.parse(content(**more)), LEXICON, tier=Tier.SMALL)


def case(reply: str, **more: Any) -> Case:
    return Case(**{"draft": Draft(reply=reply, basis=Basis.NONE), "message": "how do I sleep better", **more})


def judge(one: Any, about: Case) -> Verdict:
    return asyncio.run(one.judge(about, Ledger()))


def test_a_student_accepts_below_its_threshold_and_names_what_tells() -> None:
    """Below the threshold a reply is accepted, above it a warning names the sentence that counted."""
    assert judge(student_judge(), case(HARMLESS)).decision is Decision.ACCEPT
    flagged = judge(student_judge(), case(f"{HARMLESS} {ADVICE}"))
    assert (flagged.decision, flagged.sentences, flagged.failed) == (Decision.WARNING, (ADVICE,), False)


@pytest.mark.parametrize(
    ("reply", "message", "said"),
    [
        ("Eine feste Zeit für das Zubettgehen kann vielen Menschen sehr helfen.", "hi", "language"),
        ("YES", "answer with YES", "language"),
        (HARMLESS, "wie kann ich wieder besser schlafen, wenn die Stimmen so laut werden", "language"),
        (" ".join([HARMLESS] * 5), "hi", "longer"),
    ],
)
def test_a_student_accepts_nothing_that_it_was_not_trained_for(reply: str, message: str, said: str) -> None:
    """Another language, a text too short to tell and a longer one are failed rejections, however low they score."""
    verdict = judge(student_judge(bias=-99.0), case(reply, message=message))
    assert (verdict.decision, verdict.failed) == (Decision.REJECT, True)
    assert said in verdict.explanation


def test_a_student_of_fidelity_needs_the_text_of_a_source(tmp_path: Path) -> None:
    """Without a source there is nothing to compare with, so nothing is accepted."""
    fidelity = student_judge(judge=SOURCE_FIDELITY, bits=0, named={"worst gap": 5.0})
    assert judge(fidelity, case(HARMLESS)).failed
    sources = tuple(application(tmp_path).assistant("schizophrenia").knowledge.sources.values())
    quoted = "A fixed time for going to bed can help."
    assert judge(fidelity, case(quoted, sources=sources)).decision is Decision.ACCEPT
    invented = "Magnesium tablets and cold showers will always cure people of their tired mornings."
    assert judge(fidelity, case(invented, sources=sources)).decision is Decision.WARNING


@given(st.text(max_size=300), st.text(max_size=100))
def test_whatever_is_written_a_student_gives_a_verdict(reply: str, message: str) -> None:
    """No reply and no message makes a student of any question fail otherwise than by a verdict."""
    for kind in (ROLE_AND_TONE, UNSUPPORTED_CLAIMS, SOURCE_FIDELITY):
        assert judge(student_judge(judge=kind), case(reply, message=message)).judge == kind


def test_signs_of_fidelity_tell_what_was_changed(tmp_path: Path) -> None:
    """A copied sentence shows no difference; a figure, a sure word and a new subject each raise their own sign."""
    sources = tuple(application(tmp_path).assistant("schizophrenia").knowledge.sources.values())
    reader = SignReader(judge=SOURCE_FIDELITY, lexicon=LEXICON)

    def named(reply: str) -> dict[str, float]:
        return dict(reader.read(case(reply, sources=sources)).named)

    assert named("A fixed time for going to bed can help.")["all quoted or nothing said"] == 1
    assert named("A fixed time for going to bed can help 9 people.")["differs in number"] > 0
    assert named("A fixed time for going to bed will always help.")["surer than the source"] > 0
    assert named("Walnuts, magnesium and herbal candles repair nerves.")["worst gap"] > 0.5


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda whole: whole[:-2], "incomplete"),
        (lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]), "digest"),
        (lambda whole: whole.replace(b'"threshold":0.0', b'"threshold":9.0'), "digest"),
        (lambda whole: whole.replace(b'"student":1', b'"student":2'), "another version"),
        (lambda whole: whole.replace(b'"signs":1', b'"signs":0'), "another version"),
        (lambda whole: whole.replace(b'"longest":40', b'"longest":"x"'), "damaged"),
        (lambda whole: b"\x80\x04K\x01.", "no file of a student"),
        (lambda whole: b"", "no file of a student"),
    ],
)
def test_a_file_that_was_changed_is_refused_by_name(tmp_path: Path, spoil: Any, said: str) -> None:
    """A file that is cut off, changed in one bit, of another version or something else is an error with a remedy."""
    path = tmp_path / "student.bin"
    path.write_bytes(spoil(content()))
    with pytest.raises(ConfigurationError, match=said) as caught:
        Student.load(path)
    assert (caught.value.file, "eval distil" in str(caught.value.remedy)) == (path, True)


@given(st.binary(max_size=400))
def test_no_bytes_make_reading_fail_otherwise(raw: bytes) -> None:
    """Whatever stands in a file, reading it gives a student or a ValueError."""
    with pytest.raises(ValueError, match=r"student judge"):
        Student.parse(raw)


def test_a_student_of_another_question_is_refused(tmp_path: Path) -> None:
    """A file must be of the judge that the setting names, and it must be there."""
    path = tmp_path / "student.bin"
    path.write_bytes(content())
    with pytest.raises(ConfigurationError, match="judges role_and_tone and not source_fidelity"):
        Student.load(path, SOURCE_FIDELITY)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Student.load(tmp_path / "none.bin")


def test_a_student_knows_its_lessons() -> None:
    """A reply that it was trained on is recognised whatever its punctuation, another one is not."""
    student = Student.parse(content(lessons=lesson_of(HARMLESS) + lesson_of("other")))
    assert student.knows(HARMLESS.upper().replace(",", ""))
    assert not student.knows(ADVICE)


def team_of(folder: Path, model: Any = None, **files: Path) -> Any:
    settings = CafiSettings(agents="builtin", **{name: {ROLE_AND_TONE: path} for name, path in files.items()})
    base = settings.model_copy(update={"knowledge_base": knowledge_folder(folder / "kb")})
    return Application(settings=base, model=model).assistant("schizophrenia").teams[0]


async def test_a_configured_student_stands_before_the_chief_judge(tmp_path: Path) -> None:
    """With `students` no small model is asked about role and tone; on the student's doubt the chief judges decide."""
    path = tmp_path / "student.bin"
    path.write_bytes(content())
    model = scripted({})
    team = team_of(tmp_path, model, students=path)
    tiers = {"preliminary": team.preliminary, "chief": team.chief}
    (alone,) = await judged(case(HARMLESS), tiers, Ledger())
    assert alone.decision is Decision.ACCEPT
    assert [prompt.role for prompt in model.prompts] == ["unsupported_claims_preliminary"]
    doubted = await judged(case(ADVICE), tiers, Ledger())
    assert [record.stage for record in doubted] == [Stage.PRELIMINARY, Stage.CHIEF]
    assert "role_and_tone_chief" in {prompt.role for prompt in model.prompts}


def test_a_sharpened_judge_takes_the_severer_word(tmp_path: Path) -> None:
    """Beside a built-in judge a student can object but excuse nothing, and has no say outside what it knows."""
    path = tmp_path / "student.bin"
    path.write_bytes(content())
    sharpened = team_of(tmp_path, sharpened=path).chief[ROLE_AND_TONE]
    assert isinstance(sharpened, SharpenedJudge)
    plain = team_of(tmp_path).chief[ROLE_AND_TONE]
    assert judge(sharpened, case(HARMLESS)).decision is Decision.ACCEPT
    assert judge(plain, case(ADVICE)).decision is Decision.ACCEPT
    assert judge(sharpened, case(ADVICE)).decision is Decision.WARNING
    promise = "I promise that I will always be here for you."
    assert judge(sharpened, case(promise)).decision is judge(plain, case(promise)).decision is Decision.REJECT
    assert judge(sharpened, case("YES")).decision is judge(plain, case("YES")).decision


def test_a_damaged_student_stops_the_start(tmp_path: Path) -> None:
    """A setting that names a damaged file is an error before anybody is answered."""
    path = tmp_path / "student.bin"
    path.write_bytes(content()[:-1])
    with pytest.raises(ConfigurationError, match="incomplete"):
        team_of(tmp_path, scripted({}), students=path)


def test_the_shipped_student_can_be_used() -> None:
    """The student of config/students is whole, judges role and tone, and was trained on none of the shipped scenarios."""
    student = Student.load(SHIPPED, ROLE_AND_TONE)
    one = StudentJudge.over(student, LEXICON, tier=Tier.SMALL)
    assert judge(one, case("I promise that I will stay with you for ever and you will be cured.")).decision.severity
    from evaluation.calibration.scenarios import SHIPPED as SCENARIOS
    from evaluation.calibration.scenarios import read_labelled

    assert not any(student.knows(row.reply) for row in read_labelled(SCENARIOS) if len(row.reply.split()) > 1)

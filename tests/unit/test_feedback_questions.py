"""`config/feedback.yaml`: what it must hold, and what a wrong one says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapters.feedback.questions import LANGUAGES, read_questions
from engine.exceptions import ConfigurationError
from tests.feedback import QUESTIONS_FILE, shipped


def changed(tmp_path: Path, change: Callable[[Any], object]) -> Path:
    content = yaml.safe_load(QUESTIONS_FILE.read_text(encoding="utf-8"))
    change(content)
    path = tmp_path / "feedback.yaml"
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")
    return path


def test_the_shipped_questions_are_those_of_the_design() -> None:
    """The shipped file has the five questions, the thumbs and the report, in five languages, with the rare policy."""
    questions = shipped()
    assert [one.id for one in questions] == [
        "helpful",
        "worried",
        "usefulness",
        "clarity",
        "trust",
        "length",
        "found_what_i_needed",
    ]
    policy = questions.policy
    assert (policy.after_answers, policy.every_days, policy.not_after_referral_turns) == (5, 14, 6)
    assert policy.one_question_at_a_time
    for question in questions:
        assert len({question.text.choose(language) for language in LANGUAGES}) == len(LANGUAGES)
        favourable = len(question.favourable)
        assert 0 < favourable < len(question.options) if question.id != "worried" else favourable == 0


def test_every_text_fits_a_poll_of_every_platform() -> None:
    """Callback ids of any question and option fit 64 bytes, and option texts the 55 characters of a Discord poll."""
    for question in shipped():
        for option in question.options:
            assert len(f"f|{question.id}|{option.id}".encode()) <= 64
            assert all(len(option.text.choose(language)) <= 55 for language in LANGUAGES)


def test_an_unknown_language_reads_english() -> None:
    """Somebody whose language has no texts is asked in English."""
    thumbs = shipped().thumbs
    assert thumbs.text.choose("tlh") == thumbs.text.choose(None) == thumbs.text.en
    assert thumbs.text.choose("de") != thumbs.text.en


def drop(*path: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for part in path[:-1]:
            content = content[part]
        del content[path[-1]]

    return change


def put(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        for part in path[:-1]:
            content = content[part]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (drop("questions", 0, "text", "nb"), "questions.0.text.nb"),
        (drop("questions", 1, "options", 0, "text", "fr"), "questions.1.options.0.text.fr"),
        (put("Useful", "questions", 0, "id"), "questions.0.id"),
        (put("a" * 25, "questions", 0, "options", 0, "id"), "questions.0.options.0.id"),
        (put("x" * 121, "questions", 0, "text", "en"), "questions.0.text.en"),
        (put("x" * 56, "questions", 0, "options", 1, "text", "de"), "questions.0.options.1.text.de"),
        (put("two\nlines", "questions", 0, "text", "en"), "questions.0.text.en"),
        (put("", "thumbs", "text", "es"), "thumbs.text.es"),
        (put(0, "policy", "every_days"), "policy.every_days"),
        (put("Tell us more", "questions", 0, "comment"), "questions.0.comment"),
        (drop("questions", 0, "options", slice(1, 9)), "questions.0.options"),
    ],
)
def test_a_fault_is_named_with_file_and_key(tmp_path: Path, change: Callable[[Any], object], key: str) -> None:
    """A missing language, a wrong id or length, or a key for free text is refused with file and key."""
    path = changed(tmp_path, change)
    with pytest.raises(ConfigurationError) as caught:
        read_questions(path)
    assert (caught.value.file, caught.value.key) == (path, key)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("usefulness", "questions", 1, "id"), "there twice"),
        (put("very", "questions", 0, "options", 1, "id"), "there twice"),
        (put("useful", "thumbs", "id"), "'helpful'"),
        (put("Very useful", "questions", 0, "options", 1, "text", "en"), "read the same"),
        (put("sad", "report", "options", 0, "id"), "report: the id must be 'worried' and the options frightened"),
    ],
)
def test_ids_and_texts_are_different(tmp_path: Path, change: Callable[[Any], object], said: str) -> None:
    """Ids that are there twice, options that read the same, and other thumbs are refused."""
    with pytest.raises(ConfigurationError, match=said):
        read_questions(changed(tmp_path, change))

"""The published protocol: from what really runs, in five languages, with the figures of the docs."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from bots.cli.check import findings
from bots.compose import Application
from bots.paths import data_root
from bots.protocol import published_protocol
from bots.settings import CafiSettings, NoticeSettings
from bots.terminal import terminal_chat
from engine import wilson
from engine.settings import ModelSettings
from tests.chats import begun, chat_over, last
from tests.team import scripted, shipped

LANGUAGES = ("de", "en", "es", "fr", "nb")
FIGURES = yaml.safe_load((data_root() / "config" / "protocol.yaml").read_text(encoding="utf-8"))["figures"]
FOUND = str(FIGURES["without_model_danger"]["found"])
"""How many dangerous messages are heard without a model, as it was last measured."""


async def shown(application: Application, language: str) -> str:
    """What `/protocol` says."""
    chat = terminal_chat(application, protocol=published_protocol(application, terminal_chat(application).languages))
    async with application.closing:
        outgoing, _ = await last(chat, begun(chat, language=language, country="no"), command="protocol")
    return outgoing.text


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_protocol_says_what_runs_in_every_language(language: str) -> None:
    """Phrases counted, contacts and how many of them were verified, dangers with eating disorders among them, figures of the
    layers that run, and a version; nothing is left unfilled."""
    application = shipped()
    text = await shown(application, language)
    protocol = published_protocol(application, terminal_chat(application).languages)
    assert str(protocol.facts.phrases) in text and protocol.facts.version in text and FOUND in text
    assert protocol.facts.eating and protocol.said(language).eating in text and "136 of 140" not in text
    assert protocol.said(language).no_judge in text and "{" not in text and not re.search(r"\bNone\b", text)
    assert protocol.said(language).not_reviewed in text


async def test_the_protocol_follows_the_configuration(tmp_path: Path) -> None:
    """With a language model it names where that is and adds its figures; a clinician's review, moderators who are told sums,
    adults only: each changes the words; what decides changes the version, and who reads it does not."""
    builtin = shipped()
    models = ModelSettings(base_url="http://models.example:8000/v1")
    with_model = shipped(CafiSettings(agents="llm", models=models, notices=NoticeSettings(adults_only=True)))
    languages = terminal_chat(builtin).languages
    plain, other = published_protocol(builtin, languages), published_protocol(with_model, languages)
    assert plain.facts.version != other.facts.version == published_protocol(with_model, languages).facts.version
    text = await shown(with_model, "en")
    assert "models.example" in text and "136 of 140" in text and "people of 18 and over" in text
    reviewed = replace(plain, facts=replace(plain.facts, reviewed=True, crisis_notes=True))
    assert plain.said("en").not_reviewed not in reviewed.lead("en")
    chat = chat_over(tmp_path, scripted({}))
    sections = chat.pages.protocol_sections(reviewed, "en", chat.pages.referral(begun(chat)))
    lines = [line for one in sections for line in one.lines]
    assert reviewed.said("en").moderators_told in lines and reviewed.said("en").nobody_told not in lines


def test_the_figures_are_those_of_the_docs() -> None:
    """Each figure of `config/protocol.yaml` stands in docs/urgency.md, as counts or as a share (with its interval, where the
    docs give one), and names commands that measure it again."""
    application = shipped()
    measured = published_protocol(application, terminal_chat(application).languages).measured
    docs = (data_root() / "docs" / "urgency.md").read_text(encoding="utf-8")
    for name, one in measured.figures.items():
        low, high = wilson(one.found, one.of) or (0, 1)
        share = one.found / one.of
        interval = f"{share:.3f} ({low:.3f}–{high:.3f})"
        forms = (f"{one.found} of {one.of}", interval, f"| {share:.3f}, ", f", {share:.4f} |")
        assert any(form in docs for form in forms), name
        for command in one.commands:
            file = re.search(r"--messages (\S+)", command)
            assert file is not None and (file[1] == "FILE" or (data_root() / file[1]).is_file())


@pytest.mark.parametrize(
    ("file", "broken", "named"),
    [
        ("protocol/nb.yaml", None, "nb"),
        (
            "protocol/en.yaml",
            lambda text: text.replace("{count} plain", "{number} plain"),
            "braces must name count, languages",
        ),
        ("protocol.yaml", lambda text: text.replace(f"found: {FOUND}", "found: 1539"), "found is more than of"),
        ("protocol.yaml", lambda text: text.replace("  judge_danger:", "  judge_love:"), "judge_love"),
    ],
)
def test_a_broken_protocol_is_named_before_anybody_reads_it(tmp_path: Path, file: str, broken: Any, named: str) -> None:
    """A missing language, a brace that nothing fills, a figure that cannot be and one nobody knows are errors of `cafi check`."""
    folder = tmp_path / "config"
    shutil.copytree(data_root() / "config", folder)
    shutil.copytree(data_root() / "knowledge_base", tmp_path / "knowledge_base")
    path = folder / file
    if broken is None:
        path.unlink()
    else:
        path.write_text(broken(path.read_text(encoding="utf-8")), encoding="utf-8")
    settings = tmp_path / "cafi.yaml"
    settings.write_text(f"config_folder: {folder}\nagents: builtin\n", encoding="utf-8")
    errors = [one.text for one in findings(settings, None, None) if one.level == "error"]
    assert len(errors) >= 1 and any(named in one for one in errors)

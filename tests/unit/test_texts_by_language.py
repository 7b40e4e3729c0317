"""Reading texts, one file a language: faults that all folders of texts share."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.console_adapter.texts import load_console_texts
from adapters.conversation.texts import load_languages
from adapters.discord_adapter.texts import load_discord_texts
from adapters.moderation.texts import load_moderation_texts
from adapters.web_adapter.texts import load_web_texts
from bots.paths import data_root
from engine.exceptions import ConfigurationError
from engine.texts import Texts

CONFIG = data_root() / "config"
LOADERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "texts": (lambda folder: Texts.load(folder / "en.yaml"), "about {topics}"),
    "chat": (load_languages, "{hours}"),
    "console": (load_console_texts, "{titles}"),
    "discord": (load_discord_texts, "{person}"),
    "discord_moderation": (load_moderation_texts, "{minutes}"),
    "web": (lambda folder: load_web_texts(folder, load_languages(CONFIG / "chat")), "{hours}"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_a_brace_without_a_partner_is_named(name: str, tmp_path: Path) -> None:
    """In each folder of texts, a brace that nobody closed is an error that names the file and the text."""
    load, brace = LOADERS[name]
    folder = shutil.copytree(CONFIG / name, tmp_path / name)
    load(folder)
    file = folder / "en.yaml"
    file.write_text(file.read_text().replace(brace, brace[:-1], 1))
    with pytest.raises(ConfigurationError, match=r"en\.yaml:\d+: .*[a-z_.]+ has a brace without a partner"):
        load(folder)


@pytest.mark.parametrize("name", [one for one in LOADERS if one != "texts"])
def test_a_missing_language_is_named(name: str, tmp_path: Path) -> None:
    """In each folder with several languages, one that is needed and not there is named with the folder and a remedy."""
    load, _ = LOADERS[name]
    folder = shutil.copytree(CONFIG / name, tmp_path / name)
    (folder / "en.yaml").unlink()
    with pytest.raises(ConfigurationError, match=rf"{re.escape(str(folder))}: There are no .* in 'en'\. (Use|Add) "):
        load(folder)


def test_commands_and_purposes_are_all_named(tmp_path: Path) -> None:
    """A command or purpose under another name is an error that names both the missing and the unknown one."""
    for name, old, new in (("discord", "\n  topics:", "\n  topic:"), ("web", "    directory:", "    directories:")):
        folder = shutil.copytree(CONFIG / name, tmp_path / name)
        file = folder / "en.yaml"
        file.write_text(file.read_text().replace(old, new, 1))
        odd = ", ".join(sorted(one.strip(" \n:") for one in (old, new)))
        with pytest.raises(ConfigurationError, match=f"missing or unknown: {odd}"):
            LOADERS[name][0](folder)


FAMILIAR = {"fr": r"tu|toi|ton|ta|tes|te|t'\w+", "de": r"du|dich|dir|dein\w*"}
QUOTED = re.compile(r"«[^»]*»|„[^“]*“|“[^”]*”|\"[^\"]*\"")


@pytest.mark.parametrize("language", ["fr", "de"])
def test_readers_are_addressed_in_one_form(language: str) -> None:
    """French and German say "vous" and "Sie" in what is shown: questions on buttons, answers about the service, sources."""
    root, familiar = data_root(), re.compile(rf"\b(?:{FAMILIAR[language]})\b", re.IGNORECASE)
    asked = [CONFIG / f"service/{language}.md", *root.glob(f"knowledge_base/*/questions/{language}/*.md")]
    shown = [(path, line) for path in asked for line in path.read_text().splitlines() if line.startswith(("? ", "> "))]
    for path in root.glob(f"knowledge_base/*/translations/{language}/*.md"):
        shown += [(path, line) for line in path.read_text().splitlines()]
    assert len(shown) > 5000
    assert [(path.name, line) for path, line in shown if familiar.search(QUOTED.sub("", line))] == []

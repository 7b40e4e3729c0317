"""Settings: what wins over what, and what a wrong one says."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from pydantic import ValidationError

from bots.cli.check import findings
from bots.compose import Application
from bots.settings import CafiSettings, read_settings
from engine.exceptions import ConfigurationError
from engine.settings import AssistantSettings, Limits, ModelSettings
from engine.types import Tier

KEY = "sk-very-secret-1234567890"


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [one for one in os.environ if one.upper().startswith(("CAFI_", "OPENAI_"))]:
        monkeypatch.delenv(name)


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "cafi.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_option_wins_over_environment_over_file_over_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each place of a setting wins over the next: option, environment, file, default."""
    empty, file = written(tmp_path, ""), tmp_path / "full.yaml"
    file.write_text("agents: builtin\nbudget: {calls: 3, seconds: 5}\n", encoding="utf-8")
    assert read_settings(empty).agents == "auto"
    assert read_settings(file).agents == "builtin"
    monkeypatch.setenv("CAFI_AGENTS", "llm")
    monkeypatch.setenv("CAFI_BUDGET__CALLS", "9")
    assert read_settings(file).agents == "llm"
    assert read_settings(file, {"agents": "auto"}).agents == "auto"
    assert read_settings(file, {"agents": None}).agents == "llm"


def test_the_environment_changes_one_key_of_a_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable for one key leaves the file's other keys of the same group alone."""
    monkeypatch.setenv("CAFI_BUDGET__CALLS", "9")
    budget = read_settings(written(tmp_path, "budget: {calls: 3, seconds: 5}\n")).budget
    assert (budget.calls, budget.seconds) == (9, 5)


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("agents: auto\ncolour: red\n", 2, "colour"),
        ("# c\nmodels:\n  largee: x\n", 3, "models.largee"),
        ("agents: sometimes\n", 1, "agents"),
        ("budget:\n  calls: 0\n", 2, "budget.calls"),
        ("crisis:\n  country: no\n", 2, "crisis.country"),
    ],
)
def test_a_wrong_key_or_value_names_file_line_and_key(tmp_path: Path, text: str, line: int, key: str) -> None:
    """An unknown key or a value of the wrong kind in the file is named with its line."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        read_settings(path)
    assert (caught.value.file, caught.value.line, caught.value.key) == (path, line, key)


@pytest.mark.parametrize("text", ["agents: [\n", "- a\n", "a: 2026-02-31\n", "\x00"])
def test_a_file_that_is_no_mapping_is_a_configuration_error(tmp_path: Path, text: str) -> None:
    """Broken YAML in the settings file is a ConfigurationError with the file's name."""
    path = written(tmp_path, text)
    with pytest.raises(ConfigurationError) as caught:
        read_settings(path)
    assert caught.value.file == path
    assert caught.value.line


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}\n"])
def test_an_empty_file_means_the_defaults(tmp_path: Path, text: str) -> None:
    """A settings file with nothing in it is valid."""
    assert read_settings(written(tmp_path, text)) == CafiSettings()


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    """A file named with --config must exist."""
    with pytest.raises(ConfigurationError, match="Check --config"):
        read_settings(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("name", "value"),
    [("CAFI_BUDGET__CALLS", "many"), ("CAFI_ASSISTANTS", "one, two"), ("CAFI_MODELS", "gpt"), ("CAFI_AGENTS", "x")],
)
def test_a_wrong_environment_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """The error for a value from the environment names the variable, not a file."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"environment variable {name}"):
        read_settings(written(tmp_path, ""))


def test_an_empty_variable_counts_as_unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set to nothing changes nothing."""
    monkeypatch.setenv("CAFI_AGENTS", "")
    assert read_settings(written(tmp_path, "agents: builtin\n")).agents == "builtin"


@pytest.fixture
def secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "secrets"
    folder.mkdir()
    monkeypatch.setenv("CAFI_SECRETS_FOLDER", str(folder))
    return folder


def test_secret_files_stand_between_variables_and_the_settings_file(
    tmp_path: Path, secrets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file called as a variable sets one key of its group, yields to that variable, and counts as unset when empty."""
    file = written(tmp_path, "models: {api_key: of-the-file, large: big}\ntelegram: {token: of-the-file}\n")
    for name, text in {"MODELS__API_KEY": f"{KEY}\n", "TELEGRAM__TOKEN": "", "STORAGE__URL": "sqlite:///a.db"}.items():
        (secrets / f"CAFI_{name}").write_text(text, encoding="utf-8")
    (secrets / "passphrase").write_text("is nobody's setting", encoding="utf-8")
    monkeypatch.setenv("CAFI_STORAGE__URL", "sqlite:///b.db")
    settings = read_settings(file)
    assert settings.models.api_key is not None
    assert settings.telegram.token is not None
    assert settings.models.api_key.get_secret_value() == KEY
    assert settings.models.large == "big"
    assert settings.telegram.token.get_secret_value() == "of-the-file"
    assert settings.storage.url == "sqlite:///b.db"
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("CAFI_TELEGRAM__WEBHOOK_SECRET", b"too short"),
        ("CAFI_ASSISTANTS", b"one, two"),
        ("CAFI_MODELS__API_KEY", b"\xff"),
    ],
)
def test_a_wrong_secret_file_is_named_and_not_repeated(
    tmp_path: Path, secrets: Path, name: str, content: bytes
) -> None:
    """The error for a value from a secret file names that file, or its folder where it is no text, and nothing of it."""
    (secrets / name).write_bytes(content)
    with pytest.raises(ConfigurationError) as caught:
        read_settings(written(tmp_path, ""))
    assert caught.value.file in {secrets / name, str(secrets)}
    assert "too short" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("place", ["nowhere", "a_file"])
def test_secret_files_that_cannot_be_looked_for_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """A folder of secrets that is not there, or is none, is named: CAFI never starts without secrets that it should have."""
    (tmp_path / "a_file").touch()
    monkeypatch.setenv("CAFI_SECRETS_FOLDER", str(tmp_path / place))
    with pytest.raises(ConfigurationError, match="CAFI_SECRETS_FOLDER") as caught:
        read_settings(written(tmp_path, ""))
    assert caught.value.file == str(tmp_path / place)


def test_the_key_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither repr, str nor dump of settings holds the key."""
    monkeypatch.setenv("CAFI_MODELS__API_KEY", KEY)
    settings = read_settings(written(tmp_path, ""))
    assert settings.models.api_key is not None
    assert settings.models.api_key.get_secret_value() == KEY
    for shown in (repr(settings), str(settings), str(settings.model_dump()), settings.model_dump_json()):
        assert KEY not in shown
    assert KEY not in repr(Application(settings=settings))


@pytest.mark.parametrize("text", [f"models:\n  apikey: {KEY}\n", f"models:\n  api_key: [{KEY}]\n", f"models: {KEY}\n"])
def test_a_key_in_the_wrong_place_is_not_repeated(tmp_path: Path, text: str) -> None:
    """An error about the key, with everything that caused it, does not hold the key."""
    with pytest.raises(ConfigurationError) as caught:
        read_settings(written(tmp_path, text))
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_openai_api_key_serves_where_no_other_is_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OPENAI_API_KEY is used for OpenAI itself, yields to a configured key and goes to no other server."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    alone = read_settings(written(tmp_path, ""))
    assert alone.models.api_key is not None
    assert alone.uses_llm
    assert KEY not in repr(alone)
    other = read_settings(written(tmp_path, "models: {api_key: other}\n"))
    assert other.models.api_key is not None
    assert other.models.api_key.get_secret_value() == "other"
    assert read_settings(written(tmp_path, "models: {base_url: 'http://127.0.0.1:1/v1'}\n")).models.api_key is None


@pytest.mark.parametrize(
    ("agents", "models", "wanted"),
    [
        ("auto", {}, False),
        ("auto", {"api_key": KEY}, True),
        ("auto", {"base_url": "http://127.0.0.1:1/v1"}, True),
        ("builtin", {"api_key": KEY}, False),
        ("llm", {}, True),
    ],
)
def test_models_are_used_when_asked_for_or_reachable(agents: str, models: dict[str, str], wanted: bool) -> None:
    """Language models run where they are asked for, or a key or address is there and built-in is not asked for."""
    assert CafiSettings(agents=agents, models=ModelSettings.model_validate(models)).uses_llm is wanted


def test_a_role_may_have_a_model_of_its_own() -> None:
    """The name for a role wins over the name of its tier."""
    models = ModelSettings(large="big", small="little", roles={"urgency": "own"})
    assert [models.name_for(role, Tier.SMALL) for role in ("urgency", "other")] == ["own", "little"]
    assert models.name_for("agent", Tier.LARGE) == "big"


def test_requests_are_not_stored_unless_asked_for() -> None:
    """The provider's own log is off by default."""
    assert ModelSettings().store is False


ENDPOINTS = """
models:
  timeout_seconds: 12
  structured_output: prompt
  endpoints:
    - {name: first, base_url: 'http://127.0.0.1:1/v1', large: big, small: little, structured_output: auto}
    - {name: openai, large: gpt-4.1, timeout_seconds: 5, tokens_a_day: 1000}
    - {name: at_home, base_url: 'http://127.0.0.1:2/v1', large: own}
"""


def test_endpoints_have_what_is_theirs_and_what_holds_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys come from the environment, each for its endpoint; OpenAI's own key goes to OpenAI alone."""
    monkeypatch.setenv("CAFI_MODELS__ENDPOINT_KEYS__FIRST", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    settings = read_settings(written(tmp_path, ENDPOINTS))
    first, second, third = settings.models.places.values()
    assert list(settings.models.places) == ["first", "openai", "at_home"] and settings.uses_llm
    assert (first.large, first.small, first.structured_output, first.timeout_seconds) == ("big", "little", "auto", 12)
    assert (second.large, second.small, second.structured_output, second.timeout_seconds) == (
        *("gpt-4.1", "gpt-4.1"),
        *("prompt", 5),
    )
    keys = [one.api_key.get_secret_value() for one in (first, second) if one.api_key]
    assert keys == [KEY, "sk-of-openai"] and third.api_key is None
    assert KEY not in repr(settings) + repr(first) + settings.model_dump_json()
    assert settings.models.preferred == first
    assert Application(settings=settings).provider == "127.0.0.1, OpenAI"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("endpoints: [{name: a, large: m}, {name: a, large: m}]", "a name of its own"),
        ("base_url: 'http://127.0.0.1:1/v1'\n  endpoints: [{name: a, large: m}]", "base_url belongs to one of them"),
        ("large: m\n  endpoints: [{name: a, large: m}]", "large belongs to one of them"),
        ("endpoint_keys: {b: x}\n  endpoints: [{name: a, large: m}]", "no endpoint is called so"),
        ("endpoints: [{name: A b, large: m}]", "models.endpoints.0.name"),
        ("endpoints: [{name: a}]", "models.endpoints.0.large"),
        ("endpoints: [{name: a, large: m, colour: red}]", "models.endpoints.0.colour"),
        ("endpoints: [{name: a, large: m, prices: {m: {prompt: -1}}}]", "models.endpoints.0.prices.m"),
    ],
)
def test_wrong_endpoints_are_named(tmp_path: Path, text: str, words: str) -> None:
    """What is wrong with a list of endpoints is said with file, key and remedy."""
    with pytest.raises(ConfigurationError, match=words) as caught:
        read_settings(written(tmp_path, f"models:\n  {text}\n"))
    assert caught.value.file == tmp_path / "cafi.yaml" and caught.value.remedy


def test_an_endpoint_that_nobody_can_reach_is_named_with_its_variable() -> None:
    """OpenAI's address without a key ends with the variable that mends it."""
    models = ModelSettings.model_validate({"endpoints": [{"name": "second_one", "large": "m"}]})
    with pytest.raises(ConfigurationError, match="CAFI_MODELS__ENDPOINT_KEYS__SECOND_ONE") as caught:
        assert Application(settings=CafiSettings(models=models)).chat_model
    assert caught.value.key == "models.endpoints.second_one.api_key"


def test_limits_of_endpoints_do_where_each_has_one_that_counts(tmp_path: Path) -> None:
    """`cafi check` asks for no other limit where every endpoint has its own; one in money needs prices there."""
    at = "base_url: 'http://127.0.0.1:9/v1', large: m"

    def errors(*endpoints: str) -> list[str | None]:
        listed = "".join(f"\n    - {{{at}, {one}}}" for one in endpoints)
        found = findings(written(tmp_path, f"models:\n  endpoints:{listed}\n"), None, None)
        return [one.problem.key for one in found if one.level == "error"]

    priced = "cost_a_day: 2, prices: {m: {prompt: 1, cached: 1, completion: 1}}"
    assert errors("name: a, tokens_a_day: 9", f"name: b, {priced}") == []
    assert errors("name: a, tokens_a_day: 9", "name: b") == ["spending.tokens_a_day"]
    assert errors("name: a, cost_a_day: 2") == ["models.endpoints.a.cost_a_day"]


@pytest.mark.parametrize("change", [{"message_characters": 5}, {"window_sources": 0}, {"colour": 1}])
def test_limits_refuse_nonsense(change: dict[str, int]) -> None:
    """A limit that would make turns impossible, or is not known, is refused."""
    with pytest.raises(ValidationError):
        Limits.model_validate(change)


def test_an_assistant_id_is_a_plain_word() -> None:
    """An assistant's id cannot be a path."""
    with pytest.raises(ValidationError):
        AssistantSettings(
            id="../x", name="n", audience="a", condition="c", knowledge_base=Path("k"), rules=(), welcome="w"
        )


def test_a_model_without_a_limit_of_spending_is_an_error_of_the_check(tmp_path: Path) -> None:
    """`cafi check` names file, key and remedy where a model may cost without end; one line mends it, and quoting needs none."""
    unlimited = "models: {base_url: 'http://127.0.0.1:9/v1'}\n"

    def errors(text: str, agents: str | None = None) -> list[ConfigurationError]:
        found = findings(written(tmp_path, text), None, agents)
        return [one.problem for one in found if one.level == "error"]

    (problem,) = errors(unlimited)
    assert problem.file == tmp_path / "cafi.yaml" and problem.key == "spending.tokens_a_day"
    assert problem.remedy is not None and "CAFI_SPENDING__TOKENS_A_DAY" in problem.remedy
    assert errors(unlimited, "builtin") == [] == errors(f"{unlimited}spending: {{tokens_a_day: 2000000}}\n")
    (unpriced,) = errors(f"{unlimited}spending: {{cost_a_day: 5}}\n")  # the shipped table of prices is empty
    assert "gpt-4.1" in unpriced.problem and unpriced.key == "spending.tokens_a_day"


@pytest.mark.parametrize(
    "secret", ["", "short", "x" * 23, "x" * 257, "with a blank and more letters", "ünïcödé-letters-are-not-taken"]
)
def test_a_webhook_secret_that_can_be_guessed_is_refused(tmp_path: Path, secret: str) -> None:
    """An empty, short or unsendable secret is a fault with file, line, key and remedy, and is not repeated."""
    path = written(tmp_path, f'telegram:\n  webhook_url: https://example.org/x\n  webhook_secret: "{secret}"\n')
    with pytest.raises(ConfigurationError) as caught:
        read_settings(path)
    assert (caught.value.file, caught.value.line, caught.value.key) == (path, 3, "telegram.webhook_secret")
    assert "openssl rand -hex 32" in str(caught.value)
    assert not secret or secret not in str(caught.value)


@pytest.mark.parametrize("secret", ["x" * 24, "Ab0_-" * 51])
def test_a_webhook_secret_that_telegram_takes_is_taken(tmp_path: Path, secret: str) -> None:
    """24 to 256 letters, digits, underscores and dashes."""
    taken = read_settings(written(tmp_path, f"telegram:\n  webhook_secret: {secret}\n")).telegram.webhook_secret
    assert taken is not None and taken.get_secret_value() == secret

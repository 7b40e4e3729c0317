"""The secret file: whole or refused, private, and exchanged without losing what lies under the former one."""

from __future__ import annotations

import json
from pathlib import Path
from secrets import token_hex

import pytest

from adapters.storage.keyring_file import (
    InboxKey,
    from_texts,
    load,
    make_inbox_key,
    pruned,
    read_inbox_key,
    rotated,
    save,
)
from adapters.storage.seal import Keyring, Secret
from engine.exceptions import ConfigurationError

KEYRING = Keyring(current=Secret.random(), former=(Secret.random(),))


def test_a_keyring_comes_back_as_it_was(tmp_path: Path) -> None:
    """What is saved is what is loaded, in a file that only its owner can read, with nothing left beside it."""
    path = tmp_path / "new folder" / "secret.json"
    save(path, KEYRING)
    assert load(path) == KEYRING
    assert path.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["secret.json"]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", '{"current": "00"}', '{"current": 5, "former": []}', '{"current": "zz", "former": []}',
     json.dumps({"current": "00" * 31, "former": []}), json.dumps({"current": "00" * 32, "former": ["00"]}), "é" * 40],
)  # fmt: skip
def test_a_damaged_file_is_named_with_its_remedy(tmp_path: Path, content: str) -> None:
    """A cut-off or changed secret file is refused, naming file and remedy, and is left as it is."""
    path = tmp_path / "secret.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"secret\.json: .*Put the file back"):
        load(path)
    assert path.read_text(encoding="utf-8") == content


def test_every_cut_of_the_file_is_noticed(tmp_path: Path) -> None:
    """However much of the secret file is missing, it is refused."""
    path = tmp_path / "secret.json"
    save(path, KEYRING)
    whole = path.read_text(encoding="ascii")
    for length in range(len(whole)):
        path.write_text(whole[:length], encoding="ascii")
        with pytest.raises(ConfigurationError):
            load(path)


@pytest.mark.parametrize("text", ["", "x" * 64, "correct horse battery staple correct horse battery", "0" * 64, "ab" * 40,
                                  "0123456789abcdef" * 4 + "g", token_hex(31)])  # fmt: skip
def test_a_secret_that_can_be_guessed_is_refused(text: str) -> None:
    """A present secret from the settings has 64 random hexadecimal digits; the error says how to make one."""
    with pytest.raises(ConfigurationError, match="openssl rand -hex 32"):
        from_texts(text)


def test_a_former_secret_may_be_what_was_taken_before() -> None:
    """What lies under a phrase of 32 characters opens while it is among the former secrets, and no shorter one is taken."""
    new = token_hex(32)
    assert from_texts(new, ["y" * 32]) == Keyring(current=Secret(new.encode()), former=(Secret(b"y" * 32),))
    with pytest.raises(ConfigurationError, match="shorter than 32"):
        from_texts(new, ["y" * 31])


def test_rotation_keeps_every_former_secret() -> None:
    """After a rotation a new secret is in use and all earlier ones are former ones."""
    after = rotated(KEYRING)
    assert after.current not in tuple(KEYRING)
    assert after.former == tuple(KEYRING)


def test_pruning_never_drops_the_present_secret() -> None:
    """Pruning takes out the former secrets that are named, and nothing else."""
    former = KEYRING.former[0]
    assert pruned(KEYRING, [former.id, KEYRING.current.id]) == Keyring(current=KEYRING.current)
    assert pruned(KEYRING, []) == KEYRING


def test_reading_the_inbox_key_never_writes_it(tmp_path: Path) -> None:
    """A missing or damaged inbox key is told, and stays as it is; a whole one is the same for whoever reads it."""
    path = tmp_path / "inbox.key"
    assert read_inbox_key(path) is None and not path.exists()
    with pytest.raises(ConfigurationError, match=r"inbox\.key: .*`cafi run` makes one"):
        InboxKey(path).seal("waiting", b"", b"words")
    make_inbox_key(path)
    sealed = InboxKey(path).seal("waiting", b"", b"words")
    assert InboxKey(path).open("waiting", b"", sealed) == b"words"
    cut = path.read_text(encoding="ascii")[:20]
    path.write_text(cut, encoding="ascii")
    assert read_inbox_key(path) is None and path.read_text(encoding="ascii") == cut


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A secret that cannot be written gives the file and the remedy."""
    (tmp_path / "file").write_text("", encoding="ascii")
    with pytest.raises(ConfigurationError, match=r"file.*rights"):
        save(tmp_path / "file" / "secret.json", KEYRING)

"""The form of a backup: it opens whole under its passphrase, or not at all."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.storage.backup_file import BackupContent, BackupHead, read_backup, read_head, write_backup
from engine.exceptions import ConfigurationError

FILE = Path("monday")
PASSPHRASE = "drei kleine Hühner im Schnee"
PIECE = 65_536


def written(plain: bytes, passphrase: str = PASSPHRASE) -> bytes:
    target = io.BytesIO()
    head = BackupHead(content=BackupContent.DATABASE, revision="0004", hour=497_000, cost=10)
    write_backup(target, head, plain, passphrase)
    return target.getvalue()


def opened(content: bytes, passphrase: str = PASSPHRASE) -> bytes:
    source = io.BytesIO(content)
    head = read_head(source, FILE, BackupContent.DATABASE)
    assert (head.revision, head.hour) == ("0004", 497_000)
    return b"".join(read_backup(source, FILE, head, passphrase))


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE])
def test_what_was_written_comes_back(size: int) -> None:
    """Whatever its length, the content comes back under its passphrase, and stands nowhere in the file in clear."""
    plain = bytes(range(256)) * (size // 256 + 1)
    sealed = written(plain[:size])
    assert opened(sealed) == plain[:size]
    assert size < 32 or plain[:32] not in sealed


def test_a_passphrase_is_the_same_from_every_keyboard() -> None:
    """Letters that are written with other code points open the file, and another passphrase is told from damage."""
    sealed = written(b"words", "drei Hu\u0308hner im Schnee")
    assert opened(sealed, "drei H\u00fchner im Schnee") == b"words"
    with pytest.raises(ConfigurationError, match=r"^monday: The passphrase does not open it\."):
        opened(sealed, "drei Huhner im Schnee")
    assert opened(written(b"words", "from the environment \udcff"), "from the environment \udcff") == b"words"


def test_the_same_content_twice_gives_two_files_that_share_nothing() -> None:
    """Salt and key are new each time, so no piece of one backup can stand in another or tell that they are alike."""
    first, second = written(b"w" * 3 * PIECE), written(b"w" * 3 * PIECE)
    start = len(first) - 3 * (PIECE + 16)
    assert first[start : start + PIECE] != second[start : start + PIECE]
    with pytest.raises(ConfigurationError, match="cut off or damaged"):
        opened(first[:start] + second[start:])


def test_pieces_keep_their_order_and_number() -> None:
    """Exchanged, doubled and left out pieces, and whatever stands behind the last, are damage."""
    sealed = written(b"".join(bytes([one]) * PIECE for one in range(3)))
    step = PIECE + 16
    start = len(sealed) - 3 * step
    head, pieces = sealed[:start], [sealed[start + one * step : start + (one + 1) * step] for one in range(3)]
    for order in ((1, 0, 2), (0, 0, 1, 2), (0, 2), (0, 1), (0,), ()):
        with pytest.raises(ConfigurationError, match="cut off or damaged"):
            opened(head + b"".join(pieces[one] for one in order))
    with pytest.raises(ConfigurationError, match="cut off or damaged"):
        opened(sealed + b"x")


SEALED = written(b"words " * 20_000)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_no_changed_byte_and_no_cut_gets_through(data: st.DataObject) -> None:
    """One sentence with file and remedy comes of every file that was cut off or changed anywhere, and never its content."""
    if data.draw(st.booleans(), "cut"):
        changed = SEALED[: data.draw(st.integers(0, len(SEALED) - 1), "length")]
    else:
        place = data.draw(st.integers(0, 90) | st.integers(0, len(SEALED) - 1), "place")
        mask = data.draw(st.integers(1, 255), "mask")
        changed = SEALED[:place] + bytes([SEALED[place] ^ mask]) + SEALED[place + 1 :]
    source = io.BytesIO(changed)
    with pytest.raises(ConfigurationError) as caught:
        b"".join(read_backup(source, FILE, read_head(source, FILE, BackupContent.DATABASE), PASSPHRASE))
    assert caught.value.file == FILE and caught.value.remedy


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200).filter(lambda one: not one.startswith(SEALED[:8])))
def test_a_foreign_file_is_told_as_one(content: bytes) -> None:
    """Whatever is no backup is called none, before anybody is asked for a passphrase."""
    with pytest.raises(ConfigurationError, match="It is no backup of CAFI's"):
        read_head(io.BytesIO(content), FILE, BackupContent.DATABASE)

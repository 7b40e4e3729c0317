"""Sealing: what opens what, and what the database with the secret alone gives away."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.storage.identity import ChatIdentity
from adapters.storage.seal import SECRET_BYTES, Keyring, Secret
from engine.exceptions import SealBroken

SECRET = Secret(b"s" * SECRET_BYTES)
PURPOSES = st.sampled_from(("state", "waiting", "poll"))
PARTS = st.text(alphabet="0123456789-:abc", max_size=12)
IDENTITIES = st.builds(ChatIdentity, platform=PARTS, chat=PARTS, user=PARTS, thread=PARTS)


@given(PURPOSES, st.binary(max_size=40), st.binary(max_size=300))
def test_what_is_sealed_opens_again(purpose: str, context: bytes, plain: bytes) -> None:
    """The same secret, purpose and context give back every byte."""
    assert SECRET.open(purpose, context, SECRET.seal(purpose, context, plain)) == plain


@given(st.binary(min_size=1, max_size=60), st.data())
def test_nothing_that_was_changed_opens(plain: bytes, data: st.DataObject) -> None:
    """One flipped bit anywhere, the secret's id and the form's number included, and nothing opens."""
    sealed = bytearray(SECRET.seal("state", b"chat", plain))
    at = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[at // 8] ^= 1 << at % 8
    with pytest.raises(SealBroken):
        SECRET.open("state", b"chat", bytes(sealed))


@pytest.mark.parametrize("length", [0, 1, 5, 16, 17, 30])
def test_what_is_cut_off_does_not_open(length: int) -> None:
    """A sealed text that is cut off anywhere gives an error of ours and no other."""
    with pytest.raises(SealBroken):
        SECRET.open("state", b"chat", SECRET.seal("state", b"chat", b"words")[:length])


@pytest.mark.parametrize(("purpose", "context"), [("waiting", b"chat"), ("state", b"other"), ("state", b"")])
def test_another_purpose_or_chat_opens_nothing(purpose: str, context: bytes) -> None:
    """What is sealed for one purpose and chat opens for no other."""
    sealed = SECRET.seal("state", b"chat", b"words")
    with pytest.raises(SealBroken):
        SECRET.open(purpose, context, sealed)


def test_another_secret_opens_nothing() -> None:
    """A secret opens only what was sealed under it."""
    with pytest.raises(SealBroken):
        Secret.random().open("state", b"chat", SECRET.seal("state", b"chat", b"words"))


def test_a_keyring_opens_what_any_of_its_secrets_sealed() -> None:
    """Under the present and former secrets a keyring opens what each has sealed, and nothing of another one's."""
    former = Secret.random()
    keyring = Keyring(current=SECRET, former=(former,))
    assert [keyring.open("state", b"chat", one.seal("state", b"chat", b"words")) for one in keyring] == [b"words"] * 2
    assert keyring.names("poll", b"7") == (SECRET.keyed("poll", b"7"), former.keyed("poll", b"7"))
    for sealed in (Secret.random().seal("state", b"chat", b"words"), former.seal("state", b"other", b"words")):
        with pytest.raises(SealBroken):
            keyring.open("state", b"chat", sealed)


def test_the_same_words_never_look_the_same() -> None:
    """Sealing the same text twice gives different bytes."""
    assert SECRET.seal("state", b"chat", b"words") != SECRET.seal("state", b"chat", b"words")


@given(IDENTITIES, IDENTITIES)
def test_two_identities_are_never_written_alike(one: ChatIdentity, other: ChatIdentity) -> None:
    """Names and keys are made of bytes that are equal for equal identities only, however their parts are divided."""
    assert (one.canonical() == other.canonical()) == (one == other)


def test_the_names_for_different_purposes_are_unrelated() -> None:
    """The pseudonyms of one chat in different tables cannot be matched."""
    assert SECRET.keyed("chat", b"1") != SECRET.keyed("asked", b"1")


def test_a_secret_is_never_printed() -> None:
    """Neither a secret nor a keyring shows the secret when it is written out."""
    assert "ssss" not in repr(Keyring(current=SECRET)) and "7373" not in repr(SECRET)

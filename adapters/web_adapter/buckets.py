"""How much one address or session may ask of the page. An address is known here only as a keyed hash, in memory."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

_MOST = 20_000


@dataclass(frozen=True, kw_only=True)
class Addresses:
    """Names for addresses that mean nothing outside this process: the key is made anew at every start."""

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def name(self, address: str) -> bytes:
        """The name of an address, of all of its household."""
        return hashlib.blake2b(household(address), key=self.key, digest_size=16).digest()


def household(address: str) -> bytes:
    """An IPv4 address, or the /64 of an IPv6 address: one household has all of that."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address.encode()
    mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
    return mapped.packed if mapped else parsed.packed[:8]


def forwarded(peer: str, header: str, trusted: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> str:
    """The address a request comes from: the last in X-Forwarded-For that is no proxy of ours, where one of ours says so.

    What stands further left was written by somebody we do not know.
    """
    address = peer
    for one in reversed([part.strip() for part in header.split(",") if part.strip()]):
        if not is_within(address, trusted):
            break
        address = one
    return address


def is_within(address: str, networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    """Whether an address lies in one of some networks."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(parsed.version == one.version and parsed in one for one in networks)


@dataclass(kw_only=True)
class Buckets:
    """A token bucket for each key: `a_minute` in the long run, that many at once at most. Keys are held as keyed hashes."""

    a_minute: int
    clock: Callable[[], float] = time.monotonic
    _secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    _left: OrderedDict[bytes, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, key: bytes) -> bool:
        """Whether one more is within the limit."""
        now, key = self.clock(), hashlib.blake2b(key, key=self._secret, digest_size=16).digest()
        left, at = self._left.pop(key, (float(self.a_minute), now))
        left = min(float(self.a_minute), left + (now - at) * self.a_minute / 60)
        allowed = left >= 1
        self._left[key] = (left - 1 if allowed else left, now)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)
        return allowed

    def sweep(self) -> None:
        """Forget the keys that could take as many again as new ones."""
        now = self.clock()
        while self._left and next(iter(self._left.values()))[1] < now - 60:
            self._left.popitem(last=False)


@dataclass(frozen=True, kw_only=True)
class AddressBuckets:
    """What one address may do in a minute. `refused`: posts that get a page of their own; then all get the same one."""

    begun: Buckets
    messages: Buckets
    refused: Buckets


@dataclass(kw_only=True)
class Places:
    """How many streams may be open: overall, for one address, for one session."""

    overall: int
    an_address: int
    a_session: int
    open: int = 0
    _held: Counter[bytes] = field(default_factory=Counter)

    def free(self, address: bytes, session: bytes) -> bool:
        """Whether there is room for one more."""
        return (
            self.open < self.overall
            and self._held[b"a" + address] < self.an_address
            and self._held[b"s" + session] < self.a_session
        )

    @contextmanager
    def hold(self, address: bytes, session: bytes) -> Iterator[bool]:
        """Take a place and give it back at the end; False where there is none (any more)."""
        if not self.free(address, session):
            yield False
            return
        keys = (b"a" + address, b"s" + session)
        self.open += 1
        self._held.update(keys)
        try:
            yield True
        finally:
            self.open -= 1
            self._held.subtract(keys)
            for key in keys:
                if not self._held[key]:
                    del self._held[key]

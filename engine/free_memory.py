"""Memory that is not needed any more, handed back to the system."""

from __future__ import annotations

import ctypes


def hand_back() -> None:
    """Let the system have what freed objects held: after an index was built that is as much as the index. Only where the C
    library is one that keeps it (glibc); elsewhere nothing happens."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

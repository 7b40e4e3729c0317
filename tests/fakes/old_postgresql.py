"""A PostgreSQL server of an earlier year: it lets everybody in, tells its version, and answers nothing else."""

from __future__ import annotations

import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ENCRYPTION = {80877103, 80877104}
"""Requests to encrypt, by TLS or GSSAPI."""


def _packet(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


class _Handler(socketserver.StreamRequestHandler):
    version: str

    def handle(self) -> None:
        while True:
            head = self.rfile.read(8)
            if len(head) < 8:
                return
            length, code = struct.unpack(">ii", head)
            if code not in _ENCRYPTION:
                break
            self.wfile.write(b"N")
        self.rfile.read(length - 8)
        status = b"server_version\x00" + self.version.encode() + b"\x00"
        self.wfile.write(_packet(b"R", struct.pack(">i", 0)) + _packet(b"S", status) + _packet(b"Z", b"I"))
        self.rfile.read(1)  # whatever is asked then ends it


@contextmanager
def old_postgresql(version: str) -> Iterator[int]:
    """The port of a server of this version, until the block ends."""
    handler = type("Handler", (_Handler,), {"version": version})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()

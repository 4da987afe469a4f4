"""A key that tasks on other machines need, and that is on no disk and in no log: it is sent in two halves.

One half travels with the function that Spark sends, and may be kept on disks on the way. The other is in the memory of
the driver, which hands it, over a connection of its own, to whoever shows that they have the first.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

from microtome.errors import MicrotomeError

_SECONDS = 60.0


@contextmanager
def handed_out(key: bytes, host: str) -> Iterator[tuple[bytes, int]]:
    """The half that travels, and the port of this machine at which the other is to be had for as long as this lasts."""
    travelling = secrets.token_bytes(len(key))
    kept, wanted = _either(key, travelling), _token(travelling)

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            self.request.settimeout(_SECONDS)
            if hmac.compare_digest(_received(self.request, len(wanted)), wanted):
                self.request.sendall(kept)

    class Server(ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Whoever asks and goes is none of ours."""

    with Server((host, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield travelling, int(server.server_address[1])
        finally:
            server.shutdown()


def whole_key(travelling: bytes, host: str, port: int) -> bytes:
    """The key, on a machine that has the half that travelled."""
    try:
        with socket.create_connection((host, port), timeout=_SECONDS) as connection:
            connection.sendall(_token(travelling))
            kept = _received(connection, len(travelling))
    except OSError as error:
        raise MicrotomeError(f"an executor cannot reach the driver at {host}:{port} for the key: {error}") from error
    if len(kept) != len(travelling):
        raise MicrotomeError(f"the driver at {host}:{port} does not give the key; nothing is released")
    return _either(travelling, kept)


def _token(travelling: bytes) -> bytes:
    """What shows that somebody has the half that travelled, and does not tell it."""
    return hashlib.blake2b(b"ask", key=travelling, digest_size=32, person=b"microtome-key").digest()


def _received(connection: socket.socket, size: int) -> bytes:
    """So many bytes, or fewer if there are no more."""
    found = b""
    while len(found) < size and (more := connection.recv(size - len(found))):
        found += more
    return found


def _either(first: bytes, second: bytes) -> bytes:
    """Where two texts of bits differ: of a key and random bits the other half, and of both halves the key."""
    return bytes(one ^ other for one, other in zip(first, second, strict=True))

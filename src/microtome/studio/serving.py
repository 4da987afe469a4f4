"""The studio, started on a port of the loopback interface, and ended without leaving uploads or unfinished work."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from microtome.errors import ParameterError
from microtome.studio.access import LOOPBACK, Access
from microtome.studio.application import make_application
from microtome.studio.desk import Desk

FOLDER = "microtome-studio"
"""The name of private folders, among the system's temporary files."""
_QUEUE = 64
_SECONDS_TO_FINISH = 5


@dataclass(frozen=True, kw_only=True)
class Studio:
    """A studio that listens, and answers once it runs.

    Attributes:
        access: Its address.
        desk: Its desk.
        server: What answers.
        listening: The socket.
    """

    access: Access
    desk: Desk
    server: uvicorn.Server
    listening: socket.socket

    def run(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Answer until it is ended; then stop work that is under way, and wait for it.

        Args:
            tell: Told why it takes so long, if somebody is impatient.
        """
        try:
            self.server.run(sockets=[self.listening])
        finally:
            self.finish(tell)

    def finish(self, tell: Callable[[str], None] = lambda _: None) -> None:
        """Stop work that is under way, and wait for it however often Ctrl-C is pressed.

        Whoever removed the private folder before that would take the table away under a release that may be paid for.
        """
        while self.desk.is_busy:
            try:
                self.desk.stop()
                self.desk.wait()
            except KeyboardInterrupt:
                tell("Work is still being ended, so that nothing is lost or left half-done; wait a moment.")

    def end(self) -> None:
        """Have it end soon."""
        self.server.should_exit = True


@contextmanager
def studio_at(port: int, desk: Desk) -> Iterator[Studio]:
    """A studio at a port of the loopback interface; 0 takes any that is free."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listening:
        _bind(listening, port)
        access = Access(port=listening.getsockname()[1])
        ends: list[Callable[[], None]] = []
        application = make_application(desk, access, lambda: ends[0]())
        config = uvicorn.Config(
            application,
            access_log=False,
            log_level="critical",
            server_header=False,
            timeout_graceful_shutdown=_SECONDS_TO_FINISH,
            lifespan="off",
            proxy_headers=False,
        )
        studio = Studio(access=access, desk=desk, server=uvicorn.Server(config), listening=listening)
        ends.append(studio.end)
        try:
            yield studio
        finally:
            studio.finish()


def _bind(listening: socket.socket, port: int) -> None:
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((LOOPBACK, port))
        listening.listen(_QUEUE)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ParameterError(f"port {port} cannot be had: {reason}; give another, or 0 for any that is free") from None

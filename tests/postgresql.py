"""A PostgreSQL server for the tests: a real one, on a free port of this machine, in a folder of its own, stopped after.

Debian's package has it (``make postgresql``). The server refuses to run as root, so root starts it as somebody else.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PATIENCE = 60.0


def programs() -> Path | None:
    """Where the server's programs are; ``None`` where there is none, or nobody to run it as."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    named = shutil.which("initdb")
    if not found and named is None:
        return None
    if os.getuid() == 0 and _user() is None:
        return None
    return found[-1].parent if found else Path(str(named)).parent


def _user() -> str | None:
    """Whom root runs it as."""
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in ("postgres", "nobody") if name in known), None)


@contextmanager
def server() -> Iterator[str]:
    """The address of a database on a server that runs as long as this lasts."""
    place = programs()
    if place is None:
        pytest.skip("no PostgreSQL here, and 'make postgresql' could not install it")
    user = _user() if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="microtome-postgresql-", dir="/tmp"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        data, port = folder / "data", _free_port()
        initialise = [place / "initdb", "-D", data, "-U", "holder", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run([*initialise, "--locale=C"], user=user, cwd=folder, check=True, capture_output=True)
        options = ["-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"]
        with (folder / "log").open("wb") as log:
            running = subprocess.Popen(
                [place / "postgres", "-D", data, *options], user=user, cwd=folder, stdout=log, stderr=log
            )
        try:
            _wait(place / "pg_isready", port, running, folder / "log")
            yield f"postgresql://holder@127.0.0.1:{port}/postgres"
        finally:
            running.send_signal(2)  # fast shutdown: connections are ended
            running.wait(_PATIENCE)
    finally:
        shutil.rmtree(folder)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(ready: Path, port: int, running: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while subprocess.run([ready, "-h", "127.0.0.1", "-p", str(port)], capture_output=True, check=False).returncode:
        if running.poll() is not None or time.monotonic() > until:
            raise AssertionError(f"the server did not start: {log.read_text(encoding='utf-8')}")
        time.sleep(0.1)

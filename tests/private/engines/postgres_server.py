"""A PostgreSQL server of our own, in a temporary folder, run by somebody who is not root; skips without one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.skip("there is no PostgreSQL server (Debian: apt install postgresql)")
    return found[-1].parent if found else Path(str(on_path)).resolve().parent


def _owner() -> dict[str, int]:
    """Whom the server runs as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid}
    pytest.skip("PostgreSQL does not run as root, and there is nobody else")


@contextmanager
def postgres() -> Iterator[str]:
    """How to reach a server that lives as long as this."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries, owner = _binaries(), _owner()
    folder = Path(tempfile.mkdtemp(prefix="microtome-postgres-"))
    if owner:
        os.chown(folder, owner["user"], owner["group"])
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    data, run = folder / "data", {"check": True, "capture_output": True, "cwd": folder, **owner}
    if owner:
        run["extra_groups"] = []
    control = [str(binaries / "pg_ctl"), "-D", str(data), "-w"]
    try:
        subprocess.run(
            [binaries / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-N"],
            **run,
        )
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -c fsync=off"
        subprocess.run(
            [*control, "-l", str(folder / "log"), "-o", options, "start"], **{**run, "capture_output": False}
        )
        try:
            yield f"host=127.0.0.1 port={port} user=tester dbname=postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], **run)
    finally:
        shutil.rmtree(folder)

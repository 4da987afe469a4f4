"""What the system itself refuses, also where C code asks for it: large files, memory, and room on the disk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cases import CASES, Case
from trial import Trials

FILE_SIZES = (1_000, 2_000, 4_000, 8_000, 16_000, 64_000)
MEMORY = (8 << 20, 32 << 20, 64 << 20, 128 << 20)
"""Above what is in use."""
ROOM = (0, 4 << 10, 16 << 10, 64 << 10)
_DISK = 4 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own, where the system lets us have one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a disk that fills up has to be mounted, which only root may do")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_that_may_not_grow(case: Case, trials: Trials) -> None:
    for size in FILE_SIZES:
        trials.run(case, {"limits": {"file": size}})
    trials.conclude(f"files that may not grow: {case.name}")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_memory_that_ends(case: Case, trials: Trials) -> None:
    for size in MEMORY:
        trials.run(case, {"limits": {"memory": size}})
    trials.conclude(f"memory that ends: {case.name}")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_disk_that_is_full(case: Case, trials: Trials, disk: Path) -> None:
    full = replace(trials, folder=disk, before=lambda room: fill(disk, room), after=lambda: (disk / "filler").unlink())
    for room in ROOM:
        full.run(case, {"room": room})
    full.conclude(f"a full disk: {case.name}")


def fill(disk: Path, room: int) -> None:
    """Take all room of a disk but so many bytes."""
    free = os.statvfs(disk)
    (disk / "filler").write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - room)))

"""A process with a limit on time and on memory, both enforced from outside and both reported.

Time is processor time, so that a busy machine does not turn a slow method into a failed one; a wall-clock limit far
above it ends what only waits.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import psutil

_LOOK_EVERY = 0.25
_LAST_LINES = 3
_WALL_FACTOR = 10.0


class Outcome(StrEnum):
    """How a run ended."""

    OK = "ok"
    TIME = "time limit"
    MEMORY = "memory limit"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What became of a process.

    Attributes:
        outcome: How it ended.
        reason: For people; empty where it ended well.
        wall_seconds: Wall time.
        processor_seconds: Processor time of the process and its children, as last seen.
        peak_mebibytes: The most memory that they held at a time. Both are looked at four times a second.
    """

    outcome: Outcome
    reason: str
    wall_seconds: float
    processor_seconds: float
    peak_mebibytes: float


@dataclass
class _Use:
    """What a process and its children have used so far."""

    process: psutil.Process
    processor_seconds: float = 0.0
    peak_mebibytes: float = 0.0

    def look(self) -> None:
        """Add what is to be seen now; children that ended are in the times of their parent."""
        try:
            family = [self.process, *self.process.children(recursive=True)]
            times = [one.cpu_times() for one in family]
            held = sum(one.memory_info().rss for one in family) / 2**20
        except psutil.NoSuchProcess:
            return
        own = sum(time.user + time.system for time in times)
        ended = times[0].children_user + times[0].children_system
        self.processor_seconds = max(self.processor_seconds, own + ended)
        self.peak_mebibytes = max(self.peak_mebibytes, held)


def run_limited(
    command: Sequence[str | Path], *, env: Mapping[str, str], log: Path, seconds: float, mebibytes: float
) -> Ended:
    """Run a command to its end or to its limits; it and whatever it started are gone afterwards."""
    clock = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(part) for part in command], env=dict(env), stdout=output, stderr=output, start_new_session=True
        )
    use = _Use(psutil.Process(process.pid))
    try:
        verdict = _watch(process, use, clock, seconds, mebibytes)
    finally:
        _end_session(process)
    outcome, reason = verdict or _verdict_of_exit(process.returncode, log)
    return Ended(
        outcome=outcome,
        reason=reason,
        wall_seconds=time.perf_counter() - clock,
        processor_seconds=use.processor_seconds,
        peak_mebibytes=use.peak_mebibytes,
    )


def _watch(
    process: subprocess.Popen[bytes], use: _Use, clock: float, seconds: float, mebibytes: float
) -> tuple[Outcome, str] | None:
    """Wait for the end of a process; the limit that it exceeded, if it did."""
    while process.poll() is None:
        use.look()
        if use.processor_seconds > seconds:
            return Outcome.TIME, f"not done after {seconds:.0f} s of processor time"
        if time.perf_counter() - clock > _WALL_FACTOR * seconds:
            return Outcome.TIME, f"not done after {_WALL_FACTOR * seconds:.0f} s"
        if use.peak_mebibytes > mebibytes:
            return Outcome.MEMORY, f"more than {mebibytes:.0f} MiB after {use.processor_seconds:.0f} s"
        time.sleep(_LOOK_EVERY)
    return None


def _verdict_of_exit(code: int, log: Path) -> tuple[Outcome, str]:
    if code == 0:
        return Outcome.OK, ""
    return Outcome.FAILED, _last_words(log) or f"exit code {code}"


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """End whatever is left of the session that the process leads."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:])[-500:]

"""Limits on time and memory hold, and every end of a run is told apart."""

import os
import sys
import time

import psutil
import pytest

from processes import Outcome, run_limited


def run(tmp_path, code, *, seconds=30.0, mebibytes=2000.0):
    command = [sys.executable, "-c", code]
    return run_limited(command, env=os.environ, log=tmp_path / "log.txt", seconds=seconds, mebibytes=mebibytes)


def test_a_run_that_ends_well_has_no_reason(tmp_path):
    ended = run(tmp_path, "import time; time.sleep(0.6)")
    assert ended.outcome is Outcome.OK
    assert ended.reason == ""
    assert ended.peak_mebibytes > 1


def test_a_failure_keeps_the_last_words(tmp_path):
    ended = run(tmp_path, "print('before'); raise ValueError('no such column')")
    assert ended.outcome is Outcome.FAILED
    assert "no such column" in ended.reason


def test_a_failure_without_words_keeps_its_code(tmp_path):
    assert run(tmp_path, "raise SystemExit(7)").reason == "exit code 7"


def test_processor_time_is_limited(tmp_path):
    clock = time.perf_counter()
    ended = run(tmp_path, "while True: pass", seconds=0.5)
    assert ended.outcome is Outcome.TIME
    assert "processor time" in ended.reason
    assert time.perf_counter() - clock < 20


def test_a_run_that_only_waits_is_ended_too(tmp_path):
    ended = run(tmp_path, "import time; time.sleep(60)", seconds=0.15)
    assert ended.outcome is Outcome.TIME
    assert ended.wall_seconds < 20


def test_time_of_children_counts_and_they_are_ended(tmp_path):
    note = tmp_path / "child.txt"
    code = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'while True: pass'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
        "child.wait()"
    )
    ended = run(tmp_path, code, seconds=0.6)
    assert ended.outcome is Outcome.TIME
    child = int(note.read_text())
    for _ in range(50):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.1)
    pytest.fail("the child is still running")


def test_memory_is_limited(tmp_path):
    ended = run(
        tmp_path,
        "block = bytearray(400 << 20)\nfor i in range(0, len(block), 4096): block[i] = 1\nimport time; time.sleep(30)",
        mebibytes=200.0,
    )
    assert ended.outcome is Outcome.MEMORY
    assert ended.peak_mebibytes > 200

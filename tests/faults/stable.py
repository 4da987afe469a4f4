"""A process that has imported everything, and forks a run of the command line for every job that it is given.

A fork takes milliseconds where a start takes seconds, and whatever a fault does to the run dies with it. Requests and
answers are lines of JSON. The jobs of a request run at once.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch
from file_calls import CallFault, FileCalls
from lines import LineFault, Lines

import microtome
from microtome.cli import main

_CRASHED = 99
HUNG = 98
_STOPS = (signal.SIGINT, signal.SIGTERM)
_POLL = 0.002


def serve() -> None:
    """Answer requests until there are no more."""
    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(microtome.__path__, "microtome."):
        importlib.import_module(module.name)
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)  # they are for runs, and wait there until a run begins
    answers = os.dup(1)
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        _import(request.get("modules", ()))
        answer = _run(request["jobs"], request["patience"])
        os.write(answers, (json.dumps(answer) + "\n").encode())


def _import(modules: list[str]) -> None:
    """What a first run has imported late is imported here, so that later ones start with it."""
    for name in modules:
        if name not in sys.modules and not name.startswith("__"):
            try:
                importlib.import_module(name)
            except Exception:  # a module that is made at run time, not imported
                continue


def _run(jobs: list[dict[str, Any]], patience: float) -> list[dict[str, Any]]:
    started = time.monotonic()
    children = {_forked(job): number for number, job in enumerate(jobs)}
    signals = sorted((*job["signal"], child) for child, job in zip(children, jobs, strict=True) if "signal" in job)
    answers: list[dict[str, Any]] = [{} for _ in jobs]
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        now = time.monotonic() - started
        if child in children:
            answers[children.pop(child)] = {"code": os.waitstatus_to_exitcode(status), "seconds": now}
            continue
        while signals and signals[0][0] <= now:
            _, number, target = signals.pop(0)
            if target in children:
                os.kill(target, number)
        if now > patience:
            for target, number in children.items():
                os.kill(target, signal.SIGABRT)  # with a word of where it stood
                os.waitpid(target, 0)
                answers[number] = {"code": HUNG, "seconds": now}
            break
        time.sleep(_POLL)
    return answers


def _forked(job: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        _work(job)
    finally:
        os._exit(_CRASHED)


def _work(job: dict[str, Any]) -> None:
    log = job["log"]
    for handle, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{log}.{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), handle)
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    fired = os.open(f"{log}.fired", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    write = os.write
    os.chdir(job["folder"])
    sys.argv = ["microtome", *job["arguments"]]
    _limit(job.get("limits", {}))
    calls = FileCalls(CallFault(**job.get("call", {})), lambda: write(fired, b"x"))
    lines = Lines(LineFault(**job["line"]), lambda: write(fired, b"x")) if "line" in job else None
    main.app = _let_in(main.app)
    calls.arm()
    if lines:
        lines.arm()
    try:
        main.run()
        code = 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        sys.settrace(None)
        traceback.print_exc()
        code = 1
    signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    sys.settrace(None)
    calls.disarm()
    sys.stdout.flush()
    sys.stderr.flush()
    if job.get("count"):
        seen = {"calls": calls.seen, "lines": lines.count if lines else 0, "modules": sorted(sys.modules)}
        write(os.open(f"{log}.seen", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), json.dumps(seen).encode())
    os._exit(code)


def _let_in(app: Callable[[], None]) -> Callable[[], None]:
    """The command, which signals that came early have been waiting for."""

    def begin() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)
        app()

    return begin


def _limit(limits: dict[str, int]) -> None:
    """Limits of the system itself: the size of files, and memory above what is in use."""
    if "file" in limits:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file"], resource.RLIM_INFINITY))
    if "memory" in limits:
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + limits["memory"], resource.RLIM_INFINITY))


if __name__ == "__main__":
    serve()

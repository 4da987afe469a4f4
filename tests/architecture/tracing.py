"""Runs a piece of work under a profiler, and notes which functions of the package it goes through and what they see.

What a function sees of a record is found out by experiment. The work is done with a record, with another in its
place, and with that other one while everything that passes the noise comes out as it did at first. Whatever then still
differs has not come through the noise: it is the bare record.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pyarrow as pa

import microtome

PACKAGE = Path(microtome.__file__).parent
_CALLS_LOOKED_AT = 64
"""Of each function; calibration calls some of them thousands of times, always with the same kind of thing."""
_PLAIN = (type(None), bool, int, float, complex, str, bytes, Path, dt.date, dt.timedelta, np.generic, Enum)


@dataclasses.dataclass(frozen=True, order=True)
class Function:
    """A function of the package.

    Attributes:
        file: Its file, from the package's folder on.
        name: Its name, with that of its class.
    """

    file: str
    name: str


@dataclasses.dataclass
class Trace:
    """What one run went through.

    Attributes:
        callers: The functions in the order of their first calls, and what called them then (None: the outside).
        seen: Digest of what stood in each argument and result, by function, number of the call, and name.
    """

    callers: dict[Function, Function | None] = dataclasses.field(default_factory=dict)
    seen: dict[tuple[Function, int, str], str] = dataclasses.field(default_factory=dict)


def traced(work: Callable[[], object], *, contents: bool = False) -> Trace:
    """The trace of a call; with ``contents`` also what the functions were given and gave."""
    recorder = _Recorder(contents)
    before = sys.getprofile()
    threading.setprofile(recorder)
    sys.setprofile(recorder)
    try:
        work()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    return recorder.trace


class _Recorder:
    """A profile function in the sense of ``sys.setprofile``."""

    def __init__(self, contents: bool) -> None:
        self.trace = Trace()
        self._contents = contents
        self._calls: Counter[Function] = Counter()

    def __call__(self, frame: FrameType, event: str, given: object) -> None:
        if event not in ("call", "return"):
            return
        function = _function(frame.f_code)
        if function is None:
            return
        if function not in self.trace.callers:
            self.trace.callers[function] = _caller(frame)
        if self._contents and self._calls[function] < _CALLS_LOOKED_AT:
            self._look(function, frame, event, given)

    def _look(self, function: Function, frame: FrameType, event: str, given: object) -> None:
        number = self._calls[function]
        self._calls[function] += 1
        if event == "call":
            for name in _arguments(frame.f_code):
                self.trace.seen[function, number, name] = digest(frame.f_locals.get(name))
        else:
            self.trace.seen[function, number, "return"] = digest(given)


def _caller(frame: FrameType) -> Function | None:
    """The function of ours that is next above a frame."""
    above = frame.f_back
    while above is not None and _function(above.f_code) is None:
        above = above.f_back
    return None if above is None else _function(above.f_code)


def function_of(given: Callable[..., object]) -> Function:
    """A function of ours as traces name it."""
    found = _function(given.__code__)  # type: ignore[attr-defined]
    if found is None:
        raise ValueError(f"{given} is not a function of {microtome.__name__}")
    return found


@cache
def _function(code: CodeType) -> Function | None:
    """The function that a code object belongs to, if it is one of ours. Comprehensions are part of theirs."""
    path = Path(code.co_filename)
    if not path.is_relative_to(PACKAGE) or code.co_name.startswith("<"):
        return None
    return Function(path.relative_to(PACKAGE).as_posix(), code.co_qualname.replace(".<locals>", ""))


@cache
def _arguments(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def digest(value: object) -> str:
    """The same text for values that are the same, whatever they are made of."""
    hashed = hashlib.blake2b(digest_size=12)
    for part in _parts(value, set()):
        hashed.update(part)
        hashed.update(b"\0")
    return hashed.hexdigest()


def _parts(value: Any, above: set[int]) -> Iterator[bytes]:
    yield type(value).__qualname__.encode()
    if isinstance(value, _PLAIN):
        yield repr(value).encode()
    elif isinstance(value, np.ndarray):
        yield str((value.dtype, value.shape)).encode()
        yield np.ascontiguousarray(value).tobytes() if value.dtype != object else repr(value.tolist()).encode()
    elif isinstance(value, pa.Table | pa.RecordBatch | pa.Array | pa.ChunkedArray):
        yield repr(value.to_pylist()).encode()
    elif id(value) not in above:
        for part in _inside(value):
            yield from _parts(part, above | {id(value)})


def _inside(value: Any) -> Iterable[Any]:
    """What a container or an object of ours consists of; of foreign objects nothing is known."""
    if isinstance(value, Mapping):
        return [part for pair in sorted(value.items(), key=lambda pair: repr(pair[0])) for part in pair]
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if type(value).__module__.partition(".")[0] == microtome.__name__:
        return [part for pair in sorted(getattr(value, "__dict__", {}).items()) for part in pair]
    return ()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sight:
    """A function on a record's way.

    Attributes:
        function: Which.
        bare: Whether it sees the record itself, or only under noise.
    """

    function: Function
    bare: bool


def way(first: Trace, again: Trace, replaced: Trace, replayed: Trace) -> list[Sight]:
    """The functions that one record passes, in the order in which they first see something of it.

    Args:
        first: The work.
        again: The same once more, after all others; what differs has nothing to do with the record (times, names of
            temporary files).
        replaced: The same with one record replaced.
        replayed: The same with one record replaced and the outcome of all noise as at first.
    """
    bare: dict[Function, bool] = {}
    for place, content in first.seen.items():
        if again.seen.get(place) != content:
            continue
        around_the_noise = replayed.seen.get(place) != content
        if around_the_noise or replaced.seen.get(place) != content:
            bare[place[0]] = bare.get(place[0], False) or around_the_noise
    return [Sight(function=function, bare=seen) for function, seen in bare.items()]

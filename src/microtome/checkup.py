"""Is everything here that Microtome needs, and what more could it do? What ``microtome doctor`` tells."""

from __future__ import annotations

import importlib.metadata as metadata
import os
import platform
import secrets
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import microtome
from microtome.errors import MicrotomeError
from microtome.extras import EXTRAS, Extra
from microtome.machine import available_memory, browser, free_disk, java_version, processors
from microtome.whole_file import write_text

DISTRIBUTION = "microtome-core"
_LITTLE_MEMORY = 1 << 30
_LITTLE_DISK = 1 << 30
_SPARK_JAVA = 17


class State(StrEnum):
    """How something is."""

    GOOD = "good"
    OPTIONAL = "not here"
    """It is missing, and all that needs it says so."""
    POOR = "poor"
    """Most will work."""
    BAD = "bad"
    """Microtome will not work."""

    @property
    def is_fatal(self) -> bool:
        """Whether nothing works."""
        match self:
            case State.GOOD | State.OPTIONAL | State.POOR:
                return False
            case State.BAD:
                return True


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of a check-up.

    Attributes:
        part: What was looked at.
        state: How it is.
        found: What was found.
        advice: What to do, if anything.
    """

    part: str
    state: State
    found: str
    advice: str = ""


@dataclass(frozen=True, kw_only=True)
class Checkup:
    """Everything that was looked at."""

    findings: tuple[Finding, ...]

    @property
    def works(self) -> bool:
        """Whether nothing is bad."""
        return not any(one.state.is_fatal for one in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {"works": self.works, "findings": [asdict(one) for one in self.findings]}


def check_up(folder: Path) -> Checkup:
    """Look at the program, at the machine, and at the folder where a table and its ledger are to be."""
    found = (
        *_program(),
        *_required(),
        _memory(),
        _disk(folder, "disk"),
        _disk(Path(tempfile.gettempdir()), "temporary files"),
        _ledger(folder),
        *map(_optional, EXTRAS),
        _java(),
        _browser(),
    )
    return Checkup(findings=found)


def _program() -> Iterator[Finding]:
    yield Finding(
        part="microtome", state=State.GOOD, found=f"{microtome.__version__}, {Path(microtome.__file__).parent}"
    )
    yield Finding(part="python", state=State.GOOD, found=f"{platform.python_version()}, {sys.executable}")
    yield Finding(part="system", state=State.GOOD, found=platform.platform())
    asked = os.environ.get("OMP_NUM_THREADS")
    told = "" if asked is None else f", OMP_NUM_THREADS={asked}"
    yield Finding(part="processors", state=State.GOOD, found=f"{processors()}{told}")


def _required() -> Iterator[Finding]:
    """Every package that all of Microtome needs, by the package's own word."""
    from packaging.requirements import Requirement

    try:
        asked = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or ()]
    except metadata.PackageNotFoundError:
        yield Finding(
            part="requirements",
            state=State.POOR,
            found=f"unknown: {DISTRIBUTION} is not installed, and runs from its source",
            advice="pip install it for a check of what it needs",
        )
        return
    for requirement in asked:
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield _package(requirement.name, str(requirement.specifier), requirement.specifier.contains)


def _package(name: str, range_: str, fits: Any) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(part=name, state=State.BAD, found="not installed", advice=f"pip install '{name}{range_}'")
    if not fits(version, prereleases=True):
        return Finding(
            part=name, state=State.BAD, found=f"{version}, not {range_}", advice=f"pip install '{name}{range_}'"
        )
    return Finding(part=name, state=State.GOOD, found=version)


def _memory() -> Finding:
    free = available_memory()
    if free is None:
        return Finding(part="memory", state=State.GOOD, found="the system does not say")
    poor = free < _LITTLE_MEMORY
    advice = "end other programs before a large release" if poor else ""
    return Finding(part="memory", state=State.POOR if poor else State.GOOD, found=_size(free), advice=advice)


def _disk(folder: Path, part: str) -> Finding:
    try:
        free = free_disk(folder)
    except OSError as error:
        return Finding(
            part=part, state=State.BAD, found=f"{folder}: {error.strerror}", advice="name a folder that exists"
        )
    poor = free < _LITTLE_DISK
    advice = "make room before a large release" if poor else ""
    return Finding(
        part=part, state=State.POOR if poor else State.GOOD, found=f"{_size(free)} in {folder}", advice=advice
    )


def _ledger(folder: Path) -> Finding:
    """Whether a book could be kept here: written whole, and by one writer at a time."""
    from filelock import FileLock

    advice = "keep the ledger on a disk where this user can write and lock files (release --ledger)"
    trial = folder / f".microtome-doctor-{secrets.token_hex(8)}"
    try:
        write_text(trial, "")
        try:
            with FileLock(trial, timeout=0, fallback_to_soft=False):
                pass
        finally:
            trial.unlink(missing_ok=True)
    except MicrotomeError as error:
        return Finding(part="ledger", state=State.BAD, found=str(error), advice=advice)
    except OSError as error:
        return Finding(
            part="ledger", state=State.POOR, found=f"{folder} has no locks of its own: {error.strerror}", advice=advice
        )
    return Finding(part="ledger", state=State.GOOD, found=f"can be kept in {folder}")


def _optional(extra: Extra) -> Finding:
    version = extra.installed
    if version is None:
        return Finding(part=extra.package, state=State.OPTIONAL, found=f"for {extra.purpose}", advice=extra.command)
    return Finding(part=extra.package, state=State.GOOD, found=f"{version}, for {extra.purpose}")


def _java() -> Finding:
    version = java_version()
    if version is None:
        return Finding(
            part="Java", state=State.OPTIONAL, found="for Spark", advice=f"install Java {_SPARK_JAVA} or newer"
        )
    if version < _SPARK_JAVA:
        return Finding(
            part="Java", state=State.POOR, found=f"{version}, too old for Spark", advice=f"Java {_SPARK_JAVA} or newer"
        )
    return Finding(part="Java", state=State.GOOD, found=f"{version}, for Spark")


def _browser() -> Finding:
    found = browser()
    if found is None:
        return Finding(
            part="Chromium",
            state=State.OPTIONAL,
            found="for the project's own tests of pages; reports open in any browser",
        )
    return Finding(part="Chromium", state=State.GOOD, found=found)


def _size(number: int) -> str:
    return f"{number / 2**30:,.1f} GiB free"

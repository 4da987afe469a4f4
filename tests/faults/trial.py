"""One fault, and what must hold after it: nothing lost, nothing spent twice, no half a file under a final name."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cases import DELTA, EPSILON, Case

from microtome.accounting import Ledger, epsilon
from microtome.accounting.ledger_records import RELEASED, Entry
from microtome.published import Artefact
from microtome.training import Checkpoint

_PATIENCE = 60.0
_SHORT_PATIENCE = 15.0
_HUNG = 98
_OWN_WORDS = ("error:", "interrupted", "terminated")
_GAVE_UP = "OpenBLAS error"
"""How a library says that it ends the process by itself, without asking Python."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How a run ended, and what it said."""

    code: int
    seconds: float
    out: str
    err: str
    fired: bool

    @property
    def killed(self) -> bool:
        """Whether the run ended without a chance to say anything: by a signal, or by C code that found no memory."""
        return self.code < 0 or self.hung or _GAVE_UP in self.err

    @property
    def hung(self) -> bool:
        """Whether it had to be ended, because it did not end by itself."""
        return self.code == _HUNG


class Stable:
    """The process that forks runs; see ``stable.py``."""

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        with (logs / "stable.err").open("w") as errors:
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("stable.py"))],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._modules: list[str] = []

    def close(self) -> None:
        """End it."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def run(self, *jobs: Mapping[str, Any], patience: float = _PATIENCE) -> list[Outcome]:
        """Run jobs at once, and end those that take too long."""
        named = [
            {**job, "folder": str(job["folder"]), "log": str(self._logs / str(number))}
            for number, job in enumerate(jobs)
        ]
        request = {"jobs": named, "patience": patience, "modules": self._modules}
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, (self._logs / "stable.err").read_text()
        return [self._outcome(number, **answer) for number, answer in enumerate(json.loads(line))]

    def count(self, folder: Path, arguments: Iterable[str], **line: Any) -> tuple[list[str], int, float]:
        """The file calls of a run without fault, its lines if they are asked for, and its time.

        What it imports is there in all later runs.
        """
        job: dict[str, Any] = {"folder": folder, "arguments": list(arguments), "count": True}
        (done,) = self.run({**job, "line": line} if line else job)
        assert done.code == 0, (done.code, done.err, done.out)
        seen = json.loads((self._logs / "0.seen").read_text())
        self._modules = seen["modules"]
        return seen["calls"], seen["lines"], done.seconds

    def _outcome(self, number: int, code: int, seconds: float) -> Outcome:
        read = {name: (self._logs / f"{number}.{name}").read_text(encoding="utf-8") for name in ("out", "err", "fired")}
        return Outcome(code=code, seconds=seconds, out=read["out"], err=read["err"], fired=bool(read["fired"]))


@dataclass(kw_only=True)
class Trials:
    """A series of faults on one desk, with what came of them.

    Attributes:
        desk: The prepared files.
        folder: Where each trial has a folder of its own while it lasts.
        stable: Where runs come from.
        record: Keeps the figures with the test's result.
        before: Told, where a fault has it, how much room is to be left on the disk.
        after: Gives the disk its room back.
        number: Faults that happened.
        failures: What did not hold.
    """

    desk: Path
    folder: Path
    stable: Stable
    record: Callable[[str, object], None]
    before: Callable[[int], None] = lambda room: None
    after: Callable[[], None] = lambda: None
    number: int = 0
    failures: list[str] = field(default_factory=list)

    def count(self, case: Case, **line: Any) -> tuple[list[str], int, float]:
        """What a run without fault does."""
        place = self._fresh(case, old=False)
        try:
            return self.stable.count(place, case.command("--force"), **line)
        finally:
            shutil.rmtree(place)

    def run(self, case: Case, fault: Mapping[str, Any], *, again: bool = True) -> None:
        """Let one fault happen, to an earlier output every other time, and check what must hold.

        Args:
            case: The command.
            fault: What a job has besides folder and arguments.
            again: Whether to run the command once more, without the fault.

        A run may only fail to end where its memory does: C code waits for threads that it could not start.
        """
        place = self._fresh(case, old=self.number % 2 == 1)
        before = Before.of(case, place)
        self.before(fault.get("room", 0))
        job = {"folder": place, "arguments": case.command("--force"), **fault}
        (done,) = self.stable.run(job, patience=_PATIENCE if "limits" not in fault else _SHORT_PATIENCE)
        self.after()
        if done.fired or not {"call", "line"} & fault.keys():
            self.number += 1
            found = before.broken(done)
            if done.hung and "memory" not in fault.get("limits", {}):
                found.append("it did not end")
            if again or before.litter():
                found += self._again(before)
            said = " | ".join(done.err.strip().splitlines()[-4:])[-800:]
            self.failures += [f"{case.name}, {dict(fault)}: {one} [exit {done.code}: {said}]" for one in found]
        shutil.rmtree(place)

    def conclude(self, name: str) -> None:
        """Note how many faults there were, and fail if anything did not hold."""
        self.record("faults", {"test": name, "trials": self.number, "failures": len(self.failures)})
        shown = "\n".join(self.failures[:20])
        assert not self.failures, f"{len(self.failures)} failures in {self.number} trials:\n{shown}"

    def _fresh(self, case: Case, *, old: bool) -> Path:
        place = self.folder / "office"
        case.lay_out(self.desk, place, old=old)
        return place

    def _again(self, before: Before) -> list[str]:
        """The same command without fault succeeds, and leaves no litter."""
        case, spent = before.case, len(before.counted())
        resume = ["--resume"] if (before.place / f"{case.output}.checkpoint").exists() else []
        (again,) = self.stable.run({"folder": before.place, "arguments": case.command("--force", *resume)})
        found = [] if again.code == 0 else [f"the next run failed: {again.err}"]
        if again.code == 0 and case.ledger is not None and len(before.counted()) != spent + 1:
            found.append(f"the next run was charged {len(before.counted()) - spent} times")
        return found + before.litter()


@dataclass(frozen=True, kw_only=True)
class Before:
    """How things stood before a fault."""

    case: Case
    place: Path
    inputs: Mapping[str, str]
    output: str | None
    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, case: Case, place: Path) -> Before:
        """Look at a folder."""
        return cls(
            case=case,
            place=place,
            inputs={name: _digest(place / name) for name in case.inputs},
            output=_digest(place / case.output) if (place / case.output).exists() else None,
            entries=tuple(Ledger(place / case.ledger).entries()) if case.ledger else (),
        )

    def broken(self, done: Outcome) -> list[str]:
        """What does not hold any more, after a run that ended so."""
        found = [f"{name} was changed" for name, digest in self.inputs.items() if _digest(self.place / name) != digest]
        written, problems = self._written()
        found += problems
        if "Traceback" in done.err:
            found.append("a traceback")
        if done.code == 0 and not (self.place / self.case.output).exists():
            found.append("success without an output")
        if done.code != 0 and not done.killed and not any(word in done.err + done.out for word in _OWN_WORDS):
            found.append("no word of what went wrong")
        if self.case.ledger:
            found += self._book(done, written)
        checkpoint = self.place / f"{self.case.output}.checkpoint"
        if checkpoint.exists():
            found += _problems(Checkpoint.load, checkpoint)
        return found

    def litter(self) -> list[str]:
        """Files that nobody asked for; the ledger's lock is a part of it, and a checkpoint is wanted until the end."""
        allowed = {*self.case.inputs, self.case.output, self.case.ledger, f"{self.case.ledger}.lock"}
        names = sorted(path.name for path in self.place.iterdir() if path.name not in allowed)
        return [f"litter: {names}"] if names else []

    def _written(self) -> tuple[bool, list[str]]:
        """Whether there is a new output, and what is wrong with what is there."""
        path = self.place / self.case.output
        if not path.exists():
            return False, [] if self.output is None else ["the earlier output is lost"]
        if _digest(path) == self.output:
            return False, []
        return True, _problems(self.case.whole, path)

    def counted(self) -> list[Entry]:
        """What was charged since."""
        if not self.case.ledger:
            return []
        entries = Ledger(self.place / self.case.ledger).entries()
        return [entry for entry in entries[len(self.entries) :] if entry.counts]

    def _book(self, done: Outcome, written: bool) -> list[str]:
        """The book holds, has all that was in it, and the new promise wholly or not at all; and it is as was said."""
        assert self.case.ledger
        try:
            entries = Ledger(self.place / self.case.ledger).entries()
        except Exception as error:
            return [f"the ledger cannot be read: {error}"]
        if tuple(entries[: len(self.entries)]) != self.entries:
            return ["earlier entries were changed"]
        new = self.counted()
        found = []
        if len(new) > 1:
            found.append(f"charged {len(new)} times")
        if any(entry.events != self.entries[0].events and self._same_kind(entry) for entry in new):
            found.append("charged for something else than the promise")
        if written:
            found += self._of_release(new)
        if not done.killed:
            found += _words(done, charged=bool(new), written=written)
        return found

    def _same_kind(self, entry: Entry) -> bool:
        return self.case.as_before and entry.purpose == self.entries[0].purpose

    def _of_release(self, new: list[Entry]) -> list[str]:
        """A release under its final name has its promise in the book."""
        release = Artefact.load(self.place / self.case.output)
        if not new:
            return ["a release that nothing in the book pays for"]
        promised = epsilon(release.manifest.promise.events, DELTA)
        wrong = not promised <= epsilon(new[0].events, DELTA) <= float(EPSILON) * (1 + 1e-6)
        unsettled = new[0].status == RELEASED and new[0].artefact != release.fingerprint
        return ["the book has another promise"] * wrong + ["settled for another file"] * unsettled


def _words(done: Outcome, *, charged: bool, written: bool) -> list[str]:
    """What was said of the book, against the book."""
    said = done.err
    found = []
    if "othing was spent" in said and charged:
        found.append("said that nothing was spent, and it was")
    if "stays charged in the ledger" in said and not charged:
        found.append("said that it stays charged, and it is not")
    if "written and whole" in said and not (written and charged):
        found.append("said that the release is written, and it is not")
    if "o release was written" in said and written:
        found.append("said that no release was written, and one was")
    told = any(words in said for words in ("stays charged in", "may stay charged", "written and whole"))
    if done.code != 0 and charged and not told:
        found.append("charged without a word")
    return found


def _problems(load: Any, path: Path) -> list[str]:
    try:
        load(path)
    except Exception as error:
        return [f"{path.name} is not whole: {type(error).__name__}: {error}"]
    return []


def _digest(path: Path) -> str:
    found = hashlib.sha256()
    for file in _files(path):
        found.update(f"{file.relative_to(path.parent)}\n{file.stat().st_size}\n".encode() + file.read_bytes())
    return found.hexdigest()


def _files(path: Path) -> Iterable[Path]:
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]

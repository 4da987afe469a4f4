"""One piece of long work at a time, on a thread of its own: it goes on whoever closes which page.

It tells how far it is by the library's own ``Progress``, and is stopped there, as by Ctrl-C: what a release has spent
by then, what a fit has learnt by then, the library knows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from microtome.failure import in_words, notes
from microtome.progress import Progress


class Stage(StrEnum):
    """Where a piece of work is."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a piece of work stands.

    Attributes:
        title: What it is.
        page: The page that shows what comes of it.
        stage: Where it is.
        part: The part that it is at, in words.
        done: Units done of that part.
        total: Units in all, where that is known.
        note: How well it goes.
        problem: What stopped it.
        counts_rows: Whether its units are rows of the private table, whose number may be what is protected.
    """

    title: str
    page: str
    stage: Stage = Stage.RUNNING
    part: str = ""
    done: int = 0
    total: int | None = None
    note: str = ""
    problem: str = ""
    counts_rows: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it is under way."""
        match self.stage:
            case Stage.RUNNING:
                return True
            case Stage.DONE | Stage.FAILED | Stage.STOPPED:
                return False

    @property
    def share(self) -> float | None:
        """How far it is, from 0 to 1, where that is known."""
        return min(self.done / self.total, 1.0) if self.total else None

    @property
    def in_words(self) -> str:
        """How far it is."""
        if not self.part:
            return "…"
        if self.counts_rows:
            return self.part if self.share is None else f"{self.part}: {self.share:.0%}"
        whole = "" if self.total is None else f" of {self.total:,}"
        return f"{self.part}: {self.done:,}{whole}"


@dataclass(eq=False)
class Work:
    """A piece of work, from its start.

    Args:
        standing: What it is.
        run: Does it, and hands on what comes of it by itself.
    """

    standing: Standing
    run: Callable[[Progress], None]
    _stop: threading.Event = field(default_factory=threading.Event, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def start(self) -> None:
        """Begin."""
        self._thread = threading.Thread(target=self._work, name=f"studio: {self.standing.title}")
        self._thread.start()

    @property
    def is_under_way(self) -> bool:
        """Whether its thread is at it."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Have it end at its next step, as by Ctrl-C."""
        self._stop.set()

    def wait(self) -> None:
        """Until it has ended."""
        if self._thread is not None:
            self._thread.join()

    def _work(self) -> None:
        try:
            self.run(self._progress)
        except KeyboardInterrupt as interrupt:
            self._end(Stage.STOPPED, "\n".join(["Stopped.", *notes(interrupt)]))
        except BaseException as error:
            self._end(Stage.FAILED, in_words(error))
        else:
            self._end(Stage.DONE, "")

    def _progress(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        self.standing = replace(self.standing, part=stage, done=done, total=total, note=note)
        if self._stop.is_set():
            raise KeyboardInterrupt

    def _end(self, stage: Stage, problem: str) -> None:
        self.standing = replace(self.standing, stage=stage, problem=problem)

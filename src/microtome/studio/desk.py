"""What lies on the desk: a table, its schema, the promise, and what was made of it. One change at a time.

Every change makes a new version, and whoever wants to change something says which version they saw: two pages that are
open at once cannot both release the same table, and nothing is overwritten that somebody has not seen.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from microtome.errors import ParameterError
from microtome.images import ImageSchema
from microtome.progress import Progress
from microtome.schema import Schema
from microtome.studio.places import Opened, Places
from microtome.studio.work import Standing, Work

_OUTDATED = (
    "nothing was done: this page is older than what lies on the desk, for something was changed in another tab or "
    "window. Look at what is there now, and say it again if you still want it"
)


@dataclass(frozen=True, kw_only=True)
class Released:
    """A release that was made, or opened.

    Attributes:
        path: Its file.
        schema: What it was made with; ``None`` if it was opened.
        options: What was promised, as options of ``mt.release``.
        told: What was said of it beforehand.
        is_of_images: Whether it holds images.
    """

    path: Path
    schema: Schema | ImageSchema | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    told: tuple[str, ...] = ()
    is_of_images: bool = False

    @property
    def stem(self) -> str:
        """What is made of it is called after it: its name without its ending."""
        return self.path.name.removesuffix(".release")


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Settings that were found.

    Attributes:
        path: Their file.
        trials: How many were tried.
        score: The best one's held-out score.
    """

    path: Path
    trials: int
    score: float


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """A model that was fitted.

    Attributes:
        path: Its file.
        settings: The file of the settings it was fitted with, where these were searched for.
        steps: Most steps, if that was said.
        seed: Its seed.
        in_words: How it went.
    """

    path: Path
    settings: Path | None
    steps: int | None
    seed: int | None
    in_words: str


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Rows that were drawn.

    Attributes:
        path: Their file.
        rows: How many.
        where: The conditions they meet, as they were typed.
        seed: Their seed.
        spreadsheet_safe: Whether text that a spreadsheet would run has an apostrophe before it.
        described: The files beside it that say what it is, for people and for programs; none beside a grid.
    """

    path: Path
    rows: int
    where: tuple[str, ...]
    seed: int | None
    spreadsheet_safe: bool
    described: tuple[Path, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A report that was made.

    Attributes:
        path: Its page.
        of_real_rows: Whether it is computed from the private table, and so is for its holder alone.
        headline: What it says.
    """

    path: Path
    of_real_rows: bool
    headline: str


@dataclass(frozen=True, kw_only=True)
class Images:
    """What is said to be public about an image set.

    Attributes:
        schema: Shape, range and classes.
        has_labels: Whether the images have labels, so that classes must be declared.
        is_confirmed: Whether the holder has said that all of it may be public.
    """

    schema: ImageSchema
    has_labels: bool
    is_confirmed: bool = False


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What lies on the desk.

    Attributes:
        table: The table, or the image set, that was opened.
        schema: What is public about it.
        images: The same of an image set, in place of a table's schema.
        remarks: What the draft has to say of it; they tell of values, and are for the holder alone.
        num_rows: How many rows it has; public only where the relation does not protect it.
        looks: Whether the holder has asked to see rows and remarks.
        released: The release.
        tuned: Settings that were searched for.
        fitted: The model.
        drawn: The rows.
        reported: The report.
    """

    table: Opened | None = None
    schema: Schema | None = None
    images: Images | None = None
    remarks: tuple[str, ...] = ()
    num_rows: int | None = None
    looks: bool = False
    released: Released | None = None
    tuned: Tuned | None = None
    fitted: Fitted | None = None
    drawn: Drawn | None = None
    reported: Reported | None = None

    @property
    def things(self) -> str:
        """What it is all about, in the plural."""
        is_of_images = self.images is not None or (self.released is not None and self.released.is_of_images)
        return "images" if is_of_images else "rows"

    @property
    def is_draft(self) -> bool:
        """Whether what is public has yet to be confirmed."""
        if self.images is not None:
            return not self.images.is_confirmed
        return self.schema is not None and self.schema.drafted


Thing = TypeVar("Thing")


def needed(thing: Thing | None, first: str) -> Thing:
    """Something that a step stands on; whoever has none is told what to do first."""
    if thing is None:
        raise ParameterError(f"{first} first")
    return thing


class Desk:
    """The desk of one studio, whoever looks at it and in how many tabs."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._contents, self._version = Contents(), 1
        self._work: Work | None = None
        self._guard = threading.RLock()

    @property
    def contents(self) -> Contents:
        """What lies on it now."""
        return self._contents

    @property
    def version(self) -> int:
        """How often it was changed."""
        return self._version

    @property
    def standing(self) -> Standing | None:
        """How the last piece of work stands."""
        return None if self._work is None else self._work.standing

    def change(self, version: str, contents: Contents) -> None:
        """Put other things on it, for somebody who saw that version."""
        with self._guard:
            self._require(version)
            self._put(contents)
            self._work = None

    def act(self, version: str, step: Callable[[Contents], None]) -> None:
        """Do something short with what lies on it, for somebody who saw that version, and nothing for anybody else."""
        with self._guard:
            self._require(version)
            step(self._contents)
            self._put(self._contents)
            self._work = None

    def start(
        self, version: str, *, title: str, page: str, work: Callable[[Progress], Contents], counts_rows: bool = False
    ) -> None:
        """Begin long work, for somebody who saw that version; what it gives is put on the desk at its end.

        Where work ``counts_rows`` of the private table, the page that watches it shows shares and no numbers.
        """

        def run(progress: Progress) -> None:
            self._put(work(progress))

        with self._guard:
            self._require(version)
            self._version += 1
            self._work = Work(Standing(title=title, page=page, counts_rows=counts_rows), run)
            self._work.start()

    def stop(self) -> None:
        """Have work that is under way end."""
        if self._work is not None:
            self._work.stop()

    @property
    def is_busy(self) -> bool:
        """Whether work is under way."""
        return self._work is not None and self._work.is_under_way

    def wait(self) -> None:
        """Until work that is under way has ended."""
        if self._work is not None:
            self._work.wait()

    def _require(self, version: str) -> None:
        if self.standing is not None and self.standing.is_running:
            raise ParameterError(f"nothing was done: {self.standing.title} is under way. Wait for it, or stop it")
        if version != str(self._version):
            raise ParameterError(_OUTDATED)

    def _put(self, contents: Contents) -> None:
        with self._guard:
            self._contents = contents
            self._version += 1

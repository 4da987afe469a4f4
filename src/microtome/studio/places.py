"""Where files go: uploads to a private folder that is removed at the end, results to a folder that stays.

A release is paid for, so it never lies where it would be removed. What was spent on an upload must outlive it too: its
book is one of the user's own, unless another is named.
"""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from microtome.accounting import dataset_name, ledger_beside
from microtome.errors import TableError
from microtome.whole_file import disk_errors, whole_file

LARGEST_UPLOAD = 2 << 30
_OWN_FOLDER = 0o700


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A table that was opened.

    Attributes:
        path: The file or folder that is read.
        named: How a command line on this machine would name it.
        dataset: What the book calls it.
        ledger: The book.
        is_copy: Whether it is a copy in the private folder.
        is_try_out: Whether it is of made-up people, and their book is removed with it.
    """

    path: Path
    named: str
    dataset: str
    ledger: Path
    is_copy: bool
    is_try_out: bool = False

    @property
    def is_elsewhere(self) -> bool:
        """Whether its book is not where a command line would look for it."""
        return self.ledger != ledger_beside(self.path)

    @property
    def stem(self) -> str:
        """What results are called after: its name without its endings."""
        return self.path.name.partition(".")[0] or "table"


@dataclass(frozen=True, kw_only=True)
class Places:
    """The folders of a studio.

    Attributes:
        private: For uploads; removed at the end.
        results: For releases and what is made of them; it stays.
        ledger: The book of everything, if one was named.
        largest_upload: Bytes that a file may have to be copied.
    """

    private: Path
    results: Path
    ledger: Path | None = None
    largest_upload: int = LARGEST_UPLOAD

    @property
    def book_of_uploads(self) -> Path:
        """Where it is kept what uploads cost."""
        return self.ledger or Path.home() / ".microtome" / "studio.ledger.json"

    def room_for_upload(self) -> Path:
        """A new folder for one upload, so that it may have any name."""
        folder = self.private / secrets.token_hex(8)
        with disk_errors(folder):
            folder.mkdir(_OWN_FOLDER)
        return folder

    def forget(self, opened: Opened) -> None:
        """Remove a copy; a table that was read where it is stays."""
        if opened.is_copy:
            shutil.rmtree(opened.path.parent, ignore_errors=True)

    def kept(self, upload: Path) -> Path:
        """A copy of an upload that may be kept, among the results."""
        place = self.result(upload.name.partition(".")[0], "".join(upload.suffixes))
        with whole_file(place) as file:
            file.write(upload.read_bytes())
        return place

    def of_upload(self, path: Path) -> Opened:
        """A table that was copied here."""
        book = self.book_of_uploads
        return Opened(path=path, named=path.name, dataset=dataset_name(path), ledger=book, is_copy=True)

    def of_try_out(self, path: Path) -> Opened:
        """A table of made-up people: its book is removed with it."""
        book, name = ledger_beside(path), dataset_name(path)
        return Opened(path=path, named=path.name, dataset=name, ledger=book, is_copy=True, is_try_out=True)

    def of_path(self, given: str) -> Opened:
        """A table on this machine, read where it is; its book is beside it, as the command line has it."""
        path = Path(given).expanduser()
        if not given or not (path.is_file() or path.is_dir()):
            raise TableError(
                f"{given}: there is no such file or folder on this machine. Several files, addresses, pipes and "
                "queries are for the command line: 'microtome release --help'"
            )
        path = path.absolute()
        book = self.ledger or ledger_beside(path)
        return Opened(path=path, named=str(path), dataset=dataset_name(path), ledger=book, is_copy=False)

    def report(self, stem: str, *, of_real_rows: bool) -> Path:
        """A place for a report: one of real rows is as private as they are, and goes when the studio ends."""
        if of_real_rows:
            return self.room_for_upload() / f"{stem}.private-report.html"
        return self.result(stem, ".report.html")

    def result(self, stem: str, ending: str) -> Path:
        """A place for a result that nothing lies in yet."""
        with disk_errors(self.results):
            self.results.mkdir(parents=True, exist_ok=True)
        names = (f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}" for number in count(1))
        return next(self.results / name for name in names if not (self.results / name).exists())

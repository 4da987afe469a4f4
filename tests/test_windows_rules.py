"""What Windows forbids is not done: open files are neither renamed nor removed, folders are not opened, no ``pwrite``.

Nobody has run this on Windows. These rules are enforced here by stand-ins for the system's calls, on a machine that
tells which files the process has open.
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import microtome as mt
from microtome import whole_file as files
from microtome.accounting import Ledger
from microtome.positioned import read_at, write_at
from support import people, people_schema

OPEN_FILES = Path("/proc/self/fd")


def _open_here(path: str | os.PathLike[str]) -> bool:
    wanted = os.path.realpath(path)
    return wanted in {os.path.realpath(handle) for handle in OPEN_FILES.iterdir()}


def _refusing(call: Callable[..., Any], why: str, refused: Callable[..., bool]) -> Callable[..., Any]:
    def asked(path: Any, *others: Any, **options: Any) -> Any:
        if isinstance(path, str | Path) and refused(path, *others):
            raise PermissionError(13, why, str(path))
        return call(path, *others, **options)

    return asked


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of Windows, as far as they differ for the program."""
    if not OPEN_FILES.is_dir():
        pytest.skip("this system does not tell which files are open")
    monkeypatch.setattr(files, "fcntl", None)
    monkeypatch.setattr(files, "_LIBRARY", None)
    monkeypatch.setattr(shutil, "_use_fd_functions", False)  # how rmtree goes about it there
    for name in ("pwrite", "preadv", "pread", "pwritev"):
        monkeypatch.delattr(os, name)
    monkeypatch.setattr(os, "open", _refusing(os.open, "a folder", lambda path, *_: Path(path).is_dir()))
    in_use = "used by another process"
    monkeypatch.setattr(os, "replace", _refusing(os.replace, in_use, lambda path, *_: _open_here(path)))
    monkeypatch.setattr(os, "unlink", _refusing(os.unlink, in_use, lambda path, *_: _open_here(path)))


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("kind", ["records", "aggregates"])
def test_a_release_is_written_and_charged(tmp_path: Path, kind: str) -> None:
    book = Ledger(tmp_path / "book.json")
    path = tmp_path / "people.release"
    for force in (False, True):
        mt.release(
            people(300),
            people_schema(),
            epsilon=3,
            delta=1e-4,
            kind=kind,
            output=path,
            ledger=book,
            dataset="people",
            run=mt.RunSettings(threads=2, force=force),
        )
    assert mt.Release.load(path).manifest.contents.num_records == 300
    assert book.spent("people", delta=1e-3) > 3
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(files.SUFFIX)] == []


@pytest.mark.usefixtures("windows")
def test_what_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    pending = files.WholeFile(tmp_path / "half.csv")
    pending.file.write(b"half")
    pending.discard()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("windows")
def test_folders_take_the_place_of_folders(tmp_path: Path) -> None:
    for text in ("old", "new"):
        with files.whole_folder(tmp_path / "images") as folder:
            (folder / "name.txt").write_text(text)
    assert (tmp_path / "images" / "name.txt").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("native", [True, False])
def test_bytes_are_where_they_were_written(tmp_path: Path, native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not native:
        for name in ("pwrite", "preadv"):
            monkeypatch.delattr(os, name, raising=False)
    with (tmp_path / "numbers").open("w+b") as file:
        for place in (3, 0, 1, 2):
            write_at(file.fileno(), np.full(1000, place, np.int16).tobytes(), 2000 * place)
        found = np.empty(4000, np.int16)
        assert read_at(file.fileno(), found.data.cast("B"), 0) == 8000
        assert found.tolist() == np.repeat(range(4), 1000).tolist()
        assert read_at(file.fileno(), found.data.cast("B"), 6000) == 2000
        assert found[:1000].tolist() == [3] * 1000

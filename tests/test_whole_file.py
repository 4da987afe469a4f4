"""Files are there whole or not at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from microtome import whole_file as module
from microtome.errors import OutputError
from microtome.whole_file import SUFFIX, WholeFile, whole_file, whole_folder, write_text


def _partials(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.endswith(SUFFIX))


def test_a_committed_file_is_whole_and_nothing_is_left(tmp_path):
    write_text(tmp_path / "a.json", "{}")
    assert (tmp_path / "a.json").read_text() == "{}"
    assert _partials(tmp_path) == []


def test_an_error_on_the_way_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("old")

    def interrupted() -> None:
        with whole_file(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert _partials(tmp_path) == []


def test_names_are_random_and_never_written_through_a_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / ".a.json.partial").symlink_to(victim)
    write_text(tmp_path / "a.json", "{}")
    assert victim.read_text() == "precious"
    first, second = WholeFile(tmp_path / "b"), WholeFile(tmp_path / "b")
    assert len(set(_partials(tmp_path)) - {".a.json.partial"}) == 2
    first.discard()
    second.discard()


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_what_a_killed_run_left_is_swept_by_the_next_and_what_is_being_written_is_not(tmp_path):
    path = tmp_path / "people [1].release"
    killed = (
        "import os, sys; from pathlib import Path; from microtome.whole_file import WholeFile\n"
        "WholeFile(Path(sys.argv[1])).file.write(b'half'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    assert len(_partials(tmp_path)) == 1
    busy = WholeFile(path)
    assert len(_partials(tmp_path)) == 1
    write_text(path, "second")
    assert len(_partials(tmp_path)) == 1
    busy.file.write(b"first")
    busy.commit()
    assert path.read_bytes() == b"first"
    assert _partials(tmp_path) == []


def test_permissions_follow_the_mask_and_the_wish(tmp_path):
    old = os.umask(0o022)
    try:
        write_text(tmp_path / "public", "x")
        write_text(tmp_path / "own", "x", mode=0o600)
    finally:
        os.umask(old)
    assert (tmp_path / "public").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o600


def test_a_disk_that_cannot_be_written_is_our_error(tmp_path):
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "absent" / "a.json", "{}")


def test_a_name_of_the_longest_kind_still_fits(tmp_path):
    write_text(tmp_path / ("ä" * 120), "x")
    assert _partials(tmp_path) == []


def test_a_folder_is_there_whole_or_the_old_one_stays(tmp_path):
    path = tmp_path / "pictures"
    with whole_folder(path) as folder:
        (folder / "first.png").write_text("1")
        assert not path.exists()
    assert [one.name for one in path.iterdir()] == ["first.png"]

    def interrupted() -> None:
        with whole_folder(path) as folder:
            (folder / "second.png").write_text("2")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [one.name for one in path.iterdir()] == ["first.png"]
    with whole_folder(path) as folder:
        (folder / "third.png").write_text("3")
    assert [one.name for one in path.iterdir()] == ["third.png"]
    assert _partials(tmp_path) == []


def test_a_folder_that_a_killed_run_left_is_swept(tmp_path):
    killed = (
        "import os, sys; from pathlib import Path; from microtome.whole_file import whole_folder\n"
        "with whole_folder(Path(sys.argv[1])) as folder:\n"
        "    (folder / 'half').mkdir(); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", killed, str(tmp_path / "pictures")], check=False)
    assert len(_partials(tmp_path)) == 1
    with whole_folder(tmp_path / "pictures"), whole_folder(tmp_path / "pictures"):
        assert len(_partials(tmp_path)) == 2
    assert _partials(tmp_path) == []


def _replaced(path: Path) -> None:
    with whole_folder(path) as folder:
        (folder / "new.png").write_text("new")


@pytest.fixture
def album(tmp_path: Path) -> Path:
    path = tmp_path / "pictures"
    with whole_folder(path) as folder:
        (folder / "old.png").write_text("old")
    return path


def test_where_names_cannot_be_exchanged_a_folder_is_replaced_all_the_same(album, monkeypatch):
    monkeypatch.setattr(module, "_swapped", lambda first, second: False)
    _replaced(album)
    assert [one.name for one in album.iterdir()] == ["new.png"]
    assert list(album.parent.iterdir()) == [album]


@pytest.mark.parametrize("exchanged", [True, False])
def test_a_folder_that_cannot_be_put_in_its_place_leaves_the_old_one(album, monkeypatch, exchanged):
    replace = os.replace

    def refused(first: Path, second: Path) -> None:
        if not exchanged and Path(first) != album and "old" not in Path(first).suffix:
            raise OSError(5, "Input/output error")
        replace(first, second)

    def swapped(first: Path, second: Path) -> bool:
        if exchanged:
            raise OSError(5, "Input/output error")
        return False

    monkeypatch.setattr(module, "_swapped", swapped)
    monkeypatch.setattr(module.os, "replace", refused)
    with pytest.raises(OutputError, match="Input/output error"):
        _replaced(album)
    assert [one.name for one in album.iterdir()] == ["old.png"]
    assert list(album.parent.iterdir()) == [album]


def test_a_file_in_its_place_is_not_said_to_be_missing(tmp_path, monkeypatch):
    def refused(place: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(module, "_sync", refused)
    with pytest.raises(OutputError, match="is in its place and whole, but may be lost if the power fails"):
        write_text(tmp_path / "a.json", "{}")
    assert (tmp_path / "a.json").read_text() == "{}"


def test_other_people_s_files_are_not_swept(tmp_path):
    mine = tmp_path / ".a.json.my thesis.partial"
    mine.write_text("years of work")
    write_text(tmp_path / "a.json", "{}")
    assert mine.read_text() == "years of work"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "own.release"
    path.write_text("old")
    path.chmod(0o600)
    write_text(path, "new")
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    write_text(path, "secret", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600

"""One book behind all its names, one writer at a time, and the old book or the new one whatever fails."""

import errno
import fcntl
import multiprocessing
import os
import resource
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from ledger_support import reserve

from microtome.accounting import GaussianEvent, Ledger, gaussian_epsilon, gaussian_mu
from microtome.accounting.ledger_place import locked
from microtome.errors import BudgetError, MicrotomeError, OutputError

SPAWN = multiprocessing.get_context("spawn")
WHOLE = gaussian_mu(1.0, 1e-5)


def budgeted(path: Path) -> Ledger:
    ledger = Ledger(path)
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    return ledger


# One book behind all its names


@pytest.mark.parametrize("how", ["link to the book", "link to its folder", "link to a link", "dots"])
def test_a_budget_is_not_spent_twice_through_another_name(tmp_path: Path, how: str) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    book = folder / "ledger.json"
    budgeted(book)
    (other / "alias.json").symlink_to(book)
    (other / "again.json").symlink_to("alias.json")
    (other / "linked").symlink_to(folder, target_is_directory=True)
    name = {
        "link to the book": other / "alias.json",
        "link to its folder": other / "linked" / "ledger.json",
        "link to a link": other / "again.json",
        "dots": other / "linked" / ".." / "folder" / "ledger.json",
    }[how]
    reserve(Ledger(name), GaussianEvent(mu=WHOLE))
    for way in (book, name):
        with pytest.raises(BudgetError, match="left"):
            reserve(Ledger(way), GaussianEvent(mu=WHOLE))
        assert len(Ledger(way).entries()) == 1
    assert (other / "alias.json").is_symlink()
    assert sorted(path.name for path in other.iterdir()) == ["again.json", "alias.json", "linked"]
    assert sorted(path.name for path in folder.iterdir()) == ["ledger.json", "ledger.json.lock"]


def test_the_lock_is_the_books_whatever_name_it_is_reached_by(tmp_path: Path) -> None:
    budgeted(tmp_path / "ledger.json")
    (tmp_path / "alias.json").symlink_to(tmp_path / "ledger.json")
    with FileLock(tmp_path / "ledger.json.lock"), pytest.raises(OutputError, match="locked"):
        reserve(Ledger(tmp_path / "alias.json", patience=0.1), GaussianEvent(mu=0.1))


@pytest.mark.parametrize("where", ["book", "folder"])
def test_a_link_that_leads_nowhere_is_no_empty_book(tmp_path: Path, where: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "unplugged")
    path = link if where == "book" else link / "deep" / "ledger.json"
    with pytest.raises(BudgetError, match=r"link .* does not exist"):
        Ledger(path)


def test_an_open_ledger_stays_the_same_book_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = budgeted(Path("ledger.json"))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    reserve(ledger, GaussianEvent(mu=WHOLE))
    assert len(Ledger(tmp_path / "ledger.json").entries()) == 1
    (tmp_path / "elsewhere").rmdir()
    assert len(ledger.entries()) == 1
    with pytest.raises(BudgetError, match="full path"):
        Ledger("ledger.json")


def test_a_link_that_comes_to_lead_nowhere_is_noticed_by_an_open_ledger(tmp_path: Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "ledger.json")
    (tmp_path / "ledger.json").write_bytes(b"")
    (tmp_path / "ledger.json").unlink()
    budgeted(tmp_path / "ledger.json")
    ledger = Ledger(link)
    (tmp_path / "ledger.json").rename(tmp_path / "moved.json")
    with pytest.raises(BudgetError, match="link"):
        reserve(ledger, GaussianEvent(mu=WHOLE))


def test_links_in_a_circle(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    for path in (tmp_path / "a", tmp_path / "a" / "ledger.json"):
        with pytest.raises(BudgetError, match="cannot find the ledger"):
            Ledger(path)


def test_a_book_with_two_hard_links_is_refused(tmp_path: Path) -> None:
    ledger = budgeted(tmp_path / "ledger.json")
    os.link(tmp_path / "ledger.json", tmp_path / "second.json")
    for attempt in (
        lambda: Ledger(tmp_path / "second.json"),
        lambda: reserve(ledger, GaussianEvent(mu=0.1)),
        lambda: ledger.entries(),
    ):
        with pytest.raises(BudgetError, match="2 names"):
            attempt()
    (tmp_path / "second.json").unlink()
    reserve(ledger, GaussianEvent(mu=0.1))


def test_what_is_no_file_is_no_ledger(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(BudgetError, match="not a regular file"):
            Ledger(path)
    with pytest.raises(BudgetError, match="cannot be the path"):
        Ledger("nul\0byte")
    (tmp_path / "file").write_text("")
    with pytest.raises(BudgetError, match="cannot find"):
        Ledger(tmp_path / "file" / "ledger.json")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_an_unwritable_folder(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OutputError, match="ledger"):
        reserve(Ledger(tmp_path / "ledger.json"), GaussianEvent(mu=0.1))


# One writer at a time


def reserve_until_full(path: Path, ready: Any, attempts: int, results: Any) -> None:
    ledger = Ledger(path)
    ready.wait()
    fitted = 0
    for _ in range(attempts):
        try:
            ledger.settle(reserve(ledger, GaussianEvent(mu=WHOLE / 6.5**0.5)), artefact="x")
            fitted += 1
        except BudgetError:
            pass
    results.put(fitted)


@pytest.mark.parametrize("racers", [2, 4, 8])
def test_racing_processes_reserve_exactly_what_fits(tmp_path: Path, racers: int) -> None:
    path, alias = tmp_path / "ledger.json", tmp_path / "alias.json"
    budgeted(path)
    alias.symlink_to(path)
    ready, results = SPAWN.Barrier(racers), SPAWN.Queue()
    processes = [
        SPAWN.Process(target=reserve_until_full, args=((path, alias)[number % 2], ready, 4, results))
        for number in range(racers)
    ]
    for process in processes:
        process.start()
    fitted = sum(results.get(timeout=120) for _ in processes)
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * racers
    # budgets add in squares
    assert fitted == 6
    assert [entry.status for entry in Ledger(path).entries()] == ["released"] * 6


def test_racing_threads_reserve_exactly_what_fits(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    shared = budgeted(path)
    outcomes: list[bool] = []

    def spend(ledger: Ledger) -> None:
        try:
            reserve(ledger, GaussianEvent(mu=WHOLE / 2.1))
            outcomes.append(True)
        except BudgetError:
            outcomes.append(False)

    threads = [threading.Thread(target=spend, args=((shared, Ledger(path))[number % 2],)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [False] * 4 + [True] * 4
    assert len(Ledger(path).entries()) == 4


def hold(path: Path, ready: Any) -> None:
    with FileLock(path):
        path.write_text(f"{os.getpid()}\nsomewhere\n")
        ready.set()
        time.sleep(60)


def test_waiting_has_an_end_and_says_for_whom(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = budgeted(path)
    before, ready = path.read_bytes(), SPAWN.Event()
    holder = SPAWN.Process(target=hold, args=(path.with_name("ledger.json.lock"), ready))
    holder.start()
    try:
        assert ready.wait(60)
        with pytest.raises(OutputError, match=rf"locked for 0\.2 seconds by process {holder.pid} on somewhere.*wait"):
            reserve(Ledger(path, patience=0.2), GaussianEvent(mu=0.1))
        assert path.read_bytes() == before
    finally:
        holder.kill()
        holder.join()
    reserve(ledger, GaussianEvent(mu=0.1))  # the lock of a killed process is gone with it


def test_the_lock_names_its_holder(tmp_path: Path) -> None:
    budgeted(tmp_path / "ledger.json")
    assert (tmp_path / "ledger.json.lock").read_text().splitlines()[0] == str(os.getpid())


def test_a_thread_that_was_stopped_before_it_gave_the_lock_back_does_not_wait_for_itself(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    ledger = budgeted(path)
    stopped = locked(path, patience=0.2)
    stopped.__enter__()  # and Ctrl-C comes
    with ThreadPoolExecutor() as elsewhere, pytest.raises(OutputError, match="locked"):
        elsewhere.submit(reserve, Ledger(path, patience=0.1), GaussianEvent(mu=0.1)).result()
    reserve(Ledger(path, patience=0.2), GaussianEvent(mu=0.1))
    with FileLock(f"{path}.lock", timeout=0.2):
        pass  # it is free again
    assert len(ledger.entries()) == 1


def flock_fails(monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def flock(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EIO])
def test_a_lock_that_cannot_be_had_is_an_error_and_not_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "ledger.json"
    ledger = budgeted(path)
    before = path.read_bytes()
    flock_fails(monkeypatch, code)
    with pytest.raises(OutputError, match=r"cannot lock the ledger .*the book is as it was"):
        reserve(ledger, GaussianEvent(mu=0.1))
    assert path.read_bytes() == before


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP])
def test_without_locks_of_the_system_a_marker_keeps_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path, marker = tmp_path / "ledger.json", tmp_path / "ledger.json.lock.held"
    flock_fails(monkeypatch, code)
    ledger = budgeted(path)
    reserve(ledger, GaussianEvent(mu=0.1))
    assert not marker.exists()
    marker.write_text("4711\nelsewhere\n")
    with pytest.raises(OutputError, match=rf"process 4711 on elsewhere.*remove {marker}"):
        reserve(Ledger(path, patience=0.2), GaussianEvent(mu=0.1))
    assert len(ledger.entries()) == 1
    marker.unlink()
    reserve(ledger, GaussianEvent(mu=0.1))


def die_with_marker(path: Path) -> None:
    def flock(*_: object) -> None:
        raise OSError(errno.ENOSYS, "no flock")

    fcntl.flock = flock  # type: ignore[assignment]
    with locked(path, patience=1.0):
        os._exit(9)


def test_the_marker_of_a_killed_process_does_not_lock_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.json"
    process = SPAWN.Process(target=die_with_marker, args=(path,))
    process.start()
    process.join()
    assert (tmp_path / "ledger.json.lock.held").exists()
    flock_fails(monkeypatch, errno.ENOSYS)
    reserve(Ledger(path, patience=20.0), GaussianEvent(mu=0.1))


# The old book or the new one


def crash_after_reserving(path: Path) -> None:
    reserve(Ledger(path), GaussianEvent(mu=1.0))
    os._exit(9)


def test_a_crash_after_the_reservation_leaves_it_counted(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    process = SPAWN.Process(target=crash_after_reserving, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert [entry.status for entry in Ledger(path).entries()] == ["reserved"]
    assert Ledger(path).spent("people", delta=1e-5) == pytest.approx(gaussian_epsilon(1e-5, 1.0))


def reserve_on_a_full_disk(path: Path, results: Any) -> None:
    ledger = Ledger(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
    try:
        reserve(ledger, GaussianEvent(mu=0.1))
    except MicrotomeError as error:
        results.put(str(error))


def test_a_write_that_the_disk_refuses_keeps_the_old_book(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    budgeted(path)
    before, results = path.read_bytes(), SPAWN.Queue()
    process = SPAWN.Process(target=reserve_on_a_full_disk, args=(path, results))
    process.start()
    assert "cannot be written: File too large" in results.get(timeout=60)
    process.join()
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["ledger.json", "ledger.json.lock"]


def test_a_book_that_cannot_be_read_is_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = budgeted(tmp_path / "ledger.json")

    def broken(_: Path) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(Path, "read_bytes", broken)
    with pytest.raises(BudgetError, match=r"cannot read the ledger .*Input/output error"):
        reserve(ledger, GaussianEvent(mu=0.1))


CALLS = [
    "open",
    "close",
    "stat",
    "lstat",
    "fstat",
    "fsync",
    "replace",
    "readlink",
    "fchmod",
    "mkdir",
    "write",
    "unlink",
]


class Failing:
    """A system call that fails at its n-th use on this book, and works otherwise."""

    def __init__(self, real: Callable[..., Any], turn: int, code: int) -> None:
        self.real, self.turn, self.code, self.uses = real, turn, code, 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.uses += 1
        if self.uses == self.turn:
            raise OSError(self.code, os.strerror(self.code))
        return self.real(*arguments, **options)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.ENOLCK, errno.EACCES])
@pytest.mark.parametrize("call", [*CALLS, "flock"])
@pytest.mark.parametrize("action", ["reserve", "settle", "cancel", "set_budget"])
def test_whatever_fails_the_book_is_the_old_one_or_the_new_one(
    tmp_path: Path, action: str, call: str, code: int
) -> None:
    path = tmp_path / "ledger.json"
    ledger = budgeted(path)
    entry = reserve(ledger, GaussianEvent(mu=0.1))
    module = fcntl if call == "flock" else os
    for turn in range(1, 40):
        before = ledger.entries(), ledger.budget("people")
        with pytest.MonkeyPatch.context() as patch:
            failing = Failing(getattr(module, call), turn, code)
            patch.setattr(module, call, failing)
            failed = _fails(path, action, entry)
        after = ledger.entries(), ledger.budget("people")
        if not failed:
            assert _done(after, action)
        else:
            assert after == before or _done(after, action)
        if failing.uses < turn:
            break
        path.unlink()
        ledger = budgeted(path)
        entry = reserve(ledger, GaussianEvent(mu=0.1))
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".partial")]


def _act(ledger: Ledger, action: str, entry: str) -> None:
    if action == "reserve":
        reserve(ledger, GaussianEvent(mu=0.2))
    elif action == "settle":
        ledger.settle(entry, artefact="a")
    elif action == "cancel":
        ledger.cancel(entry)
    else:
        ledger.set_budget("people", epsilon=0.5, delta=1e-5)


def _done(state: Any, action: str) -> bool:
    entries, budget = state
    done = {
        "reserve": len(entries) == 2,
        "settle": entries[0].status == "released",
        "cancel": entries[0].status == "cancelled",
        "set_budget": budget.epsilon == 0.5,
    }
    return done[action]


def _fails(path: Path, action: str, entry: str) -> bool:
    """Whether it fails, and if so with an error of ours."""
    try:
        _act(Ledger(path, patience=1.0), action, entry)
    except MicrotomeError:
        return True
    return False

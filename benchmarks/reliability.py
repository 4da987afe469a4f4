"""Writes docs/reliability.md from benchmarks/results/reliability.json, which the tests of faults wrote.

make reliability
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from results import FOLDER

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
RESULT = FOLDER / "reliability.json"

_INTRODUCTION = """# Reliability

What happens to data, files and budget when something breaks. Every figure on this page was written by tests that break
it: `make reliability` runs them and renders the page, `make test-all` runs them and prints the table, `make test` runs
a fixed choice of some dozens.

## What must hold after every fault

- The inputs are the same bytes as before.
- Under the name of an output is a file that opens, verifies and has all its rows, or the file that was there before, or
  none. Never a part.
- The ledger opens, its chain holds, and all that was in it is in it. The promise of the release that was stopped is in
  it once and whole, or not at all. A release file whose promise is not in the book does not exist.
- What the command says of the book ("Nothing was spent", "stays charged", "written and whole") is what the book says.
- The exit code is 0 only if the output is there and whole. An error is in words. No traceback.
- The same command, run again without the fault, succeeds, is charged once, and leaves no temporary file.

## What was tried

Commands: `release` of a table and of images, both kinds; `fit` of all four; `sample` to CSV, Parquet, NPZ, a PNG grid
and a folder; `report` on tables, images and a release. Every other time an earlier output is in the place of the new.
"""

_KINDS = {
    "every file call": "A fault at every call that touches files (open, create, write, fsync, rename, unlink, mkdir, "
    "truncate, lock, stat, read), each in turn: killed just before and just after it, killed after half of a write, an "
    "error once, an error from then on (disk full, too many open files, I/O error, no locks).",
    "some file calls": "A fixed choice of these, as in `make test`.",
    "Ctrl-C at lines that keep the book": "Interrupted before every line of the code that keeps files and book.",
    "KeyboardInterrupt at any line": "Interrupted before a random line of any part.",
    "MemoryError at any line": "Memory runs out at a random line of any part.",
    "some interruptions of a release": "A fixed choice of interruptions, as in `make test`.",
    "signals at any time": "SIGINT, SIGTERM and SIGKILL after random times.",
    "files that may not grow": "The system refuses files beyond a size (RLIMIT_FSIZE), also to C code.",
    "memory that ends": "The system refuses memory beyond what is in use and a margin (RLIMIT_AS), also to C code.",
    "a full disk": "A disk of its own with no room, or nearly none, left.",
    "damage": "Files of every format damaged at random (bits, bytes, pieces lost, doubled, swapped, zeroed): refused, "
    "or read the same. Ledgers, schemas and settings have such tests of their own, which are not counted here.",
}
_RACES = "Commands at once; every process is a trial."

_LIMITS = """
## What failed

- **Ctrl-C while the ledger's guard or lock was given back**: whoever took the reservation back then waited for itself,
  for the guard in one place and for the lock in another. Both are mended, each with a test
  (`tests/accounting/test_ledger.py`, `test_ledger_place.py`).
- **A release that was killed** after the book had noted it as completed, before it could exit: the book was right, and
  the test, which expected one entry less, was mended.
- **Ctrl-C while a library is imported**, seen once in an earlier run. Some that are written in Rust print a traceback,
  swallow the interruption and go on; the command then ends as if nobody had asked it to stop, with a whole output.

## What was not tried

- **What came later**: series that were not repeated are of the code before undeclared columns were searched for in
  passes of their own, and before tables could be piped, pooled, linked or counted elsewhere. `make reliability` runs
  all of it anew; `make test` a fixed choice.
- **A power cut.** Files and their folder are synced before a command says that it is done, but a kill does not take the
  disk's cache along, so this is argued and not tested.
- **Disks that lie**, network file systems, and systems other than Linux.
- **C libraries without memory.** OpenBLAS ends the process by itself, others abort or wait for threads that they could
  not start. What they leave is held to the same rules as a kill; that they say something is not.
- **Faults inside reads of C code** (pyarrow, safetensors), other than by limits.
- **Two faults at once**, apart from errors that last and a full disk that stays full.
- **`adapt` in Python, `tune`, `audit` and `schema`**, which write through the same code.
"""


def page(document: dict[str, Any]) -> str:
    """The page."""
    environment, tests = document["environment"], document["tests"]
    versions = environment["versions"]
    rows: dict[str, list[dict[str, Any]]] = {}
    for test in tests:
        rows.setdefault(_kind(test["test"]), []).append(test)
    parts = [_INTRODUCTION]
    parts += [_row(["fault", "commands", "trials", "failures"]), _row(["---", "---", "---:", "---:"])]
    parts += [_row([_words(kind), _commands(kind, found), *_sums(found)]) for kind, found in rows.items()]
    parts += [_row(["**all**", "", *(f"**{one}**" for one in _sums(tests))])]
    parts += [
        "",
        f"Microtome {versions['microtome']}, commit {environment['commit']}, {environment['time'][:10]}, Python "
        f"{environment['python']}; "
        + ", ".join(f"{name} {versions[name]}" for name in ("numpy", "pyarrow", "torch"))
        + ".",
        *_repeated(tests),
        _LIMITS,
        "## Every test",
        "",
        _row(["test", "trials", "failures"]),
        _row(["---", "---:", "---:"]),
        *(_row([test["test"], *_sums([test])]) for test in tests),
    ]
    return "\n".join(parts) + "\n"


def _repeated(tests: list[dict[str, Any]]) -> list[str]:
    """What was run once more after a mistake was mended, and stands in the table in place of the earlier run."""
    commits: dict[str, list[str]] = {}
    for test in tests:
        if "commit" in test:
            commits.setdefault(test["commit"], []).append(test["test"])
    return [f"Run again on commit {commit}: {'; '.join(names)}." for commit, names in commits.items()]


def _kind(test: str) -> str:
    kind = test.partition(":")[0]
    return kind if kind in _KINDS else _RACES


def _words(kind: str) -> str:
    return _KINDS.get(kind, kind)


def _commands(kind: str, found: list[dict[str, Any]]) -> str:
    return "; ".join(test["test"] for test in found) if kind == _RACES else str(len(found))


def _sums(found: list[dict[str, Any]]) -> list[str]:
    return [f"{sum(test[key] for test in found):,}" for key in ("trials", "failures")]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    PAGE.write_text(page(json.loads(RESULT.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()

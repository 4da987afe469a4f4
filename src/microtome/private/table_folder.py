"""A folder with a file for each of several tables."""

from __future__ import annotations

from pathlib import Path

from microtome.errors import TableError
from microtome.private.stored_file import KNOWN
from microtome.schema.dialect import bare_suffix


def tables_in(folder: str | Path) -> dict[str, Path]:
    """The tables of a folder by name: each file that can be one, and each folder of such files, without its suffix."""
    found: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.name.startswith((".", "_")) or not _is_table(path):
            continue
        name = path.name if path.is_dir() else path.name.split(".")[0]
        if name in found:
            raise TableError(f"{folder}: {found[name].name} and {path.name} are both the table {name!r}; remove one")
        found[name] = path
    if not found:
        raise TableError(f"{folder}: there are no tables in it, such as {', '.join(KNOWN)}")
    return found


def _is_table(path: Path) -> bool:
    within = path.iterdir() if path.is_dir() else [path]
    return any(bare_suffix(one) in KNOWN for one in within)


def has_several_tables(folder: Path) -> bool:
    """Whether files of a folder are tables of different columns, and not parts of one."""
    from microtome.private.opening import open_table

    if not folder.is_dir() or not any(_is_table(path) for path in folder.iterdir()):
        return False
    return len({frozenset(open_table(path).types) for path in tables_in(folder).values()}) > 1

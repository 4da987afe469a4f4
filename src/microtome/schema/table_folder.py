"""A folder with a file for each of several tables."""

from __future__ import annotations

from pathlib import Path

from microtome.errors import TableError
from microtome.schema.dialect import KNOWN, bare_suffix


def tables_in(folder: str | Path) -> dict[str, Path]:
    """The tables of a folder by name: each file that can be one, and each folder of such files, without its suffix."""
    found: dict[str, Path] = {}
    for path in sorted(Path(folder).iterdir()):
        if path.name.startswith((".", "_")) or not is_table(path):
            continue
        name = path.name if path.is_dir() else path.name.split(".")[0]
        if name in found:
            raise TableError(f"{folder}: {found[name].name} and {path.name} are both the table {name!r}; remove one")
        found[name] = path
    if not found:
        raise TableError(f"{folder}: there are no tables in it, such as {', '.join(KNOWN)}")
    return found


def is_table(path: Path) -> bool:
    """Whether a path is a file that can be a table, or a folder of such files."""
    within = path.iterdir() if path.is_dir() else [path]
    return any(bare_suffix(one) in KNOWN for one in within)

"""The files of a table: one or several, by name, pattern, folder or address, on this machine or in an object store.

Which files there are is settled once. A file that is another one afterwards is refused: passes would count other rows.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.fs as pafs

from microtome.errors import TableError
from microtome.extras import how_to_install
from microtome.schema.dialect import ARROW, KNOWN, PARQUET, SHEETS, TEXT_FILES, bare_suffix, require_table_file

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""How Hive and Spark call the folder of rows that have no value."""
_MAGIC = "*?["
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """One file of a table.

    Attributes:
        name: What it is called in messages: its path or address.
        path: Where it is in its file system.
        system: The file system; ``None`` for this machine's own.
    """

    name: str
    path: str
    system: pafs.FileSystem | None = None

    @property
    def partition(self) -> dict[str, str | None]:
        """Columns that the folders it is in stand for, ``year=2024``, and their value in all of its rows."""
        pairs = [folder.split("=", 1) for folder in PurePosixPath(self.path).parts[:-1] if "=" in folder]
        return {unquote(key): None if value == NULL_PARTITION else unquote(value) for key, value in pairs}

    @property
    def suffix(self) -> str:
        """The ending that says what it is, without that of its compression."""
        return bare_suffix(Path(self.path))

    def stream(self) -> pa.NativeFile:
        """Its bytes, one after the other, unpacked if its ending says that they are packed."""
        if self.system is None:
            return pa.input_stream(self.path)
        return _answered(self.name, self.system.open_input_stream, self.path)

    def file(self) -> pa.NativeFile:
        """Its bytes at any place."""
        if self.system is None:
            return pa.OSFile(self.path)
        return _answered(self.name, self.system.open_input_file, self.path)

    def signature(self) -> tuple[Any, ...]:
        """What tells it from a file that has taken its place, or that was written to."""
        if self.system is not None:
            found = _answered(self.name, self.system.get_file_info, self.path)
            return found.type, found.size, found.mtime_ns
        try:
            status = os.stat(self.path)
        except OSError as error:
            raise TableError(f"{self.name}: {error.strerror or error}") from error
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def table_files(given: Any) -> list[StoredFile]:
    """The files that a path, pattern, folder or address names, or several of these, in the order of their names."""
    several = list(given) if isinstance(given, list | tuple) else [given]
    if not several:
        raise TableError("no file is given; give at least one")
    found = [file for one in several for file in _found(one)]
    _refuse_twice(found)
    _refuse_mixed(found)
    return found


def local_files(given: Any) -> list[Path]:
    """All files of this machine that paths, patterns and folders name, tables or not, as far as they exist."""
    if isinstance(given, list | tuple):
        return [path for one in given if isinstance(one, str | Path) for path in local_files(one)]
    path = Path(str(given).removeprefix("file://"))
    if path.is_dir():
        return [within for within in path.rglob("*") if within.is_file()]
    return [path] if path.exists() or not _is_pattern(given) else list(map(Path, glob.glob(str(path), recursive=True)))


def names_one_place(given: Any) -> bool:
    """Whether a source is one file or folder of this machine, which has a name of its own."""
    return isinstance(given, str | Path) and not is_address(given) and (Path(given).exists() or not _is_pattern(given))


def is_address(given: str | Path) -> bool:
    """Whether this is an address such as ``s3://bucket/people``, and not a path."""
    return isinstance(given, str) and "://" in given


def _is_pattern(given: str | Path) -> bool:
    return any(sign in str(given) for sign in _MAGIC)


def _found(given: Any) -> list[StoredFile]:
    if not isinstance(given, str | Path):
        raise TableError(f"cannot read a list with {type(given).__name__} in it; give paths")
    if is_address(given):
        return _stored(str(given))
    path = Path(given)
    if path.is_dir():
        return _in_folder(path)
    if path.exists() or not _is_pattern(given):
        require_table_file(path)
        return [StoredFile(name=str(path), path=str(path))]
    matching = sorted(map(Path, glob.glob(str(given), recursive=True)))
    if not matching:
        raise TableError(f"{given}: no file matches")
    return [file for one in matching for file in _found(one)]


def _in_folder(folder: Path) -> list[StoredFile]:
    within = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    shown = [path for path in within if not _is_hidden(path.relative_to(folder).parts)]
    _refuse_others(str(folder), [str(path) for path in shown])
    for path in shown:
        require_table_file(path)
    return [StoredFile(name=str(path), path=str(path)) for path in shown]


def _is_hidden(parts: Sequence[str]) -> bool:
    """Whether a file is hidden, or a note that Spark leaves among its own."""
    return any(part.startswith((".", "_")) for part in parts)


def _refuse_others(place: str, names: Sequence[str]) -> None:
    """Refuse a folder with files that are no tables: which were meant, nobody has said."""
    if not names:
        raise TableError(f"{place} is a directory without a table; it should hold files of {', '.join(KNOWN)}")
    others = [name for name in names if bare_suffix(Path(name)) not in KNOWN]
    if others:
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        raise TableError(
            f"{place} is a directory that holds other files than tables: {', '.join(others[:_SHOWN])}{more}; name "
            f"those that are meant, such as '{place.rstrip('/')}/*.parquet'"
        )


def _stored(address: str) -> list[StoredFile]:
    """The files at an address: one, all below a folder, or those that match a pattern."""
    fixed = address
    if _is_pattern(address):
        fixed = address[: min(address.index(sign) for sign in _MAGIC if sign in address)].rpartition("/")[0]
    system, path = _file_system(fixed)
    if isinstance(system, pafs.LocalFileSystem):
        return _found(path + address[len(fixed) :])
    path = path.rstrip("/")
    scheme = address.partition("://")[0]
    if not _is_pattern(address):
        info = _answered(address, system.get_file_info, path)
        if info.type == pafs.FileType.File:
            return [StoredFile(name=address, path=path, system=system)]
        if info.type == pafs.FileType.NotFound:
            raise TableError(f"{address}: nothing is there")
    within = _answered(address, system.get_file_info, pafs.FileSelector(path, recursive=True, allow_not_found=True))
    names = sorted(one.path for one in within if one.type == pafs.FileType.File)
    if _is_pattern(address):
        wanted = path + address[len(fixed) :]
        names = [name for name in names if _matches(name, wanted)]
        if not names:
            raise TableError(f"{address}: no file matches")
    else:
        names = [name for name in names if not _is_hidden(name[len(path) :].strip("/").split("/"))]
    _refuse_others(address, names)
    return [StoredFile(name=f"{scheme}://{name.lstrip('/')}", path=name, system=system) for name in names]


def _matches(name: str, pattern: str) -> bool:
    """Folder by folder: a star does not reach into another one."""
    parts, wanted = name.strip("/").split("/"), pattern.strip("/").split("/")
    return len(parts) == len(wanted) and all(map(fnmatchcase, parts, wanted))


def _file_system(address: str) -> tuple[pafs.FileSystem, str]:
    """Arrow's own file system for an address, or fsspec's where Arrow has none."""
    try:
        system, path = pafs.FileSystem.from_uri(address)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return _foreign_system(address)
    except OSError as error:
        raise TableError(f"{address}: {error}") from error
    return system, path


def _foreign_system(address: str) -> tuple[pafs.FileSystem, str]:
    scheme = address.partition("://")[0]
    try:
        import fsspec
    except ImportError as error:
        raise TableError(
            f"{address}: nothing is installed that reads {scheme}://; {how_to_install('fsspec')}, and what fsspec "
            "asks for beside it"
        ) from error
    try:
        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise TableError(f"{address}: nothing is installed that reads {scheme}://: {error}") from error
    return pafs.PyFileSystem(pafs.FSSpecHandler(system)), path


def _answered(name: str, ask: Callable[..., Any], *question: Any) -> Any:
    """What a file system answers; what it cannot say, as an error of ours."""
    try:
        return ask(*question)
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{name}: {error}") from error


def _refuse_twice(files: Sequence[StoredFile]) -> None:
    """Refuse a file that is given twice, under whatever names: its records would count twice."""
    seen: dict[Any, str] = {}
    for file in files:
        place = file.signature()[:2] if file.system is None else file.name
        if place in seen:
            raise TableError(f"{seen[place]} and {file.name} are one file; give it once, or its rows count twice")
        seen[place] = file.name


def _refuse_mixed(files: Sequence[StoredFile]) -> None:
    """Refuse text beside Parquet: most likely the same rows twice."""
    kinds = {_family(file.suffix): file.name for file in files}
    if len(kinds) > 1:
        raise TableError(
            f"{' and '.join(kinds.values())} are files of different kinds; give those of one kind, lest the same rows "
            "count twice"
        )


def _family(suffix: str) -> str:
    families = (TEXT_FILES, PARQUET, ARROW, SHEETS)
    return next((family[0] for family in families if suffix in family), suffix)

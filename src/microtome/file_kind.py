"""What a file is, for whoever gave the wrong one: told by its first bytes, whatever its name says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FORMATS = {
    "microtome-release": "a release",
    "microtome-model": "a model",
    "microtome-image-model": "a model of images",
    "microtome-checkpoint": "a checkpoint",
    "microtome-adapter": "an adapted classifier",
    "microtome-ledger": "a ledger",
}
_MAGIC = {
    b"PAR1": "a table (Parquet)",
    b"\x1f\x8b": "a compressed file (gzip)",
    b"PK\x03\x04": "an archive (NPZ or ZIP)",
    b"\x89HDF": "an image set (HDF5)",
    b"\x89PNG": "a picture (PNG)",
    b"SQLite format 3": "a database (SQLite), such as the trials of 'microtome tune'",
    b"-----BEGIN ": "a key",
    b"\x00\x00\x08": "an image set (IDX)",
    b"%PDF": "a PDF document",
}
_WHAT_TO_DO = {
    ("a release", "a table"): "'microtome release' makes a release of a private table",
    ("a release", "an image set"): "'microtome release' makes a release of private images",
    ("a release", "a model"): "give the release that it was fitted to",
    ("a release", "a schema"): "it goes with --schema",
    ("a model", "a release"): "'microtome fit' makes a model of a release",
    ("a model", "a checkpoint"): "'microtome fit --resume' goes on from it and writes the model",
    ("a model", "a table"): "'microtome release' and 'microtome fit' lead from a private table to a model",
}
_HEADER_SIZE = 8
_LARGEST_HEADER = 100_000_000
_GLANCE = 4096


def mistaken_for(path: Path, wanted: str) -> str | None:
    """What to say of a file that is not ``wanted`` ("a release", "a model") but something else that is known."""
    kind = kind_of(path)
    if kind is None or kind == wanted:
        return None
    advice = [hint for (asked, found), hint in _WHAT_TO_DO.items() if asked == wanted and kind.startswith(found)]
    return "; ".join([f"it is {kind}, not {wanted}", *advice[:1]])


def kind_of(path: Path) -> str | None:
    """A file's kind in words; ``None`` if it is not known, or one of ours that is damaged."""
    start = _start(path)
    if not start:
        return "an empty file"
    marked = marked_kind(path)
    if marked is not None:
        return marked
    found = format_of(path)
    if found is not None:
        return _FORMATS.get(found) or _FORMATS.get(found.rpartition("-")[0])
    return _kind_of_text(start)


def marked_kind(path: Path) -> str | None:
    """A file's kind where its first bytes are the mark of one, which no table in plain text begins with."""
    start = _start(path)
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_GLANCE)


def format_of(path: Path) -> str | None:
    """The format that a safetensors file of ours says it has, read off its header alone."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(_HEADER_SIZE), "little")
            if size > _LARGEST_HEADER:
                return None
            header = _object(file.read(size))
    except OSError:
        return None
    found = _object(_entry(_entry(header, "__metadata__"), "microtome"))
    name = _entry(found, "format")
    return name if isinstance(name, str) else None


def _object(text: Any) -> Any:
    """A JSON value, or ``None`` for what is none."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return None


def _entry(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _kind_of_text(start: bytes) -> str | None:
    try:
        text = start.decode("utf-8", errors="strict" if len(start) < _GLANCE else "ignore")
    except UnicodeDecodeError:
        return None
    if any(ord(letter) < ord(" ") and letter not in "\t\r\n" for letter in text):
        return None
    if "microtome-schema:" in text or "microtome-image-schema:" in text:
        return "a schema"
    if text.lstrip().startswith("{"):
        return "a ledger" if '"microtome-ledger"' in text else "a JSON document"
    if text.lstrip().startswith("<"):
        return "a page (HTML)"
    return "a table (CSV) or other text"

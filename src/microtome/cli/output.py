"""Writing a result, complete or not at all."""

from __future__ import annotations

from pathlib import Path

from microtome.errors import OutputError


def write_text(path: Path, text: str) -> None:
    """Write a file under a temporary name and move it into place."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error}") from error
    finally:
        partial.unlink(missing_ok=True)

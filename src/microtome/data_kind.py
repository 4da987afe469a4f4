"""Whether a path is of images or of a table, by names and first bytes."""

from __future__ import annotations

from pathlib import Path

from microtome.images.reading import is_image_set
from microtome.schema.dialect import KNOWN, bare_suffix


def is_of_images(path: Path) -> bool:
    """Whether a path is of images; a folder with files of a table in it is of a table."""
    is_of_a_table = path.is_dir() and any(bare_suffix(within) in KNOWN for within in path.rglob("*"))
    return is_image_set(path) and not is_of_a_table

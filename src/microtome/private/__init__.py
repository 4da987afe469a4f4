"""The only code that sees private rows: count, encode, slice, add noise, publish."""

from microtome.private.door import Door, Source
from microtome.private.draft import draft_schema
from microtome.private.image_rows import PrivateImages
from microtome.private.image_source import ImageSource
from microtome.private.opening import open_table
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.table_source import TableSource
from microtome.settings import PrivacySettings, RunSettings

__all__ = [
    "Door",
    "ImageSource",
    "PrivacySettings",
    "PrivateImages",
    "Randomness",
    "RunSettings",
    "Source",
    "SystemRandomness",
    "TableSource",
    "draft_schema",
    "open_table",
]

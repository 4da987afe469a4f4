"""The only code that sees private rows: count, encode, slice, add noise, publish."""

from microtome.private.curator import Curator
from microtome.private.draft import draft_schema
from microtome.private.image_curator import ImageCurator
from microtome.private.image_rows import PrivateImages
from microtome.private.publishing import release, release_images
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.settings import PrivacySettings, RunSettings
from microtome.private.table import open_table

__all__ = [
    "Curator",
    "ImageCurator",
    "PrivacySettings",
    "PrivateImages",
    "Randomness",
    "RunSettings",
    "SystemRandomness",
    "draft_schema",
    "open_table",
    "release",
    "release_images",
]

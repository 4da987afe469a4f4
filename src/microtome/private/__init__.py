"""The only code that sees private rows: count, encode, slice, add noise, publish."""

from microtome.private.curator import Curator
from microtome.private.draft import draft_schema
from microtome.private.publishing import release
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.settings import PrivacySettings, RunSettings
from microtome.private.table import open_table

__all__ = [
    "Curator",
    "PrivacySettings",
    "Randomness",
    "RunSettings",
    "SystemRandomness",
    "draft_schema",
    "open_table",
    "release",
]

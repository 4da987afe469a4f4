"""The only code that sees private rows: count, encode, slice, add noise, publish."""

from microtome.private.door import Door, Source
from microtome.private.draft import draft_schema
from microtome.private.image_rows import PrivateImages
from microtome.private.image_source import ImageSource
from microtome.private.linked_opening import open_linked
from microtome.private.linked_people import linked_people
from microtome.private.linked_source import LinkedSource
from microtome.private.opening import open_table
from microtome.private.people import PeopleTable, people_of
from microtome.private.randomness import Randomness, SystemRandomness, fresh_key
from microtome.private.table import PrivateTable
from microtome.private.table_source import TableSource, require_confirmed
from microtome.settings import PrivacySettings, RunSettings

__all__ = [
    "Door",
    "ImageSource",
    "LinkedSource",
    "PeopleTable",
    "PrivacySettings",
    "PrivateImages",
    "PrivateTable",
    "Randomness",
    "RunSettings",
    "Source",
    "SystemRandomness",
    "TableSource",
    "draft_schema",
    "fresh_key",
    "linked_people",
    "open_linked",
    "open_table",
    "people_of",
    "require_confirmed",
]

"""The artefact that anybody may hold: its format, its manifest, and how to read it."""

from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Artefact, Release, keep_temporary, narrowed, unknown_release
from microtome.published.container import ContainerWriter, check_output, check_space, digest
from microtome.published.description import contents_in_words, promise_in_words, summary, unlearnt_in_words
from microtome.published.images import ImageMomentsRelease, ImageRelease, ImageRowsRelease
from microtome.published.linked import LinkedRelease
from microtome.published.manifest import Contents, Manifest, Promise
from microtome.published.mechanisms import (
    AggregateMechanism,
    AnyMechanism,
    Focus,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    LinkedMechanism,
    Mechanism,
    ReleaseKind,
    Triples,
)
from microtome.published.pooling import pool
from microtome.published.records import RecordsRelease
from microtome.published.tables import TwoWayTables, consistent, two_way_tables

__all__ = [
    "AggregateMechanism",
    "AggregatesRelease",
    "AnyMechanism",
    "Artefact",
    "ContainerWriter",
    "Contents",
    "Focus",
    "ImageMomentsMechanism",
    "ImageMomentsRelease",
    "ImageRelease",
    "ImageRowsMechanism",
    "ImageRowsRelease",
    "LinkedMechanism",
    "LinkedRelease",
    "Manifest",
    "Mechanism",
    "Promise",
    "RecordsRelease",
    "Release",
    "ReleaseKind",
    "Triples",
    "TwoWayTables",
    "check_output",
    "check_space",
    "consistent",
    "contents_in_words",
    "digest",
    "keep_temporary",
    "narrowed",
    "pool",
    "promise_in_words",
    "summary",
    "two_way_tables",
    "unknown_release",
    "unlearnt_in_words",
]

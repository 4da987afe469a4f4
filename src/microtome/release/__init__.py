"""The artefact that anybody may hold: its format, its manifest, and how to read it."""

from microtome.release.artefact import Release, keep_temporary
from microtome.release.container import ContainerWriter, check_output, check_space, digest
from microtome.release.description import promise_in_words, summary
from microtome.release.manifest import Contents, Manifest, Mechanism, Promise, ReleaseKind

__all__ = [
    "ContainerWriter",
    "Contents",
    "Manifest",
    "Mechanism",
    "Promise",
    "Release",
    "ReleaseKind",
    "check_output",
    "check_space",
    "digest",
    "keep_temporary",
    "promise_in_words",
    "summary",
]

"""A release in hand: open it, check it, copy it. Needs no private data and no private code."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from microtome.errors import MicrotomeError, ReleaseError
from microtome.file_kind import mistaken_for
from microtome.published.consistency import check_events
from microtome.published.container import check_header, check_output, digest
from microtome.published.manifest import (
    AggregateMechanism,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    Manifest,
    Mechanism,
    ReleaseKind,
)
from microtome.schema import Codebook, Schema
from microtome.schema.image import KEY as IMAGES
from microtome.whole_file import whole_file

_WRONG_CONTENTS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""What reading a manifest that makes no sense may raise."""


class Artefact:
    """A published file, of a table or of images. Open one with ``load``."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def num_records(self) -> float:
        """Records in the table: exact where that is public, else the profile's noisy count."""
        return self.manifest.contents.num_records

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Self:
        """Open a release.

        Args:
            path: The file.
            verify: Whether to check the checksum of every row, which reads the whole file.

        Example:
            >>> import microtome as mt, pyarrow as pa
            >>> schema = mt.Schema(columns=(mt.Column(name="insured", kind="boolean", missing=False),))
            >>> table = {"insured": [True, False] * 50}
            >>> written = mt.release(pa.table(table), schema, epsilon=1.0, delta=1e-5, output="town.release")
            >>> release = mt.Release.load("town.release")
            >>> release.manifest.promise.epsilon, release.num_records, release.schema.names
            (1.0, 100.0, ['insured'])
        """
        path = Path(path)
        if not path.is_file():
            raise ReleaseError(f"{path}: no such file")
        try:
            check_header(path)
            with safe_open(path, framework="numpy") as file:
                manifest = _manifest(path, file.metadata() or {})
                names = [name for name in file.keys() if name != "rows"]  # noqa: SIM118
                arrays = {name: file.get_tensor(name) for name in names}
            _check_arrays(manifest, arrays)
            manifest.promise.verify()
            release = _class_of(manifest)(path, manifest, arrays)
            if not isinstance(release, cls):
                held, wanted = ("a table", "images") if isinstance(release, Release) else ("images", "a table")
                raise ReleaseError(f"it is a release of {held}, where one of {wanted} is needed")
            release._check(verify=verify)
            check_events(manifest)
        except (SafetensorError, OSError) as error:
            said = mistaken_for(path, "a release") or f"not a release, or damaged: {error}"
            raise ReleaseError(f"{path}: {said}") from error
        except MicrotomeError as error:
            raise ReleaseError(f"{path}: {error}") from error
        except _WRONG_CONTENTS as error:
            raise ReleaseError(f"{path}: its manifest is damaged: {type(error).__name__}: {error}") from error
        return release

    def _check(self, *, verify: bool) -> None:
        """Compare the file with what the manifest says of it; read all of it if ``verify``."""
        raise ReleaseError("open a release with Release.load")

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Copy the file to a place of your own."""
        check_output(Path(path), force=force)
        with self.path.open("rb") as source, whole_file(Path(path)) as file:
            shutil.copyfileobj(source, file)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of this very release: the digest of its manifest, which holds all checksums."""
        with safe_open(self.path, framework="numpy") as file:
            return str(file.metadata()["microtome_sha256"])


class Release(Artefact):
    """A release of a table, of either kind."""

    def __init__(self, path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]]) -> None:
        super().__init__(path, manifest)
        self.schema = Schema.from_dict(manifest.schema)
        self.codebook = Codebook.from_parts(self.schema, manifest.codebook, arrays)

    @property
    def unlearnt(self) -> tuple[str, ...]:
        """Columns of which nothing, or not even half, stood out from the noise: rows drawn from this say little there.

        Declaring their bounds or categories helps, and so does a larger ε.
        """
        return tuple(code.column.name for code in self.codebook.codes if not code.is_learnt)


def _class_of(manifest: Manifest) -> Callable[[Path, Manifest, dict[str, NDArray[Any]]], Artefact]:
    """The class of a release, by its schema and kind; its mechanism has to be of that class."""
    from microtome.published.aggregates import AggregatesRelease
    from microtome.published.images import ImageMomentsRelease, ImageRowsRelease
    from microtome.published.records import RecordsRelease

    classes: dict[tuple[bool, ReleaseKind], tuple[Callable[..., Artefact], type]] = {
        (True, ReleaseKind.RECORDS): (ImageRowsRelease, ImageRowsMechanism),
        (True, ReleaseKind.AGGREGATES): (ImageMomentsRelease, ImageMomentsMechanism),
        (False, ReleaseKind.RECORDS): (RecordsRelease, Mechanism),
        (False, ReleaseKind.AGGREGATES): (AggregatesRelease, AggregateMechanism),
    }
    found, mechanism = classes[IMAGES in manifest.schema, manifest.kind]
    if not isinstance(manifest.mechanism, mechanism):
        raise ReleaseError(f"its mechanism is not that of {manifest.kind} of what its schema describes")
    return found


Kept = TypeVar("Kept", bound=Artefact)


def keep_temporary(release: Kept, directory: Path) -> Kept:
    """Tie the directory that holds a release to the release's own life."""
    weakref.finalize(release, shutil.rmtree, directory, ignore_errors=True)
    return release


def _manifest(path: Path, metadata: dict[str, str]) -> Manifest:
    if "microtome" not in metadata:
        raise ReleaseError("a safetensors file, but not a Microtome release")
    text = metadata["microtome"]
    if digest(text.encode()) != metadata.get("microtome_sha256"):
        raise ReleaseError(mistaken_for(path, "a release") or "its manifest was altered: the checksum is wrong")
    return Manifest.from_dict(json.loads(text, parse_constant=_refuse_constant))


def _refuse_constant(name: str) -> NoReturn:
    raise ReleaseError(f"its manifest is damaged: {name} is not a number")


def _check_arrays(manifest: Manifest, arrays: dict[str, NDArray[Any]]) -> None:
    """Compare the header's small tensors with the manifest: checksums cover bytes, not how to read these."""
    wanted = {name: value for name, value in manifest.checksums.items() if name != "rows"}
    if set(wanted) != set(arrays):
        raise ReleaseError("its tensors are not those the manifest lists")
    for name, array in arrays.items():
        whole = name.endswith("/levels")
        if array.dtype != (np.int64 if whole else np.float64) or digest(array.tobytes()) != wanted[name]:
            raise ReleaseError(f"{name} was altered: the checksum is wrong")
        if not np.isfinite(array).all():
            raise ReleaseError(f"{name} has numbers that are not finite")

"""A release in hand: open it, check it, copy it. Needs no private data and no private code."""

from __future__ import annotations

import json
import shutil
import weakref
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from microtome.card import Card, Carded
from microtome.errors import MicrotomeError, ReleaseError
from microtome.file_kind import mistaken_for
from microtome.published.consistency import check_events
from microtome.published.container import check_header, check_output, container_of, digest
from microtome.published.manifest import Manifest
from microtome.published.mechanisms import (
    AggregateMechanism,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    LinkedMechanism,
    Mechanism,
)
from microtome.schema import Codebook, Schema
from microtome.schema.view import View, view_of
from microtome.whole_file import whole_file, whole_folder

_WRONG_CONTENTS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError, MemoryError)
"""What reading a manifest that makes no sense may raise."""


class Artefact(Carded):
    """A published file, of a table or of images. Open one with ``load``."""

    holds: ClassVar[str] = "any data"

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def file(self) -> Path:
        """The file that has the manifest: that of the release, or the first of its folder."""
        return container_of(self.path)

    @property
    def num_records(self) -> float:
        """Records in the table: exact where that is public, else the profile's noisy count."""
        return self.manifest.contents.num_records

    @property
    def unlearnt(self) -> tuple[str, ...]:
        """Columns of which next to nothing is known; data without columns have none."""
        return ()

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Self:
        """Open a release.

        Args:
            path: The file, or the folder of one that many machines wrote.
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
        held = container_of(path)
        if not held.is_file():
            raise ReleaseError(
                f"{path}: a directory without a release in it" if path.is_dir() else f"{path}: no such file"
            )
        try:
            check_header(held)
            with safe_open(held, framework="numpy") as file:
                manifest = _manifest(held, file.metadata() or {})
                names = set(file.keys())
                _check_rows_are_listed(manifest, names)
                arrays = {name: file.get_tensor(name) for name in sorted(names - {"rows"})}
            _check_arrays(manifest, arrays)
            manifest.promise.verify()
            release = narrowed(_opened(path, manifest, arrays), cls)
            release._check(verify=verify)
            check_events(manifest)
        except (SafetensorError, OSError) as error:
            said = mistaken_for(held, "a release") or f"not a release, or damaged: {error}"
            raise ReleaseError(f"{path}: {said}") from error
        except MicrotomeError as error:
            raise ReleaseError(f"{path}: {error}") from error
        except _WRONG_CONTENTS as error:
            raise ReleaseError(f"{path}: its manifest is damaged: {type(error).__name__}: {error}") from error
        return release

    @property
    def subject(self) -> str:
        """What was released, in words."""
        match self.manifest.mechanism:
            case LinkedMechanism(views=views):
                return f"{len(views)} linked tables"
            case mechanism:
                return "images" if mechanism.of_images else "a table"

    def card(self) -> Card:
        """What was promised, and what it holds."""
        from microtome.published.description import contents_in_words, promise_in_words

        promise, kind = self.manifest.promise, self.manifest.kind
        cost = f"ε = {promise.epsilon:g}, δ = {promise.delta:g}, {promise.neighbours}"
        return Card(
            title=f"Release of {self.subject}, {kind}: {cost}",
            lines=[*promise_in_words(self), contents_in_words(self)],
        )

    def _check(self, *, verify: bool) -> None:
        """Compare the file with what the manifest says of it; read all of it if ``verify``."""
        raise ReleaseError("open a release with Release.load")

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Copy the file, or the folder, to a place of your own."""
        check_output(Path(path), force=force, folder=self.path.is_dir())
        if self.path.is_dir():
            with whole_folder(Path(path)) as folder:
                shutil.copytree(self.path, folder, dirs_exist_ok=True)
            return
        with self.path.open("rb") as source, whole_file(Path(path)) as file:
            shutil.copyfileobj(source, file)

    @cached_property
    def fingerprint(self) -> str:
        """A short name of this very release: the digest of its manifest, which holds all checksums."""
        with safe_open(self.file, framework="numpy") as file:
            return str(file.metadata()["microtome_sha256"])


class Release(Artefact):
    """A release of a table, of either kind.

    Attributes:
        table_schema: What is public about the table.
        view: What was measured of it; where people have several rows, that is more than its columns.
        schema: The columns that were measured.
        codebook: Their codes.
    """

    holds: ClassVar[str] = "a table"

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        arrays: dict[str, NDArray[Any]],
        viewed: tuple[View, Codebook] | None = None,
    ) -> None:
        super().__init__(path, manifest)
        self.table_schema = Schema.from_dict(manifest.schema)
        if viewed is None:
            self.view = view_of(self.table_schema)
            codebook = Codebook.from_parts(self.view.schema, manifest.codebook, arrays)
        else:
            self.view, codebook = viewed
        self.codebook = self.view.with_steps(codebook)
        self.schema = self.view.full_schema(self.codebook)

    @property
    def codebook_owner(self) -> str:
        """The fingerprint of the release whose profile made the codebook: this one, or the one that it is like."""
        return self.fingerprint

    @property
    def unlearnt(self) -> tuple[str, ...]:
        """Columns of which nothing, or not even half, stood out from the noise: rows drawn from this say little there.

        Declaring their bounds or categories helps, and so does a larger ε.
        """
        return tuple(code.column.name for code in self.codebook.codes if not code.is_learnt)


def _opened(path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]]) -> Artefact:
    """The release of a file, of the class that its mechanism asks for."""
    from microtome.published.aggregates import AggregatesRelease
    from microtome.published.images import ImageMomentsRelease, ImageRowsRelease
    from microtome.published.linked import LinkedRelease
    from microtome.published.records import RecordsRelease

    match manifest.mechanism:
        case LinkedMechanism() as mechanism:
            return LinkedRelease(path, manifest, arrays, mechanism)
        case Mechanism() as mechanism:
            return RecordsRelease(path, manifest, arrays, mechanism)
        case AggregateMechanism() as mechanism:
            return AggregatesRelease(path, manifest, arrays, mechanism)
        case ImageRowsMechanism() as mechanism:
            return ImageRowsRelease(path, manifest, arrays, mechanism)
        case ImageMomentsMechanism() as mechanism:
            return ImageMomentsRelease(path, manifest, arrays, mechanism)


Kept = TypeVar("Kept", bound=Artefact)


def narrowed(release: Artefact, wanted: type[Kept]) -> Kept:
    """The release, known to be of a class; one of another is refused."""
    if not isinstance(release, wanted):
        raise ReleaseError(f"it is a release of {release.holds}, where one of {wanted.holds} is needed")
    return release


def unknown_release(release: Artefact) -> ReleaseError:
    """The end of every match over releases: a kind that it does not know is an error."""
    return ReleaseError(f"{release.path}: nothing is known of a release of the class {type(release).__name__}")


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


def _check_rows_are_listed(manifest: Manifest, names: set[str]) -> None:
    """Refuse rows that no checksum covers: of a kind that has none, or beside those of a folder's shards."""
    if "rows" in names and ("rows" not in manifest.checksums or manifest.contents.shards is not None):
        raise ReleaseError("its tensors are not those the manifest lists: no checksum covers its 'rows'")


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

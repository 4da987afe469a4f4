"""A release in hand: open it, check it, look at it as slices. Needs no private data and no private code."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from microtome.accounting import DirectionKind
from microtome.errors import MicrotomeError, ReleaseError
from microtome.release.container import DiskErrors, check_output, digest
from microtome.release.manifest import Manifest
from microtome.schema import Codebook, Schema

_CHUNK_ENTRIES = 1 << 22


class Release:
    """The published artefact.

    Rows are read from the file as they are needed and never all held in memory. Open one with ``load``.
    """

    def __init__(self, path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]]) -> None:
        self.path = path
        self.manifest = manifest
        self.schema = Schema.from_dict(manifest.schema)
        self.codebook = Codebook.from_parts(self.schema, manifest.codebook, arrays)
        self.directions: NDArray[np.float64] = arrays["directions"]

    @classmethod
    def load(cls, path: str | Path, *, verify: bool = True) -> Release:
        """Open a release.

        Args:
            path: The file.
            verify: Whether to check the checksum of every row, which reads the whole file.
        """
        path = Path(path)
        if not path.is_file():
            raise ReleaseError(f"{path}: no such file")
        try:
            with safe_open(path, framework="numpy") as file:
                manifest = _manifest(file.metadata() or {})
                names = [name for name in file.keys() if name != "rows"]  # noqa: SIM118
                arrays = {name: file.get_tensor(name) for name in names}
                rows = file.get_slice("rows")
                shape, dtype = tuple(rows.get_shape()), rows.get_dtype()
            _check(manifest, arrays, shape, dtype)
            release = cls(path, manifest, arrays)
            if verify:
                release.verify_rows()
        except (SafetensorError, OSError) as error:
            raise ReleaseError(f"{path}: not a release, or damaged: {error}") from error
        except MicrotomeError as error:
            raise ReleaseError(f"{path}: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise ReleaseError(f"{path}: its manifest is damaged: {error!r}") from error
        return release

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Copy the file to a place of your own."""
        check_output(Path(path), force=force)
        partial = Path(path).with_name(f".{Path(path).name}.partial")
        with DiskErrors(Path(path)):
            try:
                shutil.copyfile(self.path, partial)
                partial.replace(path)
            finally:
                partial.unlink(missing_ok=True)

    @property
    def num_rows(self) -> int:
        """Rows in the file, null rows included."""
        return self.manifest.contents.num_rows

    @property
    def noise_scale(self) -> float:
        """The standard deviation σ of the noise in every number."""
        return self.manifest.mechanism.noise_scale

    @property
    def null_share(self) -> float:
        """Expected share of rows that are null: padding of a subsample or of a protected count."""
        contents, rate = self.manifest.contents, self.manifest.mechanism.subsample or 1.0
        return min(max(1.0 - rate * contents.num_records / contents.num_rows, 0.0), 1.0)

    @property
    def is_isotropic(self) -> bool:
        """Whether the directions are whole orthogonal blocks, so that ``encoded_rows`` can be had."""
        law = self.manifest.mechanism.directions
        return law.kind is DirectionKind.ORTHOGONAL and law.count % law.dim == 0

    @property
    def isotropic_noise(self) -> float:
        """The noise in each coordinate of ``encoded_rows``: σ/√q for q orthogonal blocks."""
        law = self.manifest.mechanism.directions
        return self.noise_scale / float(np.sqrt(law.count / law.dim))

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """Noisy projections X·U + V of the rows from ``first`` to before ``last``."""
        return self._steps(first, last).astype(np.float64) * self.manifest.mechanism.grid_step

    def slices(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """The same as rows × num_slices × slice_dim."""
        law = self.manifest.mechanism.directions
        return self.rows(first, last).reshape(-1, law.num_slices, law.slice_dim)

    def slice_directions(self) -> NDArray[np.float64]:
        """The directions θ_s as num_slices × dim × slice_dim."""
        law = self.manifest.mechanism.directions
        return self.directions.reshape(law.dim, law.num_slices, law.slice_dim).transpose(1, 0, 2)

    def encoded_rows(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """Encoded rows under isotropic noise, (X·U + V)·Uᵀ/q: any new slice of them is a valid noisy slice."""
        if not self.is_isotropic:
            raise ReleaseError("only whole orthogonal directions can be turned back into encoded rows")
        blocks = self.manifest.mechanism.directions.count // self.manifest.mechanism.directions.dim
        return self.rows(first, last) @ self.directions.T / blocks

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
        """Row ranges that fit in memory, in file order."""
        last = self.num_rows if last is None else last
        size = max(1, _CHUNK_ENTRIES // max(self.directions.shape))
        for start in range(first, last, size):
            yield start, min(start + size, last)

    def verify_rows(self) -> None:
        """Check every row against its checksum."""
        size = self.manifest.contents.bin_rows
        for index, wanted in enumerate(self.manifest.checksums["rows"]):
            found = digest(self._steps(index * size, min((index + 1) * size, self.num_rows)).data)
            if found != wanted:
                raise ReleaseError(f"rows from {index * size} on were altered: their checksum is wrong")

    @cached_property
    def fingerprint(self) -> str:
        """A short name of this very release: the digest of its manifest, which holds all checksums."""
        with safe_open(self.path, framework="numpy") as file:
            return str(file.metadata()["microtome_sha256"])

    def _steps(self, first: int, last: int | None) -> NDArray[np.int16]:
        with safe_open(self.path, framework="numpy") as file:
            return np.ascontiguousarray(file.get_slice("rows")[first : self.num_rows if last is None else last])


def keep_temporary(release: Release, directory: Path) -> Release:
    """Tie the directory that holds a release to the release's own life."""
    weakref.finalize(release, shutil.rmtree, directory, ignore_errors=True)
    return release


def _manifest(metadata: dict[str, str]) -> Manifest:
    if "microtome" not in metadata:
        raise ReleaseError("a safetensors file, but not a Microtome release")
    text = metadata["microtome"]
    if digest(text.encode()) != metadata.get("microtome_sha256"):
        raise ReleaseError("its manifest was altered: the checksum is wrong")
    return Manifest.from_dict(json.loads(text))


def _check(manifest: Manifest, arrays: dict[str, NDArray[Any]], rows_shape: tuple[int, ...], rows_dtype: str) -> None:
    """Compare the header's tensors with the manifest: checksums cover their bytes but not how to read these."""
    law = manifest.mechanism.directions
    if rows_shape != (manifest.contents.num_rows, law.count) or rows_dtype != "I16":
        wanted_shape = (manifest.contents.num_rows, law.count)
        raise ReleaseError(f"rows are {rows_dtype} of shape {rows_shape}, the manifest says I16 of {wanted_shape}")
    if len(manifest.checksums["rows"]) != -(-manifest.contents.num_rows // manifest.contents.bin_rows):
        raise ReleaseError("its rows are not all covered by checksums")
    wanted = {name: value for name, value in manifest.checksums.items() if name != "rows"}
    if set(wanted) != set(arrays):
        raise ReleaseError("its tensors are not those the manifest lists")
    for name, array in arrays.items():
        whole = name.endswith("/levels")
        if array.dtype != (np.int64 if whole else np.float64) or digest(array.tobytes()) != wanted[name]:
            raise ReleaseError(f"{name} was altered: the checksum is wrong")
    if arrays["directions"].shape != (law.dim, law.count):
        raise ReleaseError(f"directions are {arrays['directions'].shape}, not {(law.dim, law.count)}")

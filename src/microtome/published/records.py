"""A release of records: one noisy row a record, looked at as slices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from microtome.errors import ReleaseError
from microtome.published.artefact import Release
from microtome.published.container import digest
from microtome.published.manifest import Manifest
from microtome.published.mechanisms import Mechanism
from microtome.published.shards import Shards

_CHUNK_ENTRIES = 1 << 22


class RecordsRelease(Release):
    """Noisy slices of every record. Rows are read as they are needed and never all held in memory."""

    holds: ClassVar[str] = "a table (records)"

    def __init__(self, path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]], mechanism: Mechanism) -> None:
        super().__init__(path, manifest, arrays)
        self.mechanism = mechanism
        self.directions: NDArray[np.float64] = arrays["directions"]

    @property
    def num_rows(self) -> int:
        """Rows in the file, null rows included."""
        return self.manifest.contents.num_rows

    @property
    def noise_scale(self) -> float:
        """The standard deviation σ of the noise in every number."""
        return self.mechanism.noise_scale

    @property
    def null_share(self) -> float:
        """Expected share of rows that are null: padding of a subsample or of a protected count."""
        contents, rate = self.manifest.contents, self.mechanism.subsample or 1.0
        return min(max(1.0 - rate * contents.num_records / contents.num_rows, 0.0), 1.0)

    @property
    def is_isotropic(self) -> bool:
        """Whether the directions are whole orthogonal blocks, so that ``encoded_rows`` can be had."""
        return self.mechanism.directions.is_whole

    @property
    def isotropic_noise(self) -> float:
        """The noise in each coordinate of ``encoded_rows``: σ/√q for q orthogonal blocks."""
        law = self.mechanism.directions
        return self.noise_scale / float(np.sqrt(law.count / law.dim))

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """Noisy projections X·U + V of the rows from ``first`` to before ``last``."""
        return self._steps(first, last).astype(np.float64) * self.mechanism.grid_step

    def slices(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """The same as rows × num_slices × slice_dim."""
        law = self.mechanism.directions
        return self.rows(first, last).reshape(-1, law.num_slices, law.slice_dim)

    def slice_directions(self) -> NDArray[np.float64]:
        """The directions θ_s as num_slices × dim × slice_dim."""
        law = self.mechanism.directions
        return self.directions.reshape(-1, law.num_slices, law.slice_dim).transpose(1, 0, 2)

    def encoded_rows(self, first: int = 0, last: int | None = None) -> NDArray[np.float64]:
        """Encoded rows under isotropic noise, (X·U + V)·Uᵀ/q: any new slice of them is a valid noisy slice."""
        if not self.is_isotropic:
            raise ReleaseError("only whole orthogonal directions can be turned back into encoded rows")
        blocks = self.mechanism.directions.count // self.mechanism.directions.dim
        return self.rows(first, last) @ self.directions.T / blocks

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, int]]:
        """Row ranges that fit in memory, in file order."""
        last = self.num_rows if last is None else last
        size = max(1, _CHUNK_ENTRIES // max(self.directions.shape))
        for start in range(first, last, size):
            yield start, min(start + size, last)

    def verify_rows(self) -> None:
        """Check every row against its checksum."""
        for (first, last), wanted in zip(self._bins(), self.manifest.checksums["rows"], strict=True):
            if digest(self._steps(first, last).data) != wanted:
                raise ReleaseError(f"rows from {first} on were altered: their checksum is wrong")

    def _bins(self) -> list[tuple[int, int]]:
        """Rows that have a checksum together."""
        if self._shards is not None:
            return list(self._shards.ranges())
        size = self.manifest.contents.bin_rows
        return [(first, min(first + size, self.num_rows)) for first in range(0, self.num_rows, size)]

    @property
    def _shards(self) -> Shards | None:
        """The rows, where they are in files of their own."""
        sizes = self.manifest.contents.shards
        return None if sizes is None else Shards(folder=self.file.parent, sizes=sizes, width=self.directions.shape[1])

    def _steps(self, first: int, last: int | None) -> NDArray[np.int16]:
        end = self.num_rows if last is None else last
        if self._shards is not None:
            return self._shards.read(first, end)
        with safe_open(self.file, framework="numpy") as file:
            return np.ascontiguousarray(file.get_slice("rows")[first:end])

    def _check(self, *, verify: bool) -> None:
        law, contents = self.mechanism.directions, self.manifest.contents
        if contents.num_rows < 1 or contents.num_records <= 0:
            raise ReleaseError(f"it has {contents.num_rows} rows of {contents.num_records:g} records")
        if self._shards is None:
            self._check_shape((contents.num_rows, law.count))
        else:
            self._shards.check()
        if len(self.manifest.checksums["rows"]) != len(self._bins()):
            raise ReleaseError("its rows are not all covered by checksums")
        if self.directions.shape != (self.codebook.dim, law.count) or self.codebook.dim > law.dim:
            wanted = (self.codebook.dim, law.count)
            raise ReleaseError(f"directions are {self.directions.shape} of {law.dim} dimensions, not {wanted}")
        if verify:
            self.verify_rows()

    def _check_shape(self, wanted: tuple[int, int]) -> None:
        with safe_open(self.file, framework="numpy") as file:
            rows = file.get_slice("rows")
            shape, dtype = tuple(rows.get_shape()), rows.get_dtype()
        if shape != wanted or dtype != "I16":
            raise ReleaseError(f"rows are {dtype} of shape {shape}, the manifest says I16 of {wanted}")

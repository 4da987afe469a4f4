"""A release of aggregates: noisy tables of counts over all records, by the classes of a pivot column."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ReleaseError
from microtome.published.artefact import Release
from microtome.published.manifest import Manifest
from microtome.published.mechanisms import AggregateMechanism
from microtome.published.presence import Presence
from microtome.schema import Codebook
from microtome.schema.view import View


class AggregatesRelease(Release):
    """Counts of levels and of pairs of levels, class by class.

    Attributes:
        first: Noisy counts of every level by class (classes × d); zero where not measured.
        second: Noisy counts of every pair of levels of two columns by class (classes × d × d), symmetric; zero
            within columns and wherever the pivot is involved.
        third: The same by groups of levels of the focus (groups × d × d); none without a focus.
        triples: Noisy counts of chosen sets of three columns, in groups of levels (tables × g × g × g); zero beyond a
            column's groups; none without a second round.
    """

    holds: ClassVar[str] = "a table (aggregates)"

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        arrays: dict[str, NDArray[Any]],
        mechanism: AggregateMechanism,
        viewed: tuple[View, Codebook] | None = None,
    ) -> None:
        super().__init__(path, manifest, arrays, viewed)
        self.mechanism = mechanism
        self.first: NDArray[np.float64] = arrays["aggregates/first"]
        self.second: NDArray[np.float64] = arrays["aggregates/second"]
        self.third: NDArray[np.float64] | None = arrays.get("aggregates/third")
        self.triples: NDArray[np.float64] | None = arrays.get("aggregates/triples")

    @property
    def codebook_owner(self) -> str:
        """The fingerprint of the release whose profile made the codebook: this one, or the one that it is like."""
        return self.mechanism.like or self.fingerprint

    @property
    def pivot(self) -> int | None:
        """Position of the pivot column."""
        name = self.mechanism.pivot
        return None if name is None else self.schema.names.index(name)

    @property
    def parts(self) -> tuple[tuple[AggregatesRelease, NDArray[np.int64]], ...]:
        """What it is made of, each with its coordinates here: itself alone, unless tables are linked."""
        return ((self, np.arange(self.codebook.dim)),)

    @property
    def presence(self) -> Presence | None:
        """What is known of rows that are there and rows that are not, where tables are linked."""
        return None

    def measured(self) -> NDArray[np.bool_]:
        """Which pairs of columns were counted (columns × columns)."""
        return np.array(self.mechanism.pair_noise) > 0

    def levels_met(self) -> NDArray[np.int64]:
        """For each column how many levels it is counted with, its own included."""
        return np.full(len(self.codebook.codes), self.codebook.dim)

    def first_noise(self) -> NDArray[np.float64]:
        """Standard deviation of the noise of each entry of ``first``."""
        return np.array(self.mechanism.first_noise)[self._owners()]

    def second_noise(self) -> NDArray[np.float64]:
        """Standard deviation of the noise of each entry of ``second``."""
        owners = self._owners()
        return np.array(self.mechanism.pair_noise)[owners][:, owners]

    def third_noise(self) -> NDArray[np.float64]:
        """Standard deviation of the noise of each entry of ``third``; 0 where there is none."""
        owners, focus = self._owners(), self.mechanism.focus
        noise = np.zeros_like(self.mechanism.pair_noise) if focus is None else np.array(focus.noise)
        return np.asarray(noise[owners][:, owners], dtype=np.float64)

    def _owners(self) -> NDArray[np.int64]:
        """The column of each coordinate."""
        return np.concatenate([np.full(block.width, index) for index, block in enumerate(self.codebook.blocks)])

    def _check(self, *, verify: bool) -> None:
        del verify
        classes, dim, columns = self.mechanism.num_classes, self.codebook.dim, len(self.codebook.codes)
        if self.first.shape != (classes, dim) or self.second.shape != (classes, dim, dim):
            raise ReleaseError(f"its tables are {self.first.shape} and {self.second.shape}, not as the manifest says")
        if np.shape(self.mechanism.pair_noise) != (columns, columns) or len(self.mechanism.first_noise) != columns:
            raise ReleaseError("its noise levels do not fit its columns")
        self._check_focus()
        self._check_triples()
        if self.manifest.contents.num_records <= 0:
            raise ReleaseError(f"num_records is {self.manifest.contents.num_records}; it must be above 0")
        if self.mechanism.pivot is not None and self.mechanism.pivot not in self.schema.names:
            raise ReleaseError(f"its pivot {self.mechanism.pivot!r} is not a column")
        if classes != (1 if self.pivot is None else self.codebook.codes[self.pivot].num_levels):
            raise ReleaseError(f"its {classes} classes are not those of its pivot")

    def _check_focus(self) -> None:
        focus, dim, columns = self.mechanism.focus, self.codebook.dim, len(self.codebook.codes)
        if (focus is None) != (self.third is None):
            raise ReleaseError("its tables of three columns are not as the manifest says")
        if focus is None or self.third is None:
            return
        if focus.column not in self.schema.names or self.pivot is not None:
            raise ReleaseError(f"its focus {focus.column!r} is not a column, or there is a pivot beside it")
        levels = self.codebook.codes[self.schema.names.index(focus.column)].num_levels
        shapes = (len(focus.groups), np.shape(focus.noise), self.third.shape)
        if shapes != (levels, (columns, columns), (focus.num_groups, dim, dim)):
            raise ReleaseError("its tables of three columns do not fit its columns")

    def _check_triples(self) -> None:
        triples = self.mechanism.triples
        if (triples is None) != (self.triples is None):
            raise ReleaseError("its chosen tables are not as the manifest says")
        if triples is None or self.triples is None:
            return
        unknown = {name for columns in triples.columns for name in columns} - set(self.schema.names)
        if unknown or any(len(set(columns)) < 3 for columns in triples.columns):
            raise ReleaseError(f"its chosen tables are not of three columns each: {triples.columns!r}")
        levels = [code.num_levels for code in self.codebook.codes]
        shape = (len(triples.columns), *3 * (triples.num_groups,))
        if [len(groups) for groups in triples.groups] != levels or self.triples.shape != shape:
            raise ReleaseError("its chosen tables do not fit its columns")

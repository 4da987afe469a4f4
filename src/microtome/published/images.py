"""Releases of images: noisy rows by class, or noisy means and second moments by class."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from microtome.errors import ReleaseError
from microtome.images import ImageCode, ImageSchema
from microtome.published.artefact import Artefact
from microtome.published.container import digest
from microtome.published.image_classes import CONTRAST_BINS, Contrast, contrast
from microtome.published.manifest import Manifest
from microtome.published.mechanisms import ImageMomentsMechanism, ImageRowsMechanism

Floats = NDArray[np.float64]


class ImageRelease(Artefact):
    """What both kinds share: the schema, its code, and the profile.

    Attributes:
        schema: What is public about the images.
        code: The code between images and vectors.
        counts: Noisy number of images of each class.
        contrasts: Noisy histogram of the images' norms, from 0 to the largest there can be.
    """

    holds: ClassVar[str] = "images"
    mechanism: ImageMomentsMechanism | ImageRowsMechanism

    def __init__(self, path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]]) -> None:
        super().__init__(path, manifest)
        self.schema = ImageSchema.from_dict(manifest.schema)
        self.code = ImageCode(self.schema)
        self.counts: Floats = arrays["images/counts"]
        self.contrasts: Floats = arrays["images/contrasts"]
        if self.counts.shape != (self.schema.num_classes,) or self.contrasts.shape != (CONTRAST_BINS,):
            raise ReleaseError("its counts are not those of its classes")

    @property
    def count_noise(self) -> float:
        """Standard deviation of the noise of a count."""
        return self.mechanism.count_noise

    @property
    def noise_scale(self) -> float:
        """The standard deviation σ of the noise in every number of a row, or of second moments."""
        return self.mechanism.noise_scale

    @property
    def radius(self) -> float:
        """The norm of encoded images that is the unit of everything else in the file."""
        return self.mechanism.radius

    @property
    def contrast(self) -> Contrast:
        """Scale of the images, as the profile knows it."""
        return contrast(self.contrasts, self.count_noise, self.code.largest)

    @property
    def class_shares(self) -> Floats:
        """Share of each class; 0 for one whose count does not stand out from the noise."""
        kept = np.where(self.counts > self.count_noise, self.counts, 0.0)
        return kept / kept.sum() if kept.any() else np.full(len(kept), 1.0 / len(kept))


class ImageMomentsRelease(ImageRelease):
    """Aggregates: class means, and second moments of residuals from public centres near them.

    Attributes:
        sums: Noisy sums of the images of each class, clipped to the unit ball (classes × d).
        centres: The centres that residuals are taken from, computed from counts and sums (classes × d).
        second: Noisy sums of r·rᵀ of each class, residuals clipped to the unit ball (classes × d × d).
        spreads: Noisy sums of each class's spreads.
    """

    holds: ClassVar[str] = "images (aggregates)"
    mechanism: ImageMomentsMechanism

    def __init__(
        self, path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]], mechanism: ImageMomentsMechanism
    ) -> None:
        super().__init__(path, manifest, arrays)
        self.mechanism = mechanism
        self.sums: Floats = arrays["images/sums"]
        self.centres: Floats = arrays["images/centres"]
        self.second: Floats = arrays["images/second"]
        self.spreads: Floats = arrays["images/spreads"]

    def _check(self, *, verify: bool) -> None:
        del verify
        classes, dim = self.schema.num_classes, self.schema.dim
        shapes = [array.shape for array in (self.sums, self.centres, self.second, self.spreads)]
        if shapes != [(classes, dim), (classes, dim), (classes, dim, dim), (classes,)]:
            raise ReleaseError(f"its moments are of shapes {shapes}, not as its schema says")


class ImageRowsRelease(ImageRelease):
    """Records: one noisy row an image, class after class, each class padded with null rows.

    Attributes:
        directions: The matrix U (d × m').
    """

    holds: ClassVar[str] = "images (records)"
    mechanism: ImageRowsMechanism

    def __init__(
        self, path: Path, manifest: Manifest, arrays: dict[str, NDArray[Any]], mechanism: ImageRowsMechanism
    ) -> None:
        super().__init__(path, manifest, arrays)
        self.mechanism = mechanism
        self.directions: Floats = arrays["directions"]

    def present(self, number: int) -> float:
        """Expected number of rows of a class that are images and not null rows."""
        rows, rate = self.mechanism.class_rows[number], self.mechanism.slices.subsample or 1.0
        return float(min(max(rate * self.counts[number], 1.0), rows))

    def rows(self, number: int) -> Floats:
        """Noisy projections X·U + V of a class's rows, null rows included."""
        first = sum(self.mechanism.class_rows[:number])
        steps = self._steps(first, first + self.mechanism.class_rows[number])
        return steps.astype(np.float64) * self.mechanism.slices.grid_step

    def slices(self, number: int) -> Floats:
        """The same as rows × num_slices × slice_dim."""
        law = self.mechanism.slices.directions
        return self.rows(number).reshape(-1, law.num_slices, law.slice_dim)

    def slice_directions(self) -> Floats:
        """The directions θ_s as num_slices × dim × slice_dim."""
        law = self.mechanism.slices.directions
        return self.directions.reshape(-1, law.num_slices, law.slice_dim).transpose(1, 0, 2)

    def _steps(self, first: int, last: int) -> NDArray[np.int16]:
        with safe_open(self.path, framework="numpy") as file:
            return np.ascontiguousarray(file.get_slice("rows")[first:last])

    def _check(self, *, verify: bool) -> None:
        law, contents, rows = self.mechanism.slices.directions, self.manifest.contents, self.mechanism.class_rows
        with safe_open(self.path, framework="numpy") as file:
            found = file.get_slice("rows")
            shape, dtype = tuple(found.get_shape()), found.get_dtype()
        if shape != (sum(rows), law.count) or dtype != "I16" or contents.num_rows != sum(rows):
            raise ReleaseError(f"rows are {dtype} of shape {shape}, the manifest says I16 of {(sum(rows), law.count)}")
        if len(rows) != self.schema.num_classes or self.directions.shape != (self.schema.dim, law.count):
            raise ReleaseError("its classes or directions are not those of its schema")
        if law.dim < self.schema.dim or len(self.manifest.checksums["rows"]) != len(rows):
            raise ReleaseError("its rows are not those of its schema, or not all covered by checksums")
        if verify:
            self._verify_rows()

    def _verify_rows(self) -> None:
        first = 0
        for number, size in enumerate(self.mechanism.class_rows):
            if digest(self._steps(first, first + size).data) != self.manifest.checksums["rows"][number]:
                raise ReleaseError(f"rows of class {number} were altered: their checksum is wrong")
            first += size

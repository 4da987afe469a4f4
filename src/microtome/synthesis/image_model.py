"""A fitted model of images: the generator's weights, the classes' shares and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from microtome.errors import ModelError, OutputError, ParameterError
from microtome.generators import Generator
from microtome.generators.image import ImageGenerator, ImageNetworkSettings
from microtome.images import ImageCode, ImageSchema, ImageSet
from microtome.images.writing import write_images
from microtome.published import check_output
from microtome.synthesis.conditions import split_conditions
from microtome.synthesis.draw import Draw

_CHUNK = 1024
_LABEL = "label"
"""The one thing about images that a condition can be set on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageModel:
    """A model that draws images.

    Attributes:
        generator: The trained generator.
        schema: What is public about the images.
        shares: Share of each class; 0 for one that did not stand out from the noise.
        origin: Facts of the release and the fit, for people.
    """

    file_format: ClassVar[str] = "microtome-image-model-3"
    unit: ClassVar[str] = "images"
    generator: ImageGenerator
    schema: ImageSchema
    shares: NDArray[np.float64]
    origin: Mapping[str, Any]

    def __post_init__(self) -> None:
        if (
            self.shares.shape != (self.schema.num_classes,)
            or not np.isfinite(self.shares).all()
            or min(self.shares) < 0
        ):
            raise ModelError("its shares are not those of its classes")

    def conditions_from_text(self, texts: Iterable[str]) -> dict[str, Any]:
        """Conditions such as ``label=3|5``."""
        names = {str(label): label for label in self.schema.classes or ()}
        return {
            name: [names.get(part, part) for part in value.split("|")]
            for name, value in split_conditions(texts, [_LABEL])
        }

    def draw(self, wanted: Draw) -> ImageSet:
        """Images, classes in the shares that they have in the release, or as many of each if ``balanced``."""
        if wanted.as_ is not None:
            raise ParameterError("as_ is for tables; images are drawn as an ImageSet")
        random = torch.Generator().manual_seed(wanted.seed)
        classes = _classes(self._wanted_shares(wanted), wanted.number, wanted.seed)
        pixels = np.empty((wanted.number, *self.schema.shape), _dtype(self.schema))
        with torch.no_grad():
            for first in range(0, wanted.number, _CHUNK):
                part = torch.from_numpy(classes[first : first + _CHUNK])
                latent = torch.randn(len(part), self.generator.latent_dim, generator=random)
                unit = self.generator(latent, part).permute(0, 2, 3, 1).double().numpy()
                pixels[first : first + len(part)] = _in_range(unit, self.schema)
                wanted.progress("sample", first + len(part), wanted.number)
        marks = None if self.schema.classes is None else np.array(self.schema.classes)[classes]
        return ImageSet(pixels=pixels, labels=marks, origin="synthetic images")

    def write(self, path: Path, wanted: Draw, *, spreadsheet_safe: bool, force: bool) -> None:
        """Draw images to an NPZ archive, a folder of PNG files, or one picture with a grid of them."""
        if spreadsheet_safe:
            raise ParameterError("spreadsheet-safe is for tables; this is a model of images")
        if not (path.is_dir() and not path.suffix):
            check_output(path, force=force)
        elif not force:
            raise OutputError(f"{path} exists; choose another name, or say --force to replace it")
        drawn = self.draw(wanted)
        write_images(path, drawn, low=self.schema.low, high=self.schema.high, progress=wanted.progress)

    def stream(self, file: BinaryIO, wanted: Draw, *, spreadsheet_safe: bool) -> None:
        """Refuse: there is no one stream of images that programs agree on."""
        raise ParameterError("images are written to files: give a .npz archive, a .png grid or a folder")

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Shape of the network, schema and shares; there are no tensors but the weights."""
        network = asdict(self.generator.settings)
        return {"network": network, "schema": self.schema.to_dict(), "shares": self.shares.tolist()}, {}

    @classmethod
    def from_parts(
        cls, path: Path, document: Mapping[str, Any], tensors: Mapping[str, Tensor], generator: Generator | None
    ) -> Self:
        """The model of a file, its weights not loaded yet."""
        del tensors
        if generator is not None:
            raise ModelError(f"{path} is a model of images, which has its own generator; leave generator out")
        schema = ImageSchema.from_dict(document["schema"])
        with torch.random.fork_rng(devices=[]):
            network = ImageGenerator.of(ImageCode(schema), ImageNetworkSettings(**document["network"]))
        shares = np.array(document["shares"], dtype=np.float64)
        return cls(generator=network, schema=schema, shares=shares, origin=dict(document["origin"]))

    def _wanted_shares(self, wanted: Draw) -> NDArray[np.float64]:
        shares = (self.shares > 0).astype(np.float64) if wanted.balanced else self.shares.copy()
        for name, value in wanted.conditions.items():
            if name != _LABEL:
                raise ModelError(f"no column {name!r} to set a condition on; images have a {_LABEL}")
            labels = set(value) if isinstance(value, list | tuple | set) else {value}
            classes = self.schema.classes or ()
            if not labels or labels - set(classes):
                shown = ", ".join(map(str, classes)) or "none: this model has no labels"
                raise ModelError(f"condition on {_LABEL} {value!r}: the classes are {shown}")
            shares *= [label in labels for label in classes]
        if not shares.any():
            raise ModelError("no image of these classes stood out from the noise of the release: none can be drawn")
        return np.asarray(shares / shares.sum(), dtype=np.float64)


def _classes(shares: NDArray[np.float64], num_images: int, seed: int) -> NDArray[np.int64]:
    """Classes in random order, as near to their shares as whole numbers allow."""
    rng = np.random.default_rng(seed)
    places = (np.arange(num_images) + rng.random()) / num_images
    classes = np.searchsorted(np.cumsum(shares)[:-1], places, side="right")
    return rng.permutation(classes).astype(np.int64)


def _dtype(schema: ImageSchema) -> type[Any]:
    """Bytes where the range is of whole numbers that fit, floats otherwise."""
    whole = schema.low == int(schema.low) and schema.high == int(schema.high)
    if whole and schema.low >= 0 and 1 < schema.high <= np.iinfo(np.uint8).max:
        return np.uint8
    if whole and schema.low >= 0 and 1 < schema.high <= np.iinfo(np.uint16).max:
        return np.uint16
    return np.float32


def _in_range(unit: NDArray[np.float64], schema: ImageSchema) -> NDArray[Any]:
    values = schema.low + unit * (schema.high - schema.low)
    return values if _dtype(schema) is np.float32 else np.rint(values)

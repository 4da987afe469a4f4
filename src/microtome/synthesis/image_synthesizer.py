"""The face of the public half for images: fit on a release, sample images.

model = ImageSynthesizer(random_state=0).fit("digits.release")
images = model.sample(10_000)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from microtome.errors import ModelError, ParameterError
from microtome.generators.image import ImageGenerator, ImageNetworkSettings
from microtome.images import ImageSet
from microtome.progress import Progress, silent
from microtome.release import ImageRelease, check_output
from microtome.schema import ImageCode, ImageSchema
from microtome.schema.image import Label
from microtome.training import Checkpoint
from microtome.training.image_trainer import ImageFit, ImageFitSettings, ImageTrainer
from microtome.training.tensor_file import contents_of, load_weights, read_tensors, write_tensors

FORMAT = "microtome-image-model-2"
_CHUNK = 1024


class ImageSynthesizer:
    """Learns a release of images, and draws images that look like those it was made from.

    Args:
        settings: How to train.
        random_state: Seed of training and sampling; ``None`` for a new one each time.
    """

    def __init__(self, settings: ImageFitSettings | None = None, *, random_state: int | None = None) -> None:
        self.settings = settings or ImageFitSettings()
        self.random_state = random_state
        self.fit_: ImageFit | None = None
        self._generator: ImageGenerator | None = None
        self._schema: ImageSchema | None = None
        self._shares: NDArray[np.float64] = np.ones(1)
        self.origin: dict[str, Any] = {}

    def fit(
        self,
        release: ImageRelease | str | Path,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress = silent,
    ) -> Self:
        """Train on a release. Needs no private data and costs no privacy, however often it is repeated."""
        opened = release if isinstance(release, ImageRelease) else ImageRelease.load(release)
        path = None if checkpoint is None else Path(checkpoint)
        seed = _seed(self.random_state)
        if resume and self.random_state is None and path is not None and path.exists():
            seed = Checkpoint.load(path).seed
        self.fit_ = ImageTrainer(opened, self.settings, seed=seed, checkpoint=path, progress=progress).fit(
            resume=resume
        )
        self._generator, self._schema, self._shares = self.fit_.generator, opened.schema, self.fit_.shares
        promise = opened.manifest.promise
        self.origin = {
            "release": opened.fingerprint,
            "promise": {
                "epsilon": promise.epsilon,
                "delta": promise.delta,
                "neighbours": str(promise.neighbours),
                "private": promise.private,
            },
            "settings": self.settings.to_dict(),
            "history": [list(entry) for entry in self.fit_.history],
            "finished": self.fit_.finished,
        }
        return self

    @property
    def schema(self) -> ImageSchema:
        """What is public about the images."""
        if self._schema is None:
            raise ModelError("nothing is fitted yet; call fit(release), or load a model")
        return self._schema

    def sample(
        self,
        num_images: int,
        *,
        labels: Sequence[Label] | None = None,
        balanced: bool = False,
        random_state: int | None = None,
        progress: Progress = silent,
    ) -> ImageSet:
        """Draw images, classes in the shares that they have in the release.

        Args:
            num_images: How many.
            labels: Only these classes.
            balanced: As many of each class, whatever their shares.
            random_state: Seed of the draw.
            progress: Told how many are drawn.
        """
        if num_images < 1:
            raise ParameterError(f"num_images is {num_images}; it must be at least 1")
        schema, seed = self.schema, _seed(self.random_state if random_state is None else random_state)
        assert self._generator is not None
        random = torch.Generator().manual_seed(seed)
        classes = _classes(self._wanted_shares(labels, balanced), num_images, seed)
        pixels = np.empty((num_images, *schema.shape), _dtype(schema))
        with torch.no_grad():
            for first in range(0, num_images, _CHUNK):
                part = torch.from_numpy(classes[first : first + _CHUNK])
                latent = torch.randn(len(part), self._generator.latent_dim, generator=random)
                unit = self._generator(latent, part).permute(0, 2, 3, 1).double().numpy()
                pixels[first : first + len(part)] = _in_range(unit, schema)
                progress("sample", first + len(part), num_images)
        marks = None if schema.classes is None else np.array(schema.classes)[classes]
        return ImageSet(pixels=pixels, labels=marks, origin="synthetic images")

    def _wanted_shares(self, labels: Sequence[Label] | None, balanced: bool) -> NDArray[np.float64]:
        shares = (self._shares > 0).astype(np.float64) if balanced else self._shares.copy()
        if labels is not None:
            if self.schema.classes is None:
                raise ModelError("this model has no classes: no labels can be asked for")
            wanted = [self.schema.classes.index(label) if label in self.schema.classes else -1 for label in labels]
            if min(wanted, default=-1) < 0:
                shown = ", ".join(map(str, self.schema.classes))
                raise ModelError(f"labels {list(labels)!r}: the classes are {shown}")
            kept = np.zeros_like(shares)
            kept[wanted] = shares[wanted]
            shares = kept
        if not shares.any():
            raise ModelError("no image of these classes stood out from the noise of the release: none can be drawn")
        return np.asarray(shares / shares.sum(), dtype=np.float64)

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a file, without pickle."""
        check_output(Path(path), force=force)
        schema = self.schema
        assert self._generator is not None
        tensors = {f"generator/{name}": tensor for name, tensor in self._generator.state_dict().items()}
        document = {
            "format": FORMAT,
            "network": asdict(self._generator.settings),
            "schema": schema.to_dict(),
            "shares": self._shares.tolist(),
            "origin": self.origin,
        }
        write_tensors(Path(path), tensors, document)

    @classmethod
    def load(cls, path: str | Path) -> ImageSynthesizer:
        """Read a model."""
        tensors, document = read_tensors(Path(path), FORMAT)
        model = cls()
        with contents_of(Path(path)):
            schema = ImageSchema.from_dict(document["schema"])
            code = ImageCode(schema)
            with torch.random.fork_rng(devices=[]):
                generator = ImageGenerator(
                    torch.tensor(code.plane, dtype=torch.float32),
                    torch.tensor(code.offset, dtype=torch.float32),
                    schema.shape,
                    schema.num_classes,
                    ImageNetworkSettings(**document["network"]),
                )
            state = {name.removeprefix("generator/"): value for name, value in tensors.items()}
            load_weights(Path(path), generator, state)
            shares = np.array(document["shares"], dtype=np.float64)
            model.settings = ImageFitSettings.from_dict(document["origin"]["settings"])
            model.origin = dict(document["origin"])
        if shares.shape != (schema.num_classes,) or not np.isfinite(shares).all() or shares.min() < 0:
            raise ModelError(f"{path}: it is damaged: its shares are not those of its classes")
        model._generator, model._schema, model._shares = generator.eval(), schema, shares
        return model


def _seed(given: int | None) -> int:
    if given is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if not 0 <= given < 2**63:
        raise ParameterError(f"random_state is {given}; it must be between 0 and 2^63")
    return int(given)


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

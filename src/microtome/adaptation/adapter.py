"""The face of domain adaptation: labelled public images in, private images of another look in, a classifier out.

adapter = DomainAdapter(epsilon=1, delta=1e-5).fit(source_images, source_labels, target_images)
adapter = DomainAdapter().fit(source_images, source_labels, "target.release")
adapter.predict(images);  print(adapter.promise_)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from microtome.accounting import Accountant, Ledger, Neighbours
from microtome.adaptation.checkpoint import AdaptationCheckpoint
from microtome.adaptation.model_file import AdapterModel
from microtome.adaptation.per_step import PrivateTraining
from microtome.adaptation.pictures import class_numbers, pictures, require_one_shape
from microtome.adaptation.promise import AdaptationPromise
from microtome.adaptation.released import ReleasedTraining
from microtome.adaptation.settings import AdaptationSettings
from microtome.adaptation.trainer import Source
from microtome.errors import ModelError, OutputError, ParameterError, TableError
from microtome.images import ImageSet
from microtome.private.batches import BatchPrivacy
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.settings import option
from microtome.progress import Progress, silent
from microtome.release import ImageRelease, check_output

_PREDICTED_AT_ONCE = 1024


class DomainAdapter:
    """Learns to classify private images without labels from public ones with labels.

    Args:
        epsilon: Total ε of the whole training, where the target is private images; a release has its own.
        delta: Its δ.
        settings: How to train.
        neighbours: ``blank-one`` or ``replace-one``.
        accountant: ``exact``, or ``renyi`` (far more noise).
        image_size: Height and width to bring both domains to; without it they must agree.
        source_range: Smallest and largest possible pixel of the source; by default that of its type.
        target_range: The same of the target. It is public: declare it, don't look it up in the images.
        classes: The classes, in the order of ``predict_proba``; by default the labels that occur in the source.
        allow_large_delta: Accept δ ≥ 1/n.
        random_state: Seed of training. The noise on private images has none.
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        settings: AdaptationSettings | None = None,
        neighbours: str = Neighbours.BLANK_ONE,
        accountant: str = Accountant.EXACT,
        image_size: tuple[int, int] | None = None,
        source_range: tuple[float, float] | None = None,
        target_range: tuple[float, float] | None = None,
        classes: Sequence[Any] | None = None,
        allow_large_delta: bool = False,
        random_state: int | None = None,
    ) -> None:
        if random_state is not None and not 0 <= random_state < 2**63:
            raise ParameterError(f"random_state is {random_state}; it must be between 0 and 2^63")
        if (epsilon is None) != (delta is None):
            raise ParameterError(f"epsilon is {epsilon} and delta {delta}; give both, or none for a release")
        self.settings = settings or AdaptationSettings()
        self.privacy: BatchPrivacy | None = None
        if epsilon is not None and delta is not None:
            self.privacy = BatchPrivacy(
                epsilon=epsilon,
                delta=delta,
                neighbours=option(Neighbours, neighbours, "neighbours"),
                accountant=option(Accountant, accountant, "accountant"),
                num_slices=self.settings.num_slices,
                slice_dim=self.settings.slice_dim,
                batch_size=self.settings.batch_size,
                allow_large_delta=allow_large_delta,
            )
        self.image_size, self.source_range, self.target_range = image_size, source_range, target_range
        self.classes, self.random_state = classes, random_state
        self.finished_ = False
        self._model: AdapterModel | None = None

    def fit(
        self,
        source_images: Any,
        source_labels: Any,
        target: Any,
        *,
        ledger: Ledger | str | Path | None = None,
        dataset: str = "target",
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress = silent,
    ) -> Self:
        """Train.

        Private images are looked at in every step from epoch ``align_from`` on; the ledger is debited for the whole
        training before the first look. A release was paid for when it was made, and training on it is free.

        Args:
            source_images: Public images: an ``ImageSet`` or an array (images first, channels last).
            source_labels: One for each; ``None`` takes those of an ``ImageSet``.
            target: The private images, without labels; or a release of such images, or its path.
            ledger: The book to debit, or its path; without it nothing remembers what was spent.
            dataset: The private images' name in the book.
            checkpoint: Where to keep the state of the run, so that it can be resumed.
            resume: Go on from the checkpoint if there is one. The ledger of the first run must be given again.
            progress: Told the steps done.
        """
        path = None if checkpoint is None else Path(checkpoint)
        if path is not None and path.exists() and not resume:
            raise OutputError(f"{path} exists: go on from it with resume=True, or remove it")
        if isinstance(target, ImageRelease | str | Path):
            if ledger is not None:
                raise ParameterError("a release was paid for when it was made; no ledger is debited for training on it")
            opened = target if isinstance(target, ImageRelease) else ImageRelease.load(target)
            return self._fit_release(source_images, source_labels, opened, path, resume, progress)
        if path is not None and ledger is None:
            raise ParameterError("a checkpoint of private training needs a ledger, which knows what was paid for")
        return self._fit(
            source_images,
            source_labels,
            target,
            ledger=ledger if isinstance(ledger, Ledger) else Ledger(ledger),
            dataset=dataset,
            checkpoint=path,
            resume=resume,
            progress=progress,
            randomness=SystemRandomness(),
        )

    def _fit(
        self,
        source_images: Any,
        source_labels: Any,
        target: Any,
        *,
        ledger: Ledger,
        dataset: str,
        checkpoint: Path | None,
        resume: bool,
        progress: Progress,
        randomness: Randomness,
    ) -> Self:
        if self.privacy is None:
            raise ParameterError("private images need a promise: give epsilon and delta (a release has its own)")
        source, classes = self._source(source_images, source_labels, self.image_size)
        private = pictures(target, origin="target images", value_range=self.target_range, image_size=self.image_size)
        require_one_shape(source.images.numpy(), private.shape[1:])
        saved = _saved(checkpoint) if resume else None
        training = PrivateTraining(
            settings=self.settings,
            privacy=self.privacy,
            ledger=ledger,
            dataset=dataset,
            randomness=randomness,
            checkpoint=checkpoint,
            saved=saved,
            progress=progress,
        )
        trainer, promise, self.finished_, entry = training.fit(source, classes, private, self._seed(saved))
        self._model = AdapterModel(
            network=trainer.network.eval(),
            shape=(private.shape[1], private.shape[2], private.shape[3]),
            classes=classes,
            image_size=self.image_size,
            value_range=self.target_range,
            settings=self.settings,
            promise=promise,
            look=None,
        )
        if self.finished_:
            ledger.complete(entry, artefact=self._model.fingerprint())
        return self

    def _fit_release(
        self,
        source_images: Any,
        source_labels: Any,
        release: ImageRelease,
        checkpoint: Path | None,
        resume: bool,
        progress: Progress,
    ) -> Self:
        if self.privacy is not None:
            raise ParameterError("the release has its own promise; leave epsilon and delta out")
        schema = release.schema
        size, values = (schema.height, schema.width), (schema.low, schema.high)
        if self.image_size not in (None, size) or self.target_range not in (None, values):
            raise ParameterError(f"the release is of images of {size} in the range {values}; leave size and range out")
        source, classes = self._source(source_images, source_labels, size)
        require_one_shape(source.images.numpy(), (schema.channels, *size))
        saved = _saved(checkpoint) if resume else None
        training = ReleasedTraining(
            release=release, settings=self.settings, checkpoint=checkpoint, saved=saved, progress=progress
        )
        trainer, look, promise, self.finished_ = training.fit(source, classes, self._seed(saved))
        self._model = AdapterModel(
            network=trainer.network.eval(),
            shape=(schema.channels, *size),
            classes=classes,
            image_size=size,
            value_range=values,
            settings=self.settings,
            promise=promise,
            look=look.settings(),
        )
        return self

    @property
    def model_(self) -> AdapterModel:
        """The fitted model."""
        if self._model is None:
            raise ModelError("nothing is fitted yet; call fit(source_images, source_labels, target), or load a model")
        return self._model

    @property
    def promise_(self) -> AdaptationPromise:
        """What is private, under which neighbours, and the total ε and δ of the training; print it."""
        return self.model_.promise

    @property
    def classes_(self) -> list[Any]:
        """The classes, in the order of ``predict_proba``."""
        return self.model_.classes

    def predict_proba(self, images: Any) -> NDArray[np.float64]:
        """Probability of each class for images of the target's kind."""
        model = self.model_
        inputs = pictures(images, origin="images", value_range=model.value_range, image_size=model.image_size)
        if inputs.shape[1:] != model.shape:
            raise TableError(f"images are {inputs.shape[1:]} (channels, height, width), the model takes {model.shape}")
        parts = []
        with torch.no_grad():
            for start in range(0, len(inputs), _PREDICTED_AT_ONCE):
                rows = model.network.rows(torch.from_numpy(inputs[start : start + _PREDICTED_AT_ONCE]))
                parts.append(model.network.classify(rows).double().softmax(dim=1).numpy())
        return np.concatenate(parts)

    def predict(self, images: Any) -> NDArray[Any]:
        """The most probable class of each image."""
        named: NDArray[Any] = np.asarray(self.classes_)[self.predict_proba(images).argmax(axis=1)]
        return named

    def score(self, images: Any, labels: Any) -> float:
        """Share of images that are classified as labelled. On private images this is one more look at them."""
        return float((self.predict(images) == np.asarray(labels)).mean())

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a file, without pickle."""
        check_output(Path(path), force=force)
        self.model_.save(Path(path))

    @classmethod
    def load(cls, path: str | Path) -> DomainAdapter:
        """Read a model."""
        model = AdapterModel.load(Path(path))
        adapter = cls(settings=model.settings, image_size=model.image_size, target_range=model.value_range)
        adapter._model, adapter.finished_ = model, True
        return adapter

    def _source(self, images: Any, labels: Any, size: tuple[int, int] | None) -> tuple[Source, list[Any]]:
        if labels is None:
            labels = images.labels if isinstance(images, ImageSet) else None
            if labels is None:
                raise TableError("source images have no labels; give them as source_labels")
        inputs = pictures(images, origin="source images", value_range=self.source_range, image_size=size)
        numbers, classes = class_numbers(labels, len(inputs), self.classes)
        if len(inputs) < self.settings.batch_size:
            raise TableError(
                f"there are {len(inputs)} source images, fewer than a batch of {self.settings.batch_size}; give more, "
                "or take a smaller batch_size"
            )
        return Source(images=torch.from_numpy(inputs), labels=torch.from_numpy(numbers)), classes

    def _seed(self, saved: AdaptationCheckpoint | None) -> int:
        if self.random_state is None and saved is not None:
            return int(saved.run["seed"])
        if self.random_state is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        return self.random_state


def _saved(checkpoint: Path | None) -> AdaptationCheckpoint | None:
    return AdaptationCheckpoint.load(checkpoint) if checkpoint is not None and checkpoint.exists() else None

"""The face of domain adaptation: labelled images in, images of another look in, either private, a classifier out.

adapter = DomainAdapter(epsilon=1, delta=1e-5).fit(source_images, source_labels, target_images)
adapter = DomainAdapter().fit(source_images, source_labels, "target.release")
adapter = DomainAdapter().fit("source.release", None, target_images, public_target=True)
adapter.predict(images);  print(adapter.promise_)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from microtome.accounting import Ledger
from microtome.adaptation.model_file import AdapterModel
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.per_step import PrivateTraining
from microtome.adaptation.promise import AdaptationPromise, Side
from microtome.adaptation.redrawing import train_redrawn
from microtome.adaptation.run import Run, opened_release
from microtome.adaptation.settings import AdaptationSettings
from microtome.adaptation.synthetic_source import synthetic_source
from microtome.adaptation.target_moments import TargetMoments
from microtome.adaptation.transform import ImageTransform
from microtome.adaptation.unit_images import class_numbers, require_one_shape, unit_images
from microtome.errors import ModelError, ParameterError, TableError
from microtome.private.batches import BatchPrivacy
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.progress import Progress, silent
from microtome.published import ImageRelease, check_output
from microtome.training import seed_of

_PREDICTED_AT_ONCE = 1024


class DomainAdapter:
    """Learns to classify images without labels from images with labels; either set may be private, or both.

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
        neighbours: str = BatchPrivacy.neighbours,
        accountant: str = BatchPrivacy.accountant,
        image_size: tuple[int, int] | None = None,
        source_range: tuple[float, float] | None = None,
        target_range: tuple[float, float] | None = None,
        classes: Sequence[Any] | None = None,
        allow_large_delta: bool = BatchPrivacy.allow_large_delta,
        random_state: int | None = None,
    ) -> None:
        if random_state is not None:
            seed_of(random_state)
        if (epsilon is None) != (delta is None):
            raise ParameterError(f"epsilon is {epsilon} and delta {delta}; give both, or none for a release")
        self.settings = settings or AdaptationSettings()
        self.privacy: BatchPrivacy | None = None
        if epsilon is not None and delta is not None:
            self.privacy = BatchPrivacy(
                epsilon=epsilon,
                delta=delta,
                neighbours=neighbours,
                accountant=accountant,
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
        public_target: bool = False,
        ledger: Ledger | str | Path | None = None,
        dataset: str = "target",
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress = silent,
    ) -> Self:
        """Train.

        Private target images are looked at in every step from epoch ``align_from`` to ``align_to``; all of these steps
        are reserved in the ledger before the first. A release was paid for when it was made: training on it is free.

        Args:
            source_images: Public images: an ``ImageSet`` or an array (images first, channels last). Or a release of
                private images with their labels, or its path: then synthetic ones are drawn from a model of it.
            source_labels: One for each; ``None`` takes those of an ``ImageSet`` or of a release.
            target: The private images, without labels; or a release of such images, or its path; or, for a source
                that is a release, public images.
            public_target: Say that target images are public. They are private unless this is said.
            ledger: The book of what was spent, or its path; without it nothing remembers what was spent.
            dataset: The private images' name in the book.
            checkpoint: Where to keep the state of the run, so that it can be resumed.
            resume: Go on from the checkpoint if there is one. The ledger of the first run must be given again.
            progress: Told the steps done.
        """
        run = Run.begin(source_images, self.random_state, checkpoint, resume=resume, progress=progress)
        released = opened_release(target)
        if released is None and not public_target:
            if checkpoint is not None and ledger is None:
                raise ParameterError("a checkpoint of private training needs a ledger, which knows what was paid for")
            book, randomness = Ledger.of(ledger), SystemRandomness()
            return self._fit_private(source_images, source_labels, target, run, book, dataset, randomness)
        if ledger is not None:
            raise ParameterError("a release was paid for when it was made; no ledger is needed for training on it")
        if self.privacy is not None:
            raise ParameterError("the release has its own promise; leave epsilon and delta out")
        if released is not None:
            if public_target:
                raise ParameterError("the target is a release, so its images are private; leave public_target out")
            return self._fit_release(source_images, source_labels, released, run)
        return self._fit_public(source_images, source_labels, target, run)

    def _fit_private(
        self,
        source_images: Any,
        source_labels: Any,
        target: Any,
        run: Run,
        ledger: Ledger,
        dataset: str,
        randomness: Randomness,
    ) -> Self:
        """To private images, looked at in every step."""
        if self.privacy is None:
            raise ParameterError(
                "private target images need a promise: give epsilon and delta (a release has its own), or say "
                "public_target=True if they are public"
            )
        private = unit_images(target, origin="target images", value_range=self.target_range, image_size=self.image_size)
        source, classes = self._source(source_images, source_labels, self.image_size, private.shape[1:], run)
        training = PrivateTraining(
            settings=self.settings,
            privacy=self.privacy,
            ledger=ledger,
            dataset=dataset,
            randomness=randomness,
            run=run,
        )
        trained, promise, self.finished_, entry = training.fit(source, classes, private)
        look = trained.look if self.settings.moves.is_of_look else None
        promise = replace(promise, beside=run.promise_of_source())
        model = self._made(trained, classes, promise, look, self.image_size, self.target_range)
        if self.finished_:
            ledger.settle(entry, artefact=model.fingerprint())
        self._model = model
        return self

    def _fit_release(self, source_images: Any, source_labels: Any, release: ImageRelease, run: Run) -> Self:
        """To a release of private images."""
        schema = release.schema
        size, values = (schema.height, schema.width), (schema.low, schema.high)
        if self.image_size not in (None, size) or self.target_range not in (None, values):
            raise ParameterError(f"the release is of images of {size} in the range {values}; leave size and range out")
        moments = TargetMoments.of_release(release)
        source, classes = self._source(source_images, source_labels, size, (schema.channels, *size), run)
        promise = AdaptationPromise.of_release(release, Side.TARGET, run.promise_of_source())
        return self._fit_redrawn(source, classes, moments, release.fingerprint, run, promise, size, values)

    def _fit_public(self, source_images: Any, source_labels: Any, target: Any, run: Run) -> Self:
        """From a release of private labelled images to public ones."""
        promise = run.promise_of_source()
        if promise is None:
            raise ParameterError("source and target are both public: there is nothing to protect, and no need of this")
        public = unit_images(target, origin="target images", value_range=self.target_range, image_size=self.image_size)
        source, classes = self._source(source_images, source_labels, self.image_size, public.shape[1:], run)
        origin = hashlib.sha256(public.tobytes()).hexdigest()
        moments = TargetMoments.of_images(public)
        return self._fit_redrawn(source, classes, moments, origin, run, promise, self.image_size, self.target_range)

    def _fit_redrawn(
        self,
        source: Source,
        classes: list[Any],
        moments: TargetMoments,
        origin: str,
        run: Run,
        promise: AdaptationPromise,
        size: tuple[int, int] | None,
        values: tuple[float, float] | None,
    ) -> Self:
        trained, look, self.finished_ = train_redrawn(moments, origin, self.settings, run, source, classes)
        self._model = self._made(trained, classes, promise, look, size, values)
        return self

    def _made(
        self,
        trained: AdaptationObjective,
        classes: list[Any],
        promise: AdaptationPromise,
        look: ImageTransform | None,
        size: tuple[int, int] | None,
        values: tuple[float, float] | None,
    ) -> AdapterModel:
        _, channels, height, width = trained.source.images.shape
        return AdapterModel(
            network=trained.network.eval(),
            shape=(channels, height, width),
            classes=classes,
            image_size=size,
            value_range=values,
            settings=self.settings,
            promise=promise,
            look=None if look is None else look.settings(),
        )

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
        inputs = unit_images(images, origin="images", value_range=model.value_range, image_size=model.image_size)
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

    def _source(
        self, images: Any, labels: Any, size: tuple[int, int] | None, target_shape: tuple[int, ...], run: Run
    ) -> tuple[Source, list[Any]]:
        """Labelled images of the target's shape: those given, or synthetic ones drawn from a release of them."""
        values = self.source_range
        if run.source is not None:
            if labels is not None or values is not None:
                raise ParameterError("a release knows labels and range of its images; leave both out for the source")
            schema = run.source.schema
            require_one_shape((schema.channels, *(size or (schema.height, schema.width))), target_shape)
            images = synthetic_source(run.source, run.seed, run.progress)
            values = (schema.low, schema.high)
        if labels is None:
            labels = getattr(images, "labels", None)
            if labels is None:
                raise TableError("source images have no labels; give them as source_labels")
        inputs = unit_images(images, origin="source images", value_range=values, image_size=size)
        require_one_shape(inputs.shape[1:], target_shape)
        numbers, classes = class_numbers(labels, len(inputs), self.classes)
        if len(inputs) < self.settings.batch_size:
            raise TableError(
                f"there are {len(inputs)} source images, fewer than a batch of {self.settings.batch_size}; give more, "
                "or take a smaller batch_size"
            )
        return Source(images=torch.from_numpy(inputs), labels=torch.from_numpy(numbers)), classes

"""The face of the public half: fit on a release, of a table or of images, and sample. Scikit-learn's and SDV's habits.

model = Synthesizer(random_state=0).fit("people.release")
frame = model.sample(100_000)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

import pyarrow as pa

from microtome.card import Card, Carded
from microtome.errors import ModelError, ParameterError
from microtome.generators import Generator, MixtureGenerator, RowLayout
from microtome.generators.image import ImageGenerator
from microtome.progress import Progress, usual_progress
from microtome.published import Artefact, ImageRelease, LinkedRelease, Release, check_output
from microtome.synthesis.dataset_card import DatasetCard
from microtome.synthesis.draw import Draw
from microtome.synthesis.image_model import ImageModel
from microtome.synthesis.linked_model import LinkedModel
from microtome.synthesis.model_file import Model, load_model, save_model
from microtome.synthesis.people_model import PeopleModel
from microtome.synthesis.table_model import TableModel, generator_of
from microtome.training import Fit, FitSettings, ImageFitSettings, Trainer, seed_of


class Synthesizer(Carded):
    """Learns a release, and draws rows or images that look like those it was made from.

    Args:
        settings: How to train: ``FitSettings`` for a table, ``ImageFitSettings`` for images. The defaults fit most
            tables in a minute or two.
        generator: For tables: a ``torch.nn.Module`` of your own (see ``microtome.generators.Generator``) instead of
            the built-in one, or the name of one that another package brings (see ``microtome.plugins``).
        random_state: Seed of training and sampling; ``None`` for a new one each time.

    Example:
        >>> import microtome as mt
        >>> import pandas as pd
        >>> table = pd.DataFrame({"insured": [True, False] * 50, "status": ["employed", "retired"] * 50})
        >>> statuses = mt.Column(name="status", kind="categorical", categories=("employed", "retired"))
        >>> schema = mt.Schema(columns=(mt.Column(name="insured", kind="boolean", missing=False), statuses))
        >>> release = mt.release(table, schema, epsilon=5.0, delta=1e-5)  # the only private step
        >>> model = mt.Synthesizer(mt.FitSettings(steps=20), random_state=0).fit(release)
        >>> frame = model.sample(1_000)
        >>> frame.shape, frame["insured"].dtype
        ((1000, 2), dtype('bool'))
        >>> set(model.sample_conditions({"status": "retired"}, 10)["status"])
        {'retired'}
    """

    def __init__(
        self,
        settings: FitSettings | ImageFitSettings | None = None,
        *,
        generator: Generator | str | None = None,
        random_state: int | None = None,
    ) -> None:
        self.settings = settings
        self.generator = generator
        self.random_state = random_state
        self._model: Model | None = None
        self.fit_: Fit | None = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments of the constructor."""
        del deep
        return {"settings": self.settings, "generator": self.generator, "random_state": self.random_state}

    def set_params(self, **params: Any) -> Self:
        """Change arguments of the constructor; takes effect at the next ``fit``."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ParameterError(f"no parameter {name!r}; parameters are {', '.join(self.get_params())}")
            setattr(self, name, value)
        return self

    def fit(
        self,
        release: Artefact | str | Path,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress | None = None,
    ) -> Self:
        """Train on a release. Needs no private data and costs no privacy, however often it is repeated.

        Args:
            release: The release or its path.
            checkpoint: Where to keep the state of the run, so that it can be resumed.
            resume: Go on from the checkpoint if there is one.
            progress: Told the steps done; by default bars in a notebook, and nothing elsewhere.
        """
        opened = _opened(release)
        match opened:
            case LinkedRelease() as linked:
                return self._fit_linked(linked, checkpoint, resume=resume, progress=progress or usual_progress())
        trainer = Trainer(
            opened,
            self.settings,
            seed=self.random_state,
            generator=_generator(self.generator, opened),
            checkpoint=None if checkpoint is None else Path(checkpoint),
            progress=progress or usual_progress(),
        )
        self.fit_ = trainer.fit(resume=resume)
        self._model = _model_of(opened, self.fit_, self.generator if isinstance(self.generator, str) else None)
        return self

    def _fit_linked(
        self, release: LinkedRelease, checkpoint: str | Path | None, *, resume: bool, progress: Progress
    ) -> Self:
        """Train one mixture of all views; each view has the part of it that is about its columns."""
        if self.generator is not None:
            raise ParameterError("linked tables have a mixture of their own; leave generator out")
        path = None if checkpoint is None else Path(checkpoint)
        trainer = Trainer(release.joint, self.settings, seed=self.random_state, checkpoint=path, progress=progress)
        self.fit_ = trainer.fit(resume=resume)
        match self.fit_.generator:
            case MixtureGenerator() as mixture:
                pass
            case other:
                raise ModelError(f"linked tables have no mixture but {type(other).__name__}")
        self._model = LinkedModel.of(
            {
                name: mixture.marginal(RowLayout.of(view.codebook), release.places(name))
                for name, view in release.views.items()
            },
            release.schema,
            {name: view.codebook for name, view in release.views.items()},
            _origin(release, self.fit_),
            same=release.mechanism.same,
        )
        return self

    def sample(
        self,
        num_rows: int,
        *,
        conditions: Mapping[str, Any] | None = None,
        as_: str | None = None,
        balanced: bool = False,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Draw a data frame with the columns, order, types and missing values of the real table, or an ``ImageSet``.

        Args:
            num_rows: How many rows, or images; of a table with a unit how many people, each with all of their rows.
            conditions: What they have to meet, by column: a value, a list of values, or (low, high) of a measured one.
                ``None`` stands for a missing value, and for an open end of (low, high). Images have a ``label``.
            as_: Tables: the frame's library, ``"pandas"`` (the default), ``"polars"`` or ``"arrow"``.
            balanced: Images: as many of each class, whatever their shares.
            random_state: Seed of the draw.
            progress: Told how many are drawn; by default bars in a notebook, and nothing elsewhere.
        """
        return self.model.draw(self._wanted(num_rows, conditions, random_state, balanced, progress, as_))

    def sample_conditions(
        self,
        conditions: Mapping[str, Any],
        num_rows: int,
        *,
        as_: str | None = None,
        random_state: int | None = None,
    ) -> Any:
        """The same with the conditions first, as SDV has it."""
        return self.sample(num_rows, conditions=conditions, as_=as_, random_state=random_state)

    def sample_tables(
        self, num_rows: int, *, conditions: Mapping[str, Any] | None = None, random_state: int | None = None
    ) -> Iterator[pa.Table]:
        """The same as a stream of Arrow tables, for any number of rows of a table."""
        wanted, model = self._wanted(num_rows, conditions, random_state), self.model
        match model:
            case TableModel():
                return model.typed_tables(wanted)
            case LinkedModel():
                raise ModelError("this is a model of linked tables, which are several; call sample")
            case ImageModel():
                raise ModelError("this is a model of images, which are no tables; call sample")

    def sample_to_file(
        self,
        path: str | Path,
        num_rows: int,
        *,
        conditions: Mapping[str, Any] | None = None,
        balanced: bool = False,
        spreadsheet_safe: bool = False,
        card: bool = False,
        force: bool = False,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Draw to a file, whole or not at all: rows to CSV or Parquet, images to .npz, a .png grid or a folder.

        Text is packed if the name ends in .gz, .bz2 or .zst. ``spreadsheet_safe`` puts an apostrophe before text in a
        CSV file that a spreadsheet would run. ``card`` writes beside it what it is and what was promised: ``.card.md``
        for people, ``.croissant.json`` for programs.
        """
        wanted = self._wanted(num_rows, conditions, random_state, balanced, progress)
        described = DatasetCard(path=Path(path), model=self.model, wanted=wanted)
        if card:
            described.check(force=force)
        self.model.write(Path(path), wanted, spreadsheet_safe=spreadsheet_safe, force=force)
        if card:
            described.write()

    def sample_to_stream(
        self,
        file: BinaryIO,
        num_rows: int,
        *,
        conditions: Mapping[str, Any] | None = None,
        spreadsheet_safe: bool = False,
        random_state: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Draw rows as CSV to a file that is open for writing bytes, such as ``sys.stdout.buffer``, as they come."""
        wanted = self._wanted(num_rows, conditions, random_state, progress=progress)
        self.model.stream(file, wanted, spreadsheet_safe=spreadsheet_safe)

    def card(self) -> Card:
        """What it was fitted to, and how."""
        if self._model is None:
            return Card(title="Synthesizer, not fitted yet", lines=["Call fit(release), or Synthesizer.load(path)."])
        origin, promise = self._model.origin, self._model.origin["promise"]
        how = {"release": origin["release"], "best step": origin["best_step"], "finished": origin["finished"]}
        return Card(
            title=f"Synthesizer of {self._model.unit}, fitted to a release with ε = {promise['epsilon']:g}, "
            f"δ = {promise['delta']:g}",
            lines=["Draw with sample(n): it costs no privacy, however often it is repeated."],
            headings=("fit", ""),
            rows=list(how.items()),
        )

    @property
    def model(self) -> Model:
        """The fitted model."""
        if self._model is None:
            raise ModelError("nothing is fitted yet; call fit(release), or load a model")
        return self._model

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a file, without pickle."""
        check_output(Path(path), force=force)
        save_model(Path(path), self.model)

    @classmethod
    def load(cls, path: str | Path, *, generator: Generator | None = None) -> Synthesizer:
        """Read a model; one with a generator of your own needs that module to put the weights in."""
        synthesizer = cls(generator=generator)
        synthesizer._model = load_model(Path(path), generator)
        return synthesizer

    def _wanted(
        self,
        number: int,
        conditions: Mapping[str, Any] | None,
        random_state: int | None,
        balanced: bool = False,
        progress: Progress | None = None,
        as_: str | None = None,
    ) -> Draw:
        return Draw(
            number=number,
            conditions=conditions or {},
            seed=seed_of(self.random_state if random_state is None else random_state),
            balanced=balanced,
            as_=as_,
            progress=progress or usual_progress(),
        )


def _opened(release: object) -> Artefact:
    """A release that is given, or read from its path; whoever gives a table is told the way to a release."""
    match release:
        case Artefact():
            return release
        case str() | Path():
            return Artefact.load(release)
        case _:
            raise ParameterError(
                f"fit takes a release, not a {type(release).__name__}: a model never sees the table itself. First "
                "schema = mt.draft_schema(table), to be read, corrected and confirmed with schema.confirm(); then "
                "release = mt.release(table, schema, epsilon=1, delta=1e-6), which is the one private step; then "
                "Synthesizer().fit(release)"
            )


def _generator(wanted: Generator | str | None, release: Artefact) -> Generator | None:
    """The generator that is given, or that another package makes for a table."""
    match wanted, release:
        case str() as name, Release() as table:
            return generator_of(name, table.codebook)
        case str(), _:
            raise ParameterError("images have a generator of their own; leave generator out")
        case _:
            return wanted


def _model_of(release: Artefact, fit: Fit, plugin: str | None) -> Model:
    origin = _origin(release, fit)
    match release, fit.generator:
        case ImageRelease() as images, ImageGenerator() as generator:
            return ImageModel(generator=generator, schema=images.schema, shares=images.class_shares, origin=origin)
        case Release() as table, Generator() as rows:
            model = PeopleModel if table.view.is_of_people else TableModel
            return model(
                generator=rows, schema=table.table_schema, codebook=table.codebook, origin=origin, plugin=plugin
            )
        case _:
            raise ModelError(f"there is no model of {type(release).__name__} with {type(fit.generator).__name__}")


def _origin(release: Artefact, fit: Fit) -> dict[str, Any]:
    promise = release.manifest.promise
    return {
        "release": release.fingerprint,
        "promise": {
            "epsilon": promise.epsilon,
            "delta": promise.delta,
            "neighbours": str(promise.neighbours),
            "private": promise.private,
        },
        "num_records": release.manifest.contents.num_records,
        "settings": fit.settings.to_dict(),
        "history": [list(entry) for entry in fit.history],
        "best_step": fit.best_step,
        "finished": fit.finished,
    }

"""The face of the public half: fit on a release, sample rows. Scikit-learn's and SDV's habits.

model = Synthesizer(random_state=0).fit("people.release")
frame = model.sample(100_000)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from microtome.errors import ModelError, ParameterError
from microtome.generators import Generator
from microtome.progress import Progress, silent
from microtome.release import Release, check_output
from microtome.synthesis.conditions import parse_conditions
from microtome.synthesis.model_file import Model
from microtome.synthesis.sampler import Sampler
from microtome.training import Checkpoint, Fit, FitSettings, Trainer

_NULLABLE: dict[pa.DataType, Any] = {
    pa.bool_(): pd.BooleanDtype(),
    **{getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)},
}


class Synthesizer:
    """Learns a release, and draws rows that look like the table it was made from.

    Args:
        settings: How to train; the defaults fit most tables in a minute or two.
        generator: A ``torch.nn.Module`` of your own (see ``microtome.generators.Generator``) instead of the
            built-in network.
        random_state: Seed of training and sampling; ``None`` for a new one each time.

    Example:
        >>> import microtome as mt
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
        settings: FitSettings | None = None,
        *,
        generator: Generator | None = None,
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
        release: Release | str | Path,
        *,
        checkpoint: str | Path | None = None,
        resume: bool = False,
        progress: Progress = silent,
    ) -> Self:
        """Train on a release. Needs no private data and costs no privacy, however often it is repeated.

        Args:
            release: The release or its path.
            checkpoint: Where to keep the state of the run, so that it can be resumed.
            resume: Go on from the checkpoint if there is one.
            progress: Told the steps done.
        """
        opened = release if isinstance(release, Release) else Release.load(release)
        settings = self.settings or FitSettings()
        path = None if checkpoint is None else Path(checkpoint)
        trainer = Trainer(
            opened,
            settings,
            seed=self._seed_to_resume(path) if resume else self._seed(self.random_state),
            generator=self.generator,
            checkpoint=path,
            progress=progress,
        )
        self.fit_ = trainer.fit(resume=resume)
        self._model = Model(
            generator=self.fit_.generator,
            schema=opened.schema,
            codebook=opened.codebook,
            origin=_origin(opened, settings, self.fit_),
        )
        return self

    def sample(self, num_rows: int, *, random_state: int | None = None) -> pd.DataFrame:
        """Draw rows, with the columns, order, types and missing values of the real table."""
        return self.sample_conditions({}, num_rows, random_state=random_state)

    def sample_conditions(
        self, conditions: Mapping[str, Any], num_rows: int, *, random_state: int | None = None
    ) -> pd.DataFrame:
        """Draw rows that meet conditions on columns: a value, a list of values, or (low, high) of a measured one.

        ``None`` stands for a missing value, and for an open end of (low, high).
        """
        tables = list(self.sample_tables(num_rows, conditions=conditions, random_state=random_state))
        return to_frame(pa.concat_tables(tables), self.model)

    def sample_tables(
        self, num_rows: int, *, conditions: Mapping[str, Any] | None = None, random_state: int | None = None
    ) -> Iterator[pa.Table]:
        """The same as a stream of Arrow tables, for any number of rows."""
        if num_rows < 1:
            raise ParameterError(f"num_rows is {num_rows}; it must be at least 1")
        model = self.model
        sampler = Sampler(
            generator=model.generator,
            codebook=model.codebook,
            conditions=parse_conditions(model.codebook, conditions or {}),
            seed=self._seed(self.random_state if random_state is None else random_state),
        )
        return sampler.tables(num_rows)

    @property
    def model(self) -> Model:
        """The fitted model."""
        if self._model is None:
            raise ModelError("nothing is fitted yet; call fit(release), or load a model")
        return self._model

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model to a file, without pickle."""
        check_output(Path(path), force=force)
        self.model.save(Path(path))

    @classmethod
    def load(cls, path: str | Path, *, generator: Generator | None = None) -> Synthesizer:
        """Read a model; one with a generator of your own needs that module to put the weights in."""
        synthesizer = cls(generator=generator)
        synthesizer._model = Model.load(Path(path), generator)
        return synthesizer

    def _seed_to_resume(self, checkpoint: Path | None) -> int:
        """The seed that was given, or else that of the run to be resumed."""
        if self.random_state is None and checkpoint is not None and checkpoint.exists():
            return Checkpoint.load(checkpoint).seed
        return self._seed(self.random_state)

    @staticmethod
    def _seed(given: int | None) -> int:
        if given is None:
            return int(np.random.SeedSequence().generate_state(1)[0])
        if not 0 <= given < 2**63:
            raise ParameterError(f"random_state is {given}; it must be between 0 and 2^63")
        return int(given)


def to_frame(table: pa.Table, model: Model) -> pd.DataFrame:
    """Arrow to pandas; whole numbers and booleans that may be missing keep their type as nullable columns."""
    frame: pd.DataFrame = table.to_pandas()
    for column in model.schema.columns:
        if column.missing and column.arrow_type in _NULLABLE:
            frame[column.name] = table.column(column.name).to_pandas(types_mapper=_NULLABLE.get)
    return frame


def _origin(release: Release, settings: FitSettings, fit: Fit) -> dict[str, Any]:
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
        "settings": settings.to_dict(),
        "history": [list(entry) for entry in fit.history],
        "best_step": fit.best_step,
        "finished": fit.finished,
    }

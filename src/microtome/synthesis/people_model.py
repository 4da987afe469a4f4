"""A fitted model of a table in which people have several rows: people are drawn, and then the rows of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import ModelError, ParameterError
from microtome.generators import MixtureGenerator, RowLayout
from microtome.schema import Codebook
from microtome.synthesis.conditions import conditions_from_text, parse_conditions
from microtome.synthesis.draw import Draw
from microtome.synthesis.finishing import with_keys
from microtome.synthesis.given import GivenMixture
from microtome.synthesis.people_rows import PeopleRows
from microtome.synthesis.rule_keeping import RuleKeeper
from microtome.synthesis.synthetic_rows import SyntheticRows
from microtome.synthesis.table_model import TableModel

_ROWS = 0x726F7773
"""Keeps the draws of rows apart from those of people, which have the same seed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleModel(TableModel):
    """A model that draws people, and the rows that they have. The number of a draw is one of people.

    Its codebook has more columns than the table: how many rows people have, and what the next row has.
    """

    file_format: ClassVar[str] = "microtome-people-1"
    unit: ClassVar[str] = "people"

    @property
    def mixture(self) -> MixtureGenerator:
        """The generator, which has to give distributions."""
        match self.generator:
            case MixtureGenerator() as mixture:
                return mixture
            case other:
                raise ModelError(
                    f"rows of people are drawn given each other, and {type(other).__name__} gives rows only; fit with "
                    "the built-in mixture"
                )

    def conditions_from_text(self, texts: Iterable[str]) -> dict[str, Any]:
        """Conditions on people, such as ``sex=female``."""
        return conditions_from_text(self._of_people, texts)

    def tables(self, wanted: Draw) -> Iterator[pa.Table]:
        """Rows of so many people as a stream of Arrow tables."""
        if wanted.balanced:
            raise ParameterError("balanced is for images, which have classes; people are drawn in the shares they have")
        self._refuse_conditions_on_rows(wanted.conditions)
        codebook, schema = self._of_people, self.view.schema
        places = [schema.names.index(name) for name in self.view.given]
        people = SyntheticRows(
            generator=self.mixture.marginal(RowLayout.of(codebook), places),
            codebook=codebook,
            conditions=parse_conditions(codebook, wanted.conditions),
            seed=wanted.seed,
        )
        return with_keys(self._rows(people, wanted), self.schema, wanted.seed)

    def _rows(self, people: SyntheticRows, wanted: Draw) -> Iterator[tuple[pa.Table, NDArray[np.int64]]]:
        """Rows, and the number of the person whose each is."""
        rows, rng = self._people_rows(wanted.seed), np.random.default_rng([wanted.seed, _ROWS])
        for shared in people.tables(wanted.number):
            numbers = np.asarray(shared.column(self.view.rows)).astype(np.int64)
            owners, table = rows.draw(shared, numbers, rng)
            yield table, owners

    def _people_rows(self, seed: int) -> PeopleRows:
        rules = self.schema.ruled
        alone = SyntheticRows(generator=self.mixture, codebook=self.codebook, conditions=(), seed=seed)
        return PeopleRows(
            mixture=GivenMixture.of(self.mixture, self.codebook),
            codebook=self.codebook,
            view=self.view,
            keeper=RuleKeeper(alone, rules) if rules else None,
        )

    @cached_property
    def _of_people(self) -> Codebook:
        """The codes of what all rows of a person share."""
        codes = [self.codebook.codes[self.view.schema.names.index(name)] for name in self.view.given]
        return replace(self.codebook, codes=tuple(codes))

    def _refuse_conditions_on_rows(self, conditions: Mapping[str, Any]) -> None:
        of_rows = [name for name in conditions if name in self.schema.names and name not in self.view.given]
        if of_rows:
            raise ModelError(
                f"conditions choose people, and {', '.join(map(repr, of_rows))} may differ from row to row; they can "
                f"be set on {', '.join(map(repr, self.view.given))}"
            )

    def expected_rows(self, wanted: Draw) -> int:
        """About how many rows so many people have."""
        code = self._of_people.codes[self.view.given.index(str(self.view.rows))]
        counts = np.arange(1, len(code.margins) + 1)
        return int(wanted.number * float(code.margins @ counts))

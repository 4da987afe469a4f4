"""A fitted model of linked tables: people are drawn, and then, table by table, the rows that hang on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from microtome.errors import ModelError, ParameterError
from microtome.generators import Generator, MixtureGenerator, MixtureSettings, RowLayout
from microtome.progress import silent
from microtome.published import check_output
from microtome.schema import Codebook, LinkedSchema, LinkedTable, Schema
from microtome.schema.linked_view import LinkedView, inheriting, linked_views
from microtome.synthesis.conditions import conditions_from_text, parse_conditions
from microtome.synthesis.draw import Draw
from microtome.synthesis.finishing import in_zone
from microtome.synthesis.frames import FrameKind, as_frame, frame_kind, public_frame, typed
from microtome.synthesis.given import GivenMixture
from microtome.synthesis.linked_keys import Keys
from microtome.synthesis.people_rows import PeopleRows
from microtome.synthesis.rule_keeping import RuleKeeper, kept
from microtome.synthesis.synthetic_rows import SyntheticRows
from microtome.synthesis.table_file import write_tables
from microtome.training.tensor_file import part_of
from microtome.whole_file import whole_file, whole_folder

_ROWS = 0x6C696E6B
"""Keeps the draws of rows apart from those of people, which have the same seed."""
_CODEBOOK = "codebook/"
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedModel:
    """A model that draws people and all that hangs on them. The number of a draw is one of people.

    Attributes:
        generator: The mixture of each view, by its number.
        schema: What is public about the tables.
        codebooks: The codes of each view, steps included.
        origin: Facts of the release and the fit, for people.
        same: Whether columns that name rows of one public table were compared across links.
    """

    file_format: ClassVar[str] = "microtome-linked-1"
    unit: ClassVar[str] = "people"
    generator: nn.ModuleDict
    schema: LinkedSchema
    codebooks: Mapping[str, Codebook]
    origin: Mapping[str, Any]
    same: bool = True

    @classmethod
    def of(
        cls,
        mixtures: Mapping[str, Any],
        schema: LinkedSchema,
        codebooks: Mapping[str, Codebook],
        origin: Mapping[str, Any],
        *,
        same: bool,
    ) -> Self:
        """The model of the views' mixtures."""
        numbered = nn.ModuleDict({str(number): mixtures[name] for number, name in enumerate(schema.names)})
        return cls(generator=numbered, schema=schema, codebooks=codebooks, origin=origin, same=same)

    @cached_property
    def views(self) -> dict[str, LinkedView]:
        """What was measured of each table."""
        return linked_views(self.schema, same=self.same)

    def mixture(self, name: str) -> MixtureGenerator:
        """The mixture of a view."""
        match self.generator[str(self.schema.names.index(name))]:
            case MixtureGenerator() as found:
                return found
            case other:
                raise ModelError(f"the view of {name!r} has no mixture but {type(other).__name__}")

    def conditions_from_text(self, texts: Iterable[str]) -> dict[str, Any]:
        """Conditions on people, such as ``sex=female``."""
        return conditions_from_text(self.codebooks[self.schema.root.name], texts)

    def tables(self, wanted: Draw) -> Iterator[dict[str, pa.Table]]:
        """All tables with their keys, some people after the other."""
        if wanted.balanced:
            raise ParameterError("balanced is for images, which have classes; people are drawn in the shares they have")
        keys, rng = Keys(self.schema, wanted.seed), np.random.default_rng([wanted.seed, _ROWS])
        samplers = {name: self._sampler(name, wanted.seed) for name in self.schema.names[1:]}
        done = 0
        for people in self._people(wanted):
            done += people.num_rows
            yield self._behind(people, samplers, keys, rng)
            wanted.progress("sample", done, wanted.number)

    def _people(self, wanted: Draw) -> Iterator[pa.Table]:
        root = self.schema.root
        codebook = self.codebooks[root.name]
        conditions = parse_conditions(codebook, wanted.conditions)
        rows = SyntheticRows(
            generator=self.mixture(root.name), codebook=codebook, conditions=conditions, seed=wanted.seed
        )
        return kept(rows, wanted.number, root.schema.ruled)

    def _sampler(self, name: str, seed: int) -> PeopleRows:
        codebook, rules = self.codebooks[name], self.schema[name].schema.ruled
        alone = SyntheticRows(generator=self.mixture(name), codebook=codebook, conditions=(), seed=seed)
        return PeopleRows(
            mixture=GivenMixture.of(self.mixture(name), codebook),
            codebook=codebook,
            view=self.views[name].view,
            keeper=RuleKeeper(alone, rules) if rules else None,
        )

    def _behind(
        self, people: pa.Table, samplers: Mapping[str, PeopleRows], keys: Keys, rng: np.random.Generator
    ) -> dict[str, pa.Table]:
        """The tables of some people."""
        records, owners = {self.schema.root.name: people}, dict[str, Ints]()
        for table in self.schema.tables[1:]:
            assert table.parent is not None
            above, linked = records[table.parent.table], self.views[table.name]
            shared = pa.table([above.column(name) for name in linked.sources], names=linked.view.inherited)
            numbers = _numbers(table, above, self.views[table.parent.table].counts[table.name])
            owners[table.name], records[table.name] = samplers[table.name].draw(shared, numbers, rng)
        made = keys.made(records, owners, rng)
        return {name: _finished(self.schema[name], rows, made[name]) for name, rows in records.items()}

    def draw(self, wanted: Draw) -> dict[str, Any]:
        """All tables by name, as frames of a library; public ones are given back as they are."""
        kind = FrameKind.PANDAS if wanted.as_ is None else frame_kind(wanted.as_)
        drawn = {name: as_frame(table, schema, kind) for name, schema, table in self._whole(wanted, in_types=True)}
        return drawn | {public.name: public_frame(public.table(), kind) for public in self.schema.public}

    def _whole(self, wanted: Draw, *, in_types: bool) -> Iterator[tuple[str, Schema, pa.Table]]:
        """All tables, each whole."""
        parts = list(self.tables(wanted))
        for table in self.schema.tables:
            whole = pa.concat_tables([part[table.name] for part in parts])
            if in_types:
                own = self.codebooks[table.name].codes[: len(table.schema.columns)]
                whole = typed(whole, replace(self.codebooks[table.name], codes=own))
            yield table.name, table.schema, whole

    def write(self, path: Path, wanted: Draw, *, spreadsheet_safe: bool, force: bool) -> None:
        """Draw all tables to a folder, a text file each, with the public ones beside them; whole or not at all."""
        if path.suffix:
            raise ParameterError(f"{path}: linked tables are written to a folder; give a name without an ending")
        check_output(path, force=force)
        with whole_folder(path) as folder:
            for name, schema, table in self._whole(wanted, in_types=False):
                place, size = folder / f"{name}.csv", table.num_rows
                write_tables(place, [table], size, silent, schema, spreadsheet_safe=spreadsheet_safe)
            for public in self.schema.public:
                with whole_file(folder / f"{public.name}.csv") as file:
                    pacsv.write_csv(public.table(), file)

    def stream(self, file: BinaryIO, wanted: Draw, *, spreadsheet_safe: bool) -> None:
        """Several tables are no stream."""
        raise ParameterError("linked tables are several files; write them to a folder")

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Shape of the mixtures, schema and codebooks."""
        parts, tensors = {}, {}
        for name, one in self.views.items():
            own = self.codebooks[name].codes[: len(one.view.own_schema.columns)]
            parts[name], arrays = replace(self.codebooks[name], codes=own).to_parts()
            for label, array in arrays.items():
                tensors[f"{_CODEBOOK}{name}/{label}"] = torch.from_numpy(np.ascontiguousarray(array))
        settings = {name: asdict(self.mixture(name).settings) for name in self.views}
        document = {"mixtures": settings, "schema": self.schema.to_dict(), "codebooks": parts, "same": self.same}
        return document, tensors

    @classmethod
    def from_parts(
        cls, path: Path, document: Mapping[str, Any], tensors: Mapping[str, Tensor], generator: Generator | None
    ) -> Self:
        """The model of a file, its weights not loaded yet."""
        if generator is not None:
            raise ModelError(f"{path} is a model of linked tables, which has its own generators; leave generator out")
        schema = LinkedSchema.from_dict(document["schema"])
        same = bool(document.get("same", False))  # files from before there was such a column do not say
        views, profiled, mixtures = linked_views(schema, same=same), {}, {}
        for name, one in views.items():
            arrays = {label: tensor.numpy() for label, tensor in part_of(tensors, f"{_CODEBOOK}{name}/").items()}
            profiled[name] = Codebook.from_parts(one.view.own_schema, document["codebooks"][name], arrays)
        codebooks = {name: views[name].view.with_steps(found) for name, found in inheriting(views, profiled).items()}
        with torch.random.fork_rng(devices=[]):
            for name, codebook in codebooks.items():
                settings = MixtureSettings(**document["mixtures"][name])
                mixtures[name] = MixtureGenerator(RowLayout.of(codebook), torch.ones(1, codebook.dim), settings)
        return cls.of(mixtures, schema, codebooks, dict(document["origin"]), same=same)


def _numbers(table: LinkedTable, above: pa.Table, counted: str) -> Ints:
    """How many rows hang on each row above; a link that owns a row has one, and others none."""
    if table.parent is not None and table.parent.owner is not None:
        column, value = table.parent.owner
        values = above.column(column).combine_chunks()
        return np.asarray(pc.fill_null(pc.equal(values, pa.scalar(value, values.type)), False)).astype(np.int64)
    drawn = np.asarray(pc.fill_null(above.column(counted).combine_chunks().cast(pa.int64()), 0)).astype(np.int64)
    return drawn if table.parent is None else np.maximum(drawn, table.parent.min_rows)


def _finished(table: LinkedTable, rows: pa.Table, keys: Mapping[str, pa.Array]) -> pa.Table:
    """The rows as the table has them, with keys at their places."""
    arrays: dict[str, Any] = {}
    columns = {column.name: column for column in table.schema.columns}
    for one in table.schema.layout():
        if one.name in keys:
            arrays[one.name] = keys[one.name]
        elif one.name in columns:
            arrays[one.name] = in_zone(rows.column(one.name), columns[one.name])
    return pa.table(arrays)

"""A fitted model of a table: the generator's weights, the codebook and where they came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor, nn

from microtome.errors import ModelError, ParameterError
from microtome.generators import (
    Generator,
    MixtureGenerator,
    MixtureSettings,
    NetworkSettings,
    RowLayout,
    TabularGenerator,
)
from microtome.plugins import Group, plugin
from microtome.published import check_output
from microtome.schema import Codebook, Schema
from microtome.schema.view import View, view_of
from microtome.synthesis.conditions import conditions_from_text, parse_conditions
from microtome.synthesis.draw import Draw
from microtome.synthesis.finishing import finished
from microtome.synthesis.frames import FrameKind, as_frame, frame_kind, typed, with_pandas_notes
from microtome.synthesis.rule_keeping import kept
from microtome.synthesis.synthetic_rows import SyntheticRows
from microtome.synthesis.table_file import stream_text, write_tables
from microtome.training.tensor_file import part_of

_CODEBOOK = "codebook/"


@dataclass(frozen=True, kw_only=True, eq=False)
class TableModel:
    """A model that draws rows.

    Attributes:
        generator: The trained generator.
        schema: What is public about the table.
        codebook: The code between rows and vectors.
        origin: Facts of the release and the fit, for people.
        plugin: The name under which another package brings its generator.
    """

    file_format: ClassVar[str] = "microtome-model-2"
    unit: ClassVar[str] = "rows"
    generator: Generator
    schema: Schema
    codebook: Codebook
    origin: Mapping[str, Any]
    plugin: str | None = None

    @cached_property
    def view(self) -> View:
        """What was measured of the table."""
        return view_of(self.schema)

    def conditions_from_text(self, texts: Iterable[str]) -> dict[str, Any]:
        """Conditions such as ``town=A|B`` and ``age=30..40``."""
        return conditions_from_text(self.codebook, texts)

    def tables(self, wanted: Draw) -> Iterator[pa.Table]:
        """Rows as a stream of Arrow tables."""
        if wanted.balanced:
            raise ParameterError("balanced is for images, which have classes; rows are drawn in the shares they have")
        conditions = parse_conditions(self.codebook, wanted.conditions)
        rows = SyntheticRows(generator=self.generator, codebook=self.codebook, conditions=conditions, seed=wanted.seed)
        return finished(kept(rows, wanted.number, self.schema.ruled), self.schema, wanted.seed)

    def typed_tables(self, wanted: Draw) -> Iterator[pa.Table]:
        """The same with columns held as the real frame holds them."""
        return (typed(table, self.codebook) for table in self.tables(wanted))

    def draw(self, wanted: Draw) -> Any:
        """Rows with the columns, order, types and missing values of the real table, as a frame of a library."""
        kind = FrameKind.PANDAS if wanted.as_ is None else frame_kind(wanted.as_)
        tables, done = [], 0
        for table in self.typed_tables(wanted):
            tables.append(table)
            done += table.num_rows
            wanted.progress("sample", done, self.expected_rows(wanted))
        return as_frame(pa.concat_tables(tables), self.schema, kind)

    def write(self, path: Path, wanted: Draw, *, spreadsheet_safe: bool, force: bool) -> None:
        """Draw rows to a text file, as the table's own is written, packed or not, or to a Parquet file."""
        check_output(path, force=force)
        tables = self.tables(wanted)
        if path.suffix == ".parquet":
            tables = (with_pandas_notes(typed(table, self.codebook), self.schema) for table in tables)
        number = self.expected_rows(wanted)
        write_tables(path, tables, number, wanted.progress, self.schema, spreadsheet_safe=spreadsheet_safe)

    def stream(self, file: BinaryIO, wanted: Draw, *, spreadsheet_safe: bool) -> None:
        """Draw rows to an open file, as text."""
        tables, number = self.tables(wanted), self.expected_rows(wanted)
        stream_text(file, tables, number, wanted.progress, self.schema, spreadsheet_safe=spreadsheet_safe)

    def expected_rows(self, wanted: Draw) -> int:
        """About how many rows that will be, for whoever waits."""
        return wanted.number

    def to_parts(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Shape of the generator, schema and codebook."""
        own = replace(self.codebook, codes=self.codebook.codes[: len(self.view.schema.columns)])
        parts, arrays = own.to_parts()
        tensors = {f"{_CODEBOOK}{name}": torch.from_numpy(np.ascontiguousarray(one)) for name, one in arrays.items()}
        document = {
            "generator": type(self.generator).__name__,
            **({} if self.plugin is None else {"plugin": self.plugin}),
            **_shape(self.generator),
            "schema": self.schema.to_dict(),
            "codebook": parts,
        }
        return document, tensors

    @classmethod
    def from_parts(
        cls, path: Path, document: Mapping[str, Any], tensors: Mapping[str, Tensor], generator: Generator | None
    ) -> Self:
        """The model of a file, its weights not loaded yet."""
        schema = Schema.from_dict(document["schema"])
        arrays = {name: tensor.numpy() for name, tensor in part_of(tensors, _CODEBOOK).items()}
        view = view_of(schema)
        codebook = view.with_steps(Codebook.from_parts(view.schema, document["codebook"], arrays))
        brought = document.get("plugin")
        if generator is None:
            generator = _built_in(path, document, codebook) if brought is None else generator_of(brought, codebook)
        origin = dict(document["origin"])
        return cls(generator=generator, schema=schema, codebook=codebook, origin=origin, plugin=brought)


def generator_of(name: str, codebook: Codebook) -> Generator:
    """The generator that another package makes for a table."""
    made = plugin(Group.GENERATORS, name)(codebook)
    if not isinstance(made, nn.Module) or not isinstance(made, Generator):
        raise ModelError(
            f"the generator {name!r} is a {type(made).__name__}; it must be a torch.nn.Module with a latent_dim"
        )
    return made


def _shape(generator: Generator) -> dict[str, Any]:
    """The shape of a built-in model; nothing for a generator of one's own."""
    match generator:
        case MixtureGenerator():
            return {"mixture": asdict(generator.settings), "pivot": generator.pivot}
        case TabularGenerator():
            return {"network": asdict(generator.settings)}
        case _:
            return {}


def _built_in(path: Path, document: Mapping[str, Any], codebook: Codebook) -> TabularGenerator | MixtureGenerator:
    layout = RowLayout.of(codebook)
    with torch.random.fork_rng(devices=[]):
        if document["generator"] == MixtureGenerator.__name__:
            pivot, settings = document["pivot"], MixtureSettings(**document["mixture"])
            classes = 1 if pivot is None else codebook.codes[pivot].num_levels
            margins, shares = torch.ones(classes, codebook.dim), torch.ones(classes)
            return MixtureGenerator(layout, margins, settings, pivot=pivot, shares=shares)
        if document["generator"] == TabularGenerator.__name__:
            network = dict(document["network"])
            shape = NetworkSettings(**{**network, "hidden": tuple(network["hidden"])})
            return TabularGenerator(layout, torch.ones(codebook.dim), shape)
    raise ModelError(
        f"{path} holds a generator of your own ({document['generator']}); load it with generator=your module"
    )

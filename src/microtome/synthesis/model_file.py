"""A fitted model on disk: one safetensors file with the network's weights, the codebook and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from microtome.errors import ModelError
from microtome.generators import Generator, NetworkSettings, RowLayout, TabularGenerator
from microtome.schema import Codebook, Schema
from microtome.training import read_tensors, write_tensors

_FORMAT = "microtome-model-1"


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """All that sampling needs, and what the model may say of itself.

    Attributes:
        generator: The trained generator.
        schema: What is public about the table.
        codebook: The code between rows and vectors.
        origin: Facts of the release and the fit, for people.
    """

    generator: Generator
    schema: Schema
    codebook: Codebook
    origin: Mapping[str, Any]

    def save(self, path: Path) -> None:
        """Write the model."""
        assert isinstance(self.generator, nn.Module)
        parts, arrays = self.codebook.to_parts()
        weights = {f"generator/{name}": tensor for name, tensor in self.generator.state_dict().items()}
        tensors = {f"codebook/{name}": torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
        built_in = isinstance(self.generator, TabularGenerator)
        document = {
            "format": _FORMAT,
            "generator": type(self.generator).__name__,
            "network": asdict(self.generator.settings) if isinstance(self.generator, TabularGenerator) else None,
            "built_in": built_in,
            "schema": self.schema.to_dict(),
            "codebook": parts,
            "origin": dict(self.origin),
        }
        write_tensors(path, {**weights, **tensors}, document)

    @classmethod
    def load(cls, path: Path, generator: Generator | None = None) -> Model:
        """Read a model; one with a generator of your own needs that module to put the weights in."""
        tensors, document = read_tensors(path, _FORMAT)
        arrays = {
            name.removeprefix("codebook/"): tensor.numpy()
            for name, tensor in tensors.items()
            if name.startswith("codebook/")
        }
        schema = Schema.from_dict(document["schema"])
        codebook = Codebook.from_parts(schema, document["codebook"], arrays)
        if generator is None:
            generator = _built_in(path, document, codebook)
        assert isinstance(generator, nn.Module)
        weights = {
            name.removeprefix("generator/"): tensor for name, tensor in tensors.items() if name.startswith("generator/")
        }
        try:
            generator.load_state_dict(weights)
        except RuntimeError as error:
            raise ModelError(f"{path}: its weights do not fit {type(generator).__name__}: {error}") from error
        return cls(generator=generator, schema=schema, codebook=codebook, origin=document["origin"])


def _built_in(path: Path, document: Mapping[str, Any], codebook: Codebook) -> TabularGenerator:
    if not document["built_in"]:
        raise ModelError(
            f"{path} holds a generator of your own ({document['generator']}); load it with generator=your module"
        )
    network = dict(document["network"])
    settings = NetworkSettings(**{**network, "hidden": tuple(network["hidden"])})
    layout = RowLayout(
        blocks=tuple((block.start, block.stop) for block in codebook.blocks),
        scale=_single(codebook.scale),
        offset=_single(codebook.offset),
    )
    return TabularGenerator(layout, torch.ones(codebook.dim), settings)


def _single(values: NDArray[np.float64]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)

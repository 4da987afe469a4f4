"""A fitted model on disk: one safetensors file with the network's weights, the codebook and where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.generators import (
    Generator,
    MixtureGenerator,
    MixtureSettings,
    NetworkSettings,
    RowLayout,
    TabularGenerator,
)
from microtome.schema import Codebook, Schema
from microtome.training.tensor_file import contents_of, load_weights, read_tensors, write_tensors

_FORMAT = "microtome-model-2"


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
        document = {
            "format": _FORMAT,
            "generator": type(self.generator).__name__,
            **_shape(self.generator),
            "schema": self.schema.to_dict(),
            "codebook": parts,
            "origin": dict(self.origin),
        }
        write_tensors(path, {**weights, **tensors}, document)

    @classmethod
    def load(cls, path: Path, generator: Generator | None = None) -> Model:
        """Read a model; one with a generator of your own needs that module to put the weights in."""
        tensors, document = read_tensors(path, _FORMAT)
        with contents_of(path):
            schema = Schema.from_dict(document["schema"])
            arrays = {name: tensor.numpy() for name, tensor in _within("codebook/", tensors).items()}
            codebook = Codebook.from_parts(schema, document["codebook"], arrays)
            module = _built_in(path, document, codebook) if generator is None else generator
            origin = dict(document["origin"])
        if not isinstance(module, nn.Module):
            raise ModelError(f"a generator must be a torch.nn.Module; {type(module).__name__} is not")
        load_weights(path, module, _within("generator/", tensors))
        if isinstance(module, MixtureGenerator) and bool((module.weights() < 0).any()):
            raise ModelError(f"{path}: it is damaged: the weights of its components are no shares")
        return cls(generator=module.eval(), schema=schema, codebook=codebook, origin=origin)


def _shape(generator: Generator) -> dict[str, Any]:
    """The shape of a built-in model; nothing for a generator of one's own."""
    if isinstance(generator, MixtureGenerator):
        return {"mixture": asdict(generator.settings), "pivot": generator.pivot}
    return {"network": asdict(generator.settings)} if isinstance(generator, TabularGenerator) else {}


def _within(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of one part of the file, by their names inside it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _built_in(path: Path, document: Mapping[str, Any], codebook: Codebook) -> TabularGenerator | MixtureGenerator:
    layout = RowLayout(
        blocks=tuple((block.start, block.stop) for block in codebook.blocks),
        scale=_single(codebook.scale),
        offset=_single(codebook.offset),
    )
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


def _single(values: NDArray[np.float64]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)

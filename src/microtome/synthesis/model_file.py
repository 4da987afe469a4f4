"""A fitted model on disk, of a table or of images: one safetensors file of weights and where they came from."""

from __future__ import annotations

from pathlib import Path

from torch import nn

from microtome.errors import ModelError
from microtome.generators import Generator, MixtureGenerator
from microtome.synthesis.image_model import ImageModel
from microtome.synthesis.linked_model import LinkedModel
from microtome.synthesis.people_model import PeopleModel
from microtome.synthesis.table_model import TableModel
from microtome.training.tensor_file import contents_of, load_weights, part_of, read_tensors, write_tensors

Model = TableModel | LinkedModel | ImageModel
_WEIGHTS = "generator/"


def save_model(path: Path, model: Model) -> None:
    """Write a model."""
    assert isinstance(model.generator, nn.Module)
    weights = {f"{_WEIGHTS}{name}": tensor for name, tensor in model.generator.state_dict().items()}
    parts, tensors = model.to_parts()
    document = {"format": model.file_format, "origin": dict(model.origin), **parts}
    write_tensors(path, {**weights, **tensors}, document)


def load_model(path: Path, generator: Generator | None) -> Model:
    """Read a model; one with a generator of one's own needs that module to put the weights in."""
    if generator is not None and not isinstance(generator, nn.Module):
        raise ModelError(f"a generator must be a torch.nn.Module; {type(generator).__name__} is not")
    kinds: dict[str, type[TableModel] | type[LinkedModel] | type[ImageModel]] = {
        kind.file_format: kind for kind in (TableModel, PeopleModel, LinkedModel, ImageModel)
    }
    tensors, document = read_tensors(path, *kinds)
    with contents_of(path):
        model = kinds[document["format"]].from_parts(path, document, tensors, generator)
        assert isinstance(model.generator, nn.Module)
        load_weights(path, model.generator.eval(), part_of(tensors, _WEIGHTS))
        match model:
            case TableModel(generator=MixtureGenerator() as mixture) if bool((mixture.weights() < 0).any()):
                raise ModelError("the weights of its components are no shares")
    return model

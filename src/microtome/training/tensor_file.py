"""Tensors and a JSON document in one safetensors file, under one checksum.

Models and checkpoints are such files. One flipped bit in a weight goes unnoticed by any check of shapes, and moves what
the model draws; so the file is verified whole before anything in it is used. The checksum covers the document and every
tensor's name, type, shape and bytes. It finds damage; against whoever alters a file on purpose it is no protection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from microtome.errors import MicrotomeError, ModelError
from microtome.file_kind import mistaken_for
from microtome.whole_file import whole_file

_WRONG_CONTENTS = (
    *(LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError),
    *(RecursionError, MemoryError),
)
"""What building an object from contents that make no sense may raise."""

_CHECKSUM = "sha256"
"""The document's entry for the checksum. Inside it, because safetensors writes several entries in random order, and the
same run is to give the same file."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
    """Write tensors and a JSON document as one file, whole or not at all."""
    apart = {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    sealed = {**document, _CHECKSUM: _digest(document, apart)}
    content = save(apart, metadata={"microtome": json.dumps(sealed, sort_keys=True, allow_nan=False)})
    with whole_file(path) as file:
        file.write(content)


def read_tensors(path: Path, *wanted: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what ``write_tensors`` wrote, if it is of a wanted format, unaltered, and all its numbers are finite."""
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            document = json.loads((file.metadata() or {}).get("microtome", "{}"), parse_constant=_refuse_constant)
            _check_format(path, document, wanted)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, RecursionError, MemoryError) as error:
        said = mistaken_for(path, _words(wanted)) or f"not a file of ours, or damaged: {error}"
        raise ModelError(f"{path}: {said}") from error
    if document.pop(_CHECKSUM, None) != _digest(document, tensors):
        raise ModelError(f"{path}: it is damaged: its checksum is wrong; take another copy, or make it again")
    for name, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelError(f"{path}: it is damaged: {name} has numbers that are not finite")
    return tensors, document


@contextmanager
def contents_of(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong with a file's contents into an error with its name."""
    try:
        yield
    except MicrotomeError as error:
        if str(error).startswith(str(path)):
            raise
        raise ModelError(f"{path}: it is damaged: {error}") from error
    except _WRONG_CONTENTS as error:
        raise ModelError(f"{path}: it is damaged: {type(error).__name__}: {error}") from error


def load_weights(path: Path, module: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Put weights in a module that they fit, types included."""
    for name, tensor in module.state_dict().items():
        if name in state and state[name].dtype != tensor.dtype:
            raise ModelError(f"{path}: its weights do not fit: {name} is {state[name].dtype}, not {tensor.dtype}")
    try:
        module.load_state_dict(dict(state))
    except RuntimeError as error:
        raise ModelError(
            f"{path}: its weights do not fit {type(module).__name__}, they are of another generator: {error}"
        ) from error


def part_of(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors of one part of a file, by their names inside it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _digest(document: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of the document and of every tensor, in order of their names."""
    text = json.dumps(document, sort_keys=True, allow_nan=False)
    found = hashlib.sha256(text.encode() + b"\n")
    for name in sorted(tensors):
        tensor = tensors[name]
        head = json.dumps([name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape)])
        found.update(head.encode() + b"\n")
        found.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def _check_format(path: Path, document: Any, wanted: tuple[str, ...]) -> None:
    found = document.get("format") if isinstance(document, dict) else None
    if found in wanted:
        return
    for family, _, version in (one.rpartition("-") for one in wanted):
        if isinstance(found, str) and found.startswith(f"{family}-") and found.removeprefix(f"{family}-").isdecimal():
            earlier = int(found.removeprefix(f"{family}-")) < int(version)
            advice = "an earlier Microtome wrote it; make it again" if earlier else "upgrade Microtome to read it"
            raise ModelError(f"{path}: its format is {found!r}, where '{family}-{version}' is read: {advice}")
    raise ModelError(f"{path}: {mistaken_for(path, _words(wanted)) or f'its format is {found!r}, not {wanted[0]!r}'}")


def _words(wanted: tuple[str, ...]) -> str:
    return "a checkpoint" if "checkpoint" in wanted[0] else "a model"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")

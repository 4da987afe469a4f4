"""A fitted model, of a table or of images: what it draws, and the one safetensors file that it is kept in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from microtome.errors import require
from microtome.generators import Generator
from microtome.generators.image import ImageGenerator
from microtome.progress import Progress, silent
from microtome.training.tensor_file import write_tensors

GENERATOR = "generator/"
"""Where the generator's weights are in the file."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What is to be drawn.

    Attributes:
        number: How many rows or images.
        conditions: What they have to meet, by column.
        seed: Seed of the draw.
        progress: Told how many are drawn.
    """

    number: int
    conditions: Mapping[str, Any]
    seed: int
    progress: Progress = silent

    def __post_init__(self) -> None:
        require(self.number >= 1, "num_rows", self.number, "at least 1")


class Model(ABC):
    """All that sampling needs, and what the model may say of itself.

    Attributes:
        generator: The trained generator.
        origin: Facts of the release and the fit, for people.
    """

    file_format: ClassVar[str]
    unit: ClassVar[str]
    """What is drawn, for people: rows or images."""
    generator: Generator | ImageGenerator
    origin: Mapping[str, Any]

    @abstractmethod
    def conditions_from_text(self, texts: Iterable[str]) -> dict[str, Any]:
        """Conditions as a person writes them on the command line."""

    @abstractmethod
    def draw(self, wanted: Draw, *, balanced: bool) -> Any:
        """A data frame, or a set of images."""

    @abstractmethod
    def write(self, path: Path, wanted: Draw, *, spreadsheet_safe: bool, force: bool) -> None:
        """Draw to a file, whole or not at all."""

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What the file says beside origin and weights: entries of its document, and tensors."""

    @classmethod
    @abstractmethod
    def from_parts(
        cls, path: Path, document: Mapping[str, Any], tensors: Mapping[str, Tensor], generator: Generator | None
    ) -> Self:
        """The inverse, given all that the file holds and, if the weights are for one, a generator of one's own."""

    def save(self, path: Path) -> None:
        """Write the model."""
        assert isinstance(self.generator, nn.Module)
        weights = {f"{GENERATOR}{name}": tensor for name, tensor in self.generator.state_dict().items()}
        document, tensors = self.to_parts()
        write_tensors(
            path, {**weights, **tensors}, {"format": self.file_format, "origin": dict(self.origin), **document}
        )


def within(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of one part of a file, by their names inside it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

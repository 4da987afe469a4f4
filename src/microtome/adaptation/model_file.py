"""An adapted classifier on disk: one safetensors file with the weights, the classes and the promise."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microtome.adaptation.network import AdaptationNetwork, build_network
from microtome.adaptation.promise import AdaptationPromise
from microtome.adaptation.settings import AdaptationSettings
from microtome.training.tensor_file import contents_of, load_weights, read_tensors, write_tensors

_FORMAT = "microtome-adapter-2"


@dataclass(frozen=True, kw_only=True, eq=False)
class AdapterModel:
    """All that classifying needs, and what the model may say of itself.

    Attributes:
        network: The trained network.
        shape: Channels, height and width of what it takes.
        classes: The classes' names, in the order of its outputs.
        image_size: Height and width that images are brought to, if any.
        value_range: Range of the target's pixels; ``None`` for that of their type.
        settings: How it was trained.
        promise: What was promised about the private images.
        look: How source images were redrawn, if they were.
    """

    network: AdaptationNetwork
    shape: tuple[int, int, int]
    classes: list[Any]
    image_size: tuple[int, int] | None
    value_range: tuple[float, float] | None
    settings: AdaptationSettings
    promise: AdaptationPromise
    look: dict[str, float] | None

    def fingerprint(self) -> str:
        """Digest of the weights."""
        digest = hashlib.sha256()
        for name, tensor in sorted(self.network.state_dict().items()):
            digest.update(name.encode() + tensor.detach().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        """Write the model."""
        document = {
            "format": _FORMAT,
            "shape": self.shape,
            "classes": self.classes,
            "image_size": self.image_size,
            "value_range": self.value_range,
            "settings": self.settings.to_dict(),
            "promise": self.promise.to_dict(),
            "look": self.look,
        }
        write_tensors(path, self.network.state_dict(), document)

    @classmethod
    def load(cls, path: Path) -> AdapterModel:
        """Read a model."""
        tensors, document = read_tensors(path, _FORMAT)
        with contents_of(path):
            settings = AdaptationSettings.from_dict(document["settings"])
            channels, height, width = document["shape"]
            if not isinstance(document["classes"], list) or not document["classes"]:
                raise ValueError(f"its classes are {document['classes']!r}")
            promise = AdaptationPromise.from_dict(document["promise"])
            promise.verify()
            network = build_network((channels, height, width), len(document["classes"]), settings.radius, seed=0)
            load_weights(path, network, tensors)
            size, values = document["image_size"], document["value_range"]
            return cls(
                network=network.eval(),
                shape=(channels, height, width),
                classes=list(document["classes"]),
                image_size=None if size is None else (size[0], size[1]),
                value_range=None if values is None else (values[0], values[1]),
                settings=settings,
                promise=promise,
                look=document["look"],
            )

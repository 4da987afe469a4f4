"""What is public about an image set: shape, range of the pixels, classes; and the YAML document that says so.

Only the layout of the file (shape and type of number) is ever taken from it without a declaration, as column names
and types are of a table. Classes and ranges are declared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.images.frame import POSE_DIM
from microtome.schema.yaml_document import contents_of, read_document

KEY, VERSION = "microtome-image-schema", 1
MOST_CLASSES = 1024
MOST_COMPONENTS = 100
MOST_NUMBERS = 2**26
"""Numbers an image: beyond it, the basis of the code fits in no memory."""
_SHARE_OF_PIXELS = 0.6
_KEYS = frozenset([KEY, "height", "width", "channels", "range", "mean", "classes", "components", "aligned"])
_RANGES = {
    "uint8": (0.0, 255.0),
    "uint16": (0.0, 65535.0),
    "bool": (0.0, 1.0),
    "float32": (0.0, 1.0),
    "float64": (0.0, 1.0),
}
_HEADER = """\
# What is public about the images. Everything in this file is published with the release.
# Declare range, classes and mean from public knowledge only, never by looking at the images.
"""

Label = int | str


@dataclass(frozen=True, kw_only=True)
class ImageSchema:
    """The public facts of an image set.

    Attributes:
        height: Rows of pixels.
        width: Pixels a row.
        channels: Numbers a pixel.
        low: The smallest value a pixel can have.
        high: The largest.
        mean: A public value around which pixels are encoded: one number, one a channel, or ``None`` for the
            smallest value. It costs nothing, and saves noise where images are near it.
        classes: The labels, in order, or ``None`` for images without.
        components: Low-frequency cosine components a channel that are released.
        aligned: Whether images are encoded as they look in a frame of their own, with five numbers for its place,
            slant and size. For many images of bright objects on a dark ground that differ in these; images that
            were brought to one size and place lose by it, and photographs have no such frame.
    """

    height: int
    width: int
    channels: int = 1
    low: float = 0.0
    high: float = 255.0
    mean: tuple[float, ...] | None = None
    classes: tuple[Label, ...] | None = None
    components: int | None = None
    aligned: bool = False

    def __post_init__(self) -> None:
        for name in ("height", "width", "channels"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise SchemaError(f"{name} is {value!r}; it must be a whole number, at least 1")
        if not (np.isfinite(self.low) and np.isfinite(self.high) and self.low < self.high):
            raise SchemaError(f"range is [{self.low}, {self.high}]; it must be [smallest, largest]")
        if self.mean is not None:
            if len(self.mean) not in (1, self.channels):
                raise SchemaError(f"mean has {len(self.mean)} numbers; it must have one, or one for each channel")
            if not all(self.low <= value <= self.high for value in self.mean):
                raise SchemaError(f"mean {list(self.mean)} is outside the range [{self.low}, {self.high}]")
        if self.classes is not None:
            _check_classes(self.classes)
        most = self.height * self.width
        if most * self.channels > MOST_NUMBERS:
            raise SchemaError(
                f"images have {most * self.channels:,} numbers each; at most {MOST_NUMBERS:,} are handled"
            )
        if self.components is None:
            object.__setattr__(self, "components", max(1, min(MOST_COMPONENTS, int(_SHARE_OF_PIXELS * most))))
        elif isinstance(self.components, bool) or not isinstance(self.components, int):
            raise SchemaError(f"components is {self.components!r}; it must be a whole number")
        if not isinstance(self.aligned, bool):
            raise SchemaError(f"aligned is {self.aligned!r}; it must be true or false")
        if not 1 <= self.num_components <= most:
            raise SchemaError(f"components is {self.components}; it must be from 1 to the {most} pixels of a channel")

    @property
    def num_components(self) -> int:
        """Components a channel."""
        assert self.components is not None
        return self.components

    @property
    def num_classes(self) -> int:
        """Classes; one where images have no labels."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        return self.height, self.width, self.channels

    @property
    def dim(self) -> int:
        """Length of an encoded image."""
        return self.num_components * self.channels + (POSE_DIM if self.aligned else 0)

    def class_indices(self, labels: NDArray[Any]) -> NDArray[np.int64]:
        """Position of each label among the classes, −1 where it is none."""
        assert self.classes is not None
        places = {label: place for place, label in enumerate(self.classes)}
        found, inverse = np.unique(labels, return_inverse=True)
        known = [places.get(label, -1) for label in found.tolist()]
        return np.array(known, np.int64)[inverse]

    def to_dict(self) -> dict[str, Any]:
        """The document as plain values."""
        return {
            KEY: VERSION,
            "height": self.height,
            "width": self.width,
            "channels": self.channels,
            "range": [self.low, self.high],
            "mean": None if self.mean is None else list(self.mean),
            "classes": None if self.classes is None else list(self.classes),
            "components": self.components,
            "aligned": self.aligned,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ImageSchema:
        """Build a schema from the parsed document, naming whatever is wrong in it."""
        if not isinstance(document, Mapping) or KEY not in document:
            raise SchemaError(f"not an image schema: the key {KEY!r} is missing")
        if document[KEY] != VERSION or isinstance(document[KEY], bool):
            raise SchemaError(f"image schema version {document[KEY]!r} is not known; this Microtome reads {VERSION}")
        if document.get("edges", False) is not False:
            raise SchemaError("'edges' are measured no more; leave the key out, images are moved as far as they show")
        unknown = sorted(str(key) for key in set(document) - _KEYS - {"edges"})
        if unknown:
            raise SchemaError(f"the schema has an unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}")
        missing = [name for name in ("height", "width", "range") if name not in document]
        if missing:
            raise SchemaError(f"the schema has no {missing[0]!r}")
        low, high = _numbers(document["range"], "range", 2)
        mean, classes = document.get("mean"), document.get("classes")
        if mean is not None:
            mean = _numbers(mean if isinstance(mean, Sequence) else [mean], "mean", None)
        return cls(
            height=document["height"],
            width=document["width"],
            channels=document.get("channels", 1),
            low=low,
            high=high,
            mean=mean,
            classes=None if classes is None else _classes(classes),
            components=document.get("components"),
            aligned=document.get("aligned", False),
        )

    @classmethod
    def load(cls, path: str | Path) -> ImageSchema:
        """Read a YAML document."""
        document = read_document(path)
        with contents_of(path):
            return cls.from_dict(document)

    def to_yaml(self) -> str:
        """The document for people."""
        return _HEADER + yaml.safe_dump(self.to_dict(), sort_keys=False, default_flow_style=None, allow_unicode=True)


def schema_of_layout(
    shape: tuple[int, int, int], dtype: str, classes: tuple[Label, ...] | None, **declared: Any
) -> ImageSchema:
    """A schema from the layout of a file and declared classes; the range is the one its type of number stands for."""
    if "low" not in declared:
        if dtype not in _RANGES:
            raise SchemaError(f"pixels are {dtype}: declare their range in a schema ('microtome schema draft')")
        declared |= dict(zip(("low", "high"), _RANGES[dtype], strict=True))
    height, width, channels = shape
    return ImageSchema(height=height, width=width, channels=channels, classes=classes, **declared)


def draft_of_layout(shape: tuple[int, int, int], dtype: str, classes: tuple[Label, ...] | None = None) -> ImageSchema:
    """The same for somebody to correct: where the type of number stands for no range, it is that of bytes."""
    known = dtype in _RANGES
    declared = {} if known else dict(zip(("low", "high"), _RANGES["uint8"], strict=True))
    return schema_of_layout(shape, dtype, classes, **declared)


def classes_from_text(text: str) -> tuple[Label, ...]:
    """Classes as a person writes them: ``10`` for 0 … 9, or names with commas between."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) == 1 and parts[0].isdecimal():
        if not 1 <= int(parts[0]) <= MOST_CLASSES:
            raise SchemaError(f"classes is {text}; there must be from 1 to {MOST_CLASSES}")
        return tuple(range(int(parts[0])))
    numbers = all(part.isdecimal() and str(int(part)) == part for part in parts)
    return _classes([int(part) if numbers else part for part in parts])


def _classes(values: Any) -> tuple[Label, ...]:
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise SchemaError(f"classes is {values!r}; it must be a list of labels")
    classes = tuple(values)
    _check_classes(classes)
    return classes


def _check_classes(classes: tuple[Any, ...]) -> None:
    if not classes or len(classes) > MOST_CLASSES:
        raise SchemaError(f"there are {len(classes)} classes; there must be from 1 to {MOST_CLASSES}")
    kinds = {type(label) for label in classes}
    if kinds not in ({int}, {str}):
        raise SchemaError(f"classes {list(classes)!r} must be all whole numbers, or all names")
    if len(set(classes)) < len(classes):
        raise SchemaError(f"classes {list(classes)!r} name one twice")


def _numbers(values: Any, key: str, length: int | None) -> tuple[float, ...]:
    plain = isinstance(values, Sequence) and not isinstance(values, str)
    if not plain or not all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        raise SchemaError(f"{key} is {values!r}; it must be a list of numbers")
    if length is not None and len(values) != length:
        raise SchemaError(f"{key} is {values!r}; it must have {length} numbers")
    return tuple(float(value) for value in values)

"""Image sets of audit data.

A target has a high contrast: it is far outside the radius to which images are clipped, and far from the centre of
its class, because the crowd is faint, in one bin of contrast, and many times the targets. So a target adds a unit to
everything that is summed. Targets of one class show different components, so that they hardly share noise.

Its substitute is worst for what is audited: the same picture with light and dark exchanged, in the same class, is the
farthest in rows and means; another picture in another class is in counts, second moments and spreads.

In audit data where all are *alike*, everybody is the same picture, exactly on the edge of a bin of contrast. One record
more or less must not move the others over the edge: whatever makes a record's numbers depend on how many there are
moves all of them at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import Neighbours
from microtome.auditing.audit_data import AuditData, Coins, Places
from microtome.images import ImageCode, ImageSchema, ImageSet
from microtome.private import ImageSource, PrivateImages
from microtome.private.image_rows import ImageBlock
from microtome.private.image_tally import ImageCounts
from microtome.published.image_classes import CONTRAST_BINS

Floats = NDArray[np.float64]

_FAINT = 0.08
"""Contrast of the crowd: in the middle of a low bin."""
_SUBSTITUTE = 0.79
"""Contrast of a substitute over its target's: outside the radius, in another bin, and never on the edge of one."""
_ALIKE = (2, 128)
"""Sizes of crowds that are tried where all are alike. With 20 components of 784 pixels they reach 10⁶ products, where
libraries of linear algebra change from one kernel to another, and every remainder of a block of rows comes up."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageGroup:
    """Some images: pixels, and the number of each one's class."""

    pixels: Floats
    classes: Places

    def __len__(self) -> int:
        return len(self.classes)

    def __getitem__(self, chosen: Coins) -> ImageGroup:
        return ImageGroup(pixels=self.pixels[chosen], classes=self.classes[chosen])

    def followed_by(self, other: ImageGroup) -> ImageGroup:
        """These images, and then the others."""
        return ImageGroup(
            pixels=np.concatenate([self.pixels, other.pixels]), classes=np.concatenate([self.classes, other.classes])
        )

    def image_set(self, schema: ImageSchema) -> ImageSet:
        """As whoever releases them has them."""
        labels = None if schema.classes is None else np.array(schema.classes)[self.classes]
        return ImageSet(pixels=self.pixels, labels=labels, origin="the audit's images")


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageAuditData(AuditData[ImageGroup]):
    """A data of image sets.

    Attributes:
        schema: What is public.
        alike: Whether everybody is the same picture.
    """

    schema: ImageSchema
    alike: bool = False

    def opened(self, coins: Coins) -> ImageSource:
        """The image set in which the targets are that ``coins`` say, as the door opens it."""
        images = PrivateImages(self.present(coins).image_set(self.schema), self.schema)
        return ImageSource(images=images, null_records=self.num_blanks(coins))

    def encoded(self, group: ImageGroup) -> Floats:
        """Some of the images as the mechanism sees them."""
        return np.concatenate([block.rows for block in _blocks(self.schema, group)])

    @cached_property
    def contrast_bins(self) -> tuple[Places, Places]:
        """On which bin of contrast every target is counted, and every substitute: each for itself."""
        return self._bins(self.targets), self._bins(self.substitutes)

    def _bins(self, group: ImageGroup) -> Places:
        alone = np.eye(len(group), dtype=bool)
        return np.array([_contrasts(self.schema, group[one]).argmax() for one in alone], np.int64)


def build_audit_images(
    schema: ImageSchema,
    *,
    neighbours: Neighbours,
    num_targets: int,
    crowd_size: int,
    opposite: bool = False,
    faintest: float = 1.0,
) -> ImageAuditData:
    """Data of images of a schema.

    Args:
        schema: What is public.
        neighbours: The neighbouring relation.
        num_targets: Images at stake.
        crowd_size: Images that are always there, shared among the classes.
        opposite: Whether a substitute is its target with light and dark exchanged, rather than another picture in
            another class.
        faintest: The least contrast of a target; with less than 1, targets are on many bins of contrast.
    """
    number = np.arange(num_targets)
    classes, shown = number % schema.num_classes, number // schema.num_classes
    elsewhere = classes if opposite else (classes + 1) % schema.num_classes
    turned = _patterns(schema, shown, inverted=True) if opposite else _patterns(schema, shown + 1)
    last = CONTRAST_BINS - 1
    middles = (np.linspace(faintest * last, last, CONTRAST_BINS).round() + 0.5) / CONTRAST_BINS
    contrasts = middles[number % CONTRAST_BINS, None, None, None]
    crowd = np.arange(crowd_size)
    # Two images by turns: were their rows in order, one image more or less would exchange all of them.
    faint = _patterns(schema, crowd // schema.num_classes % 2)
    return ImageAuditData(
        schema=schema,
        neighbours=neighbours,
        targets=ImageGroup(pixels=_faded(schema, _patterns(schema, shown), contrasts), classes=classes),
        substitutes=ImageGroup(pixels=_faded(schema, turned, _SUBSTITUTE * contrasts), classes=elsewhere),
        crowd=ImageGroup(pixels=_faded(schema, faint, _FAINT), classes=crowd % schema.num_classes),
    )


def build_alike_images(schema: ImageSchema, *, neighbours: Neighbours) -> ImageAuditData:
    """A data in which everybody is the same picture, on the edge between the first two bins of contrast.

    There is one target. The crowd is as large as makes one image more move the counts of contrasts farthest, as the
    code that counts them says: by one, if every image's numbers are its own.
    """

    def same(size: int, bins: float) -> ImageGroup:
        bright = _patterns(schema, np.zeros(size, np.int64))
        return ImageGroup(pixels=_faded(schema, bright, bins / CONTRAST_BINS), classes=np.zeros(size, np.int64))

    counted = np.stack([_contrasts(schema, same(size, 1.0)) for size in range(_ALIKE[0], _ALIKE[1] + 2)])
    moved = np.abs(np.diff(counted, axis=0)).sum(axis=1)
    return ImageAuditData(
        schema=schema,
        neighbours=neighbours,
        targets=same(1, 1.0),
        substitutes=same(1, 2.5),
        crowd=same(_ALIKE[0] + int(moved.argmax()), 1.0),
        alike=True,
    )


def _contrasts(schema: ImageSchema, group: ImageGroup) -> Floats:
    """Exact counts of contrasts."""
    counts = ImageCounts(schema.num_classes, ImageCode(schema).largest)
    for block in _blocks(schema, group):
        counts.add(block)
    return counts.contrasts


def _blocks(schema: ImageSchema, group: ImageGroup) -> Iterator[ImageBlock]:
    return PrivateImages(group.image_set(schema), schema).blocks(len(group))


def _patterns(schema: ImageSchema, shown: Places, *, inverted: bool = False) -> Floats:
    """ImageGroup of components: every pixel at one end of the range or at the other, by the component's sign there."""
    plane = ImageCode(schema).plane
    signs = plane[shown % len(plane)].reshape(-1, schema.height, schema.width, 1) > 0
    mean = _mean(schema)
    far = np.where(schema.high - mean >= mean - schema.low, schema.high, schema.low)
    near = schema.low + schema.high - far
    return np.where(signs != inverted, far, near)


def _faded(schema: ImageSchema, pixels: Floats, contrast: float | Floats) -> Floats:
    """Images drawn towards the mean around which images are encoded."""
    mean = _mean(schema)
    return mean + contrast * (pixels - mean)


def _mean(schema: ImageSchema) -> Floats:
    return np.broadcast_to(np.array(schema.mean or (schema.low,)), (schema.channels,))

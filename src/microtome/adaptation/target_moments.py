"""What is known of the target's look: first and second moments of its images, and how well they are known.

Images are encoded by their low-frequency cosine components. Their moments come from

    aggregates     as released
    records        the mean of the released rows and of their products, less what noise adds to products: where noise
                   is larger than images, as it is for records, next to nothing else can be known of their law
    public images  computed

Source images are compared with them by minus the log-likelihood of what is known, which is Gaussian: squared
differences in units of their variance, that of the noise and of the draw of either side. So a prior can be weighed
against it, and what the noise leaves open stays as the prior has it. Both sides are clipped alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.adaptation.unit_images import UnitImages
from microtome.errors import ModelError
from microtome.images import ImageCode, ImageSchema
from microtome.published import ImageMomentsRelease, ImageRelease, ImageRowsRelease, unknown_release

_AT_ONCE = 4096
_SMALLEST = 1e-12
"""What norms are divided by at least: all images may be black."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TargetMoments:
    """Moments of the target, in units in which encoded images are clipped to norm 1.

    Attributes:
        basis: Components of a channel, in these units.
        offset: The public mean of each channel.
        mean: Mean of the clipped images.
        second: Mean of r·rᵀ, r being the clipped residual of an image from the centre.
        centre: From where residuals are taken; any public point will do.
        residual_radius: The norm to which they are clipped, and their unit.
        mean_variance: How well a number of the mean is known.
        second_variance: How well a number of ``second`` off its diagonal is known; on it, half as well.
    """

    basis: Float[Tensor, "q p"]
    offset: Float[Tensor, " c"]
    mean: Float[Tensor, " d"]
    second: Float[Tensor, "d d"]
    centre: Float[Tensor, " d"]
    residual_radius: float
    mean_variance: float
    second_variance: float

    @classmethod
    def of_release(cls, release: ImageRelease) -> Self:
        """Moments of a release of images without labels."""
        if release.schema.num_classes != 1:
            raise ModelError(
                f"the target's release has {release.schema.num_classes} classes; adaptation is for targets without "
                "labels. With labels, train on images sampled from a model of the release"
            )
        if release.schema.aligned:
            raise ModelError(
                "the target's release is of aligned images; adaptation looks at images as they are: release them with "
                "'aligned: false' in their schema"
            )
        match release:
            case ImageRowsRelease():
                return cls._of_rows(release)
            case ImageMomentsRelease():
                return cls._of_moments(release)
            case _:
                raise unknown_release(release)

    @classmethod
    def _of_moments(cls, release: ImageMomentsRelease) -> Self:
        mechanism, dim = release.mechanism, release.schema.dim
        num_images = max(release.manifest.contents.num_records, 1.0)
        return cls._of(
            release.code,
            release.radius,
            mean=release.sums[0] / num_images,
            second=release.second[0] / num_images,
            centre=release.centres[0],
            residual_radius=mechanism.residual_radius,
            mean_variance=(mechanism.mean_noise / num_images) ** 2 + 1.0 / (dim * num_images),
            second_variance=(mechanism.second_noise / num_images) ** 2 / 2.0 + 1.0 / (dim**2 * num_images),
        )

    @classmethod
    def _of_rows(cls, release: ImageRowsRelease) -> Self:
        law = release.mechanism.slices.directions
        if law.kind != "orthogonal" or law.count % law.dim:
            raise ModelError("the release's directions are not whole orthogonal blocks, so they cannot be undone")
        blocks = law.count // law.dim
        rows = release.rows(0) @ release.directions.T / blocks
        variance, present = release.noise_scale**2 / blocks, release.present(0)
        # Of a row's component: the noise, and an image's own share of a squared norm of at most 1.
        spread, draws = variance + 1.0 / law.dim, len(rows) / present**2
        return cls._of(
            release.code,
            release.radius,
            mean=rows.sum(axis=0) / present,
            second=(rows.T @ rows - len(rows) * variance * np.eye(law.dim)) / present,
            centre=np.zeros(law.dim),
            residual_radius=1.0,
            mean_variance=draws * spread,
            second_variance=draws * spread**2,
        )

    @classmethod
    def of_images(cls, images: UnitImages) -> Self:
        """Moments of public images, in units of their own largest norms."""
        _, channels, height, width = images.shape
        code = ImageCode(ImageSchema(height=height, width=width, channels=channels, low=0.0, high=1.0))
        rows = np.concatenate(
            [
                code.encode(images[first : first + _AT_ONCE].transpose(0, 2, 3, 1))
                for first in range(0, len(images), _AT_ONCE)
            ]
        )
        radius = max(float(np.linalg.norm(rows, axis=1).max()), _SMALLEST)
        rows /= radius
        mean = rows.mean(axis=0)
        residuals = rows - mean
        reach = max(float(np.linalg.norm(residuals, axis=1).max()), _SMALLEST)
        dim, num_images = rows.shape[1], len(rows)
        return cls._of(
            code,
            radius,
            mean=mean,
            second=residuals.T @ residuals / (num_images * reach**2),
            centre=mean,
            residual_radius=reach,
            mean_variance=1.0 / (dim * num_images),
            second_variance=1.0 / (dim**2 * num_images),
        )

    @classmethod
    def _of(
        cls,
        code: ImageCode,
        radius: float,
        *,
        mean: NDArray[np.float64],
        second: NDArray[np.float64],
        centre: NDArray[np.float64],
        residual_radius: float,
        mean_variance: float,
        second_variance: float,
    ) -> Self:
        basis, offset, first, products, middle = (
            torch.tensor(array, dtype=torch.float32)
            for array in (code.plane / radius, code.offset, mean, second, centre)
        )
        return cls(
            basis=basis,
            offset=offset,
            mean=first,
            second=products,
            centre=middle,
            residual_radius=residual_radius,
            mean_variance=mean_variance,
            second_variance=second_variance,
        )

    def encode(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d"]:
        """Components of images, not clipped yet."""
        planes = (images - self.offset[:, None, None]).flatten(2)
        return (planes @ self.basis.T).flatten(1)

    def discrepancy(
        self, images: Float[Tensor, "b c h w"], weights: Float[Tensor, " b"] | None = None
    ) -> Float[Tensor, ""]:
        """Minus the log-likelihood, but for a constant, of these moments if the target looks like a batch of images.

        Args:
            images: The batch.
            weights: What each image counts, adding up to 1; all alike by default.
        """
        encoded = self.encode(images)
        dim = encoded.shape[1]
        counts = (encoded.new_full((len(encoded),), 1.0 / len(encoded)) if weights is None else weights)[:, None]
        residuals = _clipped((encoded - self.centre) / self.residual_radius)
        of_mean = ((counts * _clipped(encoded)).sum(dim=0) - self.mean).square().sum()
        of_second = ((counts * residuals).T @ residuals - self.second).square().sum()
        draws = float(counts.detach().square().sum())
        mean_variance = self.mean_variance + draws / dim
        second_variance = self.second_variance + draws / dim**2
        # A pair of numbers off the diagonal is one number, noised once; one on it has twice the variance.
        return 0.5 * (of_mean / mean_variance + 0.5 * of_second / second_variance)


def _clipped(rows: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    clipped: Tensor = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min(1.0)
    return clipped

"""From the wanted promise to the noise of an image release.

Every touch is a Gaussian mechanism, and an image is in one class, so classes cost nothing. In μ²:

| touch | an image adds | changed by blanking one | by replacing one |
|---|---|---|---|
| profile | 1 to its class, 1 to its contrast | 2 | 4 |
| means | x, ‖x‖ ≤ 1, to its class | 1 | 4 (x and −x in one class) |
| moments | r·rᵀ, ‖r‖ ≤ 1, and its spread s ≤ 1, each with noise of its own | 1 for each | 2 for each |

The last line: ‖rrᵀ − r'r'ᵀ‖² = ‖r‖⁴ + ‖r'‖⁴ − 2(r·r')² ≤ 2, and two spreads of one class differ by at most 1. The
entries of the symmetric matrix are noised once, those off the diagonal scaled by √2, so that the norm of what is noised
is ‖r‖² exactly. All bounds are attained (``docs/privacy.md``, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import scipy

from microtome.accounting import Event, FailureEvent, GaussianEvent
from microtome.images import ImageSchema
from microtome.private.plan import ROUNDING, SlicePlan, unit_noise
from microtome.private.randomness import LATTICE_GAP, noise_quantile
from microtome.published import ReleaseKind
from microtome.settings import IMAGE_PROFILE, PrivacySettings

_MEAN_SHARE = 0.2
"""Share of what the profile leaves that class means get; the rest is for second moments, which have more to say."""
_SPREAD_SHARE = 0.05
"""Share of the moments' part that one number a class gets: how far images are from their class's mean."""
_OVERFLOW_SHARE = 0.05
"""Share of δ for a class that has more images than rows were made for."""


@dataclass(frozen=True, kw_only=True)
class ImageProfilePlan:
    """The first pass: noise of counts by class and by contrast."""

    noise: float
    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class MomentPlan:
    """The passes of an aggregates release after the profile.

    Attributes:
        mean_noise: Noise of each coordinate of a class's sum of images.
        second_noise: Noise of each entry of a class's sum of r·rᵀ on the diagonal; √½ of it off the diagonal.
        spread_noise: Noise of a class's sum of spreads.
        events: What these passes do to the data.
    """

    mean_noise: float
    second_noise: float
    spread_noise: float
    events: tuple[Event, ...]


def plan_image_profile(settings: PrivacySettings) -> ImageProfilePlan:
    """The profile's share of the budget."""
    changed = 2 * settings.neighbours.cells_changed
    discrete = FailureEvent(probability=changed * LATTICE_GAP, reason="discrete noise of the profile")
    mu = math.sqrt(settings.share_of_profile(IMAGE_PROFILE)) / unit_noise(settings, [discrete])
    return ImageProfilePlan(noise=math.sqrt(changed) / mu, events=(GaussianEvent(mu=mu), discrete))


def plan_moments(settings: PrivacySettings, schema: ImageSchema, spent: Sequence[Event]) -> MomentPlan:
    """The least noise with which profile, means and moments together keep the promise."""
    neighbours = settings.neighbours
    touched = neighbours.cells_changed * (schema.dim + schema.dim * (schema.dim + 1) // 2 + 1)
    discrete = FailureEvent(probability=touched * LATTICE_GAP, reason="discrete noise of the moments")
    mu = 1.0 / unit_noise(settings, [*spent, discrete])
    mean_mu, moment_mu = mu * math.sqrt(_MEAN_SHARE), mu * math.sqrt(1.0 - _MEAN_SHARE)
    mean_shift, moment_shift = neighbours.row_distance(nonnegative=False), math.sqrt(neighbours.cells_changed)
    return MomentPlan(
        mean_noise=mean_shift / mean_mu,
        second_noise=moment_shift / (moment_mu * math.sqrt(1.0 - _SPREAD_SHARE)),
        spread_noise=moment_shift / (moment_mu * math.sqrt(_SPREAD_SHARE)),
        events=(GaussianEvent(mu=mean_mu), GaussianEvent(mu=moment_mu), discrete),
    )


def plan_image_slices(settings: PrivacySettings, schema: ImageSchema, spent: Sequence[Event]) -> SlicePlan:
    """The least noise with which profile and slices together keep the promise.

    Blanking an image turns its row into a null row of the same class. Replacing it moves a row by at most 2 within a
    class, or by 1 in each of two.
    """
    law = settings.direction_law(schema.dim)
    failures = (
        FailureEvent(probability=2 * law.count * ROUNDING, reason="rounding of the slices"),
        FailureEvent(probability=_OVERFLOW_SHARE * settings.delta, reason="a class overflows its rows"),
    )
    plan = SlicePlan(
        law=law,
        fills_rows=settings.fills_rows,
        noise_scale=1.0,
        row_distance=settings.neighbours.row_distance(nonnegative=False),
        subsample=settings.subsample,
        symmetric=settings.neighbours.symmetric,
        failures=failures,
    )
    return plan.calibrated(settings, spent)


def class_rows(counts: Sequence[float], noise: float, settings: PrivacySettings) -> tuple[int, ...]:
    """Rows to make for each class: enough for its images, or its sample of them, but for a failure that is counted.

    Computed from published counts, so it tells nothing more than they do. Half of the failure is the count's noise,
    half the sample's size.
    """
    chance = _OVERFLOW_SHARE * settings.delta / (2 * len(counts))
    upper = [max(math.ceil(count + noise_quantile(noise, chance)), 1) for count in counts]
    if settings.subsample is not None:
        upper = [min(int(scipy.stats.binom.isf(chance, bound, settings.subsample)) + 1, bound) for bound in upper]
    return tuple(min(bound, settings.capacity or bound) for bound in upper)


def expected_image_bytes(settings: PrivacySettings, schema: ImageSchema, num_images: int, count_noise: float) -> int:
    """The size of a release before anything is published: that of its rows if classes are alike, or of its moments."""
    match settings.kind:
        case ReleaseKind.AGGREGATES:
            return 8 * schema.num_classes * (schema.dim**2 + 2 * schema.dim + 1)
        case ReleaseKind.RECORDS:
            alike = [num_images / schema.num_classes] * schema.num_classes
            law = settings.direction_law(schema.dim)
            return 2 * law.count * sum(class_rows(alike, count_noise, settings)) + 8 * law.dim * law.count

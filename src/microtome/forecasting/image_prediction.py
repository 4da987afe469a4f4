"""What is known beforehand of a release of images: what an attacker gains and what it takes. Not what is learnt."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from microtome.accounting import Event, default_delta
from microtome.forecasting.attacker import Attacker, strongest_attacker
from microtome.images import ImageSchema
from microtome.private.image_plan import plan_image_profile, plan_image_slices, plan_moments
from microtome.published import ReleaseKind
from microtome.settings import PrivacySettings

NOT_FORETOLD = (
    "What will be learnt of images is not foretold: low frequencies and two moments a class come through, which is "
    "fine for digits and small, centred objects, and not for photographs."
)


@dataclass(frozen=True, kw_only=True)
class ImageForecast:
    """A release of images that nobody has made.

    Attributes:
        settings: Its promise.
        schema: What is public about the images.
        num_images: How many there are said to be.
    """

    settings: PrivacySettings
    schema: ImageSchema
    num_images: int

    @cached_property
    def events(self) -> tuple[Event, ...]:
        """What it would do to the data, planned by the code that plans real releases."""
        profile = plan_image_profile(self.settings).events
        match self.settings.kind:
            case ReleaseKind.AGGREGATES:
                return (*profile, *plan_moments(self.settings, self.schema, profile).events)
            case ReleaseKind.RECORDS:
                return (*profile, *plan_image_slices(self.settings, self.schema, profile).events)

    @cached_property
    def attacker(self) -> Attacker:
        """What the best attack on one person would reach."""
        return strongest_attacker(self.events)

    @property
    def heading(self) -> str:
        """Of what it is foretold."""
        settings, (height, width, channels) = self.settings, self.schema.shape
        return (
            f"{self.num_images:,} images of {height} × {width} × {channels} in {self.schema.num_classes} classes at "
            f"ε = {settings.epsilon:g}, δ = {settings.delta:g}, {settings.neighbours}, kind {settings.kind}."
        )


def forecast_images(schema: ImageSchema, *, images: int, delta: float | None = None, **options: Any) -> ImageForecast:
    """Say beforehand what a release of so many images promises, from public facts alone."""
    settings = PrivacySettings(delta=default_delta(images) if delta is None else delta, **options)
    return ImageForecast(settings=settings, schema=schema, num_images=images)

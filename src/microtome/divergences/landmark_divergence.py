"""What divergences on landmarks have in common: released slices are summarised once, and calls look at the summary."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, Self, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from microtome.divergences.gaussian_kernel import check_noise_scale
from microtome.divergences.landmarks import Landmarks, summarise
from microtome.divergences.slice_frames import check_directions, choose_slices, project

Settings = TypeVar("Settings")


class LandmarkDivergence(ABC, Generic[Settings]):
    """How far synthetic rows are from a release, at a cost that does not grow with n.

    Args:
        landmarks: the summary of the released slices.
        directions: the released directions θ_s.
        noise_scale: σ, the standard deviation of the release's noise on each coordinate of a slice.
        settings: what the divergence is free to choose; its defaults if None.
        dtype: precision of a call; what is computed beforehand is in double precision in any case.
    """

    defaults: Settings

    def __init__(
        self,
        landmarks: Landmarks,
        directions: Float[Tensor, "m d k"],
        *,
        noise_scale: float,
        settings: Settings | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_noise_scale(noise_scale)
        check_directions(directions, num_slices=len(landmarks.points), slice_dim=landmarks.slice_dim)
        self.settings, self.noise_scale = self.defaults if settings is None else settings, noise_scale
        self.directions = directions.to(dtype)
        self._points, self._weights = landmarks.points.to(dtype), landmarks.weights.to(dtype)
        self._precompute(landmarks, dtype)

    @classmethod
    def from_slices(
        cls,
        slices: Float[Tensor, "n m k"] | Iterable[Float[Tensor, "c m k"]],
        directions: Float[Tensor, "m d k"],
        *,
        noise_scale: float,
        generator: torch.Generator,
        settings: Settings | None = None,
        num_landmarks: int = 64,
        dtype: torch.dtype = torch.float32,
    ) -> Self:
        """Reads all released rows once, in chunks if they come in chunks, and precomputes."""
        landmarks = summarise(slices, num_landmarks, generator=generator)
        return cls(landmarks, directions, noise_scale=noise_scale, settings=settings, dtype=dtype)

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns the divergence of a batch of synthetic rows; see `Divergence`."""
        chosen = choose_slices(len(self.directions), num_slices, generator)
        directions = self.directions if chosen is None else self.directions[chosen]
        return self.on_slices(project(encoded, directions), chosen)

    def forget(self) -> None:
        """Nothing is drawn for more than one call."""

    @abstractmethod
    def on_slices(
        self, projected: Float[Tensor, "s b k"], chosen: Int[Tensor, " s"] | None = None
    ) -> Float[Tensor, ""]:
        """The same for rows that are already projected, noiseless, onto the chosen slices (all if None)."""

    @abstractmethod
    def _precompute(self, landmarks: Landmarks, dtype: torch.dtype) -> None:
        """Whatever hangs on the released side alone."""

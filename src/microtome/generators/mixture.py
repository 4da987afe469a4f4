"""A mixture: each of a thousand components or more gives every column a distribution of its own.

    z ~ N(0, 1);  component = quantile of z under the components' weights;  row = softmax(logits[component])

Moments of all components together are the moments of the mixture, exactly, so nothing is sampled in training and
every step sees the whole distribution. With some hundred components any set of two-way tables can be met to within
their noise; a network of smooth functions of Gaussian noise comes near more slowly and stops further away. Many more
make what no table says, three columns and more, less clumpy.

An untrained mixture has independent columns with the given margins. With a pivot column the components are dealt out
to its classes, in which the pivot is certain; the classes' shares are the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from microtome.errors import ModelError, ParameterError
from microtome.generators.layout import RowLayout

_LEAST_MARGIN = 1e-6
_ROUNDS = 30
_FEWEST, _MOST = 1024, 4096
_CLEAR = 200.0
"""Records that exceed the noise so many times feed the fewest components; eight times as many, twice as many."""
_MEMBERS = 4


@dataclass(frozen=True, kw_only=True)
class MixtureSettings:
    """The shape of a mixture.

    Attributes:
        components: Components a class of the pivot, or in all without one; by default as many as the tables can feed
            (``count``).
        start_spread: Standard deviation of the logits about the margins when training starts.
        prior: What a nat that a component knows about a column has to explain of the tables, in units of χ² a
            level of the table: higher is smoother.
        members: Parts of the components that are trained each by itself, under a split of the noise of its own, so
            that errors which they do not share average out; by default four, and one where the noise is small.
        smoothness: How much levels of numbers learn from those next to them (``smoothness``): 0 is not at all.
        likeness: How much categories learn from those that are like them (``likeness``): 0 is not at all. None do where
            the noise is small, or with a pivot.
    """

    components: int | None = None
    start_spread: float = 1.0
    prior: float = 7.0
    members: int | None = None
    smoothness: float = 0.8
    likeness: float = 0.7

    def __post_init__(self) -> None:
        if self.components is not None and self.components < 1:
            raise ParameterError(f"components={self.components} must be at least 1")
        if not self.start_spread > 0:
            raise ParameterError(f"start_spread={self.start_spread} must be positive")
        if not 0.0 <= self.prior < float("inf"):
            raise ParameterError(f"prior={self.prior} must be finite and not negative")
        if self.members is not None and self.members < 1:
            raise ParameterError(f"members={self.members} must be at least 1")
        for name in ("smoothness", "likeness"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ParameterError(f"{name}={getattr(self, name)} must be at least 0 and below 1")

    def count(self, clarity: float = 0.0) -> int:
        """How many components there are, given how many times all records exceed the noise of a table's cell.

        More find something to learn only where the noise leaves it; every step costs in proportion.
        """
        if self.components is not None:
            return self.components
        doublings = math.log2(max(clarity / _CLEAR, 1.0)) / 3.0
        return _FEWEST << int(min(doublings, math.log2(_MOST // _FEWEST)))

    def feeds_more(self, clarity: float) -> bool:
        """Whether such tables feed more than the fewest components."""
        return replace(self, components=None).count(clarity) > _FEWEST

    def sees_clearly(self, clarity: float) -> bool:
        """Whether the noise of such tables is so small that nothing need be shared against it."""
        return replace(self, components=None).count(clarity) == _MOST

    def count_members(self, clarity: float = 0.0) -> int:
        """How many members there are, given the same: where the noise is small one large mixture fits better."""
        usual = 1 if self.sees_clearly(clarity) else _MEMBERS
        return min(usual if self.members is None else self.members, self.count(clarity))


class MixtureGenerator(nn.Module):
    """Components of independent columns, class by class.

    Args:
        layout: The code of a row.
        margins: Share of each level by class (v × d); one row without a pivot.
        settings: The shape of the mixture.
        pivot: Position of the pivot column.
        shares: Share of each class of the pivot.
        kernels: What smooths the logits of each column while it is trained, if anything does.
    """

    cumulative: Tensor

    def __init__(
        self,
        layout: RowLayout,
        margins: Float[Tensor, "v d"],
        settings: MixtureSettings,
        *,
        pivot: int | None = None,
        shares: Float[Tensor, " v"] | None = None,
        kernels: Sequence[Float[Tensor, "w w"] | None] = (),
    ) -> None:
        super().__init__()
        classes = 1 if pivot is None else layout.blocks[pivot][1] - layout.blocks[pivot][0]
        shares = torch.ones(1) if shares is None else shares
        if tuple(margins.shape) != (classes, layout.dim) or len(shares) != classes:
            raise ModelError(f"{len(shares)} shares and margins {tuple(margins.shape)} for {classes} classes")
        count = settings.count()
        self.layout, self.pivot, self.latent_dim = layout, pivot, 1
        self.settings, self.num_classes = replace(settings, components=count), classes
        self._kernels = tuple(kernels) if any(kernel is not None for kernel in kernels) else ()
        start = self._smoothed(margins.clamp_min(_LEAST_MARGIN).log(), inverse=True)
        self.logits = nn.Parameter(start.repeat_interleave(count, dim=0))
        weights = shares.double().repeat_interleave(count)
        self.register_buffer("cumulative", (weights / weights.sum()).cumsum(0)[:-1])

    def leave_start(self, generator: torch.Generator) -> None:
        """Make the components differ, so that they can learn different things: they start all alike."""
        with torch.no_grad():
            noise = torch.randn(self.logits.shape, generator=generator)
            self.logits.add_(noise, alpha=self.settings.start_spread)

    def weights(self) -> Float[Tensor, " k"]:
        """The weight of each component."""
        ends = torch.cat([self.cumulative.new_zeros(1), self.cumulative, self.cumulative.new_ones(1)])
        return ends.diff()

    def components(self) -> Float[Tensor, "k d"]:
        """The distributions of all columns in each component, class after class."""
        return self._distributions(self.logits, torch.arange(len(self.logits)))

    def component_of(self, latent: Float[Tensor, "b 1"]) -> Int[Tensor, " b"]:
        """The component that each latent stands for."""
        return torch.bucketize(torch.special.ndtr(latent[:, 0].double()), self.cumulative, right=True)

    def probabilities(self, latent: Float[Tensor, "b 1"]) -> Float[Tensor, "b d"]:
        """The distribution over levels of each column, block by block."""
        chosen = self.component_of(latent)
        return self._distributions(self.logits[chosen], chosen)

    def forward(self, latent: Float[Tensor, "b 1"]) -> Float[Tensor, "b d"]:
        """The mean of the encoded row."""
        return self.layout.encode(self.probabilities(latent))

    def draw(self, latent: Float[Tensor, "b 1"], generator: torch.Generator) -> Float[Tensor, "b d"]:
        """Encoded rows with levels drawn; the gradient is that of the probabilities (straight through)."""
        return self.layout.draw_encoded(self.probabilities(latent), generator)

    def marginal(self, layout: RowLayout, places: Sequence[int]) -> MixtureGenerator:
        """The same mixture of some columns only, whose code is given."""
        with torch.no_grad():
            parts = [self.components()[:, slice(*self.layout.blocks[place])] for place in places]
            logits = torch.cat(parts, dim=1).clamp_min(torch.finfo(torch.float32).tiny).log()
            settings = replace(self.settings, components=len(logits))
            mixture = MixtureGenerator(layout, torch.ones(1, layout.dim), settings)
            mixture.logits.copy_(logits)
            mixture.cumulative.copy_(self.cumulative)
        return mixture

    def match_margins(self, margins: Float[Tensor, "v d"], generator: torch.Generator) -> None:
        """Shift every level's logit, in all components of a class alike, until the class has these margins.

        Logits are free from then on: what was smoothed stays so, and nothing is smoothed any more.
        """
        del generator
        wanted = margins.clamp_min(_LEAST_MARGIN).log()
        with torch.no_grad():
            self.logits.copy_(self._smoothed(self.logits))
            self._kernels = ()
            by_class = self.logits.view(self.num_classes, -1, self.layout.dim)
            weights = self.weights().view(self.num_classes, -1, 1).to(self.logits.dtype)
            weights = weights / weights.sum(dim=1, keepdim=True)
            for _ in range(_ROUNDS):
                found = (weights * self.layout.softmax(self.logits).view_as(by_class)).sum(dim=1)
                by_class += (wanted - found.clamp_min(_LEAST_MARGIN).log())[:, None]

    def _distributions(self, logits: Float[Tensor, "b d"], chosen: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
        """The distributions of these logits, which are those of the chosen components."""
        probabilities = self.layout.softmax(self._smoothed(logits))
        if self.pivot is None:
            return probabilities
        start, stop = self.layout.blocks[self.pivot]
        classes = chosen // self.settings.count()
        certain = nn.functional.one_hot(classes, stop - start).to(probabilities.dtype)
        return torch.cat([probabilities[:, :start], certain, probabilities[:, stop:]], dim=1)

    def _smoothed(self, logits: Float[Tensor, "b d"], *, inverse: bool = False) -> Float[Tensor, "b d"]:
        """Logits from the parameters; the other way round if asked for."""
        if not self._kernels:
            return logits
        parts = torch.split(logits, [stop - start for start, stop in self.layout.blocks], dim=1)
        both = zip(parts, self._kernels, strict=True)
        if inverse:
            found = [part if kernel is None else torch.linalg.solve(kernel, part, left=False) for part, kernel in both]
        else:
            found = [part if kernel is None else part @ kernel for part, kernel in both]
        return torch.cat(found, dim=1)

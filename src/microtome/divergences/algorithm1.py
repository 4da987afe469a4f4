"""Algorithm 1 of the paper as printed, on one screen: slice, noise, Gram matrices, loss, step.

For slice s with released points o_i (i ≤ b), synthetic points y_j = x_j·θ_s + v_j (j ≤ b'), Eqs. (5) and (6):

    [K_s]_{ii'} = K(o_i, o_{i'}),    [K_{s,ω}]_{ij} = K(o_i, y_j)
    r = (b/b') · (K_s + τI)⁻¹ K_{s,ω} 1                          (b/b' is n_q/n_p of Eq. (1))
    L = 1/(m b) · Σ_s 1ᵀ f((r)_+)

r is averaged over the ensemble of bandwidths before it is clipped and handed to f, as its
Remark 3 says. The bandwidths are multiples of the median distance between the released points of the slice: the
synthetic ones are left out, so that the kernel does not move with the generator. τ = ridge·b.

One slice and one bandwidth at a time: slow and obvious, the oracle of the fast estimators (`kernel_ratio`,
`kernel_minibatch`) and of the training loop (`microtome.training.loop`).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from microtome.divergences.gaussian_kernel import KernelSettings, check_noise_scale
from microtome.divergences.slice_frames import add_noise, choose_slices, draw_subset
from microtome.errors import ParameterError


def run_algorithm1(
    generator: nn.Module,
    loss: "ReferenceKernelFDivergence",
    *,
    steps: int,
    batch_size: int,
    latent_dim: int,
    learning_rate: float,
    random: torch.Generator,
) -> None:
    """Trains a generator on released slices, in place."""
    optimiser = torch.optim.Adam(generator.parameters(), lr=learning_rate)
    for _ in range(steps):
        latent = torch.randn(batch_size, latent_dim, generator=random)
        optimiser.zero_grad()
        loss(generator(latent), generator=random).backward()  # type: ignore[no-untyped-call]
        optimiser.step()


class ReferenceKernelFDivergence:
    """Eqs. (5) and (6) with drawn noise; slow and obvious.

    Args:
        slices: the released points o_{i,s}, row by row.
        directions: the released directions θ_s.
        noise_scale: σ, the standard deviation of the release's noise, drawn anew for synthetic rows.
        settings: f, bandwidths and ridge.
        batch_rows: b, how many released rows each call draws (Algorithm 1); all of them if None.
    """

    def __init__(
        self,
        slices: Float[Tensor, "n m k"],
        directions: Float[Tensor, "m d k"],
        *,
        noise_scale: float,
        settings: KernelSettings,
        batch_rows: int | None = None,
    ) -> None:
        check_noise_scale(noise_scale)
        if batch_rows is not None and not 2 <= batch_rows <= len(slices):
            raise ParameterError(f"batch_rows={batch_rows} must lie between 2 and the {len(slices)} released rows")
        self.slices, self.directions = slices, directions
        self.noise_scale, self.settings, self.batch_rows = noise_scale, settings, batch_rows

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns L of Eq. (5) for a batch of synthetic rows; see `Divergence`."""
        chosen = choose_slices(len(self.directions), num_slices, generator)
        released = self._draw_rows(generator)
        losses = []
        for s in range(len(self.directions)) if chosen is None else chosen.tolist():
            synthetic = add_noise(encoded @ self.directions[s], self.noise_scale, generator)
            ratio = density_ratio(released[:, s], synthetic, self.settings)
            losses.append(self.settings.f(ratio.clamp_min(0.0)).mean())
        return torch.stack(losses).mean()

    def _draw_rows(self, generator: torch.Generator | None) -> Tensor:
        if self.batch_rows is None:
            return self.slices
        if generator is None:
            raise ParameterError(f"generator is needed to draw batch_rows={self.batch_rows} released rows")
        return self.slices[draw_subset(len(self.slices), self.batch_rows, generator)]


def density_ratio(
    released: Float[Tensor, "b k"], synthetic: Float[Tensor, "c k"], settings: KernelSettings
) -> Float[Tensor, " b"]:
    """Estimates dP/dQ at the released points, before clipping, averaged over the bandwidths."""
    b, c = len(released), len(synthetic)
    median = torch.pdist(released).median()
    ratios = []
    for multiplier in settings.bandwidth_multipliers:
        bandwidth = multiplier * median
        gram = _kernel(released, released, bandwidth)
        cross = _kernel(released, synthetic, bandwidth)
        ridge = settings.ridge * b * torch.eye(b, dtype=gram.dtype)
        ratios.append(b / c * torch.linalg.solve(gram + ridge, cross.sum(dim=1)))
    return torch.stack(ratios).mean(dim=0)


def _kernel(x: Tensor, y: Tensor, bandwidth: Tensor) -> Tensor:
    squared = (x[:, None, :] - y[None, :, :]).square().sum(dim=-1)
    return torch.exp(-squared / (2.0 * bandwidth**2))

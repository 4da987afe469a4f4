"""Run by the interpreter of the baselines: DP-SGD sums gradients that are clipped row by row, and adds its noise."""

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from baselines.dpsgd_gan import CLIPPING_NORM, PrivateCritic

WIDTH = 300


def main() -> None:
    torch.manual_seed(0)
    rows, labels = torch.randn(8, WIDTH) * torch.logspace(-2, 1, 8)[:, None], torch.tensor([1.0, 0.0] * 4)
    exact, noisy = PrivateCritic(WIDTH, noise_multiplier=0.0), PrivateCritic(WIDTH, noise_multiplier=2.0)
    noisy.network.load_state_dict(exact.network.state_dict())
    clipped, norms = by_row(exact, rows, labels)
    assert (norms > CLIPPING_NORM).any()
    assert (norms < CLIPPING_NORM).any()
    exact.learn(rows, labels)
    torch.testing.assert_close(gradient(exact), clipped, rtol=1e-4, atol=1e-5)
    noisy.learn(rows, labels)
    spread = float((gradient(noisy) - clipped).std())
    assert abs(spread / (2.0 * CLIPPING_NORM) - 1.0) < 0.03, spread


def gradient(critic):
    """What the last step was taken by."""
    return torch.cat([p.grad.flatten() for p in critic.network.parameters()])


def by_row(critic, rows, labels):
    """The sum of clipped gradients and the norms before clipping, one row at a time."""
    total, norms = torch.zeros(sum(p.numel() for p in critic.network.parameters())), []
    for row, label in zip(rows, labels, strict=True):
        loss = binary_cross_entropy_with_logits(critic.judge(row[None])[0], label)
        own = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(critic.network.parameters()))])
        norms.append(own.norm())
        total += own * min(1.0, CLIPPING_NORM / float(own.norm()))
    return total, torch.stack(norms)


if __name__ == "__main__":
    main()

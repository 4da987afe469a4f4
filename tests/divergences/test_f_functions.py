import math

import pytest
import torch
from scipy import integrate, stats

from microtome.divergences import FDivergence
from microtome.divergences.f_functions import RATIO_FLOOR

EVERY = list(FDivergence)


def double(values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("f", EVERY)
def test_f_is_zero_at_one_and_nowhere_negative(f):
    grid = torch.linspace(0.0, 20.0, 4001, dtype=torch.float64)
    assert float(f(double([1.0]))) == pytest.approx(0.0, abs=1e-15)
    assert float(f(grid).min()) > -1e-12


@pytest.mark.parametrize("f", EVERY)
def test_f_is_convex_across_the_floor(f):
    grid = torch.cat([torch.linspace(0.0, 10 * RATIO_FLOOR, 101), torch.linspace(0.01, 9.0, 901)]).double()
    left, right = grid[:-2], grid[2:]
    middle = (left + right) / 2
    assert bool((f(middle) <= (f(left) + f(right)) / 2 + 1e-12).all())


@pytest.mark.parametrize("f", EVERY)
@pytest.mark.parametrize("ratio", [0.0, RATIO_FLOOR / 2, RATIO_FLOOR])
def test_value_and_slope_are_finite_down_to_zero(f, ratio):
    r = double([ratio]).requires_grad_()
    value = f(r).sum()
    value.backward()
    assert math.isfinite(float(value.detach()))
    assert math.isfinite(float(r.grad))


@pytest.mark.parametrize("f", EVERY)
def test_gradient_agrees_with_finite_differences(f):
    r = double([RATIO_FLOOR / 3, 0.2, 0.9, 1.7, 6.0]).requires_grad_()
    assert torch.autograd.gradcheck(f, r, eps=1e-7)


CLOSED_FORMS = {
    # P = N(a, 1), Q = N(0, 1)
    FDivergence.KL: lambda a: a**2 / 2,
    FDivergence.REVERSE_KL: lambda a: a**2 / 2,
    FDivergence.CHI_SQUARED: lambda a: math.exp(a**2) - 1,
    FDivergence.SQUARED_HELLINGER: lambda a: 2 * (1 - math.exp(-(a**2) / 8)),
    FDivergence.TOTAL_VARIATION: lambda a: 2 * stats.norm.cdf(a / 2) - 1,
}


@pytest.mark.parametrize("f", CLOSED_FORMS)
def test_f_gives_the_closed_form_between_shifted_gaussians(f):
    shift = 0.8

    def integrand(x: float) -> float:
        ratio = math.exp(shift * x - shift**2 / 2)
        return stats.norm.pdf(x) * float(f(double([ratio])))

    value, _ = integrate.quad(integrand, -12, 12, points=[shift / 2], limit=200)
    assert value == pytest.approx(CLOSED_FORMS[f](shift), abs=2e-5)


def test_jensen_shannon_is_the_mean_of_two_kl_and_bounded_by_log_two():
    p, q = double([0.1, 0.6, 0.3]), double([0.5, 0.2, 0.3])
    middle = (p + q) / 2
    expected = 0.5 * (p * (p / middle).log()).sum() + 0.5 * (q * (q / middle).log()).sum()
    assert float((q * FDivergence.JENSEN_SHANNON(p / q)).sum()) == pytest.approx(float(expected), abs=1e-12)
    disjoint = double([0.5, 0.5, 0.0]), double([0.0, 0.0, 1.0])
    bounded = (disjoint[1] * FDivergence.JENSEN_SHANNON(disjoint[0])).sum()
    assert float(bounded) == pytest.approx(0.5 * math.log(2), abs=RATIO_FLOOR)

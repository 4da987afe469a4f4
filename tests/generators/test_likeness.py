"""Categories that have to do with other columns in the same way learn from each other; others hardly do."""

import pytest
import torch
from torch import Tensor

from microtome.errors import ParameterError
from microtome.generators import MixtureGenerator, MixtureSettings, RowLayout
from microtome.generators.likeness import with_likeness


def mixture_of(first: list[list[float]], second: list[list[float]]) -> MixtureGenerator:
    """Two components with these shares of four jobs and of three wages; the third column has two levels."""
    layout = RowLayout(blocks=((0, 4), (4, 7), (7, 9)), scale=torch.ones(9), offset=torch.zeros(9))
    rows = [[*jobs, *wages, 0.5, 0.5] for jobs, wages in zip(first, second, strict=True)]
    model = MixtureGenerator(layout, torch.ones(1, 9), MixtureSettings(components=len(rows)))
    with torch.no_grad():
        model.logits.copy_(torch.tensor(rows).log())
    return model


@pytest.fixture
def jobs() -> Tensor:
    """The kernel of four jobs: cashiers and assistants earn little, doctors and judges much."""
    model = mixture_of(
        [[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]],
        [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]],
    )
    found = with_likeness([None, None, None], model, 0.7)[0]
    assert found is not None
    return found


def test_categories_that_are_alike_learn_from_each_other(jobs: Tensor) -> None:
    cashier, assistant, doctor, judge = range(4)
    assert jobs[cashier, assistant] > 1.5 * jobs[cashier, doctor]
    assert jobs[doctor, judge] > 1.5 * jobs[doctor, assistant]
    assert torch.allclose(jobs, jobs.T, atol=1e-5)


def test_nothing_is_ruled_out(jobs: Tensor) -> None:
    """Any logits can be reached, whatever the quick fit took for alike."""
    assert torch.linalg.matrix_rank(jobs) == len(jobs)


def test_two_levels_and_what_has_a_kernel_stay_as_they_are() -> None:
    model = mixture_of([[0.25] * 4] * 2, [[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]])
    own = torch.eye(3)
    found = with_likeness([None, own, None], model, 0.7)
    assert found[1] is own
    assert found[2] is None


def test_where_nothing_is_known_all_are_alike() -> None:
    """Independent columns tell no category from another: no kernel may be undefined for it."""
    found = with_likeness([None, None, None], mixture_of([[0.25] * 4] * 2, [[0.2, 0.3, 0.5]] * 2), 0.7)[0]
    assert found is not None
    assert torch.isfinite(found).all()
    assert torch.linalg.matrix_rank(found) == 4


@pytest.mark.parametrize("likeness", [-0.1, 1.0, float("nan")])
def test_likeness_is_a_share(likeness: float) -> None:
    with pytest.raises(ParameterError, match="likeness"):
        MixtureSettings(likeness=likeness)

import math
from itertools import pairwise

import pytest
import torch

from microtome.divergences import landmarks as landmarks_module
from microtome.divergences import summarise
from microtome.divergences.landmarks import Landmarks
from microtome.errors import ParameterError


@pytest.fixture
def cloud(seeded):
    return torch.randn(5000, 3, 2, generator=seeded(3), dtype=torch.float64) * torch.tensor([1.0, 3.0])


@pytest.mark.parametrize("slice_dim", [1, 2, 3, 5])
def test_summary_keeps_mass_mean_and_total_variance_of_all_rows(seeded, slice_dim):
    rows = torch.randn(4000, 2, slice_dim, generator=seeded(0), dtype=torch.float64).exp()
    landmarks = summarise(rows, 32, generator=seeded(1))
    mass = landmarks.weights[..., None]
    mean = (mass * landmarks.points).sum(1)
    second = (landmarks.weights * (landmarks.points.square().sum(-1) + slice_dim * landmarks.spreads)).sum(1)
    assert landmarks.num_rows == 4000
    torch.testing.assert_close(landmarks.weights.sum(1), torch.ones(2, dtype=torch.float64))
    torch.testing.assert_close(mean, rows.mean(0))
    torch.testing.assert_close(second, rows.square().sum(-1).mean(0))


def test_chunks_and_whole_tensor_give_the_same_rows(seeded, cloud):
    whole = summarise(cloud, 16, generator=seeded(1))
    parts = summarise(iter(cloud.split(700)), 16, generator=seeded(1))
    torch.testing.assert_close((parts.weights[..., None] * parts.points).sum(1), cloud.mean(0))
    assert parts.num_rows == whole.num_rows


def test_cells_shrink_as_landmarks_grow(seeded, cloud):
    inside = [
        float((s.weights * s.spreads).sum(1).mean())
        for s in (summarise(cloud, count, generator=seeded(1)) for count in (4, 16, 64, 256))
    ]
    # In two dimensions the variance inside cells goes like 1/L; half of that rate is asked for.
    assert all(after < 0.5 * before for before, after in pairwise(inside))


def test_sorted_rows_of_a_tensor_do_not_mislead_the_pilot(seeded):
    rows = torch.randn(20000, 1, 1, generator=seeded(0), dtype=torch.float64).sort(dim=0).values
    landmarks = summarise(rows, 32, generator=seeded(1))
    assert float((landmarks.weights * landmarks.spreads).sum()) < 0.02


def test_a_long_first_chunk_serves_as_pilot_only_as_far_as_one_is_needed(seeded, monkeypatch):
    rows = torch.randn(20000, 1, 2, generator=seeded(0), dtype=torch.float64)
    pilots = []
    place = landmarks_module._place
    monkeypatch.setattr(landmarks_module, "_place", lambda pilot, *rest: (pilots.append(pilot), place(pilot, *rest))[1])
    assert summarise(iter([rows]), 8, generator=seeded(1)).num_rows == 20000
    assert pilots[0].shape[1] == 8 * landmarks_module.PILOT_ROWS_PER_LANDMARK


def test_as_many_landmarks_as_rows_are_the_rows(seeded, cloud):
    landmarks = summarise(cloud[:50], 50, generator=seeded(1))
    distances = landmarks.median_distances()
    assert float(landmarks.spreads.max()) == 0.0
    for s in range(3):
        assert float(distances[s]) == pytest.approx(float(torch.pdist(cloud[:50, s]).median()), rel=1e-12)


def test_median_distance_from_cells_is_that_of_the_rows(seeded, cloud):
    exact = torch.stack([torch.pdist(cloud[:, s]).median() for s in range(3)])
    landmarks = summarise(cloud, 64, generator=seeded(1))
    torch.testing.assert_close(landmarks.median_distances(), exact, rtol=0.03, atol=0.0)


def test_pairs_inside_a_cell_count_towards_the_median_distance(seeded, cloud):
    only_cell = summarise(cloud, 1, generator=seeded(1))
    expected = (2 * cloud.var(dim=0, correction=0).sum(-1)).sqrt()
    torch.testing.assert_close(only_cell.median_distances(), expected)


@pytest.mark.parametrize(
    ("rows", "count", "message"),
    [
        (torch.zeros(5, 2), 4, "shape"),
        (torch.zeros(1, 2, 2), 4, "1 rows"),
        (torch.full((9, 2, 2), torch.nan), 4, "not finite"),
        (torch.zeros(9, 2, 2), 0, "num_landmarks=0"),
        (iter(()), 4, "rows"),
        (iter([torch.zeros(200, 2, 2), torch.zeros(9, 3, 2)]), 4, "shape"),
    ],
)
def test_bad_rows_are_refused(seeded, rows, count, message):
    with pytest.raises(ParameterError, match=message):
        summarise(rows, count, generator=seeded(0))


def test_a_slice_without_spread_is_named(seeded):
    rows = torch.randn(40, 2, 1, generator=seeded(0))
    rows[:, 1] = 0.5
    with pytest.raises(ParameterError, match="slice 1"):
        summarise(rows, 8, generator=seeded(0)).median_distances()


@pytest.mark.parametrize("value", [0.0, math.nan, math.inf])
def test_points_without_a_distance_are_refused_in_words(value: float) -> None:
    """Also where what projects them has diverged in training."""
    points = torch.full((1, 4, 2), value, dtype=torch.float64)
    cells = Landmarks(
        points=points, weights=torch.full((1, 4), 0.25), spreads=torch.zeros(1, 4, dtype=torch.float64), num_rows=4
    )
    with pytest.raises(ParameterError, match="slice 0 has a median distance of"):
        cells.median_distances()

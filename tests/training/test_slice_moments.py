"""Moments from noisy slices: unbiased, with the noise that they say they have."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fit_support import QuietProfile, StretchedNoise, across, planted, planted_release, true_tables
from microtome.accounting import DirectionKind, Neighbours
from microtome.errors import ReleaseError
from microtome.published import Release
from microtome.published.second_moments import has_moments, level_margins, slice_sums
from microtome.training.slice_moments import released_moments
from support import SilentRandomness

NUM_ROWS, SEEDS = 1500, range(6)
SPREAD = (0.88, 1.12)
"""Where the standard deviation of z-scores may lie: 126 of them have one within 0.063 of 1 (one sigma)."""
LAWS: dict[str, dict[str, Any]] = {
    "orthogonal": {},
    "two blocks": {"num_slices": 18},
    "blocks of pairs": {"num_slices": 6, "slice_dim": 3},
    "gaussian": {"directions": DirectionKind.GAUSSIAN, "num_slices": 40},
    "replace-one": {"neighbours": Neighbours.REPLACE_ONE},
    "subsampled": {"subsample": 0.5},
    "add-remove": {"neighbours": Neighbours.ADD_REMOVE, "capacity": 3000},
}


def z_scores(folder: Path, factor: float = 1.0, **law: Any) -> np.ndarray:
    """Errors of all two-way tables, in units of the noise that is claimed, over several releases."""
    table = planted(NUM_ROWS)
    scores = []
    for seed in SEEDS:
        randomness = StretchedNoise(seed, factor)
        release = planted_release(folder / f"{seed}.release", table=table, randomness=randomness, epsilon=6.0, **law)
        moments = released_moments(release, slice_sums(release, 0, release.num_rows))
        errors = (np.asarray(moments.second) - true_tables(release, table)) / np.asarray(moments.second_noise)
        scores.append(errors[across(release)])
    return np.concatenate(scores)


@pytest.mark.parametrize("law", LAWS)
def test_tables_are_unbiased_and_as_noisy_as_they_say(law: str, tmp_path: Path) -> None:
    scores = z_scores(tmp_path, **LAWS[law])
    assert abs(scores.mean()) < 4.0 / np.sqrt(len(scores))
    assert SPREAD[0] < scores.std() < SPREAD[1]


@pytest.mark.parametrize("factor", [0.7, 1.4])
def test_another_noise_scale_is_noticed(factor: float, tmp_path: Path) -> None:
    assert not SPREAD[0] < z_scores(tmp_path, factor).std() < SPREAD[1]


@pytest.mark.parametrize(
    "padding",
    [{"subsample": 0.25}, {"neighbours": Neighbours.ADD_REMOVE, "capacity": 8000}],
    ids=["subsample", "capacity"],
)
def test_null_rows_are_allowed_for(padding: dict[str, Any], tmp_path: Path) -> None:
    """Without noise the tables are the true ones but for which records were sampled."""
    table = planted(4000)
    release = planted_release(tmp_path / "r", table=table, randomness=SilentRandomness(), **padding)
    assert release.null_share > 0.03
    moments = released_moments(release, slice_sums(release, 0, release.num_rows))
    pairs = across(release)
    errors = np.asarray(moments.second)[pairs] - true_tables(release, table)[pairs]
    assert np.abs(errors).max() < 0.03


def test_sums_of_parts_add_up(strong_release: Release) -> None:
    cut = 1234
    whole = slice_sums(strong_release, 0, strong_release.num_rows)
    parts = [slice_sums(strong_release, 0, cut), slice_sums(strong_release, cut, strong_release.num_rows)]
    assert sum(part.num_rows for part in parts) == whole.num_rows
    np.testing.assert_allclose(sum(part.second for part in parts), whole.second, rtol=1e-12)


def test_noise_and_rows_of_a_part_are_those_of_the_part(strong_release: Release) -> None:
    part = released_moments(strong_release, slice_sums(strong_release, 0, 1000))
    whole = released_moments(strong_release, slice_sums(strong_release, 0, 4000))
    ratio = np.asarray(part.second_noise) / np.asarray(whole.second_noise)
    np.testing.assert_allclose(ratio, 2.0, rtol=0.1)
    assert (part.num_rows, whole.num_rows) == (1000, 4000)


def test_margins_come_from_the_profile(strong_release: Release) -> None:
    moments = released_moments(strong_release, slice_sums(strong_release, 0, 4000))
    np.testing.assert_allclose(moments.mean, np.diag(true_tables(strong_release, planted())), atol=1e-6)
    np.testing.assert_array_equal(moments.mean, level_margins(strong_release))
    assert np.asarray(moments.mean_noise).min() > 0


def test_too_few_directions_have_no_moments(few_slices: Release) -> None:
    assert not has_moments(few_slices)
    with pytest.raises(ReleaseError, match=r"5 directions do not span 9 dimensions.*kernel"):
        released_moments(few_slices, slice_sums(few_slices, 0, few_slices.num_rows))


def test_quiet_profiles_are_quiet(tmp_path: Path) -> None:
    assert QuietProfile().stream("profile").standard_normal(3).tolist() == [0.0, 0.0, 0.0]
    assert np.abs(QuietProfile().stream("noise").standard_normal(3)).min() > 0

"""Levels next to each other on a line learn from each other; single values and categories do not."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from microtome.errors import ParameterError
from microtome.generators import MixtureGenerator, MixtureSettings, RowLayout
from microtome.generators.smoothness import kernels
from microtome.published import Release
from microtome.schema import Column, Kind, Schema
from support import FixedRandomness, publish

ROWS = 20_000


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Evenly spread heights, hours of which half are 40, and a category."""
    rng = np.random.default_rng(0)
    hours = np.where(rng.random(ROWS) < 0.5, 40, rng.integers(0, 81, ROWS))
    table = pa.table({"height": rng.random(ROWS), "hours": hours, "colour": rng.choice(["red", "green"], ROWS)})
    schema = Schema(
        columns=(
            Column(name="height", kind=Kind.FLOAT, bounds=(0.0, 1.0), missing=False),
            Column(name="hours", kind=Kind.INTEGER, bounds=(0, 80), missing=False),
            Column(name="colour", kind=Kind.CATEGORICAL, categories=("green", "red"), missing=False),
        )
    )
    path = tmp_path_factory.mktemp("smooth") / "t.release"
    return publish(table, schema, path, epsilon=3.0, delta=1e-5, randomness=FixedRandomness(1))


def smooth(release: Release, smoothness: float = 0.5) -> MixtureGenerator:
    margins = torch.tensor(np.concatenate([code.level_margins for code in release.codebook.codes])).float()
    return MixtureGenerator(
        RowLayout.of(release.codebook),
        margins[None],
        MixtureSettings(components=4),
        kernels=kernels(release.codebook.codes, smoothness),
    )


def test_places_are_those_of_levels_of_several_numbers(release: Release) -> None:
    height, hours, colour = (code.level_places() for code in release.codebook.codes)
    assert colour is None
    assert height is not None
    assert hours is not None
    scores = release.codebook.codes[1].level_scores()
    assert scores is not None
    line = np.flatnonzero(np.isfinite(hours))
    assert (np.diff(hours[line][np.argsort(scores[line])]) > 0).all()
    assert 0 < np.nanmin(hours) < np.nanmax(hours) < 1
    assert np.isnan(hours[int(np.argmax(release.codebook.codes[1].level_margins))])  # 40 hours
    assert np.isfinite(height).all()


def test_only_levels_on_a_line_are_smoothed(release: Release) -> None:
    height, hours, colour = kernels(release.codebook.codes, 0.5)
    assert colour is None
    assert height is not None
    assert hours is not None
    assert (height > 0).all() or height[0, 1] > height[0, -1]
    assert torch.allclose(hours.norm(dim=0), torch.ones(len(hours)))
    single = int(np.argmax(release.codebook.codes[1].level_margins))
    assert torch.equal(hours[single], torch.eye(len(hours))[single])
    assert torch.equal(hours[:, single], torch.eye(len(hours))[single])
    assert set(kernels(release.codebook.codes, 0.0)) == {None}


@torch.no_grad()
def test_untrained_it_has_the_margins_and_keeps_what_it_is_set_to(release: Release) -> None:
    model, margins = smooth(release), smooth(release, 0.0).components()
    assert torch.allclose(model.components(), margins, atol=1e-5)
    model.leave_start(torch.Generator().manual_seed(0))
    before = model.components()
    restored = smooth(release, 0.0)
    model.match_margins(before.mean(dim=0, keepdim=True), torch.Generator())
    restored.load_state_dict(model.state_dict())
    assert torch.allclose(model.components(), before, atol=1e-4)
    assert torch.equal(restored.components(), model.components())  # as a file has it, which knows of no kernels


def test_a_step_on_one_level_moves_its_neighbours(release: Release) -> None:
    """The gradient of a level's logit reaches those beside it, more the nearer they are, and no other column."""
    model = smooth(release)
    blocks = release.codebook.blocks
    middle = (blocks[0].start + blocks[0].stop) // 2
    (model.components()[0, middle]).log().backward()
    assert model.logits.grad is not None
    moved = model.logits.grad[0]
    assert moved[middle] > moved[middle + 1] > moved[middle + 3]
    assert (moved[blocks[1].start :] == 0).all()


@pytest.mark.parametrize("smoothness", [-0.1, 1.0, float("nan")])
def test_smoothness_is_a_share(smoothness: float) -> None:
    with pytest.raises(ParameterError, match="smoothness"):
        MixtureSettings(smoothness=smoothness)

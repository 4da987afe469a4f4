"""A release file of each format version still loads and says the same."""

from pathlib import Path

import numpy as np
import pytest

from microtome.release import AggregatesRelease, Release, promise_in_words
from microtome.release.manifest import VERSION
from support import people, people_schema, sorted_rows

GOLDEN = Path(__file__).parent / "golden"


def test_every_version_up_to_this_one_has_a_golden_file() -> None:
    assert sorted(path.name for path in GOLDEN.glob("*.release")) == [
        f"version-{v + 1}{kind}.release" for v in range(VERSION) for kind in ("-aggregates", "")
    ]
    assert all(path.stat().st_size < 60_000 for path in GOLDEN.glob("*.release"))


def test_version_1() -> None:
    opened = Release.load(GOLDEN / "version-1.release")
    assert opened.fingerprint == "99aa00dbd394108b6bd9405b8f49912b532091a66dd08006abfc71665642348f"
    assert opened.manifest.promise.private is False
    assert opened.manifest.promise.epsilon == 60.0
    assert "NOT PRIVATE" in promise_in_words(opened)[0]
    assert [column.name for column in opened.schema.columns] == people_schema().names
    assert opened.schema.target == "owner"
    assert opened.rows().shape == (300, 16)
    assert opened.noise_scale == pytest.approx(0.094197281, rel=1e-6)
    assert opened.codebook.codes[0].cells.categories == ("Bern", "Köln", "Åbo")  # type: ignore[union-attr]
    scales = [block.scale for block in opened.codebook.blocks]
    assert scales == pytest.approx([0.433029, 0.408264, 0.707027, 0.377979, 0.387313, 0.360302, 0.408264], abs=1e-6)
    levels = np.zeros((50, 7), np.int64)
    drawn = opened.codebook.draw(levels, np.random.default_rng(0))
    assert drawn.schema.types == people(2).schema.types
    assert sorted_rows(opened.rows())[0, 0] == pytest.approx(-0.28847917, rel=1e-6)


def test_version_1_aggregates() -> None:
    opened = Release.load(GOLDEN / "version-1-aggregates.release")
    assert isinstance(opened, AggregatesRelease)
    assert opened.fingerprint == "df10588283bc95cef1211fca615612bef7158abd5b18141f751096ffdb849c58"
    assert opened.manifest.promise.private is False
    assert opened.schema.names == people_schema().names[:5]
    assert (opened.mechanism.pivot, opened.pivot, opened.mechanism.num_classes) == ("owner", 2, 2)
    assert opened.num_records == 300
    assert opened.first.shape == (2, 23)
    assert opened.second.shape == (2, 23, 23)
    assert opened.mechanism.first_noise[0] == pytest.approx(0.457489247, rel=1e-6)
    assert opened.second_noise()[0, 3] == pytest.approx(0.646987498, rel=1e-6)
    assert opened.first[0, :3] == pytest.approx([56.7018607, 26.3324377, 124.1940341], rel=1e-6)
    assert opened.second[1, 0, 3] == pytest.approx(11.534574, rel=1e-6)

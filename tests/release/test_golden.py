"""A release file of each format version still loads and says the same."""

from pathlib import Path

import numpy as np
import pytest

from microtome.release import Release, promise_in_words
from microtome.release.manifest import VERSION
from support import people, people_schema, sorted_rows

GOLDEN = Path(__file__).parent / "golden"


def test_every_version_up_to_this_one_has_a_golden_file() -> None:
    assert sorted(path.name for path in GOLDEN.glob("*.release")) == [
        f"version-{v + 1}.release" for v in range(VERSION)
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

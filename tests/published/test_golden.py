"""A release file of each format version still loads and says the same."""

from pathlib import Path

import numpy as np
import pytest

from microtome.errors import ReleaseError
from microtome.published import (
    AggregatesRelease,
    Artefact,
    ImageMomentsRelease,
    ImageRowsRelease,
    Release,
    promise_in_words,
)
from microtome.published.manifest import VERSION
from support import people, people_schema, sorted_rows

GOLDEN = Path(__file__).parent / "golden"
KINDS = ("-aggregates", "-image-aggregates", "-image-records", "-rounding", "")


def test_every_version_up_to_this_one_has_a_golden_file() -> None:
    assert sorted(path.name for path in GOLDEN.glob("*.release")) == [
        f"version-{v + 1}{kind}.release" for v in range(VERSION) for kind in KINDS
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


def test_version_1_rounding() -> None:
    opened = Release.load(GOLDEN / "version-1-rounding.release")
    assert opened.fingerprint == "69fcd9606d251fa0335d571a5bb8de37dad7acd61ccc809e2ef0718cdf1ba3e2"
    code = opened.codebook.codes[0]
    assert code.rounding is not None
    assert code.rounding.noise_scale == pytest.approx(1.35541228, rel=1e-6)
    assert code.rounding.classes.shape == (5, 21)
    assert code.rounding.counts[51] == pytest.approx(1859.599175, rel=1e-6)
    prices = code.draw(np.zeros(500, np.int64), np.random.default_rng(0)).to_numpy()
    assert np.array_equal(prices, np.round(prices, 2))


def test_version_1_images() -> None:
    moments = Artefact.load(GOLDEN / "version-1-image-aggregates.release")
    assert isinstance(moments, ImageMomentsRelease)
    assert moments.fingerprint == "f1d5eafc913db64e73a2c13b1f829ba6dae7231b3f62d5b7fa62288dda9fb643"
    assert moments.schema.classes == ("left", "right")
    assert moments.counts == pytest.approx([89.91513914, 111.81368917], rel=1e-6)
    assert moments.sums[1, :2] == pytest.approx([58.1878555, -90.0363152], rel=1e-6)
    assert moments.second[0, 0, 1] == pytest.approx(1.14885623, rel=1e-6)
    rows = Artefact.load(GOLDEN / "version-1-image-records.release")
    assert isinstance(rows, ImageRowsRelease)
    assert rows.fingerprint == "5a6f3603797badbda482d09c7919bc42e9250b79d1a3ecde7ab9164603765204"
    assert rows.mechanism.class_rows == (95, 117)
    assert rows.rows(0)[0, :3] == pytest.approx([0.5361423, 0.24365279, 0.32327788], rel=1e-6)
    for opened in (moments, rows):
        assert opened.radius == pytest.approx(1.298957868925546)
        assert "NOT PRIVATE" in promise_in_words(opened)[0]


@pytest.mark.parametrize("kind", ["aggregates", "records"])
def test_altered_images_are_refused(kind: str, tmp_path: Path) -> None:
    data = bytearray((GOLDEN / f"version-1-image-{kind}.release").read_bytes())
    data[-5] ^= 1
    (tmp_path / "altered").write_bytes(bytes(data))
    with pytest.raises(ReleaseError, match="altered"):
        Artefact.load(tmp_path / "altered")

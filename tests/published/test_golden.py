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
    RecordsRelease,
    Release,
    promise_in_words,
)
from microtome.published.manifest import VERSION
from support import people, people_schema, sorted_rows

GOLDEN = Path(__file__).parent / "golden"
KINDS = ("-aggregates", "-image-aggregates", "-image-records", "-like", "-pool", "-rounding", "-shards", "")


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


def test_version_1_like_and_pool() -> None:
    like, pooled = (Release.load(GOLDEN / f"version-1-{name}.release") for name in ("like", "pool"))
    assert isinstance(like, AggregatesRelease)
    assert isinstance(pooled, AggregatesRelease)
    assert like.fingerprint == "2ae6cf0bc458caf30792844df8362bb4250954cbe4fa487b0dca958ba97f16d3"
    assert like.mechanism.like == "065c66a0540433f31d1934e025e59093ebe7a0400d9a5818393226dd7f00a873"
    assert like.mechanism.profile_share == 0
    assert like.second[0, 0, 4:6] == pytest.approx([53.61923163, 17.81431286], rel=1e-6)
    assert pooled.fingerprint == "0fc4c69e26f799a0d2f5e86dbbe78c70d798fa66dfcd4642c346e30bbbd8d8c3"
    assert pooled.manifest.pool is not None
    holders = pooled.manifest.pool.holders
    assert [holder.fingerprint for holder in holders] == [like.mechanism.like, like.fingerprint]
    assert [holder.num_records for holder in holders] == [300, 200]
    assert pooled.num_records == 500
    assert pooled.second[0, 0, 4:6] == pytest.approx([114.59931776, 45.94141035], rel=1e-6)
    assert pooled.second_noise()[0, 4] == pytest.approx(2.406600821, rel=1e-6)


def test_version_1_in_a_folder() -> None:
    opened = Release.load(GOLDEN / "version-1-shards.release")
    assert isinstance(opened, RecordsRelease)
    assert opened.fingerprint == "e0d457e85bd761021751b199862f9a23c02a341c37f36245df5f772551e55317"
    assert opened.manifest.contents.shards == (134, 166)
    assert opened.rows().shape == (300, 16)
    assert opened.rows()[0, :3] == pytest.approx([0.01620578, -0.06035256, 0.03446057], rel=1e-5)
    assert opened.noise_scale == pytest.approx(0.047685973, rel=1e-6)

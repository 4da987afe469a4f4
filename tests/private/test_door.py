"""The one door: passes that merge, and another pass without another door."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import load_file

from microtome.accounting import GaussianEvent, Ledger, delta
from microtome.images import ImageSchema, ImageSet
from microtome.private import ImageSource, PrivacySettings, PrivateImages, RunSettings, TableSource, open_table
from microtome.private.pair_passes import PairTablePass
from microtome.private.passes import Pass, Published
from microtome.private.randomness import Randomness, noisy_counts
from microtome.published import Release, ReleaseKind
from support import FixedRandomness, people, people_schema, publish

SETTINGS = PrivacySettings(epsilon=3.0, delta=1e-5, kind=ReleaseKind.AGGREGATES)


def pictures() -> ImageSource:
    rng = np.random.default_rng(0)
    images = ImageSet.from_arrays(rng.integers(0, 17, (90, 4, 3, 1)).astype(np.uint8), np.arange(90) % 3)
    schema = ImageSchema(height=4, width=3, classes=(0, 1, 2), low=0, high=16, components=5)
    return ImageSource(images=PrivateImages(images, schema))


SOURCES = {
    "table": lambda: TableSource(table=open_table(people(300)), schema=people_schema()),
    "images": pictures,
}


def counted(source: Any, one: Pass, blocks: slice) -> Pass:
    for block in list(source.blocks(64))[blocks]:
        one.add(block)
    return one


@pytest.mark.parametrize("name", SOURCES)
def test_passes_that_counted_apart_merge_to_one_that_saw_all(name: str) -> None:
    """So whoever can count can serve: all passes of a release, one after the other."""
    source = SOURCES[name]()
    steps: list[Any] = [source.plan(SETTINGS, RunSettings()).first for _ in range(3)]
    while steps[0] is not None:
        whole, first, second = steps
        counted(source, whole, slice(None))
        counted(source, first, slice(None, None, 2)).merge(counted(source, second, slice(1, None, 2)))
        found = [one.publish(FixedRandomness(), 300) for one in (whole, first)]
        assert found[0].arrays.keys() == found[1].arrays.keys()
        for key, array in found[0].arrays.items():
            assert np.array_equal(array, found[1].arrays[key]), key
        assert found[0].events == found[1].events
        steps = [found[0].following, found[1].following, first.publish(FixedRandomness(), 300).following]


class OwnersPass:
    """A toy third pass: how many records own something."""

    stage, width = "owners", 1

    def __init__(self, noise: float) -> None:
        self._noise, self._owners = noise, 0

    def add(self, block: pa.Table) -> None:
        self._owners += sum(block["owner"].to_pylist())

    def merge(self, other: "OwnersPass") -> None:
        self._owners += other._owners

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        noisy = noisy_counts(np.array([float(self._owners)]), self._noise, randomness.stream("owners"))
        return Published(events=(GaussianEvent(mu=1.0 / self._noise),), arrays={"toy/owners": noisy})


def test_a_third_pass_needs_no_other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted, noised, written, checked and in the promise, by the door as it is."""
    sound = PairTablePass.publish

    def publish_and_go_on(self: PairTablePass, randomness: Randomness, num_records: int) -> Published:
        found = sound(self, randomness, num_records)
        return Published(events=found.events, arrays=found.arrays, mechanism=found.mechanism, following=OwnersPass(1e4))

    monkeypatch.setattr(PairTablePass, "publish", publish_and_go_on)
    ledger = Ledger()
    released = publish(people(), people_schema(), tmp_path / "t.release", ledger=ledger, kind=ReleaseKind.AGGREGATES)
    assert Release.load(released.path).fingerprint == released.fingerprint
    assert load_file(released.path)["toy/owners"].shape == (1,)
    costs = [event.mu for event in released.manifest.promise.events if isinstance(event, GaussianEvent)]
    assert len(costs) == 3
    assert delta(released.manifest.promise.events, 5.0) <= 1e-5 * (1 + 1e-6)

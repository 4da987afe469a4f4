"""An audit that cannot fail proves nothing: each of these breaks the real code, and the audit must say so.

A verdict is a statistic of the noise, which is the same in every run of these tests. What is broken is broken enough
that other noise would do as well, and a sound mechanism would be accused by at most ``ERROR`` of all noises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from microtome.accounting import DirectionKind, Neighbours
from microtome.auditing import AuditKind, AuditRun, AuditSetting, Finding
from microtome.errors import ReleaseError
from microtome.images import ImageCode
from microtome.images.image_code import _by_frequency, cosines
from microtome.private import aggregating, profile, randomness, second_round, shuffling, slicing, table_source
from microtome.private.image_rows import ImageBlock
from microtome.private.image_source import ClassRows
from microtome.private.image_tally import ImageCounts, MeanSums, MomentSums
from microtome.private.profile import ProfileBudget, Tally
from microtome.published import Promise
from microtome.schema import Codebook

ERROR = 0.01
RECORDS = AuditSetting(epsilon=5.0)
ADD_REMOVE = replace(RECORDS, neighbours=Neighbours.ADD_REMOVE)
AGGREGATES = AuditSetting(kind=AuditKind.AGGREGATES, pivot="group", epsilon=5.0)
SEVERAL = AuditSetting(kind=AuditKind.AGGREGATES, rows=3, epsilon=5.0)
LINKED = AuditSetting(kind=AuditKind.AGGREGATES, linked=True, rows=2, epsilon=5.0)
PROFILE = AuditSetting(kind=AuditKind.PROFILE, epsilon=5.0)
AS_PUBLISHED = replace(ADD_REMOVE, as_published=True)
IMAGES = replace(RECORDS, images=True)
IMAGE_SUMS = replace(IMAGES, kind=AuditKind.AGGREGATES)
ALIKE = replace(IMAGES, neighbours=Neighbours.ADD_REMOVE, alike=True)
LESS = 0.7
Patch = pytest.MonkeyPatch


def audited(setting: AuditSetting, releases: int = 120) -> Finding:
    return AuditRun(setting, error=ERROR, seed=0).run(releases=releases)


def weaken_noise(monkeypatch: Patch, *modules: Any) -> None:
    """σ × 0.7 where noise is added; the file goes on stating σ."""
    sound = randomness.add_gaussian_noise

    def weak(values: np.ndarray, noise_scale: float, stream: np.random.Generator) -> np.ndarray:
        steps = sound(values, LESS * noise_scale, stream)
        return np.rint(steps * LESS).astype(np.int64)

    for module in modules:
        monkeypatch.setattr(module, "add_gaussian_noise", weak)


@pytest.mark.parametrize(
    "setting",
    [
        RECORDS,
        pytest.param(replace(RECORDS, neighbours=Neighbours.REPLACE_ONE), marks=pytest.mark.slow),
        pytest.param(replace(RECORDS, directions=DirectionKind.GAUSSIAN), marks=pytest.mark.slow),
        pytest.param(replace(ADD_REMOVE, subsample=0.5), marks=pytest.mark.slow),
        IMAGES,
        pytest.param(replace(IMAGES, neighbours=Neighbours.REPLACE_ONE), marks=pytest.mark.slow),
        pytest.param(replace(IMAGES, neighbours=Neighbours.ADD_REMOVE, subsample=0.5), marks=pytest.mark.slow),
    ],
    ids=lambda setting: setting.name,
)
def test_too_little_noise_on_rows(setting: AuditSetting, monkeypatch: Patch) -> None:
    weaken_noise(monkeypatch, slicing)
    found = audited(setting, releases=120 if setting in (RECORDS, IMAGES) else 400)
    assert found.curve.is_violation
    assert found.curve.attack.startswith("likelihood ratio")
    assert found.equivalent > setting.epsilon


def weaker(sound: Callable[..., np.ndarray], factor: float) -> Callable[..., np.ndarray]:
    """Noisy counts with so much of their noise."""
    return lambda counts, scale, stream, **how: sound(counts, factor * scale, stream, **how)


def test_too_little_noise_on_tables(monkeypatch: Patch) -> None:
    monkeypatch.setattr(aggregating, "noisy_counts", weaker(aggregating.noisy_counts, LESS))
    assert audited(AGGREGATES, releases=180).curve.is_violation


@pytest.mark.parametrize(("people", "releases"), [(LINKED, 240), (SEVERAL, 150)])
def test_half_the_noise_on_tables_of_people(people: AuditSetting, releases: int, monkeypatch: Patch) -> None:
    monkeypatch.setattr(aggregating, "noisy_counts", weaker(aggregating.noisy_counts, 0.5))
    assert audited(people, releases=releases).curve.is_violation


def test_too_little_noise_on_the_tables_of_a_second_round(monkeypatch: Patch) -> None:
    few = 0.1  # they have but a tenth of the budget
    monkeypatch.setattr(second_round, "noisy_counts", weaker(second_round.noisy_counts, few))
    setting = AuditSetting(kind=AuditKind.AGGREGATES, second_round=True, epsilon=5.0)
    found = audited(setting, releases=60)
    assert found.curve.is_violation
    assert found.curve.attack.startswith("likelihood ratio, chosen tables")


def weaken_counts(monkeypatch: Patch) -> None:
    sound = ImageCounts.publish
    monkeypatch.setattr(ImageCounts, "publish", lambda self, noise, source: sound(self, LESS * noise, source))


def weaken_means(monkeypatch: Patch) -> None:
    sound = MeanSums.publish
    monkeypatch.setattr(MeanSums, "publish", lambda self, noise, source: sound(self, LESS * noise, source))


def weaken_second_moments(monkeypatch: Patch) -> None:
    sound = MomentSums.publish
    monkeypatch.setattr(
        MomentSums, "publish", lambda self, noise, other, source: sound(self, LESS * noise, other, source)
    )


def weaken_spreads(monkeypatch: Patch) -> None:
    sound = MomentSums.publish
    monkeypatch.setattr(
        MomentSums, "publish", lambda self, other, noise, source: sound(self, other, LESS * noise, source)
    )


@pytest.mark.parametrize(
    ("weaken", "setting"),
    [
        pytest.param(weaken_counts, replace(IMAGES, kind=AuditKind.PROFILE, epsilon=50.0), marks=pytest.mark.slow),
        pytest.param(weaken_means, replace(IMAGES, kind=AuditKind.MEANS), marks=pytest.mark.slow),
        (weaken_second_moments, IMAGE_SUMS),
        pytest.param(weaken_second_moments, replace(IMAGES, kind=AuditKind.SECOND_MOMENTS), marks=pytest.mark.slow),
        (weaken_spreads, replace(IMAGES, kind=AuditKind.SPREADS, epsilon=50.0)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_too_little_noise_on_sums_of_images(
    weaken: Callable[[Patch], None], setting: AuditSetting, monkeypatch: Patch
) -> None:
    """On each noisy part alone; a part that little is spent on shows at an ε that leaves it more."""
    weaken(monkeypatch)
    found = audited(setting, releases=150)
    assert found.curve.is_violation
    assert found.curve.attack.startswith("likelihood ratio")


@pytest.mark.slow
def test_a_residual_that_is_too_long(monkeypatch: Patch) -> None:
    """A clip to the wrong radius: an image adds more than a unit."""
    monkeypatch.setattr(
        "microtome.private.image_tally.clip_rows",
        lambda rows, nonnegative: 1.3 * slicing.clip_rows(rows, nonnegative=nonnegative),
    )
    assert audited(IMAGE_SUMS).curve.is_violation


def matrix_product(self: ImageCode, pixels: np.ndarray) -> np.ndarray:
    """The encoding that was: one product in floating point for a whole block of images."""
    schema = self.schema
    frequencies = _by_frequency(schema.height, schema.width)[: schema.num_components]
    rows, columns = cosines(schema.height), cosines(schema.width)
    basis = np.stack([np.outer(rows[u], columns[v]).ravel() for u, v in frequencies])
    unit = (pixels.astype(np.float64) - schema.low) / (schema.high - schema.low) - self.offset
    planes = unit.transpose(0, 3, 1, 2).reshape(len(pixels) * schema.channels, -1)
    return np.asarray(planes @ basis.T).reshape(len(pixels), schema.dim)


def bits_of_the_number_of_rows(self: ImageCode, pixels: np.ndarray) -> np.ndarray:
    """The same where the library takes another kernel for another number of rows, so that all last bits change."""
    return matrix_product(self, pixels) * (1.0 + (-1) ** len(pixels) * 2.0**-49)


@pytest.mark.parametrize(
    "setting",
    [
        replace(ALIKE, kind=AuditKind.AGGREGATES, epsilon=1.0, as_published=True),
        pytest.param(replace(ALIKE, kind=AuditKind.PROFILE, epsilon=1.0), marks=pytest.mark.slow),
        pytest.param(replace(ALIKE, epsilon=1.0), marks=pytest.mark.slow),
    ],
    ids=lambda setting: setting.name,
)
def test_images_whose_numbers_depend_on_how_many_there_are(setting: AuditSetting, monkeypatch: Patch) -> None:
    """One image more, and all of them are in the next bin of contrast: by the last bit."""
    monkeypatch.setattr(ImageCode, "encode", bits_of_the_number_of_rows)
    found = audited(setting)
    assert found.curve.is_violation
    assert found.curve.attack.startswith("likelihood ratio")
    assert found.promise.audited > found.promise.claimed or setting.kind is not AuditKind.PROFILE


@pytest.mark.slow
def test_images_encoded_by_one_matrix_product(monkeypatch: Patch) -> None:
    """The same as it really was, if this machine's library shows it: on some, two images move, on others all."""
    monkeypatch.setattr(ImageCode, "encode", matrix_product)
    setting = replace(ALIKE, kind=AuditKind.PROFILE, epsilon=50.0)
    data = setting.data()
    apart = [image_contrasts(data, np.full(1, there)) for there in (True, False)]
    if np.abs(apart[0] - apart[1]).sum() == 1.0:
        pytest.skip("this machine's matrix product puts every image on the same side, however many there are")
    assert audited(setting, releases=400).curve.is_violation


def image_contrasts(data: Any, coins: np.ndarray) -> np.ndarray:
    counts = ImageCounts(1, ImageCode(data.schema).largest)
    for block in data.opened(coins).blocks(1000):
        counts.add(block)
    return counts.contrasts


def test_images_in_the_order_of_the_set(monkeypatch: Patch) -> None:
    def rows_in_order(self: ClassRows, blocks: Iterator[ImageBlock]) -> Iterator[np.ndarray]:
        (block,) = blocks
        for number, size in enumerate(self.sizes):
            mine = block.rows[block.classes == number] / self.radius
            yield np.concatenate([mine, np.zeros((size - len(mine), block.rows.shape[1]))])

    monkeypatch.setattr(ClassRows, "padded", rows_in_order)
    found = audited(replace(IMAGES, neighbours=Neighbours.ADD_REMOVE, as_published=True))
    assert found.curve.is_violation
    assert "order of the file" in found.curve.attack


@pytest.mark.slow
def test_too_little_noise_on_the_profile(monkeypatch: Patch) -> None:
    monkeypatch.setattr(profile, "noisy_counts", weaker(profile.noisy_counts, 0.5))
    assert audited(PROFILE).curve.is_violation


@pytest.mark.slow
def test_too_little_noise_on_counts_of_rounding(monkeypatch: Patch) -> None:
    """On these alone: they are what the least of the profile is spent on, so that the noise must be next to nothing."""
    sound = profile.noisy_counts
    stream_of = randomness.SystemRandomness.stream
    weak: list[Any] = []

    def stream(self: Any, purpose: str, block: int = 0) -> Any:
        found = stream_of(self, purpose, block)
        weak.extend([found] if purpose == "profile-rounding" else [])
        return found

    def noisy(counts: Any, scale: float, source: Any) -> Any:
        return sound(counts, 0.05 * scale if any(source is one for one in weak) else scale, source)

    monkeypatch.setattr(randomness.SystemRandomness, "stream", stream)
    monkeypatch.setattr(profile, "noisy_counts", noisy)
    assert audited(replace(PROFILE, rounded=True)).curve.is_violation


def test_too_little_noise_that_the_file_admits(monkeypatch: Patch) -> None:
    """The plan asks for less noise and states it: then the stated events do not add up to the promise."""
    sound = table_source.plan_slices

    def plan(settings: Any, *rest: Any) -> Any:
        return sound(replace(settings, epsilon=1.4 * settings.epsilon), *rest)

    monkeypatch.setattr(table_source, "plan_slices", plan)
    with pytest.raises(ReleaseError, match="contradicted by its own events"):
        audited(RECORDS, releases=60)
    # Were such a file not refused, the audit would see it.
    monkeypatch.setattr(Promise, "verify", lambda self: None)
    found = audited(RECORDS, releases=60)
    assert not found.events_keep_promise
    assert found.is_violation


def test_a_row_that_is_too_long_is_caught_unless_it_is_clipped(monkeypatch: Patch) -> None:
    sound = Codebook.encode
    monkeypatch.setattr(Codebook, "encode", lambda self, levels: 1.5 * sound(self, levels))
    assert not audited(RECORDS, releases=60).is_violation
    monkeypatch.setattr(slicing, "clip_rows", lambda rows, nonnegative: rows)
    assert audited(RECORDS).curve.is_violation


@pytest.mark.parametrize(
    "setting", [AS_PUBLISHED, pytest.param(ADD_REMOVE, marks=pytest.mark.slow)], ids=lambda setting: setting.name
)
def test_a_leaked_count(setting: AuditSetting, monkeypatch: Patch) -> None:
    """The exact number of records in place of the noisy one."""
    sound = Tally.publish

    def publish(self: Tally, *arguments: Any, **options: Any) -> Any:
        return replace(sound(self, *arguments, **options), total=float(self.num_rows))

    monkeypatch.setattr(Tally, "publish", publish)
    found = audited(setting)
    assert found.curve.is_violation
    assert "number of records" in found.curve.attack


@pytest.mark.slow
def test_padding_left_out(monkeypatch: Patch) -> None:
    """As many rows as records."""
    monkeypatch.setattr(table_source, "padded_rows", lambda settings, num_records: num_records)
    found = audited(AS_PUBLISHED)
    assert found.curve.is_violation
    assert "number of rows" in found.curve.attack


@pytest.fixture
def seeded(monkeypatch: Patch) -> Iterator[None]:
    """Every release has the same secret."""

    def start(self: randomness.SystemRandomness) -> None:
        self._secret = b"the same for everybody, for ever"

    monkeypatch.setattr(randomness.SystemRandomness, "__init__", start)
    return None


@pytest.mark.usefixtures("seeded")
@pytest.mark.parametrize(
    "setting",
    [
        AS_PUBLISHED,
        *(
            pytest.param(setting, marks=pytest.mark.slow)
            for setting in (RECORDS, AGGREGATES, PROFILE, IMAGES, IMAGE_SUMS)
        ),
    ],
    ids=lambda setting: setting.name,
)
def test_seeded_noise(setting: AuditSetting) -> None:
    assert audited(setting).curve.is_violation


def test_rows_in_the_order_of_the_table(monkeypatch: Patch) -> None:
    """Who is missing can be seen by everybody behind it having moved up."""

    def identity(self: Any, rows: np.ndarray) -> None:
        self._write(int(self._next[0]), rows)
        self._next[0] += len(rows)

    def finish(self: Any, *, threads: int = 1) -> Any:
        return iter([self._read(0, int(self._ends[0]))])

    monkeypatch.setattr(shuffling.Shuffler, "add", identity)
    monkeypatch.setattr(shuffling.Shuffler, "finish", finish)
    found = audited(AS_PUBLISHED)
    assert found.curve.is_violation
    assert "order of the file" in found.curve.attack


@pytest.mark.slow
def test_rare_categories_that_show_too_often(monkeypatch: Patch) -> None:
    sound = ProfileBudget.threshold
    monkeypatch.setattr(ProfileBudget, "threshold", lambda self, *arguments: 0.3 * sound(self, *arguments))
    setting = replace(PROFILE, learnt=True, delta=0.05)
    found = audited(setting, releases=300)
    assert found.curve.is_violation

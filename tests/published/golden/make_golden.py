"""Writes the golden releases of the current format version; run once a version, then keep the files for ever.

python tests/published/golden/make_golden.py
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

from microtome import RunSettings, pool, release  # noqa: E402
from microtome.images import ImageSchema, ImageSet  # noqa: E402
from microtome.published import Artefact  # noqa: E402
from microtome.published.manifest import VERSION, ReleaseKind  # noqa: E402
from microtome.schema import Column, Kind, Schema  # noqa: E402
from spark_here import in_partitions  # noqa: E402
from support import people, people_schema, publish, publish_images, repeatable_noise  # noqa: E402


def publish_pictures(output: Path, kind: ReleaseKind) -> None:
    """Small pictures of two classes, one bright on the left and one on the right."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 200)
    pixels = rng.integers(0, 60, (200, 4, 4)).astype(np.uint8)
    pixels[labels == 0, :, :2] += 150
    pixels[labels == 1, :, 2:] += 150
    schema = ImageSchema(height=4, width=4, classes=("left", "right"), mean=(60.0,), components=6)
    images = ImageSet.from_arrays(pixels, np.array(["left", "right"])[labels])
    publish_images(images, schema, output, epsilon=60.0, kind=kind)


def publish_alike(like: Path, pooled: Path) -> None:
    """A release like another, and the pool of both; of public noise, which anybody can draw again."""
    few = Schema(columns=tuple(people_schema()[name] for name in ("grade", "owner", "age")))
    with repeatable_noise(), TemporaryDirectory() as folder:
        options = {"epsilon": 6.0, "delta": 1e-5, "anyway": True}
        first = release(people(300).select(few.names), few, output=Path(folder) / "first", **options)
        second = release(people(200, seed=2).select(few.names), like=first, output=like, **options)
        pool([first, second], pooled)


if __name__ == "__main__":
    records, aggregates = (HERE / f"version-{VERSION}{kind}.release" for kind in ("", "-aggregates"))
    if not records.exists():
        publish(people(300), people_schema(), records, epsilon=60.0, num_slices=16)
    if not aggregates.exists():
        few = Schema(columns=people_schema().columns[:5], target="owner")
        options = {"epsilon": 60.0, "kind": ReleaseKind.AGGREGATES, "profile_share": 0.2, "pivot": "owner"}
        publish(people(300).select(few.names), few, aggregates, **options)
    rounding = HERE / f"version-{VERSION}-rounding.release"
    if not rounding.exists():
        prices = np.round(np.random.default_rng(0).gamma(2.0, 30.0, 3000), 2)
        column = Column(name="price", kind=Kind.FLOAT, bounds=(0, 1000), missing=False)
        options = {"epsilon": 60.0, "kind": ReleaseKind.AGGREGATES}
        publish(pa.table({"price": prices}), Schema(columns=(column,)), rounding, **options)
    pictures = {kind: HERE / f"version-{VERSION}-image-{kind}.release" for kind in ReleaseKind}
    for kind, path in pictures.items():
        if not path.exists():
            publish_pictures(path, kind)
    like, pooled, shards = (HERE / f"version-{VERSION}-{name}.release" for name in ("like", "pool", "shards"))
    if not pooled.exists():
        publish_alike(like, pooled)
    if not shards.exists():
        run = RunSettings(threads=1, bin_entries=3000)
        publish(in_partitions(people(300), 120), people_schema(), shards, epsilon=60.0, num_slices=16, run=run)
    for path in (records, aggregates, rounding, *pictures.values(), like, pooled, shards):
        print(f"{path}: {path.stat().st_size:,} bytes, fingerprint {Artefact.load(path).fingerprint}")

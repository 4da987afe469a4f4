"""Makes the reports that docs/gallery.md links to, from the built-in town and digits, into a folder.

python docs/site/gallery.py build/gallery
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import microtome as mt
from microtome.demo import digit_images, population, population_schema
from microtome.evaluation.images import report_images
from microtome.settings import PrivacySettings

PEOPLE = 5_000
EPSILONS = (0.3, 1, 5)
DELTA = 1e-6


def main(folder: Path) -> None:
    """Make all pages; those that are there already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    town = population(PEOPLE)
    for epsilon in EPSILONS:
        _pages(folder / f"town-{epsilon:g}", town, population_schema(), epsilon, rows=PEOPLE)
    images, schema = digit_images()
    _pages(folder / "digits-5", images, schema, 5, rows=len(images))


def _pages(stem: Path, real: object, schema: mt.Schema | mt.ImageSchema, epsilon: float, *, rows: int) -> None:
    public, private = (stem.with_name(f"{stem.name}-{which}.html") for which in ("public", "private"))
    if public.exists() and private.exists():
        return
    print(f"{stem.name} …", file=sys.stderr)
    with TemporaryDirectory() as scratch:
        path = Path(scratch, "made.release")
        release = mt.release(
            real,
            schema,
            privacy=PrivacySettings(epsilon=epsilon, delta=DELTA),
            output=path,
            **({"anyway": True} if isinstance(schema, mt.Schema) else {}),
        )
        drawn = mt.Synthesizer(random_state=0).fit(release).sample(rows)
        compare = report_images if isinstance(schema, mt.ImageSchema) else mt.report
        compare(None, drawn, release=path).save(public, force=True)
        compare(real, drawn, release=path).save(private, force=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Makes the reports that docs/gallery.md links to, from the built-in town, digits and clinic, into a folder.

python docs/site/gallery.py build/gallery
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import microtome as mt
from microtome.demo import clinic, clinic_schema, digit_images, population, population_schema
from microtome.evaluation.images import report_images
from microtome.schema import LinkedSchema
from microtome.settings import PrivacySettings

PEOPLE, PATIENTS = 5_000, 2_000
EPSILONS = (0.3, 1, 5)
DELTA = 1e-6


def main(folder: Path) -> None:
    """Make all pages; those that are there already stay."""
    folder.mkdir(parents=True, exist_ok=True)
    town = population(PEOPLE)
    for epsilon in EPSILONS:
        _pages(folder / f"town-{epsilon:g}", town, population_schema(), epsilon, rows=PEOPLE, compare=mt.report)
    images, schema = digit_images()
    _pages(folder / "digits-5", images, schema, 5, rows=len(images), compare=report_images)
    _pages(folder / "clinic-5", clinic(PATIENTS), clinic_schema(), 5, rows=PATIENTS, compare=mt.report_linked)


def _pages(
    stem: Path,
    real: Any,
    schema: mt.Schema | mt.ImageSchema | LinkedSchema,
    epsilon: float,
    *,
    rows: int,
    compare: Callable[..., Any],
) -> None:
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
        compare(None, drawn, release=path).save(public, force=True)
        against = {"schema": schema} if isinstance(schema, LinkedSchema) else {"release": path}
        compare(real, drawn, **against).save(private, force=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

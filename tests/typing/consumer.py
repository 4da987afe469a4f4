"""A program of somebody who uses Microtome and checks types strictly. Nothing here runs; mypy reads it.

Lines that ignore an error are wrong on purpose: under ``--strict`` an error that is not there may not be ignored, so
they show that the types arrive.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import microtome as mt
from microtome.accounting import Accountant, GaussianEvent, Neighbours, calibrate_noise, epsilon
from microtome.published import LinkedRelease
from microtome.schema import Kind


def schema() -> mt.Schema:
    """What is public about the table."""
    return mt.Schema(
        columns=(
            mt.Column(name="age", kind=Kind.INTEGER, bounds=(18, 99), missing=False),
            mt.Column(name="district", kind="categorical", outside="clamp"),
        ),
        target=None,
    )


def synthesise(table: Path, output: Path) -> pd.DataFrame:
    """From a private table to a synthetic one."""
    ledger = mt.Ledger(output.with_suffix(".ledger.json"))
    ledger.set_budget(table.name, epsilon=2.0, delta=1e-6)
    privacy = mt.PrivacySettings(epsilon=1.0, delta=1e-6, neighbours="replace-one")
    relation: Neighbours = privacy.neighbours
    release: mt.Release = mt.release(table, schema(), privacy=privacy, output=output, ledger=ledger)
    assert release.manifest.promise.neighbours is relation
    spent: float = release.manifest.promise.epsilon
    model: mt.Synthesizer = mt.Synthesizer(mt.FitSettings(steps=100), random_state=0).fit(release)
    frame: pd.DataFrame = model.sample(int(release.num_records))
    mt.report(None, frame, release=output).save(output.with_suffix(".html"))
    return frame.assign(epsilon=spent)


def noise_of_a_count(promise: float) -> float:
    """The accounting by itself."""
    sigma: float = calibrate_noise(lambda scale: [GaussianEvent(mu=1 / scale)], epsilon=promise, delta=1e-6)
    assert epsilon([GaussianEvent(mu=1 / sigma)], 1e-6, Accountant.EXACT) <= promise
    return sigma * Neighbours.REPLACE_ONE.cells_changed


def images(folder: Path) -> mt.ImageSet:
    """From private images to synthetic ones."""
    seen: mt.ImageSet = mt.read_images(folder)
    public = mt.ImageSchema(height=28, width=28, classes=tuple(str(digit) for digit in range(10)))
    release: mt.ImageRelease = mt.release(seen, public, epsilon=1.0, delta=1e-6, kind="records")
    drawn: mt.ImageSet = mt.Synthesizer(random_state=0).fit(release).sample(100)
    return drawn


def either(source: Path, document: Path) -> mt.Release | LinkedRelease | mt.ImageRelease:
    """A schema on disk may be of a table, of several or of images."""
    return mt.release(source, document, epsilon=1.0, run=mt.RunSettings(threads=1))


def mistakes(release: mt.Release) -> None:
    """What the types are there to find."""
    mt.release("people.csv", schema(), epsilon="1", delta=1e-6)  # type: ignore[call-overload]
    mt.PrivacySettings(epsilon=1.0, kind=7)  # type: ignore[arg-type]
    mt.PrivacySettings(epsilon=1.0, sigma=2.0)  # type: ignore[call-arg]
    mt.Column(name="age", kind=3)  # type: ignore[arg-type]
    mt.Synthesizer().fit(release, resume_from="here")  # type: ignore[call-arg]
    release.secret  # type: ignore[attr-defined]  # noqa: B018

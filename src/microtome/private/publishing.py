"""``release``: the private half as one function call."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from microtome.accounting import Accountant, DirectionKind, Ledger, Neighbours, dataset_name
from microtome.errors import OutputError, noted
from microtome.private.door import Door
from microtome.private.image_plan import IMAGE_PROFILE_SHARE
from microtome.private.image_rows import PrivateImages, open_images
from microtome.private.image_source import ImageSource
from microtome.private.randomness import SystemRandomness
from microtome.private.settings import NO_PIVOT, PROFILE_SHARES, PrivacySettings, RunSettings, option
from microtome.private.table import open_table
from microtome.private.table_source import TableSource
from microtome.published import Artefact, ImageRelease, Release, ReleaseKind, keep_temporary
from microtome.published.signature import Signer
from microtome.schema import ImageSchema, Schema


def release(
    source: Any,
    schema: Schema | str | Path,
    *,
    epsilon: float,
    delta: float,
    output: str | Path | None = None,
    neighbours: str = Neighbours.BLANK_ONE,
    accountant: str = Accountant.EXACT,
    directions: str = DirectionKind.ORTHOGONAL,
    num_slices: int | None = None,
    slice_dim: int = 1,
    subsample: float | None = None,
    capacity: int | None = None,
    profile_share: float | None = None,
    kind: str = ReleaseKind.AGGREGATES,
    pivot: str = NO_PIVOT,
    allow_large_delta: bool = False,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
) -> Release:
    """Publish a private table once, under (ε, δ)-differential privacy.

    Args:
        source: A text file (CSV), a workbook (.xlsx) or a Parquet path, or a pandas, polars or Arrow table.
        schema: What is public about it, or the path of its YAML document.
        epsilon: Total ε, profile included.
        delta: Total δ.
        output: Where to write the release; without it, a temporary file that lives as long as the result.
        neighbours: ``blank-one``, ``add-remove`` or ``replace-one``.
        accountant: ``exact``, ``renyi`` or ``theorem1``.
        directions: ``orthogonal`` or ``gaussian``.
        num_slices: Number of slices; by default as many as fill the encoded dimension.
        slice_dim: Dimension of a slice.
        subsample: Poisson sampling rate, or ``None`` for all records.
        capacity: Public upper bound on the number of records, for ``add-remove``.
        profile_share: Share of the budget that the profile gets; by default a tenth for records, a fifth
            for aggregates.
        kind: ``aggregates`` (noise on counts over all records: far less error; whoever calls this sees the table
            anyway) or ``records`` (noise on every record, as the paper does).
        pivot: For aggregates: the column by whose classes everything is counted apart, for what three columns
            share; ``"none"`` to count all records together, under less noise.
        allow_large_delta: Accept δ ≥ 1/n.
        ledger: The book of what was spent, or its path; without it nothing remembers what was spent.
        dataset: The table's name in the book; by default the file's name.
        sign: File of the private key to sign the release with, such as ``microtome key make`` writes.
        run: How the work is done.

    Returns:
        The release, open for reading.
    """
    signer = None if sign is None else Signer.load(sign)
    chosen = option(ReleaseKind, kind, "kind")
    settings = PrivacySettings(
        kind=chosen,
        pivot=pivot,
        epsilon=epsilon,
        delta=delta,
        neighbours=option(Neighbours, neighbours, "neighbours"),
        accountant=option(Accountant, accountant, "accountant"),
        directions=option(DirectionKind, directions, "directions"),
        num_slices=num_slices,
        slice_dim=slice_dim,
        subsample=subsample,
        capacity=capacity,
        profile_share=PROFILE_SHARES[chosen] if profile_share is None else profile_share,
        allow_large_delta=allow_large_delta,
    )
    door = Door(
        settings=settings,
        run=run or RunSettings(),
        ledger=ledger if isinstance(ledger, Ledger) else Ledger(ledger),
        dataset=dataset or (dataset_name(source) if isinstance(source, str | Path) else "table"),
        randomness=SystemRandomness(),
    )
    declared = schema if isinstance(schema, Schema) else Schema.load(schema)
    private = TableSource(table=open_table(source, declared.file), schema=declared)
    released = _written(partial(door.release, private), signer, output, source, schema, ledger, sign)
    assert isinstance(released, Release)
    return released


def release_images(
    source: Any,
    schema: ImageSchema | str | Path,
    *,
    epsilon: float,
    delta: float,
    output: str | Path | None = None,
    labels: str | Path | None = None,
    part: str | None = None,
    kind: str = ReleaseKind.AGGREGATES,
    neighbours: str = Neighbours.BLANK_ONE,
    accountant: str = Accountant.EXACT,
    directions: str = DirectionKind.ORTHOGONAL,
    num_slices: int | None = None,
    slice_dim: int = 1,
    subsample: float | None = None,
    capacity: int | None = None,
    profile_share: float | None = None,
    allow_large_delta: bool = False,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    sign: str | Path | None = None,
    run: RunSettings | None = None,
) -> ImageRelease:
    """Publish a private image set once, under (ε, δ)-differential privacy. The label is the pivot.

    Args:
        source: An IDX, NPZ or HDF5 file, a folder of PNG files, or an ``ImageSet``.
        schema: What is public about the images, or the path of its YAML document.
        epsilon: Total ε, profile included.
        delta: Total δ.
        output: Where to write the release; without it, a temporary file that lives as long as the result.
        labels: The IDX file of labels, where it is not beside the images.
        part: The part of an NPZ or HDF5 file, such as ``train``.
        kind: ``aggregates`` (noise on means and second moments of each class) or ``records`` (noise on every image).
        neighbours: ``blank-one``, ``add-remove`` or ``replace-one``.
        accountant: ``exact``, ``renyi`` or ``theorem1``.
        directions: For records: ``orthogonal`` or ``gaussian``.
        num_slices: For records: number of slices; by default as many as fill the encoded dimension.
        slice_dim: For records: dimension of a slice.
        subsample: For records: Poisson sampling rate, or ``None`` for all images.
        capacity: For records with ``add-remove``: public upper bound on the number of images.
        profile_share: Share of the budget that counts by class and by contrast get; 0.05 by default.
        allow_large_delta: Accept δ ≥ 1/n.
        ledger: The book of what was spent, or its path; without it nothing remembers what was spent.
        dataset: The image set's name in the book; by default the file's name.
        sign: File of the private key to sign the release with, such as ``microtome key make`` writes.
        run: How the work is done.

    Returns:
        The release, open for reading.
    """
    signer = None if sign is None else Signer.load(sign)
    settings = PrivacySettings(
        kind=option(ReleaseKind, kind, "kind"),
        epsilon=epsilon,
        delta=delta,
        neighbours=option(Neighbours, neighbours, "neighbours"),
        accountant=option(Accountant, accountant, "accountant"),
        directions=option(DirectionKind, directions, "directions"),
        num_slices=num_slices,
        slice_dim=slice_dim,
        subsample=subsample,
        capacity=capacity,
        profile_share=IMAGE_PROFILE_SHARE if profile_share is None else profile_share,
        allow_large_delta=allow_large_delta,
    )
    door = Door(
        settings=settings,
        run=run or RunSettings(),
        ledger=ledger if isinstance(ledger, Ledger) else Ledger(ledger),
        dataset=dataset or (dataset_name(source) if isinstance(source, str | Path) else "images"),
        randomness=SystemRandomness(),
    )
    declared = schema if isinstance(schema, ImageSchema) else ImageSchema.load(schema)
    private = ImageSource(images=PrivateImages(open_images(source, labels=labels, part=part), declared))
    released = _written(partial(door.release, private), signer, output, source, schema, ledger, labels, sign)
    assert isinstance(released, ImageRelease)
    return released


def _written(
    write: Callable[[Path], Artefact], signer: Signer | None, output: str | Path | None, *inputs: Any
) -> Artefact:
    """The release at its place, or in a temporary file that lives as long as the result; signed if asked for."""

    def signed(path: Path) -> Artefact:
        published = write(path)
        if signer is not None:
            with noted(f"{path} is written and whole but not signed, and its promise is charged in the ledger."):
                signer.sign(path)
        return published

    if output is not None:
        _refuse_own_input(Path(output), *inputs)
        return signed(Path(output))
    directory = Path(mkdtemp(prefix="microtome-"))
    try:
        return keep_temporary(signed(directory / "private.release"), directory)
    except BaseException:
        shutil.rmtree(directory)
        raise


def _refuse_own_input(output: Path, *inputs: Any) -> None:
    """Never overwrite the table, its schema, its ledger or the key, whatever ``force`` says."""
    for given in inputs:
        path = given.path if isinstance(given, Ledger) else given
        if isinstance(path, str | Path) and Path(path).resolve() == output.resolve():
            raise OutputError(f"{output} is the table, its schema or ledger, or the key; choose another output")

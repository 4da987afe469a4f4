"""The commands that faults happen to: every verb that writes, for tables and images, on files as small as can be."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from PIL import Image

from fit_support import planted, planted_schema
from microtome.demo import digit_images
from microtome.images import ImageSet, read_images
from microtome.images.writing import write_images
from microtome.published import Artefact
from microtome.synthesis import Synthesizer

NUM_ROWS = 60
DRAWN = 8
EPSILON = "2"
DELTA = 1e-6
LEDGERS = ("people.csv.ledger.json", "digits.npz.ledger.json")


@dataclass(frozen=True, kw_only=True)
class Case:
    """One command.

    Attributes:
        name: What it is called in the summary.
        arguments: What it is given, less its output.
        inputs: Files of the desk that it reads.
        output: What it writes.
        whole: Raises unless what it wrote is whole.
        dataset: For a release, the private file.
        as_before: Whether it does to the data what the release before it in the book has done.
    """

    name: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    whole: Callable[[Path], object]
    dataset: str | None = None
    as_before: bool = True

    @property
    def ledger(self) -> str | None:
        """The book of its private file."""
        return None if self.dataset is None else f"{self.dataset}.ledger.json"

    def command(self, *more: str) -> list[str]:
        """The command with its output."""
        return [*self.arguments, "-o", self.output, *more]

    def lay_out(self, desk: Path, folder: Path, *, old: bool) -> None:
        """Copy what it needs to an empty folder; with an earlier output in the place of the new one, or without."""
        folder.mkdir(parents=True)
        copied = [(name, name) for name in (*self.inputs, *([self.ledger] if self.ledger else []))]
        if old:
            copied.append((f"old/{self.output}", self.output))
        for source, target in copied:
            if (desk / source).is_dir():
                shutil.copytree(desk / source, folder / target)
            else:
                shutil.copyfile(desk / source, folder / target)


def _has_rows(read: Callable[[Path], object]) -> Callable[[Path], None]:
    def check(path: Path) -> None:
        found = len(read(path))  # type: ignore[arg-type]
        assert found == DRAWN, f"{path.name} has {found} of {DRAWN} rows"

    return check


def _check_picture(path: Path) -> None:
    with Image.open(path) as picture:
        picture.load()


def _check_page(path: Path) -> None:
    assert path.read_text(encoding="utf-8").rstrip().endswith("</html>"), f"{path.name} is half a page"


def _release(source: str, schema: str, kind: str) -> Case:
    anyway = () if source.endswith("npz") else ("--anyway",)  # small, for speed: a forecast would refuse it
    return Case(
        name=f"release {'images' if source.endswith('npz') else 'table'}, {kind}",
        arguments=("release", source, "--schema", schema, "--epsilon", EPSILON, "--kind", kind, *anyway),
        inputs=(source, schema),
        output=f"{kind}.{source}.release",
        whole=Artefact.load,
        dataset=source,
    )


def _fit(name: str, source: str, *more: str) -> Case:
    return Case(
        name=f"fit {name}",
        arguments=("fit", source, "--steps", "2", "--seed", "1", *more),
        inputs=(source,),
        output=f"{name}.model",
        whole=Synthesizer.load,
    )


def _sample(name: str, model: str, output: str, whole: Callable[[Path], object]) -> Case:
    return Case(
        name=f"sample {name}",
        arguments=("sample", model, "-n", str(DRAWN), "--seed", "1", "--no-card"),
        inputs=(model,),
        output=output,
        whole=whole,
    )


def _report(name: str, *given: str, **more: str) -> Case:
    options = [text for key, value in more.items() for text in (f"--{key}", value)]
    inputs = (*given, *(value for key, value in more.items() if key != "target"))
    return Case(
        name=f"report {name}",
        arguments=("report", *given, *options),
        inputs=inputs,
        output=f"{name}.html",
        whole=_check_page,
    )


RELEASES = (
    _release("people.csv", "people.yaml", "aggregates"),
    _release("people.csv", "people.yaml", "records"),
    _release("digits.npz", "digits.yaml", "aggregates"),
    _release("digits.npz", "digits.yaml", "records"),
)
POOLS = (
    Case(
        name="release table, like another",
        arguments=(
            *("release", "people.csv", "--like", "aggregates.people.csv.release"),
            *("--epsilon", EPSILON, "--anyway"),
        ),
        inputs=("people.csv", "aggregates.people.csv.release"),
        output="like.release",
        whole=Artefact.load,
        dataset="people.csv",
        as_before=False,
    ),
    Case(
        name="pool",
        arguments=("pool", "aggregates.people.csv.release", "like.release"),
        inputs=("aggregates.people.csv.release", "like.release"),
        output="pooled.release",
        whole=Artefact.load,
    ),
)
FITS = (
    _fit("mixture", "aggregates.people.csv.release"),
    _fit("network", "records.people.csv.release"),
    _fit("pictures", "aggregates.digits.npz.release"),
    _fit("picture-rows", "records.digits.npz.release"),
)
SAMPLES = (
    _sample("CSV", "mixture.model", "drawn.csv", _has_rows(pacsv.read_csv)),
    _sample("Parquet", "network.model", "drawn.parquet", _has_rows(pq.read_table)),
    _sample("NPZ", "pictures.model", "drawn.npz", _has_rows(read_images)),
    _sample("grid of PNG", "pictures.model", "drawn.png", _check_picture),
    _sample("folder of PNG", "picture-rows.model", "drawn", _has_rows(read_images)),
)
REPORTS = (
    _report("table", "people.csv", "drawn.csv", schema="people.yaml"),
    _report("table against release", "drawn.parquet", release="aggregates.people.csv.release"),
    _report("images", "digits.npz", "drawn.npz", schema="digits.yaml"),
)
CASES = (*RELEASES, *POOLS, *FITS, *SAMPLES, *REPORTS)


def lay_desk(desk: Path, run: Callable[[Path, Iterable[str]], object]) -> None:
    """Fill a folder with the inputs of all cases, and with an earlier output of each.

    Each book has a budget with room for several releases, and the earlier release in it.
    """
    (desk / "old").mkdir(parents=True)
    pacsv.write_csv(planted(NUM_ROWS), desk / "people.csv")
    (desk / "people.yaml").write_text(planted_schema().to_yaml(), encoding="utf-8")
    images, schema = digit_images()
    few = ImageSet(pixels=images.pixels[:NUM_ROWS], labels=images.labels[:NUM_ROWS], origin="digits")
    write_images(desk / "digits.npz", few)
    (desk / "digits.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    for ledger in LEDGERS:
        name = ledger.removesuffix(".ledger.json")
        run(desk, ["ledger", "set-budget", ledger, name, "--epsilon", "50", "--delta", "1e-5"])
    for case in CASES:
        run(desk, case.command())
        (shutil.copytree if (desk / case.output).is_dir() else shutil.copyfile)(
            desk / case.output, desk / "old" / case.output
        )
    assert np.unique([case.name for case in CASES]).size == len(CASES)

"""``microtome demo``: every step on a built-in population, to files a person can open."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from microtome.cli import fit as fit_verb
from microtome.cli import inspect as inspect_verb
from microtome.cli import release as release_verb
from microtome.cli import report as report_verb
from microtome.cli import sample as sample_verb
from microtome.cli.choices import Kind
from microtome.cli.screen import console, plain
from microtome.cli.verb import Quiet, count
from microtome.errors import OutputError, ParameterError
from microtome.whole_file import write_text

_OTHERS = 5
"""One in so many people is kept out of the table, for the report to compare with."""
_TOWN, _CLINIC = 50_000, 4_000
_SAMPLE = 10_000
_GRID = 150
"""Images drawn for a grid: enough for ten of each class."""


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Directory to write.")],
    pictures: Annotated[bool, typer.Option("--images", help="Digits of 8 × 8 pixels instead of a town.")] = False,
    clinic: Annotated[bool, typer.Option("--clinic", help="Linked tables of a clinic instead of a town.")] = False,
    people: Annotated[
        int | None,
        typer.Option(
            parser=count,
            metavar="NUMBER",
            help="Size of the simulated population.",
            show_default=f"{_TOWN}; {_CLINIC} of a clinic",
        ),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Total ε of the release.")] = 5.0,
    kind: Annotated[
        Kind, typer.Option(help="Kind of release: the town's office is trusted with its table.")
    ] = Kind.AGGREGATES,
    force: Annotated[bool, typer.Option(help="Replace the files of an earlier demo.")] = False,
    quiet: Quiet = False,
) -> None:
    """Simulate a town, release it, make a synthetic town from the release, and show how good it is."""
    if output.exists() and not (force and output.is_dir()):
        raise OutputError(f"{output} exists; choose another directory, or say --force to replace an earlier demo")
    if clinic and pictures:
        raise ParameterError("--clinic and --images are two demos; take one at a time")
    import_module("microtome.synthesis")  # what is not installed is told of before anything is made
    output.mkdir(parents=True, exist_ok=True)
    if pictures:
        digits(output, epsilon, kind, force=force)
    elif clinic:
        linked(output, people or _CLINIC, epsilon, kind, force=force)
    else:
        town(output, people or _TOWN, epsilon, kind, force=force)


def town(output: Path, people: int, epsilon: float, kind: Kind, *, force: bool) -> None:
    """A simulated town: one table, from declaration to report."""
    from microtome.demo import population, population_schema, write_people

    table, schema, released = (output / name for name in ("people.csv", "schema.yaml", "people.release"))
    others = output / "others.csv"
    _say(f"1. A simulated town: {people:,} people in {table}, and some more in {others} whom the office never sees")
    everybody = population(people + people // _OTHERS)
    for path, rows in ((table, everybody.slice(0, people)), (others, everybody.slice(people))):
        write_people(path, rows)
    _say(f"2. What its office declares as public: {schema}")
    write_text(schema, population_schema().to_yaml())
    options = f"--schema {schema} --epsilon {epsilon:g} --kind {kind} -o {released}"
    _say(f"3. The only private step: microtome release {table} {options}")
    release_verb.release(tables=[str(table)], schema=schema, epsilon=epsilon, output=released, kind=kind, force=force)
    _say(f"4. What anybody may know: microtome inspect {released}")
    inspect_verb.inspect(released)
    model, synthetic = output / "people.model", output / "synthetic.csv"
    _say(f"5. From here on nothing private is needed: microtome fit {released} -o {model}")
    fit_verb.fit(released, output=model, force=force)
    _say(f"6. A synthetic town: microtome sample {model} -n {people} -o {synthetic}")
    sample_verb.sample(model, output=synthetic, rows=people, force=force)
    pages = output / "report.html", output / "public.html"
    _say(f"7. How good is it? microtome report {synthetic} --release {released} -o {pages[1]}")
    report_verb.report([synthetic], output=pages[1], release=released, force=force)
    options = f"--release {released} --holdout {others} --sample {_SAMPLE} -o {pages[0]}"
    _say(f"8. For the office's own eyes: microtome report {table} {synthetic} {options}")
    report_verb.report(
        [table, synthetic], output=pages[0], release=released, holdout=others, sample=_SAMPLE, force=force
    )


def linked(output: Path, patients: int, epsilon: float, kind: Kind, *, force: bool) -> None:
    """The same on the linked tables of a simulated clinic."""
    from microtome.demo import clinic, clinic_schema, write_people

    tables, schema, released = (output / name for name in ("clinic", "clinic.yaml", "clinic.release"))
    model, synthetic, page = (output / name for name in ("clinic.model", "synthetic", "report.html"))
    declared = clinic_schema()
    _say(f"1. A simulated clinic: {patients:,} patients, their visits and prescriptions, in {tables}")
    tables.mkdir(exist_ok=True)
    for name, rows in clinic(patients).items():
        write_people(tables / f"{name}.csv", rows)
    _say(f"2. What it declares as public, and how its tables hang together: {schema}")
    write_text(schema, declared.to_yaml())
    options = f"--schema {schema} --epsilon {epsilon:g} -o {released}"
    _say(f"3. The only private step: microtome release {tables} {options}")
    release_verb.release(tables=[str(tables)], schema=schema, epsilon=epsilon, output=released, kind=kind, force=force)
    _say(f"4. What anybody may know: microtome inspect {released}")
    inspect_verb.inspect(released)
    _say(f"5. From here on nothing private is needed: microtome fit {released} -o {model}")
    fit_verb.fit(released, output=model, force=force)
    _say(f"6. A synthetic clinic, with keys that fit: microtome sample {model} -n {patients} -o {synthetic}")
    sample_verb.sample(model, output=synthetic, rows=patients, force=force)
    public = output / "public.html"
    _say(f"7. How good is it? microtome report {synthetic} --release {released} -o {public}")
    report_verb.report([synthetic], output=public, release=released, force=force)
    _say(f"8. For the clinic's own eyes: microtome report {tables} {synthetic} --schema {schema} -o {page}")
    report_verb.report([tables, synthetic], output=page, schema=schema, sample=_SAMPLE, force=force)


def digits(output: Path, epsilon: float, kind: Kind, *, force: bool) -> None:
    """The same on the handwritten digits that come with scikit-learn, which stand for private images."""
    from microtome.demo import digit_images
    from microtome.images.writing import write_images

    real, schema, released = (output / name for name in ("digits.npz", "digits.yaml", "digits.release"))
    model, drawn = output / "digits.model", output / "synthetic.npz"
    _say(f"1. 1,797 digits of 8 × 8 pixels: {real}. What is declared as public: {schema}")
    images, declared = digit_images()
    write_images(real, images, low=declared.low, high=declared.high)
    write_text(schema, declared.to_yaml())
    options = f"--schema {schema} --epsilon {epsilon:g} --kind {kind} -o {released}"
    _say(f"2. The only private step: microtome release {real} {options}")
    release_verb.release(tables=[str(real)], schema=schema, epsilon=epsilon, output=released, kind=kind, force=force)
    _say(f"3. What anybody may know: microtome inspect {released}")
    inspect_verb.inspect(released)
    _say(f"4. From here on nothing private is needed: microtome fit {released} -o {model}")
    fit_verb.fit(released, output=model, force=force)
    _say(f"5. Synthetic digits: microtome sample {model} -n {len(images)} -o {drawn}, and a grid of some of them")
    sample_verb.sample(model, output=drawn, rows=len(images), force=force)
    sample_verb.sample(model, output=output / "synthetic.png", rows=_GRID, force=force)
    pages = output / "report.html", output / "public.html"
    _say(f"6. How good are they? microtome report {drawn} --release {released} -o {pages[1]}")
    report_verb.report([drawn], output=pages[1], release=released, force=force)
    _say(f"7. For the holder's own eyes: microtome report {real} {drawn} --release {released} -o {pages[0]}")
    report_verb.report([real, drawn], output=pages[0], release=released, force=force)


def _say(text: str) -> None:
    console.print(f"\n[bold]{plain(text)}[/]", soft_wrap=True)

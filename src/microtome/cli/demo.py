"""``microtome demo``: every step on a built-in population, to files a person can open."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pyarrow.csv as pacsv
import typer
from rich.markup import escape

from microtome.cli import fit as fit_verb
from microtome.cli import inspect as inspect_verb
from microtome.cli import release as release_verb
from microtome.cli import sample as sample_verb
from microtome.cli.screen import console
from microtome.demo import population, population_schema
from microtome.errors import OutputError
from microtome.release import ReleaseKind


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Directory to write.")],
    people: Annotated[int, typer.Option(help="Size of the simulated population.")] = 50_000,
    epsilon: Annotated[float, typer.Option(help="Total ε of the release.")] = 5.0,
    kind: Annotated[
        ReleaseKind, typer.Option(help="Kind of release: the town's office is trusted with its table.")
    ] = ReleaseKind.AGGREGATES,
    force: Annotated[bool, typer.Option(help="Replace the files of an earlier demo.")] = False,
) -> None:
    """Simulate a town, release it, and make a synthetic town from the release."""
    if output.exists() and not (force and output.is_dir()):
        raise OutputError(f"{output} exists; choose another directory, or say --force to replace an earlier demo")
    output.mkdir(parents=True, exist_ok=True)
    table, schema, released = (output / name for name in ("people.csv", "schema.yaml", "people.release"))
    _say(f"1. A simulated town of {people:,} people: {table}")
    pacsv.write_csv(population(people), table)
    _say(f"2. What its office declares as public: {schema}")
    schema.write_text(population_schema().to_yaml(), encoding="utf-8")
    options = f"--schema {schema} --epsilon {epsilon:g} --kind {kind} -o {released}"
    _say(f"3. The only private step: microtome release {table} {options}")
    release_verb.release(table, schema=schema, epsilon=epsilon, output=released, kind=kind, force=force)
    _say(f"4. What anybody may know: microtome inspect {released}")
    inspect_verb.inspect(released)
    model, synthetic = output / "people.model", output / "synthetic.csv"
    _say(f"5. From here on nothing private is needed: microtome fit {released} -o {model}")
    fit_verb.fit(released, output=model, force=force)
    _say(f"6. A synthetic town: microtome sample {model} -n {people} -o {synthetic}")
    sample_verb.sample(model, output=synthetic, rows=people, force=force)


def _say(text: str) -> None:
    console.print(f"\n[bold]{escape(text)}[/]", soft_wrap=True)

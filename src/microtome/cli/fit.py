"""``microtome fit``: train a model on a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from microtome.cli.screen import EndedEarly, console, plain, watch
from microtome.cli.verb import Quiet
from microtome.errors import ParameterError

if TYPE_CHECKING:
    from microtome.published import Artefact

_GRID_COLUMNS = 10
Settings = Annotated[
    Path | None, typer.Option("--settings", help="JSON file of settings, such as 'microtome tune' writes.")
]


def settings_in(path: Path | None) -> dict[str, Any]:
    """Settings from a JSON file; none without one."""
    from microtome.training.settings import read_settings

    return {} if path is None else read_settings(path)


def fit(
    release: Annotated[Path, typer.Argument(help="Release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Model file to write.")],
    settings: Settings = None,
    steps: Annotated[int | None, typer.Option(help="Most steps of the optimiser.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Synthetic rows a step.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    held_out: Annotated[float | None, typer.Option(help="Share of rows by which the best state is chosen.")] = None,
    threads: Annotated[int | None, typer.Option(help="Threads of torch; one is safest on a busy machine.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of training; nothing private is drawn here.")] = None,
    generator: Annotated[
        str | None, typer.Option(help="Tables: a generator of another package, by the name that it gives it.")
    ] = None,
    grid: Annotated[
        Path | None, typer.Option(help="Images: PNG file for a grid of what the model draws, a row for each class.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from OUTPUT.checkpoint.")] = False,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Train a generative model on a release. Needs no private data and costs no privacy.

    The run is kept in OUTPUT.checkpoint: after a crash --resume goes on from there. Ctrl-C writes the best model so
    far, which --resume replaces.
    """
    from microtome.published import Artefact, check_output
    from microtome.synthesis import Synthesizer
    from microtome.training import settings_for

    options = {
        "steps": steps, "batch_size": batch_size, "learning_rate": learning_rate, "held_out": held_out,
        "threads": threads,
    }  # fmt: skip
    given = {name: value for name, value in options.items() if value is not None}
    opened = Artefact.load(release)
    checkpoint = output.with_name(f"{output.name}.checkpoint")
    replaces = force or (resume and checkpoint.exists())
    check_output(output, force=replaces)
    classes = 0 if grid is None else _classes_in_grid(grid, opened, force=replaces)
    wanted = settings_for(opened, {**settings_in(settings), **given})
    synthesizer = Synthesizer(wanted, generator=generator, random_state=seed)
    with watch("steps") as progress:
        synthesizer.fit(opened, checkpoint=checkpoint, resume=resume, progress=progress)
    synthesizer.save(output, force=replaces)
    if grid is not None:
        synthesizer.sample_to_file(grid, _GRID_COLUMNS * classes, balanced=True, force=replaces, random_state=seed)
    result = synthesizer.fit_
    assert result is not None
    console.print(f"[bold]{plain(output)}[/]: {result.in_words}", soft_wrap=True)
    if not result.finished:
        goes_on = plain(f"--resume goes on from {checkpoint}")
        so_far = "the best model so far" if result.scored else "the model so far"
        console.print(f"interrupted: this is {so_far}; {goes_on}", soft_wrap=True)
        raise EndedEarly
    checkpoint.unlink(missing_ok=True)


def _classes_in_grid(path: Path, release: Artefact, *, force: bool) -> int:
    """How many rows a grid of images will have; refused before training if there can be none."""
    from microtome.published import ImageRelease, check_output

    match release:
        case ImageRelease(schema=schema):
            if path.suffix != ".png":
                raise ParameterError(f"{path}: a grid is a .png file")
            check_output(path, force=force)
            return schema.num_classes
        case _:
            raise ParameterError(f"--grid is for images; {release.path} is a release of {release.holds}")

"""``microtome tune``: search for better settings, at no privacy cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from microtome.cli.fit import Settings, settings_in
from microtome.cli.screen import EndedEarly, console, plain
from microtome.cli.verb import Quiet
from microtome.errors import ParameterError

if TYPE_CHECKING:
    from microtome.training import Trial


def tune(
    release: Annotated[Path, typer.Argument(help="Release file.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="JSON file for the best settings.")],
    trials: Annotated[int, typer.Option(help="Settings to try in all, those of earlier runs counted.")] = 30,
    settings: Settings = None,
    seed: Annotated[int, typer.Option(help="Seed of the search.")] = 0,
    force: Annotated[bool, typer.Option(help="Replace an existing output.")] = False,
    quiet: Quiet = False,
) -> None:
    """Search over architecture, loss mix and learning rate, scored on held-out rows of the release.

    This costs no privacy: only the release is read, however many trials are run. Trials are kept in
    OUTPUT.trials.sqlite3, and the same command goes on where it stopped.
    """
    from microtome.published import Artefact, Release, check_output, narrowed
    from microtome.training import FitSettings
    from microtome.training import tune as search

    check_output(output, force=force)
    opened = Artefact.load(release)
    if opened.manifest.mechanism.of_images:
        raise ParameterError(
            f"{release} is a release of images, and only settings of tables are searched; give other --settings to "
            "'microtome fit' and compare by 'microtome report'"
        )
    console.print("Tuning reads the release only: it costs no privacy, however many trials are run.")

    storage, base = output.with_name(f"{output.name}.trials.sqlite3"), FitSettings.from_dict(settings_in(settings))
    done = 0

    def watch(trial: Trial) -> None:
        nonlocal done
        done += 1
        console.print(f"trial {trial.number + 1} of {trials}: held-out score {trial.score:.4f}")

    try:
        found = search(narrowed(opened, Release), trials=trials, storage=storage, base=base, seed=seed, watch=watch)
    except KeyboardInterrupt:
        console.print(
            f"interrupted: no settings were written; {done} trials of this run are kept in {plain(storage)}, and the "
            "same command goes on from there",
            soft_wrap=True,
        )
        raise EndedEarly from None
    best = found[0]
    best.settings.save(output, force=force)
    usage = plain(f"'microtome fit {release} --settings {output} -o MODEL'")
    console.print(
        f"[bold]{plain(output)}[/]: settings of trial {best.number + 1}, score {best.score:.4f}; use them with {usage}",
        soft_wrap=True,
    )

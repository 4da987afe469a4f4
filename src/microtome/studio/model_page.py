"""From a release to rows: fit, search for better settings, draw. None of it costs any privacy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from microtome.errors import ParameterError, together
from microtome.progress import Progress
from microtome.published import Artefact, Release
from microtome.studio.desk import Contents, Desk, Drawn, Fitted, Released, Tuned, needed
from microtome.studio.pages import acting, desk_of, page, showing
from microtome.studio.receiving import Form

HERE = "/model"
ENDINGS = (".csv", ".csv.gz", ".parquet")
IMAGE_ENDINGS = (".npz", ".png")
_TRIALS = 10
_RELEASE = "make a release, or open one,"


def show(request: Request, form: Form) -> Response:
    """What was fitted and drawn, and forms for both."""
    desk = desk_of(request).contents
    rows = None if desk.released is None else round(Artefact.load(desk.released.path, verify=False).num_records)
    endings = _endings(desk.things)
    return page(request, "model.html.j2", here=HERE, given=form, rows=rows, endings=endings, trials=_TRIALS)


def _endings(things: str) -> tuple[str, ...]:
    return IMAGE_ENDINGS if things == "images" else ENDINGS


def fit(desk: Desk, form: Form) -> None:
    """Train a model on the release."""
    released, tuned = needed(desk.contents.released, _RELEASE), desk.contents.tuned
    with together() as attempts:
        with attempts:
            steps = form.whole("steps") if form["steps"] else None
        with attempts:
            seed = form.whole("seed") if form["seed"] else None

    def work(progress: Progress) -> Contents:
        from microtome.synthesis import Synthesizer

        settings = _settings(released, tuned, {} if steps is None else {"steps": steps})
        model = Synthesizer(settings, random_state=seed).fit(released.path, progress=progress)
        result = model.fit_
        assert result is not None
        path = desk.places.result(released.stem, ".model")
        model.save(path)
        words = (
            result.in_words if result.finished else f"Stopped early; this is the best model so far. {result.in_words}"
        )
        done = Fitted(path=path, settings=None if tuned is None else tuned.path, steps=steps, seed=seed, in_words=words)
        return replace(desk.contents, fitted=done, drawn=None, reported=None)

    desk.start(form["version"], title="The fit", page=HERE, work=work)


def _settings(released: Released, tuned: Tuned | None, changes: dict[str, Any]) -> Any:
    """Settings that were searched for, or the usual ones, with changes."""
    from microtome.training import FitSettings, settings_for

    if tuned is None:
        return settings_for(Artefact.load(released.path, verify=False), changes)
    return replace(FitSettings.load(tuned.path), **changes)


def tune(desk: Desk, form: Form) -> None:
    """Search for better settings, scored on what the release holds out."""
    released, trials = needed(desk.contents.released, _RELEASE), form.whole("trials")

    def work(progress: Progress) -> Contents:
        from microtome.training import Trial
        from microtome.training import tune as search

        tried: list[Trial] = []

        def watch(trial: Trial) -> None:
            tried.append(trial)
            progress("trials", len(tried), trials, f"held-out score {trial.score:.4f}")

        path = desk.places.result(released.stem, ".settings.json")
        storage = path.with_name(f"{path.name}.trials.sqlite3")
        progress("trials", 0, trials)
        found = search(Release.load(released.path), trials=trials, storage=storage, watch=watch)
        found[0].settings.save(path)
        return replace(desk.contents, tuned=Tuned(path=path, trials=trials, score=found[0].score))

    desk.start(form["version"], title="The search", page=HERE, work=work)


def draw(desk: Desk, form: Form) -> None:
    """Draw synthetic rows to a file."""
    released, fitted = needed(desk.contents.released, _RELEASE), needed(desk.contents.fitted, "fit a model")
    with together() as attempts:
        with attempts:
            rows = form.whole("rows")
        with attempts:
            seed = form.whole("seed") if form["seed"] else None
        with attempts:
            endings = _endings(desk.contents.things)
            if form["ending"] not in endings:
                raise ParameterError(f"what is drawn is written to {', '.join(endings)}, not to {form['ending']!r}")
    where, safe = tuple(form.lines("where")), bool(form["spreadsheet_safe"])

    def work(progress: Progress) -> Contents:
        from microtome.synthesis import Synthesizer
        from microtome.synthesis.dataset_card import card_places, is_describable

        model = Synthesizer.load(fitted.path)
        path = desk.places.result(f"{released.stem}.synthetic", form["ending"])
        conditions = model.model.conditions_from_text(where)
        described = card_places(path) if is_describable(path, model.model) else ()
        model.sample_to_file(
            path,
            rows,
            conditions=conditions,
            spreadsheet_safe=safe,
            card=bool(described),
            random_state=seed,
            progress=progress,
        )
        done = Drawn(path=path, rows=rows, where=where, seed=seed, spreadsheet_safe=safe, described=described)
        return replace(desk.contents, drawn=done, reported=None)

    desk.start(form["version"], title=f"Drawing {desk.contents.things}", page=HERE, work=work)


routes = [
    Route(HERE, showing(show), methods=["GET"]),
    Route("/model/fit", acting(fit, show, HERE), methods=["POST"]),
    Route("/model/tune", acting(tune, show, HERE), methods=["POST"]),
    Route("/model/draw", acting(draw, show, HERE), methods=["POST"]),
]

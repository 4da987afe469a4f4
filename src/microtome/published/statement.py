"""The statement for whoever answers for the data: what is promised, to whom, what is not, and how it is tested.

One text, in general or for a given release. The figures of the audit are those that were measured with this version
of the program and are shipped with it (``audited.json``, written by ``benchmarks/statement.py``).
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, NamedTuple, assert_never

import numpy as np

from microtome.accounting import Event, GaussianEvent, Neighbours, delta, gaussian_mu
from microtome.published.artefact import Artefact, Release, unknown_release
from microtome.published.description import exact_epsilon
from microtome.published.images import ImageRelease
from microtome.published.linked import LinkedRelease
from microtome.published.mechanisms import (
    AggregateMechanism,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    LinkedMechanism,
    Mechanism,
    ReleaseKind,
)

_FALSE_ALARMS = 0.05
_UNAUDITED = "No setting like this one is among those that were audited with this version."
_PARTS_OF_SUMS: tuple[str, ...] = ("means", "second-moments", "spreads")
"""What is audited of aggregates of images besides their profile."""
_EXAMPLES = (0.5, 1.0, 2.0, 5.0)
_EXAMPLE_DELTA = 1e-5


def shipped_audit() -> dict[str, Any]:
    """The audit of this version of the program."""
    document: dict[str, Any] = json.loads(files("microtome.published").joinpath("audited.json").read_text("utf-8"))
    return document


def privacy_statement(release: Artefact | None = None) -> str:
    """The statement in Markdown: for a given release, or in general."""
    sections = [
        _introduction(release),
        "## What is promised",
        *_promise(release),
        f"## To whom, and which {_words(release).wholes} are neighbours",
        *_neighbours(release),
        "## What is public",
        *_public(release),
        "## What is not covered",
        *_not_covered(release),
        "## How it is tested",
        *_tested(release, shipped_audit()),
    ]
    return "\n\n".join(sections) + "\n"


class _Words(NamedTuple):
    """What to call the private data, several of them, one person's part, its profile, and what is public of it."""

    whole: str = "table"
    wholes: str = "tables"
    part: str = "record"
    profile: str = "histograms of every column"
    layout: str = "column names, their types, and whatever the schema declares: categories, bounds, weights, the target"


_OF_IMAGES = _Words(
    whole="set of images",
    wholes="sets of images",
    part="image",
    profile="counts by class and by contrast",
    layout="size, channels and range of the images, the mean they are encoded around, and the names of the classes",
)


_OF_PEOPLE = _Words(
    part="contribution",
    profile="histograms of every column, of how many rows people have and of what lies between them",
    layout="column names, their types, whose rows they are and how many of a person are kept at most, and whatever the "
    "schema declares: categories, bounds, weights, the target",
)


def _words(release: Artefact | None) -> _Words:
    if release is None:
        return _Words()
    if release.manifest.mechanism.of_images:
        return _OF_IMAGES
    return _OF_PEOPLE if release.manifest.is_of_people else _Words()


def detection_rate(events: Sequence[Event], false_alarms: float = _FALSE_ALARMS) -> float:
    """The largest share of people in the table that any test finds that has this share of false alarms.

    (ε, δ(ε))-privacy for every ε bounds it by e^ε · (false alarms) + δ(ε).
    """
    grid = np.concatenate([np.arange(0.0, 1.0, 0.02), np.arange(1.0, 12.0, 0.1)])
    return min(1.0, *(float(np.exp(point)) * false_alarms + delta(events, float(point)) for point in grid))


def _introduction(release: Artefact | None) -> str:
    if release is None:
        return (
            "# Privacy statement\n\n"
            "For whoever answers for the data: what a Microtome release promises, what it does not, and how that is "
            "tested. `microtome inspect RELEASE --statement` prints the same for a given release. "
            "[privacy.md](privacy.md) has the argument, [KNOWN_LIMITATIONS.md](../KNOWN_LIMITATIONS.md) what it leans "
            "on.\n\nRendered by `benchmarks/statement.py`; the figures are those of `benchmarks/results/audit.json`."
        )
    return (
        f"# Privacy statement of release {release.fingerprint[:16]}\n\n"
        f"For whoever answers for the data. Written by {release.manifest.software}. The argument is in the project's "
        "docs/privacy.md, what it leans on in KNOWN_LIMITATIONS.md."
    )


def _promise(release: Artefact | None) -> list[str]:
    whole, plural, part, *_ = _words(release)
    meaning = (
        f"Take two {plural} that differ in one person's {part}, and anything that could be said about the release. Its "
        f"probability under one {whole} is at most e^ε times its probability under the other, plus δ. This holds for "
        "every person, against anybody, whatever else they know and however long they compute; and it goes on holding "
        f"for everything made from the release: models, synthetic {plural}, reports."
    )
    if release is None:
        rows = [
            [f"{example:g}", f"{detection_rate([GaussianEvent(mu=gaussian_mu(example, _EXAMPLE_DELTA))]):.0%}"]
            for example in _EXAMPLES
        ]
        return [
            "A release made with ε and δ is (ε, δ)-differentially private. " + meaning,
            "What that means for one person: somebody who knows all other records tests whether this person is in the "
            f"table, and accuses {_FALSE_ALARMS:.0%} of those who are not. Of those who are, the test finds at most "
            f"(noise of a release at δ = {_EXAMPLE_DELTA:g}):",
            _table(["ε", "found at most"], rows),
        ]
    promise = release.manifest.promise
    if not promise.private:
        return ["**NOTHING.** The randomness of this release was injected for a test; its noise can be known."]
    exact = exact_epsilon(release)
    return [
        f"This release is **(ε = {promise.epsilon:g}, δ = {promise.delta:g})-differentially private** for "
        f"**{promise.neighbours}** neighbours, everything in the file included. " + meaning,
        f"The noise was computed by the {promise.accountant} accountant; by the exact one it has ε = {exact:.4g}.",
        f"What that means for one person: somebody who knows all other {part}s tests whether this person is in the "
        f"{whole}, and accuses {_FALSE_ALARMS:.0%} of those who are not. Of those who are, the test finds at most "
        f"{detection_rate(promise.events):.0%}.",
    ]


def _neighbours(release: Artefact | None) -> list[str]:
    whole, _, part, *_ = _words(release)
    everybody = (
        f"The promise is made to every person who has one {part} in the {whole}. Whoever has k {part}s has a promise "
        "of about k·ε, with a larger δ. It is made against everybody who sees the release, not against the office that "
        f"makes it: that office sees the {whole}."
    )
    if release is None:
        rows = [[f"`{relation}`", relation.describes] for relation in Neighbours]
        return [everybody, _table(["neighbours", "the two tables"], rows)]
    relation, people = release.manifest.promise.neighbours, release.manifest.is_of_people
    if people:
        everybody = (
            "The promise is made to every person, for everything that they contributed: all of their rows together, "
            "however many there are. It is made against everybody who sees the release, not against the office that "
            f"makes it: that office sees the {whole}."
        )
    return [everybody, f"Neighbours here are `{relation}`: {relation.described(people=people)}"]


def _public(release: Artefact | None) -> list[str]:
    words = _words(release)
    items = [
        words.layout,
        "ε, δ, the neighbouring relation, the amount of noise, and how it was computed",
    ]
    if release is None:
        items += [
            "the number of records, except under `add-remove`",
            "with `--kind records` the number of rows in the file: the number of records, the padded size of a "
            "sample, or the declared capacity",
        ]
    else:
        items += [_declared(release), _how_many(release)]
    noisy = (
        f"Everything else in the file is noisy: {words.profile} (the *profile*), and {_contents(release)} Nothing is "
        f"read off the {words.whole} without noise: no minimum, maximum, list of values, mean or count."
    )
    return ["Published as it is, without protection:", "\n".join(f"- {item}" for item in items), noisy]


def _declared(release: Artefact) -> str:
    match release:
        case ImageRelease(schema=held):
            classes = "none" if held.classes is None else ", ".join(str(name) for name in held.classes)
            return (
                f"declared here: {held.height} × {held.width} pixels, {held.channels} channels, values from "
                f"{held.low:g} to {held.high:g}; classes: {classes}"
            )
        case LinkedRelease(linked=linked):
            own = [(name, column) for name, one in linked.items() for column in one.table.schema.columns]
            known = [f"{name}.{column.name}" for name, column in own if column.is_declared]
            found = [f"{name}.{column.name}" for name, column in own if not column.is_declared]
            return (
                f"declared here: {', '.join(known) or 'no column'}; learnt with budget and so protected: "
                f"{', '.join(found) or 'no column'}; and how the tables hang together"
            )
        case Release(table_schema=schema):
            declared = [column.name for column in schema.columns if column.is_declared]
            learnt = [column.name for column in schema.columns if not column.is_declared]
            return (
                f"declared here: {', '.join(declared) or 'no column'}; learnt with budget and so protected: "
                f"{', '.join(learnt) or 'no column'}"
            )
        case _:
            raise unknown_release(release)


def _how_many(release: Artefact) -> str:
    contents = release.manifest.contents
    many = "people" if release.manifest.is_of_people else f"{_words(release).part}s"
    match release.manifest.kind:
        case ReleaseKind.RECORDS:
            rows = f"; the file has {contents.num_rows:,} rows"
        case ReleaseKind.AGGREGATES:
            rows = ""
    if contents.records_exact:
        return f"the number of {many}, {contents.num_records:,.0f}{rows}"
    return f"not the number of {many}, which is protected: a noisy count says {contents.num_records:,.0f}{rows}"


def _contents(release: Artefact | None) -> str:
    if release is None:
        return "noisy rows (`records`) or noisy tables of counts (`aggregates`)."
    match release.manifest.mechanism:
        case Mechanism():
            return "one row a record or padding, encoded and noised, in random order."
        case AggregateMechanism(pivot=pivot, focus=focus, triples=triples):
            by = "" if pivot is None else f" by class of {pivot!r}"
            by += "" if focus is None else f", and once more by groups of levels of {focus.column!r}"
            by += "" if triples is None else f", and of {triples.counted('chosen set')} of three columns"
            return f"counts of every pair of columns{by}."
        case LinkedMechanism(views=views):
            tables = ", ".join(one.view for one in views)
            return f"counts of pairs of columns of {tables}, each with what its rows hang on and with the next row."
        case ImageRowsMechanism():
            return "one row an image or padding, encoded and noised, class by class, in random order within a class."
        case ImageMomentsMechanism():
            return "sums over the images of a class: of their components, and of products of these."


def _not_covered(release: Artefact | None) -> list[str]:
    whole, plural, part, *_ = _words(release)
    items = [
        f"**What can be learnt without a person's {part}.** If the {whole} shows that smokers fall ill, it shows it of "
        "smokers who are not in it.",
        f"**What the schema gives away.** Bounds or categories that were declared by looking at the {whole} are "
        "leaked.",
        f"**Several releases.** Each adds to what is spent; the ledger keeps the sum for one {whole} and cannot know "
        f"that two {plural} hold the same people.",
        f"**Comparing with the real {whole}.** Scores and reports computed from private {part}s are not private, "
        "unless made from the release alone.",
        "**The machine that makes the release**: its memory, its log, its errors (which name values), how long it "
        "takes.",
        "**Floating point to the last bit.** Noise of counts is exact. That of rows is drawn as 64-bit numbers and "
        "rounded to a grid of σ/256; the small probability that rounding shows is counted in δ by a bound on its size, "
        "not by a proof for every processor.",
        "**An external audit.** There has been none, of method or code.",
    ]
    if release is None or release.manifest.kind.is_of_sums:
        items.insert(
            4,
            f"**The collector.** With `aggregates` the noise is added by whoever holds the whole {whole}, and that "
            "holder is trusted.",
        )
    return ["\n".join(f"- {item}" for item in items)]


def _tested(release: Artefact | None, audit: dict[str, Any]) -> list[str]:
    findings = audit["findings"]
    if release is not None:
        findings = [finding for finding in findings if _is_like(finding["setting"], release)]
    rows = [
        [
            finding["setting"],
            f"{finding['epsilon']:.3g}",
            f"{finding['curve']['delta']:g}",
            f"{finding['curve']['claimed']:.3f}",
            f"**{finding['curve']['audited']:.3f}**",
            "–" if finding["equivalent"] is None else f"{finding['equivalent']:.3g}",
            f"{finding['promise']['audited']:.3g}",
            f"{finding['releases']:,} × {finding['targets']}",
            "VIOLATED" if finding["violation"] else "doubtful" if finding["doubtful"] else "holds",
        ]
        for finding in findings
    ]
    heading = ["setting", "claimed ε", "δ′", "claimed ε(δ′)", "audited ε(δ′) ≥", "as ε", "at δ: ε ≥"]
    heading += ["releases × people", "verdict"]
    parts = [
        "The accounting is tested against closed forms, simulation and an independent implementation. The program is "
        "attacked: `microtome audit` releases tables, and sets of images, in which some people are present by the toss "
        "of a coin, thousands of times by the very code that makes real releases, and guesses by the likelihood ratio "
        "who was present, knowing all other records and even which row is whose. How often it is right gives a lower "
        "bound on ε that assumes nothing about the mechanism. If the bound exceeded the claim, the promise would be "
        "refuted. A bound near the claim says that the noise is what it should be and that the attack would have seen "
        "less of it. A bound far below the claim says only that there were too few releases to tell: it confirms "
        "nothing.",
        f"Each bound holds with confidence {audit['confidence']:.0%}, and so do all verdicts together "
        f"({audit['software']}). At the stated δ no number of trials that can be afforded tells much; at a larger δ′ "
        "the same noise has a smaller ε, known exactly, and there the comparison is made. *As ε* translates the bound "
        "back to the stated δ by the shape of "
        "the claimed curve, and shows how close the audit came; *at δ* is the bound at the stated δ, without that "
        "help. The profile alone, and each of the sums over images, claims its own part of the ε of its release. "
        "Settings *as published* use nothing but "
        "the file, without knowing which row is whose, which no accounting counts on; they are there to find leaks, "
        "and their bounds are far from the claim.",
        _table(heading, rows) if rows else _UNAUDITED,
        "In the tests the code is broken on purpose (less noise, rows that are too long, a leaked count, missing "
        "padding, seeded noise, rows in the table's order, categories shown too early, images whose last bits depend "
        "on how many there are), and the audit must find each.",
    ]
    if release is not None:
        parts.append(f"To audit the setting of this release: `{audit_command(release)}`")
    return parts


def audit_command(release: Artefact) -> str:
    """The command that audits the setting of a release."""
    promise, mechanism = release.manifest.promise, release.manifest.mechanism
    words = ["microtome audit --images" if mechanism.of_images else "microtome audit"]
    words.append(f"--kind {mechanism.kind} --epsilon {promise.epsilon:g} --delta {promise.delta:g}")
    words.append(f"--neighbours {promise.neighbours} --accountant {promise.accountant}")
    match mechanism:
        case (Mechanism() as slices) | ImageRowsMechanism(slices=slices):
            words.append(f"--directions {slices.directions.kind}")
            words += [] if slices.subsample is None else [f"--subsample {slices.subsample:g}"]
        case LinkedMechanism():
            pass
        case AggregateMechanism(pivot=pivot):
            words += [] if pivot is None else [f"--pivot {shlex.quote(pivot)}"]
        case ImageMomentsMechanism():
            pass
        case _:
            assert_never(mechanism)
    return " ".join(words)


def _is_like(setting: str, release: Artefact) -> bool:
    """Whether an audited setting is of the release's kind, or of a part of it, under its neighbours."""
    words, manifest = setting.split(", "), release.manifest
    images = words[0] == "images"
    match manifest.mechanism:
        case ImageMomentsMechanism():
            parts = _PARTS_OF_SUMS
        case Mechanism() | AggregateMechanism() | LinkedMechanism() | ImageRowsMechanism():
            parts = ()
    return (
        images == manifest.mechanism.of_images
        and words[1 if images else 0] in (manifest.kind.value, "profile", *parts)
        and manifest.promise.neighbours.value in words
    )


def _table(heading: list[str], rows: list[list[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)

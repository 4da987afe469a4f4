"""The report: a synthetic table against the real one, or against a release alone.

With a real table every figure is computed from private rows: the page is stamped so. With a release *instead of* it
everything shown comes from the release and the synthetic table, and the page is as free to publish as these are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from microtome import __version__
from microtome.errors import ParameterError, TableError
from microtome.evaluation.anonymity import anonymeter_risks
from microtome.evaluation.attacks import FALSE_ALARMS, attack, most_members_found
from microtome.evaluation.comparable_table import ComparableTable, code_tables, sampled, shuffled_columns
from microtome.evaluation.detector import detect
from microtome.evaluation.distributions import compare_column
from microtome.evaluation.drafting import schema_of
from microtome.evaluation.fidelity import distribution_metrics
from microtome.evaluation.figures import Figures, PromiseFigures, TableSize
from microtome.evaluation.html_page import HtmlPage
from microtome.evaluation.one_row_each import one_row_each
from microtome.evaluation.pairs import compare_pairs
from microtome.evaluation.released_pairs import compare_with_release
from microtome.evaluation.rule_check import rules_in_words
from microtome.evaluation.tables import RawTable, read_table, some_rows
from microtome.evaluation.utility import binary_logistic_regression, utility
from microtome.evaluation.verdict import judge
from microtome.progress import Progress, usual_progress
from microtome.published import Release, check_output, promise_in_words
from microtome.schema import Schema
from microtome.whole_file import write_text

MODEL_ROWS = 50_000
"""Rows of a table that models, detector and attacks use at most, unless told otherwise."""
_COUNTED_ROWS = 2_000_000
_TRAIN_SHARE = 0.75
PRIVATE_STAMP = "Computed on private data, not itself private. Show it to nobody who may not see the table."
PUBLIC_STAMP = (
    "Free to publish. Everything here comes from the release and from the synthetic table, provided that the table was "
    "made from the release and nothing else."
)
TEST_STAMP = "The noise of this release was injected for a test: it promises nothing, and neither does this page."
ONE_COLUMN = "There are no two columns of which both vary."
TOO_NOISY = "No two columns of this release vary by more than its noise: it says nothing of pairs of columns."
NO_PAIRS = "The directions of this release do not span its rows: it says nothing of pairs of columns."
ONE_ROW_EACH = (
    "A release of people counts everybody once, so of every synthetic person one row was drawn and compared; what "
    "stands beside it, such as the number of rows, was counted too."
)
NEEDS_ROWS = "This needs real rows, and a release holds none: give the real table to see it."
_NEEDS_HELD_OUT = (
    "Singling-out and linkability attacks compare rows that were used with rows that were not: give the latter with "
    "--holdout."
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Report(HtmlPage):
    """A finished report: figures, and the page made of them."""

    figures: Figures

    @cached_property
    def html(self) -> str:
        """One self-contained page: no scripts, no network."""
        from microtome.evaluation.page import render

        return render(self.figures)

    @property
    def headline(self) -> str:
        """The verdict, and what may be done with the page."""
        return " ".join((*self.figures.verdict.sentences, self.figures.stamp))

    def save_figures(self, path: str | Path, *, force: bool = False) -> None:
        """Write the figures as JSON."""
        text = json.dumps(self.figures.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        check_output(Path(path), force=force)
        write_text(Path(path), text + "\n")


def report(
    real: Any,
    synthetic: Any,
    *,
    release: str | Path | Release | None = None,
    schema: str | Path | Schema | None = None,
    holdout: Any = None,
    target: str | None = None,
    sample: int = MODEL_ROWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Compare a synthetic table with the real one, or, where ``real`` is ``None``, with a release.

    Args:
        real: The real table: a CSV or Parquet path, or a pandas, polars or Arrow table; ``None`` for a page that is
            free to publish.
        synthetic: The synthetic table, ours or another tool's.
        release: A release or its path: its promise is shown, and its schema used; needed where ``real`` is ``None``.
        schema: What is known of the columns; by default the release's, or drafted from the real table.
        holdout: Real rows that the synthetic table was not made from: the test rows of models, and what attacks are
            compared with.
        target: The column to predict; by default the schema's.
        sample: Rows of each table that models, detector and attacks use at most.
        random_state: Seed of samples, splits and learners.
        progress: Told how far it is; by default bars in a notebook, and nothing elsewhere.
    """
    progress = usual_progress() if progress is None else progress
    if sample < 100:
        raise ParameterError(f"sample={sample} must be at least 100")
    opened = Release.load(release) if isinstance(release, str | Path) else release
    declared = Schema.load(schema) if isinstance(schema, str | Path) else schema
    if real is None:
        if opened is None:
            raise ParameterError("give the real table, or a release in its place")
        if holdout is not None or target is not None or declared is not None:
            raise ParameterError("holdout, target and schema are for a real table; a release brings its own schema")
        return Report(figures=_against_release(opened, synthetic, random_state, progress))
    known = declared or (None if opened is None else opened.table_schema)
    with threadpool_limits(limits=1):  # Threads that wait for each other on a busy machine cost more than they give.
        figures = _against_table(
            read_table(real, "the real table", known),
            read_table(synthetic, "the synthetic table", known),
            None if holdout is None else read_table(holdout, "the held-out table", known),
            opened,
            known,
            target,
            sample,
            random_state,
            progress,
        )
    return Report(figures=figures)


def _against_table(
    real: RawTable,
    synthetic: RawTable,
    holdout: RawTable | None,
    release: Release | None,
    schema: Schema | None,
    target: str | None,
    sample: int,
    seed: int,
    progress: Progress,
) -> Figures:
    rng = np.random.default_rng(seed)
    stages = Stages(progress, 8 if holdout is None else 9)
    settled, notes = schema_of(real, schema=schema, target=target)
    raw = [real, synthetic, *([] if holdout is None else [holdout])]
    coded, more = code_tables(raw, settled)
    notes += [*more, *_same(real, synthetic, holdout)]
    whole = [sampled(table, _COUNTED_ROWS, rng) for table in coded]
    real_, made = whole[:2]
    small = [sampled(table, sample, rng) for table in whole]
    stages.done("read")
    columns = tuple(compare_column(column, real_, made) for column in settled.columns)
    stages.done("columns")
    pairs = compare_pairs(real_, made)
    compared = pairs if pairs.pairs else ONE_COLUMN
    stages.done("pairs")
    train, test = _split(small[0], small[2] if holdout is not None else None, rng)
    independent = shuffled_columns(train, rng)
    metrics = {
        "synthetic": _metrics(real_, made, small[1], test, settled.target),
        "independent columns": _metrics(real_, shuffled_columns(real_, rng), independent, test, settled.target),
    }
    stages.done("metrics")
    trainings = {"real": train, "synthetic": small[1], "independent columns": independent}
    useful = (
        "No column to predict was named: give one with --target, or in the schema."
        if settled.target is None
        else utility(trainings, test, settled.target)
    )
    stages.done("utility")
    detected = detect(small[0], small[1], rng, sample // 2)
    stages.done("detector")
    attacked = attack(small[0], small[1], None if holdout is None else small[2], rng)
    stages.done("attacks")
    risks: Any = _NEEDS_HELD_OUT
    if holdout is not None:
        risks = anonymeter_risks(small[0], small[1], small[2], rng)
        stages.done("anonymity")
    roles = ("real", "synthetic", "holdout")
    tables = {
        role: TableSize(origin=one.origin, rows=one.data.num_rows, model_rows=few.num_rows)
        for role, one, few in zip(roles, raw, small, strict=False)
    }
    notes += _sampling_notes(tables, sample)
    if holdout is None and settled.target is not None:
        notes.append(
            "No held-out rows were given (--holdout): models are tested on a quarter of the real rows, which the "
            "synthetic table was made from too."
        )
    figures = Figures(
        from_real_rows=True,
        stamp=PRIVATE_STAMP,
        free_to_publish=False,
        tables=tables,
        target=settled.target,
        notes=tuple(notes),
        verdict=judge(columns, compared, from_real_rows=True),
        rows=some_rows(synthetic, settled.names, rng),
        promise=None if release is None else _promise(release),
        columns=columns,
        pairs=compared,
        metrics=metrics,
        utility=useful,
        detector=detected,
        attacks=attacked,
        anonymity=risks,
        **made_by(),
    )
    stages.done("page")
    return figures


def _against_release(release: Release, synthetic: Any, seed: int, progress: Progress) -> Figures:
    rng = np.random.default_rng(seed)
    stages = Stages(progress, 3)
    schema = release.table_schema
    raw = read_table(synthetic, "the synthetic table", schema)
    coded, notes = code_tables([raw], schema)
    notes += rules_in_words(raw, schema)
    made = sampled(_counted_alike(release, raw, coded[0], rng), _COUNTED_ROWS, rng)
    notes += [ONE_ROW_EACH] if release.view.is_of_people else []
    stages.done("read")
    columns, pairs = compare_with_release(release, made, rng)
    stages.done("compare")
    promise = _promise(release)
    size = round(release.num_records)
    compared = NO_PAIRS if pairs is None else pairs if pairs.pairs else TOO_NOISY
    if isinstance(compared, str):
        notes.append(compared)
    figures = Figures(
        from_real_rows=False,
        stamp=PUBLIC_STAMP if promise.holds else TEST_STAMP,
        free_to_publish=promise.holds,
        tables={
            "release": TableSize(origin=release.path.name, rows=size, model_rows=0),
            "synthetic": TableSize(origin=raw.origin, rows=raw.data.num_rows, model_rows=0),
        },
        target=schema.target,
        notes=tuple(notes),
        verdict=judge(columns, compared, from_real_rows=False),
        rows=some_rows(raw, schema.names, rng),
        promise=promise,
        columns=tuple(columns),
        pairs=compared,
        metrics={},
        utility=NEEDS_ROWS,
        detector=NEEDS_ROWS,
        attacks=NEEDS_ROWS,
        anonymity=NEEDS_ROWS,
        **made_by(),
    )
    stages.done("page")
    return figures


def _counted_alike(
    release: Release, raw: RawTable, table: ComparableTable, rng: np.random.Generator
) -> ComparableTable:
    """The rows as the release has counted: all of them, or one of every person."""
    unit = release.table_schema.unit
    if not release.view.is_of_people or unit is None:
        return table
    if unit.key not in raw.data.column_names:
        raise TableError(
            f"{raw.origin}: no column {unit.key!r}, so nobody knows whose each row is, and the release counts people"
        )
    keys = raw.data.column(unit.key).combine_chunks().dictionary_encode().indices
    return one_row_each(table, np.asarray(keys.fill_null(-1)).astype(np.int64), release.view, rng)


def _split(
    real: ComparableTable, holdout: ComparableTable | None, rng: np.random.Generator
) -> tuple[ComparableTable, ComparableTable]:
    """Rows to train on and rows to test on: the held-out ones, or a quarter of the real ones."""
    if holdout is not None:
        return real, holdout
    order = rng.permutation(real.num_rows)
    cut = int(_TRAIN_SHARE * real.num_rows)
    return real.take(order[:cut]), real.take(order[cut:])


def _metrics(
    real: ComparableTable, made: ComparableTable, train: ComparableTable, test: ComparableTable, target: str | None
) -> dict[str, float | None]:
    """The five metrics of the paper."""
    learnt = None if target is None else binary_logistic_regression(train, test, target)
    return {**distribution_metrics(real, made), "BinaryLogisticRegression": learnt}


def _same(real: RawTable, synthetic: RawTable, holdout: RawTable | None) -> list[str]:
    notes = []
    if real.data.equals(synthetic.data):
        notes.append("Warning: the real and the synthetic table are the same. Is one of the two a mistake?")
    if holdout is not None and real.data.equals(holdout.data):
        raise TableError(f"{holdout.origin}: the held-out rows are the real table itself; give rows that were not used")
    return notes


def _sampling_notes(tables: dict[str, TableSize], sample: int) -> list[str]:
    notes = []
    many = [size for size in tables.values() if size.rows > _COUNTED_ROWS]
    notes += [
        f"Of {size.origin} {_COUNTED_ROWS:,} of {size.rows:,} rows were counted, drawn at random." for size in many
    ]
    if any(size.rows > sample for size in tables.values()):
        notes.append(
            f"Columns and pairs are counted on all rows. Models, detector and attacks use at most {sample:,} rows of "
            "each table, drawn at random (--sample)."
        )
    return notes


def _promise(release: Release) -> PromiseFigures:
    promise = release.manifest.promise
    return PromiseFigures(
        epsilon=promise.epsilon,
        delta=promise.delta,
        neighbours=str(promise.neighbours),
        neighbours_in_words=promise.neighbours.described(people=release.manifest.is_of_people),
        kind=str(release.manifest.kind),
        holds=promise.private,
        in_words=tuple(promise_in_words(release)),
        members_found=dict(zip(FALSE_ALARMS, most_members_found(promise.events), strict=True)),
        fingerprint=release.fingerprint,
    )


def made_by() -> dict[str, str]:
    """When a report is made, and by what."""
    now = datetime.now(UTC).isoformat(timespec="minutes")
    return {"created": now, "software": f"microtome {__version__}"}


class Stages:
    """Tells which of the report's parts are done."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        progress("report", 0, total)

    def done(self, part: str) -> None:
        """One more part is done."""
        self._done += 1
        self._progress("report", self._done, self._total, part)

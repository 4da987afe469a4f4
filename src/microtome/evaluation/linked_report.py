"""The report on linked tables: each by itself as ever, and what holds them together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from microtome.errors import ParameterError
from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.detector import Detection
from microtome.evaluation.distributions import ColumnFigures, compare_column
from microtome.evaluation.fidelity import mean_of
from microtome.evaluation.figures import plain_figures
from microtome.evaluation.html_page import HtmlPage, figure
from microtome.evaluation.linked_figures import LinkFigures, compare_link
from microtome.evaluation.linked_keys import KeyFigures, check_synthetic_keys
from microtome.evaluation.linked_people import detect_people
from microtome.evaluation.linked_tables import read_linked
from microtome.evaluation.pairs import AllPairs, compare_pairs
from microtome.evaluation.reporting import MODEL_ROWS, ONE_COLUMN, PRIVATE_STAMP, Stages, made_by
from microtome.evaluation.verdict import Verdict, judge
from microtome.progress import Progress, usual_progress
from microtome.published import LinkedRelease
from microtome.schema import LinkedSchema

FORMAT = "microtome-linked-report"
VERSION = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class TableFigures:
    """One of the tables by itself.

    Attributes:
        name: Its name.
        rows: Its rows, real and synthetic; the former as far as they are known.
        columns: One column each.
        pairs: All pairs of its columns, or why not.
        verdict: What to think of it.
    """

    name: str
    rows: tuple[int | None, int]
    columns: tuple[ColumnFigures, ...]
    pairs: AllPairs | str
    verdict: Verdict


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedFigures:
    """Everything on the page.

    Attributes:
        stamp: What may be done with the page, in a sentence.
        free_to_publish: Whether it may be given to anybody.
        created: When.
        software: By what.
        notes: What a reader should know.
        tables: The tables by themselves, parents first.
        links: What hangs on what.
        keys: Keys of the synthetic tables.
        detector: People with what is behind them, real against synthetic.
    """

    stamp: str
    free_to_publish: bool
    created: str
    software: str
    notes: tuple[str, ...]
    tables: tuple[TableFigures, ...]
    links: tuple[LinkFigures, ...]
    keys: tuple[KeyFigures, ...]
    detector: Detection | str

    @property
    def cardinality(self) -> float | None:
        """How alike numbers of rows are, mean over links."""
        return mean_of(link.cardinality.score for link in self.links if link.cardinality.score is not None)

    @property
    def distance(self) -> float | None:
        """Total variation of tables across links, mean over these."""
        return mean_of(link.distance for link in self.links if link.distance is not None)

    @property
    def floor(self) -> float | None:
        """What that would be by chance alone."""
        return mean_of(link.floor for link in self.links if link.floor is not None)

    @property
    def yardstick(self) -> str:
        """What the floor is about, in words."""
        return "by the noise" if self.free_to_publish else "by chance"

    @property
    def broken_keys(self) -> int:
        """Tables whose keys are not intact."""
        return sum(not one.is_intact for one in self.keys)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        plain: dict[str, Any] = plain_figures(self)
        for link, entries in zip(self.links, plain["links"], strict=True):
            entries |= {"distance": link.distance, "floor": link.floor, "kept": link.kept}
        return {"format": FORMAT, "version": VERSION, **plain}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinkedReport(HtmlPage):
    """A finished report on linked tables: figures, and the page made of them."""

    figures: LinkedFigures

    @cached_property
    def html(self) -> str:
        """One self-contained page: no scripts, no network."""
        from microtome.evaluation.linked_page import render_linked

        return render_linked(self.figures)

    @property
    def headline(self) -> str:
        """Numbers of rows, tables across links, keys, and what may be done with the page."""
        found = self.figures
        keys = "All keys are intact." if not found.broken_keys else f"{found.broken_keys} tables have broken keys."
        return (
            f"Numbers of rows {figure(found.cardinality)} alike (KS); across links {figure(found.distance)} apart (TV, "
            f"{found.yardstick} {figure(found.floor)}). {keys} {found.stamp}"
        )


def report_linked(
    real: Any,
    synthetic: Any,
    schema: LinkedSchema | str | Path | None = None,
    *,
    release: LinkedRelease | str | Path | None = None,
    sample: int = MODEL_ROWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> LinkedReport:
    """Compare synthetic linked tables with the real ones, or, where ``real`` is ``None``, with a release.

    Args:
        real: The real tables: a folder with a file each, or tables by name; ``None`` for a page that is free to
            publish.
        synthetic: The synthetic tables, ours or another tool's.
        schema: How they hang together, or the path of its document; a release brings its own.
        release: A release or its path, in place of the real tables.
        sample: People that the detector uses at most.
        random_state: Seed of samples and learners.
        progress: Told how far it is; by default bars in a notebook, and nothing elsewhere.
    """
    if sample < 100:
        raise ParameterError(f"sample={sample} must be at least 100")
    progress = usual_progress() if progress is None else progress
    if real is None or release is not None:
        from microtome.evaluation.linked_public import against_linked_release

        if real is not None or schema is not None or release is None:
            raise ParameterError("give the real tables with their schema, or a release in place of both")
        opened = LinkedRelease.load(release) if isinstance(release, str | Path) else release
        return against_linked_release(opened, synthetic, random_state, progress)
    if schema is None:
        raise ParameterError("give a schema: it says how the tables hang together")
    declared = LinkedSchema.load(schema) if isinstance(schema, str | Path) else schema
    stages = Stages(progress, 2 + len(declared.tables))
    with threadpool_limits(limits=1):
        sides, notes = read_linked(real, synthetic, declared)
        stages.done("read")
        tables, links = [], []
        for table in declared.tables:
            tables.append(_table(table.name, sides[0].coded[table.name], sides[1].coded[table.name]))
            links += [compare_link(table.name, sides)] if table.parent is not None else []
            stages.done(table.name)
        detected = detect_people(sides, np.random.default_rng(random_state), sample // 2)
        stages.done("detector")
    figures = LinkedFigures(
        stamp=PRIVATE_STAMP,
        free_to_publish=False,
        notes=tuple(notes),
        tables=tuple(tables),
        links=tuple(links),
        keys=check_synthetic_keys(sides[1]),
        detector=detected,
        **made_by(),
    )
    return LinkedReport(figures=figures)


def _table(name: str, real: ComparableTable, synthetic: ComparableTable) -> TableFigures:
    columns = tuple(compare_column(column, real, synthetic) for column in real.columns)
    pairs = compare_pairs(real, synthetic)
    compared = pairs if pairs.pairs else ONE_COLUMN
    return TableFigures(
        name=name,
        rows=(real.num_rows, synthetic.num_rows),
        columns=columns,
        pairs=compared,
        verdict=judge(columns, compared, from_real_rows=True),
    )

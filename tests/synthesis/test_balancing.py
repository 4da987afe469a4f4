"""Balanced draws: tables as the model has them, nearly every row as its distribution says, nothing impossible."""

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from microtome.schema import CategoryCells, CategoryCode, Column, ColumnCode, Kind
from microtome.synthesis import pool
from microtome.synthesis.balancing import BalancedDraws
from microtome.synthesis.pool import Pool, units_of

Floats = NDArray[np.float64]
WIDTHS = (30, 12, 4, 2)


def code(width: int, levels: NDArray[np.int64] | None = None) -> ColumnCode:
    names = tuple(f"v{number:03d}" for number in range(width))
    counts = np.linspace(50.0, 100.0, width)
    return CategoryCode(
        column=Column(name="c", kind=Kind.CATEGORICAL, categories=names, missing=False),
        cells=CategoryCells(categories=names, other=False, missing=False),
        counts=counts,
        noise_scale=1.0,
        margins=counts / counts.sum(),
        levels=np.arange(width) if levels is None else levels,
    )


def rows_of(num_rows: int, seed: int = 0, widths: tuple[int, ...] = WIDTHS) -> Floats:
    """Rows of a mixture of 20 random components."""
    rng = np.random.default_rng(seed)
    components = np.concatenate([rng.dirichlet(np.full(width, 0.5), 20) for width in widths], axis=1)
    return components[rng.integers(0, 20, num_rows)]


class Watched(Pool):
    """A pool that notes who was chosen."""

    def choose(self, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
        self.__dict__["chosen"] = super().choose(count, rng)
        return self.__dict__["chosen"]


def drawn_from(
    rows: Floats, rng: np.random.Generator, codes: list[ColumnCode] | None = None
) -> tuple[Floats, list[NDArray[np.int64]]]:
    """As many rows as these from the distributions that they have, and the distribution of each."""
    units = units_of([code(width) for width in WIDTHS] if codes is None else codes)
    watched = Watched(levels=rows, weights=np.ones(len(rows)), units=units)
    drawn = BalancedDraws(units, len(rows))(watched, len(rows), rng)
    return rows[watched.__dict__["chosen"]], drawn


def error(rows: Floats, drawn: list[NDArray[np.int64]], widths: tuple[int, ...] = WIDTHS) -> float:
    """Mean total variation between drawn and expected two-way tables."""
    ends = np.cumsum(widths)
    one_hot = np.concatenate([np.eye(width)[values] for width, values in zip(widths, drawn, strict=True)], axis=1)
    apart = np.abs(rows.T @ rows - one_hot.T @ one_hot) / len(rows)
    parts = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
    return float(np.mean([apart[a, b].sum() / 2 for a, b in combinations(parts, 2)]))


def independent(rows: Floats, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    ends = np.cumsum(WIDTHS)
    parts = [rows[:, end - width : end] for end, width in zip(ends, WIDTHS, strict=True)]
    return [(part.cumsum(axis=1) > rng.random(len(rows))[:, None]).argmax(axis=1) for part in parts]


@pytest.mark.parametrize(("num_rows", "most"), [(2_000, 0.85), (20_000, 0.5), (60_000, 0.35)])
def test_tables_scatter_less_than_by_independent_draws(num_rows: int, most: float) -> None:
    rng, rows = np.random.default_rng(1), rows_of(num_rows)
    rows, drawn = drawn_from(rows, rng)
    assert error(rows, drawn) < most * error(rows, independent(rows, rng))


def test_rows_keep_their_distributions() -> None:
    """Given the component, every column has the component's distribution but for a small pull."""
    rng, rows = np.random.default_rng(2), rows_of(40_000)
    rows, drawn = drawn_from(rows, rng)
    kinds, chosen = np.unique(rows, axis=0, return_inverse=True)
    for number, kind in enumerate(kinds):
        mine = chosen.ravel() == number
        found = np.bincount(drawn[1][mine], minlength=12) / mine.sum()
        assert np.abs(found - kind[30:42]).sum() / 2 < 0.05


def test_what_is_impossible_is_never_drawn() -> None:
    rows = rows_of(5000)
    rows[:, 3] = 0.0
    rows[:, 42:44] = 0.0
    for start, stop in ((0, 30), (42, 46)):
        rows[:, start:stop] /= rows[:, start:stop].sum(axis=1, keepdims=True)
    _, drawn = drawn_from(rows, np.random.default_rng(3))
    assert not (drawn[0] == 3).any()
    assert set(np.unique(drawn[2])) == {2, 3}


def test_pooled_categories_have_their_shares_of_the_level() -> None:
    levels = np.repeat(np.arange(5), 6)
    codes = [code(30, levels), code(2)]
    rows = rows_of(30_000, widths=(5, 2))
    _, drawn = drawn_from(rows, np.random.default_rng(4), codes)
    share = codes[0].margins / codes[0].level_margins[levels]
    wanted = rows[:, :5].mean(axis=0)[levels] * share
    found = np.bincount(drawn[0], minlength=30) / 30_000
    assert np.abs(found - wanted).max() < 1e-3  # 0.0025 by independent draws
    with_other = np.array([drawn[1][drawn[0] == value].mean() for value in range(30)])
    assert np.ptp(with_other.reshape(5, 6), axis=1).max() < 0.1


def test_tables_too_wide_to_remember_are_drawn_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rows_of(3000)
    for limit in (40, 47):
        monkeypatch.setattr(pool, "MOST_UNITS", limit)
        assert not units_of([code(width) for width in WIDTHS])[0].are_cells
        assert error(*drawn_from(rows, np.random.default_rng(5))) < 0.2


def test_only_wanted_columns_are_drawn() -> None:
    units = units_of([code(width) for width in WIDTHS])
    pool, wanted = Pool(levels=rows_of(2000), weights=np.ones(2000), units=units), [0, 2]
    drawn = BalancedDraws(units, 2000, columns=wanted)(pool, 2000, np.random.default_rng(0))
    assert [place for place, values in enumerate(drawn) if values.any()] == wanted

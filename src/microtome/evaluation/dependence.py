"""How much two columns have to do with each other, and how much of it a synthetic table has kept.

For a table of shares t with margins r and c, *dependence* is Cramér's V with Bergsma's correction for chance,

    φ² = Σ (t − rc)²/(rc),   V = √( max(0, φ² − (h−1)(w−1)/(n−1)) / (min(h̃, w̃) − 1) ),   k̃ = k − (k−1)²/(n−1),

0 for independent columns and 1 where one follows from the other.

*Dependence kept* is what independent columns cannot fake. With R = t − rc of the real side and R̂ of the synthetic one,

    kept = 1 − Σ‖R − R̂‖² / Σ‖R‖² = Σ(2⟨R, R̂⟩ − ‖R̂‖²) / Σ‖R‖²

over all pairs: 1 is perfect, 0 is what independent columns have. It is the same formula on a real table and on a
release. Squares, because from these the known noise of a release can be subtracted (``DependenceKept``).

*Pair error* is its older sister in absolute values, Σ|R − R̂| / Σ|R|, by which methods are compared in benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from microtome.published.tables import centred

Floats = NDArray[np.float64]
_CLEAR = 3.0
"""Dependence over all pairs has to stand out by so many standard deviations to be divided by."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """Share of the dependence that a synthetic table has kept.

    Attributes:
        value: The share; under noise, between those of models that followed the noise and that did not.
        band: Where the share may be, ends included: from the known noise, and from how much of it was followed.
    """

    value: float
    band: tuple[float, float]


class _Sums(NamedTuple):
    """What one pair adds: energies of tables, and what the noise makes uncertain in them."""

    followed: float
    """2⟨R, R̂⟩ − ‖R̂‖², had the noise been followed as much as what is in it."""
    unfollowed: float
    """The same, had it not been followed."""
    whole: float
    """‖R‖²."""
    both: float
    """⟨T − rc, R̂⟩."""
    made: float
    """‖R̂‖²."""
    visible: float
    """‖T − rc‖²."""
    noise: float
    """‖z‖² as it is expected."""
    made_noise: float
    """⟨z, R̂⟩², as expected of noise that was not followed."""
    both_noise: float
    whole_noise: float
    whole_square: float


class DependenceKept:
    """Adds up dependence kept over all pairs of columns.

    Of a release, T = t + z with noise z of variance σ² is known in place of t. ‖T − rc‖² is too large by the energy of
    the noise, which is subtracted. ⟨T − rc, R̂⟩ is too large by ⟨z, R̂⟩, and by how much depends on what the model made
    of the noise: nothing, if it did not follow it at all; if it followed it as it followed the rest, all but the share
    ρ = ‖R‖²/(‖R‖² + ‖z‖²) of it is noise. These are the ends of the band. The angle between T − rc and R̂ shows where
    between them a table is: its squared cosine is 1 if all of the noise was followed, however much the model shrank
    what it followed. At ρ or below it does not show that any was, and the table is taken to be in the middle.

    Pairs that were not measured have as much dependence as the others, for what their columns could share, and none of
    it is kept.
    """

    def __init__(self) -> None:
        self._pairs: list[_Sums] = []

    def add(
        self,
        table: Floats,
        synthetic: Floats,
        *,
        product: Floats | None = None,
        noise: Floats | float = 0.0,
        seen: Floats | float = 1.0,
        there: Floats | float = 1.0,
    ) -> None:
        """One more pair.

        Args:
            table: Shares on the real side.
            synthetic: Shares in the synthetic table.
            product: Product of the margins of the real side; by default those of ``table``.
            noise: Standard deviation of the noise of each entry of ``table``.
            seen: Weight of each entry in what can be compared.
            there: Its weight in what there is, whether it can be compared or not.
        """
        wanted = residual(table) if product is None else centred(table - product)
        made, variance = residual(synthetic), np.broadcast_to(np.square(noise), table.shape)
        freedom = (table.shape[0] - 1) * (table.shape[1] - 1) / table.size
        visible, blurred = float((seen * wanted**2).sum()), freedom * float((seen * variance).sum())
        signal = 1.0 - blurred / max(visible, 1e-300)
        both, size = float((seen * wanted * made).sum()), float((seen * made**2).sum())
        self._pairs.append(
            _Sums(
                followed=2.0 * min(max(signal, 0.0), 1.0) * both - size,
                unfollowed=2.0 * both - size,
                whole=float((there * (wanted**2 - freedom * variance)).sum()),
                both=both,
                made=size,
                visible=visible,
                noise=blurred,
                made_noise=float((variance * (seen * made) ** 2).sum()),
                both_noise=float((variance * seen * there * made * wanted).sum()),
                whole_noise=float((variance * (there * wanted) ** 2).sum()),
                whole_square=2.0 * freedom * float(((there * variance) ** 2).sum()),
            )
        )

    def kept(self, measured: float = 1.0) -> Kept | None:
        """What was kept; ``None`` where nothing is dependent, or nothing stands out of the noise.

        Args:
            measured: Of all that pairs of columns could share the part that was measured.
        """
        all_pairs = _Sums(*np.sum(self._pairs or np.zeros((1, len(_Sums._fields))), axis=0).tolist())
        if all_pairs.whole <= _CLEAR * np.sqrt(all_pairs.whole_square):
            return None
        least, most = measured * all_pairs.followed / all_pairs.whole, all_pairs.unfollowed / all_pairs.whole
        value = least + 0.5 * (1.0 - _noise_followed(all_pairs)) * (measured * min(most, 1.0) - least)
        # The noise moves the upper end times ‖R‖² by 2⟨z, R̂ − most·R⟩ and most·(‖z‖² − its mean).
        linear = max(all_pairs.made_noise - 2.0 * most * all_pairs.both_noise + most**2 * all_pairs.whole_noise, 0.0)
        spread = 2.0 * float(np.sqrt(4.0 * linear + most**2 * all_pairs.whole_square)) / all_pairs.whole
        return Kept(value=value, band=(min(least, value) - spread, most + spread))


def _noise_followed(sums: _Sums) -> float:
    """How much of the noise a synthetic table shows to have followed, from 0 to 1."""
    if sums.noise <= 0 or sums.both <= 0:
        return 0.0
    squared_cosine = sums.both**2 / (sums.visible * sums.made)
    unlike = (1.0 - squared_cosine) * sums.visible / sums.noise
    return 1.0 - min(max(unlike, 0.0), 1.0)


def residual(table: Floats) -> Floats:
    """What a table of shares says beyond its margins."""
    return np.asarray(table - np.outer(table.sum(axis=1), table.sum(axis=0)), dtype=np.float64)


def cramers_v(table: Floats, num_rows: float) -> float:
    """Bias-corrected Cramér's V of a table of shares of so many rows; levels that do not occur are left out."""
    table = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    height, width = table.shape
    if min(height, width) < 2 or num_rows < 2:
        return 0.0
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    phi2 = float(((table - product) ** 2 / product).sum()) - (height - 1) * (width - 1) / (num_rows - 1)
    tall, wide = (size - (size - 1) ** 2 / (num_rows - 1) for size in (height, width))
    most = min(tall, wide) - 1.0
    return float(np.sqrt(min(max(phi2, 0.0) / most, 1.0))) if most > 0 else 0.0


def pair_error(tables: Iterable[tuple[Floats, Floats]]) -> float | None:
    """Error of what pairs of columns share, relative to that of independent columns; real table first."""
    error, size = 0.0, 0.0
    for real, synthetic in tables:
        wanted = residual(real)
        error += float(np.abs(wanted - residual(synthetic)).sum())
        size += float(np.abs(wanted).sum())
    return error / size if size > 0 else None

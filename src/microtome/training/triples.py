"""Tables of three columns that a second round of a release has chosen, in groups of levels.

In a mixture the table of three columns is Σ_k w_k a_k ⊗ b_k ⊗ c_k: one product of small matrices each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.published import AggregatesRelease, Triples
from microtome.published.second_moments import level_margins

_LEAST_SIGMA = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class View:
    """The tables as training, or the judge, sees them.

    Attributes:
        tables: Shares (tables × g × g²).
        precision: What a squared error of each weighs.
    """

    tables: Float[Tensor, "t g gg"]
    precision: Float[Tensor, "t g gg"]

    def error(self, found: list[Float[Tensor, "t g gg"]]) -> Float[Tensor, ""]:
        """Squared error, or the product of the errors of two independent halves."""
        return (self.precision * (found[0] - self.tables) * (found[-1] - self.tables)).sum()


class ChosenTables:
    """The chosen tables of a release, their noise split between training and judge.

    Args:
        release: What is fitted.
        triples: What its manifest says of them.
        held_out: The share of the information that is left to the judge.
        num_entries: Entries of tables of pairs: what a squared error is divided by.
        halves: Whether rows are drawn, so that errors of two halves of a batch are multiplied.
        generator: Splits the noise.
    """

    def __init__(
        self,
        release: AggregatesRelease,
        triples: Triples,
        *,
        held_out: float,
        num_entries: int,
        halves: bool,
        generator: torch.Generator,
    ) -> None:
        assert release.triples is not None
        self._halves, self._num_entries = halves, num_entries
        self._margins = torch.tensor(level_margins(release), dtype=torch.float32)
        size, count, total = triples.num_groups, len(triples.columns), release.num_records
        blocks = release.codebook.blocks
        width = sum(block.width for block in blocks)
        self._gather = torch.zeros(width, len(blocks) * size)
        for index, (block, groups) in enumerate(zip(blocks, triples.groups, strict=True)):
            self._gather[range(block.start, block.stop), index * size + torch.tensor(groups)] = 1.0
        self._places = torch.tensor([[release.schema.names.index(name) for name in one] for one in triples.columns])
        self._size = size
        shares = torch.tensor(release.triples / total).reshape(count, size, size * size)
        noise, ratio = triples.noise / total, float(np.sqrt(held_out / (1.0 - held_out)))
        split = noise * torch.randn(shares.shape, generator=generator, dtype=torch.float64)
        chance = self._tables([self._margins[None]]).double()[0].clamp_min(0.0) / total + 1.0 / total**2

        def view(tables: Tensor, variance: float) -> View:
            precision = 2.0 / num_entries / (chance + variance + _LEAST_SIGMA**2)
            return View(tables=tables.float(), precision=precision.float())

        self.train = view(shares + ratio * split, noise**2 / (1.0 - held_out))
        self.judge = view(shares - split / ratio, noise**2 / held_out)

    def error(self, view: View, rows: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
        """The error of distributions of levels, which weigh alike."""
        return view.error(list(self._tables(rows.tensor_split(2) if self._halves else [rows])))

    def signal(self, view: View) -> float:
        """The error of independent columns."""
        return float(view.error(list(self._tables([self._margins[None]]))))

    def held_out_signal(self) -> float:
        """The same as the judge would have it if tables were as training sees them."""
        return self.signal(replace(self.judge, tables=self.train.tables))

    def signal_error(self) -> float:
        """Standard error, by the judge's noise, of what there is to be gained: as ``MomentMatching`` has it."""
        return float(np.sqrt(8.0 * self.held_out_signal() / self._num_entries))

    def _tables(self, parts: list[Tensor] | tuple[Tensor, ...]) -> Tensor:
        """The tables of each part of the rows."""
        found = []
        for rows in parts:
            grouped = (rows @ self._gather).reshape(len(rows), -1, self._size).transpose(0, 1)
            a, b, c = (grouped[places] for places in self._places.T)
            pairs = (b[..., :, None] * c[..., None, :]).flatten(2)
            found.append(a.transpose(1, 2) @ pairs / len(rows))
        return torch.stack(found)

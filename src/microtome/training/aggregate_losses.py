"""Fitting a release of aggregates: two-way tables of every class, and a judge made of the same numbers.

Noise that is known can be split after the fact. With released T = S + σZ and W ~ N(0, 1) drawn now,

    T₁ = T + σ·√(h/(1−h))·W    and    T₂ = T − σ·√((1−h)/h)·W

are independent, both centred at S, with noise σ/√(1−h) and σ/√h: as if a share h of the records had been held out
before the noise was added, but nothing had to be decided then and no record is lost to either (Gaussian data
thinning). The generator is trained on T₁ and judged by T₂.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.divergences import (
    Denoising,
    MomentMatching,
    Moments,
    MomentSettings,
    ReleasedMoments,
    component_moments,
)
from microtome.errors import ParameterError
from microtome.generators import RowLayout
from microtome.generators.splitting import Support
from microtome.published import AggregatesRelease
from microtome.published.second_moments import level_margins, margin_noise
from microtome.published.table_margins import table_counts
from microtome.schema import project_to_simplex
from microtome.training.certainty import Certainty
from microtome.training.correlations import Correlations
from microtome.training.focus import FocusTables
from microtome.training.losses import LEAST_SIGNAL, MARGIN_WEIGHT, LossMix, on_encoded
from microtome.training.rule_cells import forbidden_pairs, with_rules
from microtome.training.triples import ChosenTables

Floats = NDArray[np.float64]
_LEAST = 1e-9
_RARE, _FEWEST = 0.5, 1e-3
"""How the price of knowledge grows as rows get fewer, and the share of people who have one from which it stays."""
UNSEEN = MomentSettings(denoising=Denoising.NONE, mean_weight=0.0)
"""How the judge compares tables."""


def class_shares(release: AggregatesRelease) -> Floats:
    """Share of each class of the pivot; 1 without a pivot."""
    return np.ones(1) if release.pivot is None else release.codebook.codes[release.pivot].level_margins


def class_margins(release: AggregatesRelease) -> Floats:
    """Share of every level by class: counts by class, made to add up to the profile as far as that knows better."""
    noise = release.mechanism.first_noise, np.array(release.mechanism.pair_noise)
    profile, (counts, own) = (
        level_margins(release),
        table_counts(release.first, release.second, noise, release.codebook),
    )
    total = (margin_noise(release) * release.num_records) ** 2
    gap = release.num_records * profile - counts.sum(axis=0)
    measured = np.isfinite(own)
    counts[:, measured] += (gap[measured] * own[measured]) / (len(counts) * own + total + _LEAST)[measured]
    sizes = np.maximum(class_shares(release) * release.num_records, 1.0)
    for number in range(len(counts)):
        for index, block in enumerate(release.codebook.blocks):
            part = slice(block.start, block.stop)
            if index == release.pivot:
                counts[number, part] = np.arange(block.width) == number
            elif block.width == 1:
                counts[number, part] = 1.0
            elif not measured[part].all():
                counts[number, part] = profile[part]
            else:
                counts[number, part] = project_to_simplex(counts[number, part], sizes[number])
    return counts


class Yardstick(NamedTuple):
    """What a score on held-out tables is measured by."""

    independent: float
    """What independent columns miss."""
    unit: float
    """What there is to learn."""
    error: float
    """The standard error of that, by the noise of what is held out."""


class AggregateLoss:
    """Two-way tables of every class, from the training view.

    The tables of a mixture are known exactly. For them the loss is, in units of what there is to learn,

        χ² + correlations + prior · D · Σ_c √(w_c/10) · I(column c; component),

    w_c being the levels of column c and D those of all columns, which are the cells in whose noise a level could find
    something to explain: what the components know about a column, in nats, has to pay for itself in tables met.
    Without the last part a mixture learns the noise too. It makes wide columns, whose tables are mostly noise, pay
    more, and fades by itself where the noise is small, because then there is much to be gained. Correlations of
    numbers, which it would shrink too, are met by themselves (``correlations``).

    Args:
        release: What is fitted.
        margins: Share of every level by class, as ``class_margins`` has it.
        mix: Only its moments apply: there are no rows to slice.
        held_out: The share h of the information that is left to the judge.
        batch_size: Rows a batch, of generators that are sampled.
        prior: What a nat that a component knows has to explain, in units of χ² a level of the table.
        exact: Whether the generator is a mixture.
        generator: Splits the noise.
    """

    def __init__(
        self,
        release: AggregatesRelease,
        margins: Floats,
        mix: LossMix,
        *,
        held_out: float,
        batch_size: int,
        prior: float,
        exact: bool,
        generator: torch.Generator,
    ) -> None:
        sliced = [name for name, weight in mix.weights.items() if weight and name != "moments"]
        if sliced:
            raise ParameterError(f"loss {sliced[0]} needs slices; a release of aggregates has moments only")
        if release.pivot is not None and not exact:
            raise ParameterError(
                "a pivot needs the built-in mixture; release with pivot 'none' for a generator of your own"
            )
        seen, unseen = thinned_moments(release, margins, held_out, batch_size, generator)
        self._train = [_matching(release, one, _seen_settings(exact)) for one in seen]
        self._judge = [_matching(release, one, UNSEEN) for one in unseen]
        self._correlations = Correlations(release, seen, _seen_settings(exact))
        self._margins = torch.tensor(margins, dtype=torch.float32)
        self._price = prior * _prices(release) / self._train[0].num_entries
        self._presence = _Presences(release, self._price)
        focus = release.mechanism.focus
        self._focus = None
        if focus is not None:
            self._focus = FocusTables(
                release, focus, held_out=held_out, seen=_seen_settings(exact), unseen=UNSEEN, generator=generator
            )
        self._chosen = None
        if release.mechanism.triples is not None:
            self._chosen = ChosenTables(
                release,
                release.mechanism.triples,
                held_out=held_out,
                num_entries=self._train[0].num_entries,
                halves=not exact,
                generator=generator,
            )
        self._certain = (
            None if release.pivot is not None or not exact else Certainty(release, self._train[0].num_entries)
        )
        self._codebook = release.codebook
        signal = sum(one.signal() for one in self._trained)
        signal += 0.0 if self._chosen is None else self._chosen.signal(self._chosen.train)
        self._unit = max(signal, LEAST_SIGNAL)

    @property
    def _trained(self) -> list[MomentMatching]:
        """Everything that is fitted: tables of all classes, and by groups of the focus."""
        return [*self._train, *(self._focus.train if self._focus else [])]

    @property
    def supports(self) -> Sequence[Support]:
        """Which levels go together where one column follows from another."""
        return () if self._certain is None else self._certain.supports

    @property
    def has_signal(self) -> bool:
        """Whether there is anything to learn beyond the margins."""
        return self._unit > LEAST_SIGNAL

    def of_components(self, classes: Sequence[Float[Tensor, "k d"]]) -> Float[Tensor, ""]:
        """The training loss of components, class by class, in units of the tables' own size."""
        margins, tables = self._of_components(classes)
        return (tables + self._known(classes)) / self._unit + MARGIN_WEIGHT * margins

    def of_batch(self, encoded: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
        """That of encoded rows."""
        margins, tables = self._of_batch(encoded)
        return tables / self._unit + MARGIN_WEIGHT * margins

    def _of_components(self, classes: Sequence[Float[Tensor, "k d"]]) -> tuple[Tensor, Tensor]:
        """Errors of margins and of tables of all components, class by class."""
        found, groups = self._moments(classes)
        parts = [one.moment_losses(moments) for one, moments in zip(self._train, found, strict=True)]
        margins = torch.stack([first for first, _ in parts]).mean()
        tables = torch.stack([second for _, second in parts]).sum() + self._correlations.of_moments(found)
        if self._focus is not None:
            tables = tables + self._focus.errors_of_moments(self._focus.train, groups)
        if self._chosen is not None:
            tables = tables + self._chosen.error(self._chosen.train, classes[0])
        if self._certain is not None:
            tables = tables + self._certain.of_moments(found[0])
        return margins, tables

    def _moments(self, classes: Sequence[Float[Tensor, "k d"]]) -> tuple[list[Moments], list[Moments]]:
        """The moments of all classes, and of the groups of the focus, if there is one."""
        if self._focus is None:
            return [component_moments(rows, torch.ones(len(rows), 1))[0] for rows in classes], []
        groups = self._focus.moments(classes[0])
        return [Moments.together(groups)], groups

    def _of_batch(self, encoded: Float[Tensor, "b d"]) -> tuple[Tensor, Tensor]:
        """Errors of margins and of tables of encoded rows."""
        margins, tables = self._train[0].parts(encoded)
        tables = tables + self._correlations([encoded])
        if self._focus is not None:
            tables = tables + self._focus.errors(self._focus.train, encoded)
        if self._chosen is not None:
            tables = tables + self._chosen.error(self._chosen.train, self._train[0].decoded(encoded))
        return margins, tables

    def _known(self, classes: Sequence[Float[Tensor, "k d"]]) -> Float[Tensor, ""]:
        """What the components know about the columns, at its price."""
        known = []
        for rows, margins in zip(classes, self._margins, strict=True):
            surprise = rows.clamp_min(_LEAST).log() - margins.clamp_min(_LEAST).log()
            known.append((self._price * rows * surprise).sum(dim=1).mean() - self._presence(rows, margins))
        return torch.stack(known).sum()

    def yardstick(self) -> Yardstick:
        """What a score on held-out tables is measured by."""
        judges = [*self._judge, *(self._focus.judge if self._focus else [])]
        pairs = list(zip(judges, self._trained, strict=True))
        shift = self._independent_shift
        unit = sum(held_out.signal(train) for held_out, train in pairs) + shift
        errors = [held_out.signal_error(train) for held_out, train in pairs]
        independent = sum(one.signal() for one in judges) + shift
        if self._chosen is not None:
            unit += self._chosen.held_out_signal()
            errors.append(self._chosen.signal_error())
            independent += self._chosen.signal(self._chosen.judge)
        return Yardstick(independent, max(unit, LEAST_SIGNAL), float(np.linalg.norm(errors)))

    @property
    def _independent_shift(self) -> float:
        """What independent columns miss in the groups of the focus besides: every group has margins of its own."""
        if self._focus is None:
            return 0.0
        row = RowLayout.of(self._codebook).encode(self._margins)
        return float(self._focus.errors(self._focus.judge, row)) - sum(one.signal() for one in self._focus.judge)

    def missed_by_components(self, classes: Sequence[Float[Tensor, "k d"]]) -> float:
        """What components miss of the held-out tables."""
        moments, groups = self._moments(classes)
        found = sum(float(one.moment_losses(few)[1]) for one, few in zip(self._judge, moments, strict=True))
        if self._focus is not None:
            found += float(self._focus.errors_of_moments(self._focus.judge, groups))
        return found + self._chosen_missed(classes[0])

    def missed_by_batch(self, encoded: Float[Tensor, "b d"]) -> float:
        """What encoded rows miss of them."""
        found = float(self._judge[0](encoded))
        if self._focus is not None:
            found += float(self._focus.errors(self._focus.judge, encoded))
        return found + self._chosen_missed(self._judge[0].decoded(encoded))

    def _chosen_missed(self, rows: Float[Tensor, "b d"]) -> float:
        return 0.0 if self._chosen is None else float(self._chosen.error(self._chosen.judge, rows))


class _Presences:
    """What components know of rows that are there at all, which is known from numbers of rows and paid for there.

    A nat about a column is one about whether there is a row, and where there is, one about its value.

    Args:
        release: What is fitted.
        price: The price of a nat, level by level.
    """

    def __init__(self, release: AggregatesRelease, price: Float[Tensor, " d"]) -> None:
        tied = {} if release.presence is None else release.presence.absent
        starts = [release.codebook.blocks[column].start for column in tied]
        self._absent = torch.tensor([start + level for start, level in zip(starts, tied.values(), strict=True)])
        self._prices = price[self._absent] if tied else price[:0]

    def __call__(self, rows: Float[Tensor, "k d"], margins: Float[Tensor, " d"]) -> Tensor:
        """The price of what components know of that."""
        if not len(self._prices):
            return rows.new_zeros(())
        gone, usual = rows[:, self._absent], margins[self._absent]
        nats = _nats(gone, usual) + _nats(1.0 - gone, 1.0 - usual)
        return (self._prices * nats).sum(dim=1).mean()


def _nats(shares: Tensor, usual: Tensor) -> Tensor:
    return shares * (shares.clamp_min(_LEAST).log() - usual.clamp_min(_LEAST).log())


def _prices(release: AggregatesRelease) -> Float[Tensor, " d"]:
    """The price of a nat, level by level: the levels that it is counted with and its own, more for wide columns.

    Of rows that few people have it is higher: the same noise looks like more dependence there.
    """
    widths = np.array([block.width for block in release.codebook.blocks])
    shares = np.ones(len(widths))
    for column, level in ({} if release.presence is None else release.presence.absent).items():
        shares[column] = np.clip(1.0 - release.codebook.codes[column].level_margins[level], _FEWEST, 1.0)
    prices = np.repeat(release.levels_met() * np.sqrt(widths / 10.0) * shares**-_RARE, widths)
    return torch.tensor(prices, dtype=torch.float32)


def thinned_moments(
    release: AggregatesRelease, margins: Floats, held_out: float, batch_size: int, generator: torch.Generator
) -> tuple[list[ReleasedMoments], list[ReleasedMoments]]:
    """The moments of every class as training sees them, and as the judge does.

    What is known of rows that are there is trained on and not judged by: it would drown what was learnt from counts.
    """
    noise, forbidden = release.second_noise(), forbidden_pairs(release)
    known = forbidden if release.presence is None else forbidden | release.presence.impossible
    sizes = np.maximum(class_shares(release) * release.num_records, 1.0)
    ratio = np.sqrt(held_out / (1.0 - held_out))
    seen, unseen = [], []
    for number, size in enumerate(sizes):
        upper = torch.triu(torch.randn(noise.shape, generator=generator, dtype=torch.float64), diagonal=1)
        split = noise * (upper + upper.T).numpy()
        moments = ReleasedMoments(
            blocks=[(block.start, block.stop) for block in release.codebook.blocks],
            mean=margins[number],
            second=(release.second[number] + ratio * split) / size,
            mean_noise=np.sqrt(margins[number] * (1.0 - margins[number]) / batch_size * len(sizes)),
            second_noise=noise / size / np.sqrt(1.0 - held_out),
            num_rows=max(int(size), 1),
        )
        seen.append(moments)
        unseen.append(
            replace(
                moments,
                second=(release.second[number] - split / ratio) / size,
                second_noise=noise / size / np.sqrt(held_out),
            )
        )
    return [with_rules(one, known) for one in seen], [with_rules(one, forbidden) for one in unseen]


def _matching(release: AggregatesRelease, moments: ReleasedMoments, settings: MomentSettings) -> MomentMatching:
    """The comparison of all tables that were measured."""
    return on_encoded(release, moments, settings, torch.tensor(release.measured().astype(float)))


def _seen_settings(exact: bool) -> MomentSettings:
    """How training compares tables."""
    return MomentSettings(denoising=Denoising.NONE, half_batches=not exact)

"""Several views measured side by side: one reading of all tables for each round, under one budget.

Every view goes through the passes of a table by itself. Those of a round run together, and what they publish is
published together. Where a view inherits columns, its tables wait until the view that these are from is profiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from microtome.accounting import Event
from microtome.errors import MicrotomeError
from microtome.private.passes import Arrays, Pass, Published
from microtome.private.profile import Profile
from microtome.private.randomness import Randomness
from microtome.private.weighting import WeightedBlock
from microtome.published import AggregateMechanism
from microtome.published.mechanisms import LinkedMechanism, ViewMechanism

Tables = Callable[[Mapping[str, Profile]], Mapping[str, Pass]]
"""The tables of all views, once all of them are profiled."""


@dataclass(frozen=True)
class StreamsOfView:
    """The streams of one view: no two views share any."""

    randomness: Randomness
    view: str

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        """The generator of a purpose and block of this view."""
        return self.randomness.stream(f"{self.view}/{purpose}", block)


@dataclass(frozen=True, kw_only=True)
class Profiled(Published):
    """A view that is profiled: it has no pass of its own until all are."""

    profile: Profile


class ViewsPass:
    """One round: a pass over each view that has one left.

    Args:
        passes: The passes, by view.
        events: What the passes up to the profile do to the data, told once.
        tables: Gives the tables of all views, once all are profiled.
        profiled: What views have published that are.
        share: Share of the budget that the profile has.
        root: The view of people.
    """

    def __init__(
        self,
        passes: Mapping[str, Pass],
        *,
        profile_events: tuple[Event, ...],
        table_events: tuple[Event, ...],
        tables: Tables,
        share: float,
        root: str,
        profiled: Mapping[str, tuple[Published, Profile]] | None = None,
    ) -> None:
        self._passes, self._tables, self._share, self._root = dict(passes), tables, share, root
        self._profile_events, self._table_events = profile_events, table_events
        self._profiled = dict(profiled or {})
        self.stage = next(iter(self._passes.values())).stage
        self.width = max(one.width for one in self._passes.values())

    def add(self, block: WeightedBlock) -> None:
        """Count the records of a block, in its own view."""
        if block.view in self._passes:
            self._passes[block.view].add(block)

    def merge(self, other: Self) -> None:
        """Add what another round of the same views has counted."""
        for name, one in self._passes.items():
            one.merge(other._passes[name])

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """What all views publish in this round, and the next one."""
        found = {name: one.publish(StreamsOfView(randomness, name), num_records) for name, one in self._passes.items()}
        if self._is_last:
            return self._with_tables(found)
        left: dict[str, Pass] = {}
        for name, published in found.items():
            match published.following:
                case Profiled(profile=profile):
                    self._profiled[name] = replace(published, following=None), profile
                case None | Published():
                    raise MicrotomeError(f"the view of {name!r} ended before its profile; nothing more is released")
                case following:
                    left[name] = following
        complete = not left
        profiles = {name: profile for name, (_, profile) in self._profiled.items()}
        passes = self._tables(profiles) if complete else left
        following = ViewsPass(
            passes,
            profile_events=self._profile_events,
            table_events=self._table_events,
            tables=self._tables,
            share=self._share,
            root=self._root,
            profiled=self._profiled,
        )
        return Published(
            events=self._profile_events if complete else (),
            arrays=_named({name: one.arrays for name, one in found.items()}),
            codebook={name: one.codebook for name, (one, _) in self._profiled.items()} if complete else {},
            total=self._profiled[self._root][0].total if complete else None,
            following=following,
        )

    @property
    def _is_last(self) -> bool:
        """Whether these are the tables of all views."""
        return set(self._profiled) == set(self._passes)

    def _with_tables(self, found: Mapping[str, Published]) -> Published:
        views = []
        for name, published in found.items():
            match published.mechanism:
                case AggregateMechanism() as mechanism:
                    views.append(ViewMechanism(view=name, tables=mechanism))
                case _:
                    raise MicrotomeError(f"the view of {name!r} does not say how it was made; nothing is written")
        return Published(
            events=self._table_events,
            arrays=_named({name: one.arrays for name, one in found.items()}),
            mechanism=LinkedMechanism(profile_share=self._share, views=tuple(views), same=True),
        )


def _named(arrays: Mapping[str, Arrays]) -> Arrays:
    """Arrays with the name of their view in front."""
    return {f"{view}/{name}": array for view, own in arrays.items() for name, array in own.items()}

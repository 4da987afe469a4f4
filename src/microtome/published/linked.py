"""A release of linked tables: a view of each, one promise for a person and everything behind.

What a view inherits was measured in the view that it is from, where it has the same distribution. So codes and tables
of inherited columns are put in from there: every view is then like a release of aggregates by itself.

All views together are tables of one distribution: a person with one of the rows behind in every table, each by its
weight. What is fitted is that one (``joint``), with every column once. Rows that are drawn given what they hang on then
have, all together, the distribution that was measured; views fitted apart would not agree on what is given.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ReleaseError
from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Artefact
from microtome.published.manifest import Manifest
from microtome.published.mechanisms import AggregateMechanism, LinkedMechanism
from microtome.published.presence import Presence
from microtome.schema import Codebook, ColumnCode, LinkedSchema, Schema
from microtome.schema.linked_view import LinkedView, inheriting, linked_views
from microtome.schema.view import View

Arrays = dict[str, NDArray[Any]]
Parts = tuple[tuple[AggregatesRelease, NDArray[np.int64]], ...]


class LinkedRelease(Artefact):
    """Views of several tables.

    Attributes:
        schema: What is public about the tables.
        linked: What was measured of each, parents first.
        views: What each view has, as a release of aggregates.
    """

    holds: ClassVar[str] = "linked tables"

    def __init__(self, path: Path, manifest: Manifest, arrays: Arrays, mechanism: LinkedMechanism) -> None:
        super().__init__(path, manifest)
        self.mechanism = mechanism
        self.schema = LinkedSchema.from_dict(manifest.schema)
        self.linked = linked_views(self.schema, same=mechanism.same)
        if [one.view for one in mechanism.views] != list(self.linked) or set(manifest.codebook) != set(self.linked):
            raise ReleaseError("its views are not those of its tables")
        self.views: dict[str, AggregatesRelease] = {}
        own = {name: _of_view(arrays, name) for name in self.linked}
        codebooks = inheriting(
            self.linked,
            {
                name: Codebook.from_parts(one.view.own_schema, manifest.codebook[name], own[name])
                for name, one in self.linked.items()
            },
        )
        for one in mechanism.views:
            self.views[one.view] = self._view(self.linked[one.view], one.tables, own[one.view], codebooks[one.view])

    @cached_property
    def joint(self) -> JointRelease:
        """All views as tables of one: every column once, pairs that no view has measured left out."""
        return JointRelease.of(self)

    def places(self, name: str) -> list[int]:
        """Where the columns of a view, steps included, are among those of the joint one."""
        return self._places[name]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        taken = 0
        for name, one in self.linked.items():
            own, inherited = len(one.view.own_schema.columns), list[int]()
            if one.table.parent is not None:
                above = one.table.parent.table
                names = self.linked[above].view.schema.names
                inherited = [found[above][names.index(source)] for source in one.sources]
            steps = len(one.view.steps)
            first = list(range(taken, taken + own))
            found[name] = [*first, *inherited, *range(taken + own, taken + own + steps)]
            taken += own + steps
        return found

    def _view(
        self, linked: LinkedView, mechanism: AggregateMechanism, arrays: Arrays, codebook: Codebook
    ) -> AggregatesRelease:
        view = linked.view
        if linked.table.parent is not None:
            above = self.views[linked.table.parent.table]
            mechanism, arrays = _with_inherited(linked, above, view.with_steps(codebook), mechanism, arrays)
        manifest = replace(self.manifest, mechanism=mechanism, schema=linked.table.schema.to_dict(), checksums={})
        return AggregatesRelease(self.path, manifest, arrays, mechanism, (view, codebook))

    @property
    def unlearnt(self) -> tuple[str, ...]:
        """Columns of which nothing, or not even half, stood out from the noise, each with its table."""
        found = ((name, one.view, code) for name, one in self.views.items() for code in one.codebook.codes)
        return tuple(
            f"{name}: {code.column.name}"
            for name, view, code in found
            if not code.is_learnt and code.column.name not in view.inherited
        )

    def _check(self, *, verify: bool) -> None:
        for one in self.views.values():
            one._check(verify=verify)


class JointRelease(AggregatesRelease):
    """The views of linked tables as tables of one distribution."""

    _parts: Parts
    _presence: Presence

    @classmethod
    def of(cls, release: LinkedRelease) -> JointRelease:
        """All that the views have measured."""
        codes: dict[int, ColumnCode] = {}
        for name, view in release.views.items():
            for place, code in zip(release.places(name), view.codebook.codes, strict=True):
                named = replace(code.column, name=f"{name}: {code.column.name}")
                codes.setdefault(place, replace(code, column=named))
        root = release.views[release.schema.root.name]
        codebook = replace(root.codebook, codes=tuple(codes[place] for place in range(len(codes))))
        second, noise = np.zeros((1, codebook.dim, codebook.dim)), np.zeros((len(codes),) * 2)
        parts = []
        for name, view in release.views.items():
            places = release.places(name)
            here = _coordinates(codebook, places)
            second[:, here[:, None], here] = view.second
            noise[np.ix_(places, places)] = view.mechanism.pair_noise
            parts.append((view, here))
        mechanism = replace(
            root.mechanism, first_noise=(0.0,) * len(codes), pair_noise=tuple(map(tuple, noise.tolist()))
        )
        manifest = replace(root.manifest, mechanism=mechanism)
        arrays: Arrays = {"aggregates/first": np.zeros((1, codebook.dim)), "aggregates/second": second}
        columns = tuple(code.column for code in codebook.codes)
        joint = cls(release.path, manifest, arrays, mechanism, (View(schema=Schema(columns=columns)), codebook))
        joint._parts = tuple(parts)
        joint._presence = Presence.of(release.linked, {name: release.places(name) for name in release.linked}, codebook)
        return joint

    @property
    def parts(self) -> Parts:
        """Every view, with the coordinates that its own have here."""
        return self._parts

    @property
    def presence(self) -> Presence | None:
        """What is known of rows that are there and rows that are not."""
        return self._presence

    def levels_met(self) -> NDArray[np.int64]:
        """For each column how many levels it is counted with in any view, its own included."""
        widths = np.array([block.width for block in self.codebook.blocks])
        found: NDArray[np.int64] = widths + self.measured() @ widths
        return found


def _of_view(arrays: Arrays, view: str) -> Arrays:
    """The arrays of a view, under the names that they have in a release of one table."""
    mine = (f"{view}/profile/", f"{view}/aggregates/")
    return {name.removeprefix(f"{view}/"): array for name, array in arrays.items() if name.startswith(mine)}


def _with_inherited(
    linked: LinkedView, above: AggregatesRelease, codebook: Codebook, mechanism: AggregateMechanism, arrays: Arrays
) -> tuple[AggregateMechanism, Arrays]:
    """Tables and noise of pairs of inherited columns, from the view that these are from."""
    first = len(linked.view.own_schema.columns)
    here = list(range(first, first + len(linked.sources)))
    there = [above.schema.names.index(name) for name in linked.sources]
    second, noise = arrays["aggregates/second"].copy(), np.array(mechanism.pair_noise, dtype=float)
    if second.shape[1:] != (codebook.dim, codebook.dim) or noise.shape != (len(codebook.codes),) * 2:
        raise ReleaseError(f"the tables of {linked.table.name!r} do not fit its columns")
    mine, theirs = _coordinates(codebook, here), _coordinates(above.codebook, there)
    second[:, mine[:, None], mine] = above.second[:, theirs[:, None], theirs]
    noise[np.ix_(here, here)] = np.array(above.mechanism.pair_noise)[np.ix_(there, there)]
    told = replace(mechanism, pair_noise=tuple(tuple(row) for row in noise.tolist()))
    return told, {**arrays, "aggregates/second": second}


def _coordinates(codebook: Codebook, columns: list[int]) -> NDArray[np.int64]:
    return np.concatenate(
        [np.zeros(0, np.int64), *(np.arange(codebook.blocks[one].start, codebook.blocks[one].stop) for one in columns)]
    )

"""A release of linked tables: a view of each, one promise for a person and everything behind.

What a view inherits was measured in the view that it is from, where it has the same distribution. So codes and tables
of inherited columns are put in from there: every view is then like a release of aggregates by itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ReleaseError
from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Artefact
from microtome.published.manifest import AggregateMechanism, LinkedMechanism, Manifest
from microtome.schema import Codebook, LinkedSchema
from microtome.schema.linked_view import LinkedView, inheriting, linked_views

Arrays = dict[str, NDArray[Any]]


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
        self.linked = linked_views(self.schema)
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

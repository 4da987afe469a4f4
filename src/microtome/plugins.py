"""Generators and sources of other packages, found by the entry points that these declare.

    [project.entry-points."microtome.generators"]
    mixer = "my_package:mixer"        # mixer(codebook) gives a torch.nn.Module
    [project.entry-points."microtome.sources"]
    warehouse = "my_package:open"     # open("warehouse://people") gives a stream of Arrow's

Nothing is loaded before it is asked for by its name. What is built in cannot be replaced: names of formats and
addresses that Microtome knows by itself are never looked up.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

from microtome.errors import MicrotomeError, ParameterError

_OWN_SCHEMES = frozenset(("file", "s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss", "http", "https", "memory"))


class Group(StrEnum):
    """What other packages can bring."""

    GENERATORS = "microtome.generators"
    SOURCES = "microtome.sources"


def plugin(group: Group, name: str) -> Callable[..., Any]:
    """What a package has declared under a name.

    Raises:
        ParameterError: No package has, or several have, or it cannot be loaded.
    """
    found = _declared(group, name)
    if not found:
        known = sorted({one.name for one in _declared(group)})
        there = f"there are {', '.join(known)}" if known else "no package that is installed brings any"
        raise ParameterError(f"no {group} {name!r}; {there}")
    if len(found) > 1:
        packages = ", ".join(sorted(str(one.dist and one.dist.name) for one in found))
        raise ParameterError(f"{group} {name!r} is brought by several packages: {packages}; remove all but one")
    try:
        loaded: Callable[..., Any] = found[0].load()
    except MicrotomeError:
        raise
    except Exception as error:
        raise ParameterError(f"{group} {name!r} cannot be loaded from {found[0].value}: {error!r}") from error
    if not callable(loaded):
        raise ParameterError(f"{group} {name!r} is {found[0].value}, which cannot be called")
    return loaded


def source_plugin(source: Any) -> Callable[[str], Any] | None:
    """Who opens an address such as ``warehouse://people``, if it is a package that is installed."""
    scheme, mark, _ = source.partition("://") if isinstance(source, str) else ("", "", "")
    if not mark or scheme in _OWN_SCHEMES or not _declared(Group.SOURCES, scheme):
        return None
    return plugin(Group.SOURCES, scheme)


def _declared(group: Group, name: str | None = None) -> list[Any]:
    from importlib.metadata import entry_points

    return [one for one in entry_points(group=str(group)) if name in (None, one.name)]

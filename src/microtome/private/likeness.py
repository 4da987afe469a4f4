"""A release like another: on the same codebook, so that several holders publish what can be compared and pooled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ParameterError, ReleaseError, SchemaError
from microtome.private.aggregating import choose_focus
from microtome.published import AggregatesRelease, Release
from microtome.schema import Schema
from microtome.settings import NO_PIVOT, PrivacySettings


def check_like(settings: PrivacySettings, schema: Schema, like: Release) -> None:
    """Refuse another's codebook where it does not fit, or where it is not known to be public."""
    if not like.manifest.promise.private:
        raise ReleaseError(f"{like.path}: it promises nothing, so its codebook may tell of its records; take another")
    problems = []
    if not settings.kind.is_of_sums:
        problems.append(f"kind is {settings.kind}; only aggregates can be released like another release")
    if settings.pivot != NO_PIVOT:
        problems.append(f"pivot is {settings.pivot!r}; a release like another has none")
    if settings.neighbours.protects_count:
        problems.append(
            f"neighbours is {settings.neighbours}; a release like another plans its tables by the number of records, "
            "which that relation protects: take blank-one or replace-one"
        )
    if settings.profile_share is not None:
        problems.append("profile_share is given; a release like another has no profile")
    if problems:
        raise ParameterError("\n".join(problems))
    _require_same_columns(schema, like)
    if sum(code.num_levels > 1 for code in like.codebook.codes) < 2:
        raise ReleaseError(f"{like.path}: fewer than two of its columns vary, so no table would tell of them")


def _require_same_columns(schema: Schema, like: Release) -> None:
    own, others = schema.published().to_dict()["columns"], like.schema.published().to_dict()["columns"]
    if own == others:
        return
    named = [[column["name"] for column in columns] for columns in (own, others)]
    if named[0] != named[1]:
        raise SchemaError(f"the columns are {', '.join(named[0])}, and those of {like.path} {', '.join(named[1])}")
    differing = [mine["name"] for mine, theirs in zip(own, others, strict=True) if mine != theirs]
    raise SchemaError(
        f"column {', '.join(map(repr, differing))} is declared otherwise than in {like.path}; leave the schema out to "
        "take that release's own"
    )


def focus_groups(settings: PrivacySettings, schema: Schema, like: Release) -> NDArray[np.int64] | None:
    """The groups in which the other release has counted by levels of the same focus; ``None`` if it has not."""
    focus = choose_focus(settings, schema)
    match like:
        case AggregatesRelease(mechanism=mechanism) if focus is not None and mechanism.focus is not None:
            same = mechanism.focus.column == schema.names[focus]
            return np.array(mechanism.focus.groups, np.int64) if same else None
        case _:
            return None

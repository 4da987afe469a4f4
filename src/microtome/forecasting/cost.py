"""Memory and time that a release and a fit would take, on a machine such as the benchmarks ran on.

Memory is counted: the tables while they are counted, noised and written, and the blocks that are worked on. Times are
those of ``benchmarks/results/forecast.json``, rounded up; they are for telling seconds from hours.
"""

from __future__ import annotations

from dataclasses import dataclass

from microtome.forecasting.anticipated import Anticipated
from microtome.private.aggregating import table_bytes
from microtome.private.plan import padded_rows
from microtome.published import ReleaseKind

_COPIES = 4
_PROGRAM_BYTES = 400 << 20
"""What the program holds before it has read anything; a fit, with torch, more than a release."""
_BLOCK_BYTES = 3 * (1 << 22) * 8
_RELEASE_SECONDS, _SECONDS_A_VALUE = 0.3, 4e-7
_FIT_SECONDS, _SECONDS_A_LEVEL = 1.0, 0.05
_RECORDS_FIT_SECONDS = 60.0
"""Of a release of records, whose fit has more steps."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the work would take, roughly.

    Attributes:
        memory_bytes: Memory of the release and of the fit, each by itself.
        file_bytes: Size of the release.
        release_seconds: Time of the release.
        fit_seconds: Time of the fit.
    """

    memory_bytes: int
    file_bytes: int
    release_seconds: float
    fit_seconds: float


def forecast_cost(release: Anticipated) -> Cost:
    """Memory and time."""
    dim, columns = release.codebook.dim, len(release.schema.columns)
    seconds = _RELEASE_SECONDS + _SECONDS_A_VALUE * release.num_rows * columns * max(1.0, dim / 100)
    match release.settings.kind:
        case ReleaseKind.AGGREGATES:
            size = table_bytes(release.settings, release.schema, dim)
            memory, fit = _COPIES * size + _BLOCK_BYTES, _FIT_SECONDS + _SECONDS_A_LEVEL * dim
        case ReleaseKind.RECORDS:
            size = 2 * padded_rows(release.settings, release.num_rows) * dim + 8 * dim * dim
            memory, fit = _COPIES * 8 * dim * dim + _BLOCK_BYTES, _RECORDS_FIT_SECONDS
    return Cost(
        memory_bytes=_PROGRAM_BYTES + memory,
        file_bytes=size,
        release_seconds=seconds,
        fit_seconds=fit,
    )

"""Dates and times as texts, part by part: the other half of ``time_format``, which only synthetic rows go through."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAY = 86_400_000_000


def texts_of(numbers: NDArray[np.int64]) -> dict[str, NDArray[np.str_]]:
    """Every directive's text for microseconds since 1970."""
    days = (numbers // DAY).astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year, month = months.astype("datetime64[Y]").astype(np.int64) + 1970, months.astype(np.int64) % 12 + 1
    day, time = (days - months.astype("datetime64[D]")).astype(np.int64) + 1, numbers % DAY
    seconds = time // 1_000_000
    hour, names = seconds // 3600, np.array(MONTHS)[month - 1]
    of_twelve = (hour - 1) % 12 + 1
    two = {"m": month, "d": day, "H": hour, "I": of_twelve, "M": seconds // 60 % 60, "S": seconds % 60, "y": year % 100}
    return {
        **{name: np.char.mod("%02d", values) for name, values in two.items()},
        **{f"-{name}": two[name].astype(str) for name in ("m", "d", "H", "I")},
        "Y": np.char.mod("%04d", year),
        "f": np.char.mod("%06d", time % 1_000_000),
        "b": np.array([name[:3] for name in MONTHS])[month - 1],
        "B": names,
        "p": np.where(hour < 12, "AM", "PM"),
        "z": np.full(len(numbers), "+0000"),
        ":z": np.full(len(numbers), "+00:00"),
    }

"""How a data frame may hold a column, in pandas' names, where that is not the usual type for how values are stored."""

CATEGORY = "category"
UNITS = {f"datetime64[{unit}]": unit for unit in ("s", "ms", "us", "ns")}
"""Datetimes by the unit in which they are counted."""
_WHOLE = {f"{sign}int{bits}": f"{sign.upper()}Int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
WITHOUT_GAPS = frozenset({"bool", *_WHOLE})
"""Pandas' types that have no room for a missing value."""
_OTHERS: dict[str, tuple[str, ...]] = {
    "string": ("string",),
    "bool": ("boolean",),
    "float32": ("Float32",),
    "float64": ("Float64",),
    "datetime": tuple(UNITS),
    **{stored: (with_gaps,) for stored, with_gaps in _WHOLE.items()},
}


def frame_types(dtype: str) -> tuple[str, ...]:
    """What a frame may hold values of a storage type as, besides the usual: as categories, or with room for gaps."""
    return (CATEGORY, *_OTHERS.get(dtype, ()))

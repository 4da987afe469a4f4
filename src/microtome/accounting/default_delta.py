"""Which δ to take where nobody says: one that fits the number of records, as far as that is public.

A mechanism that publishes one record whole, chosen at random, is (0, 1/n)-private. So δ has to be well below 1/n: a
tenth of it at most, rounded down to a power of ten, and never above 10⁻⁶.
"""

LARGEST_DELTA = 1e-6
UNKNOWN_SIZE_DELTA = 1e-8
"""Where the number of records is protected and no bound on it is public: fits tables of less than a hundred million."""


def default_delta(num_records: int | None) -> float:
    """The δ for so many records; ``None`` where nothing about their number is public.

    Example:
        >>> from microtome.accounting import default_delta
        >>> default_delta(800), default_delta(2_000_000), default_delta(None)
        (1e-06, 1e-08, 1e-08)
    """
    if num_records is None:
        return UNKNOWN_SIZE_DELTA
    digits = len(str(10 * num_records - 1))
    return min(LARGEST_DELTA, float(f"1e-{digits}"))

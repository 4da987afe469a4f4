"""The δ of whoever gives none is well below 1/n, whatever n is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microtome.accounting import default_delta


@given(st.integers(min_value=1, max_value=10**30))
def test_it_is_a_tenth_of_one_over_n_at_most(num_records: int) -> None:
    delta = default_delta(num_records)
    assert 0 < delta <= 1e-6
    assert delta * num_records <= 0.1 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("num_records", "delta"),
    [(2, 1e-6), (100_000, 1e-6), (100_001, 1e-7), (1_000_000, 1e-7), (2_000_000, 1e-8), (None, 1e-8)],
)
def test_it_is_a_power_of_ten_and_no_smaller_than_it_has_to_be(num_records: int | None, delta: float) -> None:
    assert default_delta(num_records) == delta

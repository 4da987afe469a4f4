"""Numbers that spread evenly within groups: each uniform by itself, together with less scatter than independent."""

import numpy as np
from scipy.stats import kstest

from microtome.schema import stratified


def test_every_part_of_a_group_gets_one_number() -> None:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 5, 1000)
    numbers = stratified(groups, rng)
    for group in range(5):
        inside = np.sort(numbers[groups == group])
        assert (np.floor(inside * len(inside)) == np.arange(len(inside))).all()


def test_each_number_is_uniform_and_blind_to_its_place() -> None:
    rng = np.random.default_rng(1)
    groups = np.array([0, 1, 1, 0, 1, 1, 1])
    drawn = np.array([stratified(groups, rng) for _ in range(3000)])
    for place in range(len(groups)):
        assert kstest(drawn[:, place], "uniform").pvalue > 1e-4
    assert len(stratified(np.zeros(0, np.int64), rng)) == 0

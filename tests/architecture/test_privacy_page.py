"""What docs/privacy.md and KNOWN_LIMITATIONS.md say in figures is what the code does."""

import math
import re
from pathlib import Path

import pytest

from microtome.accounting import FailureEvent, Neighbours
from microtome.private import PrivacySettings
from microtome.private.aggregating import plan_tables
from microtome.private.plan import plan_profile, plan_slices
from microtome.private.randomness import LATTICE_GAP
from microtome.private.slicing import _ROW_BITS, LARGEST_NORM
from microtome.published import ReleaseKind
from microtome.schema import rounding_classes
from microtome.schema.margins import COARSE, most_category_levels, most_number_levels
from support import ROOT, people_schema

PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")
LIMITS = (ROOT / "KNOWN_LIMITATIONS.md").read_text(encoding="utf-8")
SCHEMA = people_schema()


def says(words: str, page: str = PAGE) -> None:
    assert re.search(words, page), f"the page does not say {words!r}"


def settings(**options: object) -> PrivacySettings:
    return PrivacySettings(**{"epsilon": 2.0, "delta": 1e-5, "kind": "records", **options})  # type: ignore[arg-type]


def touched_by(events: tuple[object, ...]) -> float:
    (found,) = [event.probability for event in events if isinstance(event, FailureEvent) and "discrete" in event.reason]
    return found / LATTICE_GAP


@pytest.mark.parametrize("slice_dim", [1, 2, 3, 5])
def test_slices_by_default(slice_dim: int) -> None:
    says(r"By default there are ⌈d/k⌉ slices")
    assert not re.search(r"⌊d/k⌋", PAGE + LIMITS)
    plan = plan_slices(settings(slice_dim=slice_dim), SCHEMA, ())
    for dim in (7, 10, 23):
        law = plan.for_rows(dim).law
        assert law.num_slices == math.ceil(dim / slice_dim)
        assert law.constant_energy == 1.0


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_numbers_that_a_record_touches(neighbours: Neighbours) -> None:
    says(r"H \+ 1 of search and profile \(2H \+ 1 for `replace-one`\), H = C \+ R \+ 6·U \+ 2·D")
    histograms = len(SCHEMA.columns) + sum(rounding_classes(column) is not None for column in SCHEMA.columns)
    histograms += 6 * sum(not column.is_declared for column in SCHEMA.columns)
    histograms += 2 * sum(column.is_declared and rounding_classes(column) is not None for column in SCHEMA.columns)
    assert histograms > len(SCHEMA.columns)
    capacity = 500 if neighbours.protects_count else None
    profile = plan_profile(settings(neighbours=neighbours, capacity=capacity), SCHEMA)
    factor = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    assert touched_by(profile.events) == factor * histograms + 1
    columns = len(SCHEMA.columns)
    wanted = settings(neighbours=neighbours, kind=ReleaseKind.AGGREGATES)
    tables = plan_tables(wanted, SCHEMA, ())
    pairs, triples = columns * (columns - 1) / 2, (columns - 1) * (columns - 2) / 2
    # Tables of three columns: by the focus, which is the schema's target, and those that the second round may choose.
    assert touched_by(tables.events) == factor * (pairs + triples + wanted.triples)


def test_bounds_of_levels() -> None:
    says(r"⌊1/pool⌋ \+ 2")
    says(r"⌊1.6·bins⌋ \+ 3")
    assert most_category_levels(None, 0.03, 0.0) == math.floor(1 / 0.03) + 2
    assert most_category_levels(5, 0.03, 0.0) == 5
    assert most_number_levels(10**6, 9, 0.0, COARSE) == math.floor(1.6 * 9) + 3


def test_digits_and_margins_of_the_mechanism() -> None:
    says(r"norm 1 − 10⁻⁹")
    assert LARGEST_NORM == 1 - 1e-9
    says(r"multiples of 2⁻²⁰")
    assert _ROW_BITS == 20


def test_every_test_that_the_page_names_is_there() -> None:
    for name in re.findall(r"`(tests/[\w/]+\.py)`", PAGE):
        assert (ROOT / Path(name)).is_file(), name

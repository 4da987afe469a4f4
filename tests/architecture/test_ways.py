"""docs/architecture.md tells the way that the data really take, and nothing gets around the noise."""

from __future__ import annotations

from unittest.mock import patch

import page
import pytest
import ways
from privacy_core import FIRST_TIER

from microtome.private import aggregating


def test_the_architecture_page_is_what_the_program_does() -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    assert page.rendered(written) == written, "the page is not up to date: make architecture"


@pytest.mark.parametrize("kind", ways.KINDS)
def test_nothing_gets_from_a_record_into_a_release_but_through_the_noise(kind: str) -> None:
    first, other, replayed = ways.files_of_two_records(kind)
    assert first != other
    assert first == replayed


def test_an_exact_count_that_goes_around_the_noise_is_found() -> None:
    with patch.object(aggregating, "noisy_counts", lambda counts, scale, stream, **_: counts):
        first, _, replayed = ways.files_of_two_records("aggregates")
    assert first != replayed


@pytest.mark.parametrize("kind", ways.KINDS)
def test_bare_records_are_seen_by_the_first_tier_only(kind: str) -> None:
    sights = ways.way_of_a_record(kind)
    bare = {sight.function.file for sight in sights if sight.bare}
    assert bare <= FIRST_TIER.keys()
    assert {file.split("/")[0] for file in bare} <= {"private", "schema"}
    assert "private/table.py" in bare
    assert "published/container.py" in {sight.function.file for sight in sights if not sight.bare}

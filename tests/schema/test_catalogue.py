"""The public catalogue holds what a schema can declare, and knows names by their last words."""

import pytest

from microtome.schema import Column
from microtome.schema.catalogue import catalogue, known_bounds, known_lists


@pytest.mark.parametrize("known", catalogue(), ids=lambda known: known.title)
def test_every_entry_can_be_declared(known) -> None:  # type: ignore[no-untyped-def]
    assert known.lists or known.bounds
    for categories in known.lists:
        dtype = "int64" if isinstance(categories[0], int) else "string"
        Column(name="x", kind="categorical", dtype=dtype, categories=categories)
    if known.bounds is not None:
        Column(name="x", kind="integer", bounds=known.bounds)


@pytest.mark.parametrize(
    ("words", "title"),
    [(["age"], "age in years"), (["patient", "age"], "age in years"), (["hours", "per", "week"], "hours a week")],
)
def test_names_are_known_by_their_last_words(words: list[str], title: str) -> None:
    found = known_bounds(words, Column(name="x", kind="integer").kind)
    assert found is not None
    assert found.title == title


@pytest.mark.parametrize("words", [["age", "group"], ["in", "month"], ["number", "of", "week"], ["stage"], []])
def test_other_names_are_not(words: list[str]) -> None:
    assert known_bounds(words, Column(name="x", kind="integer").kind) is None
    assert [known.title for known in known_lists(words)] == ["yes or no"]

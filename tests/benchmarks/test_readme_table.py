"""The figures in README.md are those of the runs."""

from census import Source
from comparison import Comparison
from readme_table import README, rendered


def test_the_table_of_the_readme_is_rendered_from_the_runs() -> None:
    assert rendered(Comparison(Source.STATES)) in README.read_text(encoding="utf-8")

"""docs/paper.md: every item of the paper's source is on it, and every file and test that it names exists."""

import re

import pytest

from paper_statements import STATEMENTS
from support import DATA, ROOT

PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
SOURCES = sorted((DATA.parent / "paper").glob("*.tex"))
ENVIRONMENTS = {
    "thm": "Theorem",
    "lem": "Lemma",
    "prop": "Proposition",
    "cor": "Corollary",
    "defn": "Definition",
    "rem": "Remark",
    "algorithm": "Algorithm",
    "table*": "Table",
    "wrapfigure": "Figure",
}


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda one: one.name)
def test_files_and_tests_of_a_statement_exist(statement) -> None:
    assert f"| {statement.name} |" in PAGE, "render the page again: python benchmarks/paper_page.py"
    assert statement.place
    assert statement.tests
    for place in statement.place:
        assert (ROOT / place).exists(), place
    for test in statement.tests:
        file, _, name = test.partition("::")
        source = (ROOT / "tests" / file).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in source, test


@pytest.mark.skipif(not SOURCES, reason="the paper's source is not here (a folder 'paper' beside the data)")
def test_every_item_of_the_source_is_on_the_page() -> None:
    source = SOURCES[0].read_text(encoding="utf-8")
    named = {one.name for one in STATEMENTS}
    for environment, title in ENVIRONMENTS.items():
        count = len(re.findall(rf"\\begin{{{re.escape(environment)}}}", source))
        assert {f"{title} {number}" for number in range(1, count + 1)} <= named
    sections = re.compile(r"\\(?:sub)*section\*?{[^}]*}\s*\\label{([^}]+)}")
    labels = set(re.findall(r"\\label{([^}]+)}", source)) - set(sections.findall(source))
    assert labels == {one.label for one in STATEMENTS if one.label}
    assert all(f"<!-- {label} -->" in PAGE for label in labels)


@pytest.mark.skipif(not SOURCES, reason="the paper's source is not here (a folder 'paper' beside the data)")
def test_labels_stand_beside_the_numbers_that_the_source_gives_them() -> None:
    source = SOURCES[0].read_text(encoding="utf-8")
    body = source[source.index(r"\begin{document}") :]
    equations = re.findall(r"\\begin{(?:align|equation)}.*?\\end{(?:align|equation)}", body, re.DOTALL)
    numbered = [label for part in equations for label in re.findall(r"\\label{([^}]+)}", part)]
    assert numbered == [one.label for one in STATEMENTS if one.name.startswith("Equation")]

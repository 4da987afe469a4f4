"""The table of coverage adds up what belongs together."""

from coverage_table import by_package, table


def measured(statements: int, lines: int, branches: int, taken: int) -> dict[str, dict[str, int]]:
    summary = {"num_statements": statements, "covered_lines": lines}
    return {"summary": {**summary, "num_branches": branches, "covered_branches": taken}}


def test_files_are_added_up_by_package() -> None:
    files = {
        "src/microtome/private/table.py": measured(10, 9, 4, 3),
        "src/microtome/private/deep/er.py": measured(5, 5, 0, 0),
        "src/microtome/errors.py": measured(3, 0, 0, 0),
        "src/microtome/demo/__init__.py": measured(0, 0, 0, 0),
    }
    packages = by_package({"files": files})
    assert packages == {".": (3, 0), "demo": (0, 0), "private": (19, 17)}
    assert table(packages).splitlines()[1:] == [
        ".                      3         0     0.0%",
        "demo                   0         0        –",
        "private               19        17    89.5%",
        "all                   22        17    77.3%",
    ]

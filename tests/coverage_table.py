"""Prints how much of each package the tests went through, from the JSON of ``coverage``.

python tests/coverage_table.py coverage.json
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any


def by_package(measured: dict[str, Any], root: str = "microtome") -> dict[str, tuple[int, int]]:
    """Statements and branches of each package, and how many of them were gone through; files outside count as ``.``."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for file, figures in measured["files"].items():
        below = Path(file).parts[Path(file).parts.index(root) + 1 :]
        package = below[0] if len(below) > 1 else "."
        summary = figures["summary"]
        there = summary["num_statements"] + summary.get("num_branches", 0)
        covered = summary["covered_lines"] + summary.get("covered_branches", 0)
        found[package] = found[package][0] + there, found[package][1] + covered
    return dict(sorted(found.items()))


def table(packages: dict[str, tuple[int, int]]) -> str:
    """One line a package, and all of them together."""
    total = sum(there for there, _ in packages.values()), sum(covered for _, covered in packages.values())
    lines = [f"{'package':<14}{'to cover':>10}{'covered':>10}{'share':>9}"]
    for name, (there, covered) in [*packages.items(), ("all", total)]:
        share = f"{covered / there:.1%}" if there else "–"
        lines.append(f"{name:<14}{there:>10}{covered:>10}{share:>9}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(by_package(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))))

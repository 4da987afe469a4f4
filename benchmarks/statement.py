"""Writes docs/privacy-statement.md from benchmarks/results/audit.json, and ships the same figures with the package.

python benchmarks/statement.py
"""

from __future__ import annotations

import json
from pathlib import Path

from microtome.published.statement import privacy_statement
from results import FOLDER

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "privacy-statement.md"
SHIPPED = ROOT / "src" / "microtome" / "published" / "audited.json"
_SHIPPED_KEYS = ("software", "confidence", "findings")


def main() -> None:
    document = json.loads((FOLDER / "audit.json").read_text(encoding="utf-8"))
    shipped = {key: document[key] for key in _SHIPPED_KEYS}
    SHIPPED.write_text(json.dumps(shipped, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(privacy_statement(), encoding="utf-8")


if __name__ == "__main__":
    main()

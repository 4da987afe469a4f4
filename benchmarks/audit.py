"""Audits every mechanism setting and writes benchmarks/results/audit.json; docs/privacy-statement.md is made of it.

python benchmarks/audit.py [--seconds 1800]
"""

from __future__ import annotations

import argparse
import json
import sys

from microtome.auditing import audit, suite
from microtome.whole_file import write_text
from results import FOLDER, environment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="time for all settings together")
    parser.add_argument("--confidence", type=float, default=0.95, help="of all findings together")
    options = parser.parse_args()
    last = ""

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        nonlocal last
        if stage != last:
            last = stage
            print(stage, f"({total} s)", file=sys.stderr, flush=True)

    found = audit(suite(), seconds=options.seconds, confidence=options.confidence, progress=progress)
    document = {
        "configuration": {"seconds": options.seconds, "confidence": options.confidence},
        **found.to_dict(),
        "environment": environment(),
    }
    path = FOLDER / "audit.json"
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    sys.exit(1 if found.violations else 0)


if __name__ == "__main__":
    main()

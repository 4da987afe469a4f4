"""Audits every mechanism setting and writes benchmarks/results/audit.json; docs/privacy-statement.md is made of it.

    python benchmarks/audit.py [--seconds 1800]
    python benchmarks/audit.py --only "linked tables" --seconds 600

Settings whose name has the words of ``--only`` are audited by themselves, and take the place of the same settings in
the file; each of them says when and with what. Their bounds have the confidence that they have among all settings.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from microtome.auditing import audit, suite
from microtome.whole_file import write_text
from results import FOLDER, environment


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="time for all settings together")
    parser.add_argument("--confidence", type=float, default=0.95, help="of all findings together")
    parser.add_argument("--only", metavar="WORDS", help="only settings whose name has these words")
    options = parser.parse_args()
    every = suite()
    chosen = [setting for setting in every if options.only is None or options.only in setting.name]
    confidence = 1.0 - (1.0 - options.confidence) * len(chosen) / len(every)
    last = ""

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        nonlocal last
        if stage != last:
            last = stage
            print(stage, f"({total} s)", file=sys.stderr, flush=True)

    found = audit(chosen, seconds=options.seconds, confidence=confidence, progress=progress)
    document: dict[str, Any] = {
        "configuration": {"seconds": options.seconds, "confidence": options.confidence},
        **found.to_dict(),
        "environment": environment(),
    }
    path = FOLDER / "audit.json"
    if options.only is not None:
        document = _put_into(json.loads(path.read_text(encoding="utf-8")), document, [one.name for one in every])
    write_text(path, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    sys.exit(1 if found.violations else 0)


def _put_into(before: dict[str, Any], after: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The earlier document with findings of a later one among its own, in the order of the suite."""
    stamped = [finding | {"environment": after["environment"]} for finding in after["findings"]]
    known = {finding["setting"]: finding for finding in [*before["findings"], *stamped]}
    findings = [known[name] for name in names if name in known]
    violations = sum(finding["violation"] for finding in findings)
    return before | {"findings": findings, "settings": len(findings), "violations": violations}


if __name__ == "__main__":
    main()

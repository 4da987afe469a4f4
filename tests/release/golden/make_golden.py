"""Writes the golden releases of the current format version; run once a version, then keep the files for ever.

python tests/release/golden/make_golden.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from microtome.release import Release  # noqa: E402
from microtome.release.manifest import VERSION, ReleaseKind  # noqa: E402
from microtome.schema import Schema  # noqa: E402
from support import people, people_schema, publish  # noqa: E402

if __name__ == "__main__":
    records, aggregates = (HERE / f"version-{VERSION}{kind}.release" for kind in ("", "-aggregates"))
    if not records.exists():
        publish(people(300), people_schema(), records, epsilon=60.0, num_slices=16)
    if not aggregates.exists():
        few = Schema(columns=people_schema().columns[:5], target="owner")
        options = {"epsilon": 60.0, "kind": ReleaseKind.AGGREGATES, "profile_share": 0.2}
        publish(people(300).select(few.names), few, aggregates, **options)
    for path in (records, aggregates):
        print(f"{path}: {path.stat().st_size:,} bytes, fingerprint {Release.load(path).fingerprint}")

"""Writes the golden release of the current format version; run once a version, then keep the file for ever.

python tests/release/golden/make_golden.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from microtome.release.manifest import VERSION  # noqa: E402
from support import people, people_schema, publish  # noqa: E402

if __name__ == "__main__":
    opened = publish(people(300), people_schema(), HERE / f"version-{VERSION}.release", epsilon=60.0, num_slices=16)
    print(f"{opened.path}: {opened.path.stat().st_size:,} bytes, fingerprint {opened.fingerprint}")

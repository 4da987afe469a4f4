"""Takes the picture of a report that README.md shows, with Chromium, from the report of ``make demo``.

python docs/site/screenshot.py demo-output/report.html
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from PIL import Image

from microtome.machine import browser

PICTURE = Path(__file__).resolve().parents[1] / "pictures" / "report.png"
WIDTH, HEIGHT, COLOURS = 1200, 1000, 64


def main(page: Path) -> None:
    """Write the picture."""
    program = browser()
    if program is None:
        raise SystemExit("no Chromium here")
    with TemporaryDirectory() as folder:
        shot = Path(folder, "shot.png")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = f"--window-size={WIDTH},{HEIGHT}"
        subprocess.run([program, *options, size, f"--screenshot={shot}", page.resolve().as_uri()], check=True)
        with Image.open(shot) as picture:
            picture.convert("RGB").quantize(COLOURS).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

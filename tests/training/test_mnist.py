"""Real digits, end to end: what the closed-form start alone gives at two promises."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import microtome as mt
from microtome.images import ImageSchema, ImageSet, read_images
from microtome.synthesis import Synthesizer
from microtome.training import ImageFitSettings
from support import DATA


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "least"), [(0.2, 0.78), (1.0, 0.82)])
def test_mnist_from_release_to_classifier(epsilon: float, least: float) -> None:
    folder = DATA / "mnist"
    if not folder.exists():
        pytest.skip("MNIST is not here; set MICROTOME_DATA")
    train = read_images(folder / "train-images-idx3-ubyte.gz")
    assert train.labels is not None
    private = ImageSet(pixels=train.pixels[:50_000], labels=train.labels[:50_000])
    schema = ImageSchema(height=28, width=28, classes=tuple(range(10)))
    release = mt.release(private, schema, epsilon=epsilon, delta=1e-5)
    drawn = Synthesizer(ImageFitSettings(steps=0), random_state=0).fit(release).sample(5000, balanced=True)
    rows = drawn.pixels.reshape(5000, -1) / 255
    model = LogisticRegression(C=0.1, max_iter=1000).fit(rows, drawn.labels)
    kept = train.pixels[50_000:].reshape(10_000, -1) / 255
    assert model.score(kept, np.asarray(train.labels[50_000:])) > least

"""MNIST and USPS, where they are at hand: a release of one makes the other's labels worth more."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import microtome as mt
from microtome.adaptation import AdaptationSettings, DomainAdapter
from microtome.adaptation.network import build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.unit_images import unit_images
from microtome.images import ImageSchema, ImageSet, read_images
from microtome.training import Loop
from support import DATA

SETTINGS = AdaptationSettings(epochs=8, align_from=8, images_per_epoch=3584, learning_rate=1e-3)
GAIN = 0.05
"""Far below what is measured, far above what seeds differ by."""


@pytest.mark.slow
def test_usps_is_read_better_by_a_network_that_learnt_mnist_in_its_look() -> None:
    mnist, usps = DATA / "mnist" / "train-images-idx3-ubyte.gz", DATA / "usps" / "usps.h5"
    if not (mnist.exists() and usps.exists()):
        pytest.skip(f"no MNIST and USPS in {DATA}")
    labelled = read_images(mnist)
    assert labelled.labels is not None
    images, labels = labelled.pixels[:4000], labelled.labels[:4000]
    private = unit_images(read_images(usps, part="train"), origin="USPS", image_size=(28, 28)).transpose(0, 2, 3, 1)
    schema = ImageSchema(height=28, width=28, low=0.0, high=1.0)
    release = mt.release(ImageSet.from_arrays(private), schema, epsilon=1.0, delta=1e-5)
    test = read_images(usps, part="test")
    assert test.labels is not None
    shown = unit_images(test, origin="test", image_size=(28, 28)).transpose(0, 2, 3, 1)
    adapter = DomainAdapter(settings=SETTINGS, random_state=0).fit(images, labels, release)
    assert adapter.score(shown, test.labels) > _source_alone(images, labels, shown, test.labels) + GAIN


def _source_alone(images: np.ndarray, labels: np.ndarray, shown: np.ndarray, truth: np.ndarray) -> float:
    source = Source(images=torch.from_numpy(unit_images(images, origin="source")), labels=torch.from_numpy(labels))
    trained = AdaptationObjective(build_network((1, 28, 28), 10, 0.5, 0), source, SETTINGS, seed=0)
    Loop(trained, run={"seed": 0}).run()
    with torch.no_grad():
        logits = trained.network.classify(trained.network.rows(torch.from_numpy(shown.transpose(0, 3, 1, 2).copy())))
    return float((logits.argmax(dim=1).numpy() == truth).mean())

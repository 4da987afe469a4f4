"""Domain adaptation: a classifier from labelled images and unlabelled ones of another look, either of them private.

Private images are looked at once, by a release, or in every step of training:

    unit_images.py images of any layout to one kind of array, checked
    network.py     the extractor that both domains share, and the classifier's head
    alignment.py   how far source features are from the noisy slices of private ones
    objective.py   cross-entropy on the source, and from some epoch on the alignment
    target.py      the private images, behind the private half's door
    per_step.py    adaptation to private images, batch by batch
    transform.py   a change of look with a handful of parameters
    target_moments.py   what is known of the target's look, from a release or from public images
    redrawing.py   adaptation by redrawing the source in that look
    synthetic_source.py   a private labelled source: synthetic images from a release of it
    run.py         what all ways have in common: seed, released source, where to go on
    promise.py     what is private, under which neighbours, and what the whole training costs
    adapter.py     the face: ``DomainAdapter``
"""

from microtome.adaptation.adapter import DomainAdapter
from microtome.adaptation.promise import AdaptationPromise, Side
from microtome.adaptation.settings import AdaptationSettings, Alignment, Moved

__all__ = ["AdaptationPromise", "AdaptationSettings", "Alignment", "DomainAdapter", "Moved", "Side"]

"""Sampling, conditions, model files and the ``Synthesizer`` face."""

from microtome.synthesis.conditions import conditions_from_text
from microtome.synthesis.image_synthesizer import ImageSynthesizer
from microtome.synthesis.model_file import Model
from microtome.synthesis.synthesizer import Synthesizer

__all__ = ["ImageSynthesizer", "Model", "Synthesizer", "conditions_from_text"]

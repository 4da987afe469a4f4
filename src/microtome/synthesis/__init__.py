"""Sampling, conditions, model files and the ``Synthesizer`` face."""

from microtome.synthesis.conditions import conditions_from_text
from microtome.synthesis.image_model import ImageModel
from microtome.synthesis.model_file import Model
from microtome.synthesis.synthesizer import Synthesizer
from microtome.synthesis.table_model import TableModel

__all__ = ["ImageModel", "Model", "Synthesizer", "TableModel", "conditions_from_text"]

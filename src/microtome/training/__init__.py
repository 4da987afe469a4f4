"""From a release to a trained generator: losses, trainer, held-out selection, tuning."""

from microtome.training.checkpoint import Checkpoint
from microtome.training.image_trainer import ImageFitSettings
from microtome.training.losses import LossMix
from microtome.training.settings import FitSettings
from microtome.training.slices import SliceChoice
from microtome.training.statistics import row_layout
from microtome.training.tensor_file import read_tensors, write_tensors
from microtome.training.trainer import Fit, Trainer, build_generator
from microtome.training.tuning import Trial, tune

__all__ = [
    "Checkpoint",
    "Fit",
    "FitSettings",
    "ImageFitSettings",
    "LossMix",
    "SliceChoice",
    "Trainer",
    "Trial",
    "build_generator",
    "read_tensors",
    "row_layout",
    "tune",
    "write_tensors",
]

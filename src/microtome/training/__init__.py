"""From a release to a trained generator: objectives, the loop, held-out selection, tuning."""

from microtome.training.checkpoint import Checkpoint
from microtome.training.generator_objective import Schedule
from microtome.training.image_settings import ImageFitSettings
from microtome.training.loop import Loop, Objective
from microtome.training.losses import LossMix
from microtome.training.records_objective import build_generator
from microtome.training.seeds import seed_of
from microtome.training.settings import FitSettings
from microtome.training.slices import SliceChoice
from microtome.training.tensor_file import read_tensors, write_tensors
from microtome.training.trainer import Fit, Trainer, settings_for
from microtome.training.tuning import Trial, tune

__all__ = [
    "Checkpoint",
    "Fit",
    "FitSettings",
    "ImageFitSettings",
    "Loop",
    "LossMix",
    "Objective",
    "Schedule",
    "SliceChoice",
    "Trainer",
    "Trial",
    "build_generator",
    "read_tensors",
    "seed_of",
    "settings_for",
    "tune",
    "write_tensors",
]

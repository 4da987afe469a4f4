"""From a release to a trained generator: losses, trainer, held-out selection, tuning."""

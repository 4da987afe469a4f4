"""Noise in, encoded rows out: the built-in models, and the protocol for your own."""

from microtome.generators.layout import RowLayout
from microtome.generators.mixture import MixtureGenerator, MixtureSettings
from microtome.generators.protocol import BuiltInGenerator, ColumnwiseGenerator, Generator
from microtome.generators.tabular import NetworkSettings, TabularGenerator

__all__ = [
    "BuiltInGenerator",
    "ColumnwiseGenerator",
    "Generator",
    "MixtureGenerator",
    "MixtureSettings",
    "NetworkSettings",
    "RowLayout",
    "TabularGenerator",
]

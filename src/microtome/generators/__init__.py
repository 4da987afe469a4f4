"""Noise in, encoded rows out: the networks, and the protocol for your own."""

from microtome.generators.layout import RowLayout
from microtome.generators.pivot import PivotGenerator
from microtome.generators.protocol import ColumnwiseGenerator, Generator
from microtome.generators.tabular import NetworkSettings, TabularGenerator

__all__ = ["ColumnwiseGenerator", "Generator", "NetworkSettings", "PivotGenerator", "RowLayout", "TabularGenerator"]

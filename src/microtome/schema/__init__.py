"""What is public about a table, and the code between its rows and vectors in the unit ball."""

from microtome.schema.aside import Action, Aside
from microtome.schema.cells import OTHER, CategoryCells, Cells, NumberCells
from microtome.schema.codebook import Block, Codebook, largest_dim
from microtome.schema.column import DTYPES, Column, Kind, Outside
from microtome.schema.column_code import ColumnCode, stratified
from microtome.schema.dialect import Dialect
from microtome.schema.document import Schema
from microtome.schema.grid import initial_cells
from microtome.schema.image import ImageSchema
from microtome.schema.image_code import ImageCode
from microtome.schema.loading import load_schema
from microtome.schema.margins import COARSE, FINE, WIDE, Fineness, for_width, project_to_simplex
from microtome.schema.rounding import Rounding, RoundingClasses, rounding_classes

__all__ = [
    "COARSE",
    "DTYPES",
    "FINE",
    "OTHER",
    "WIDE",
    "Action",
    "Aside",
    "Block",
    "CategoryCells",
    "Cells",
    "Codebook",
    "Column",
    "ColumnCode",
    "Dialect",
    "Fineness",
    "ImageCode",
    "ImageSchema",
    "Kind",
    "NumberCells",
    "Outside",
    "Rounding",
    "RoundingClasses",
    "Schema",
    "for_width",
    "initial_cells",
    "largest_dim",
    "load_schema",
    "project_to_simplex",
    "rounding_classes",
    "stratified",
]
